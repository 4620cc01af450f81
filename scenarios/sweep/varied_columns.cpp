#include "scenarios/sweep/varied_columns.hpp"

#include <algorithm>
#include <optional>

#include "scenarios/scenario/config/quantities.hpp"

namespace spillway {

namespace {

using nlohmann::json;
using Holds = VariedColumn::Holds;

json number_of(const std::string& text) {
  json out = json::parse(text, nullptr, false);
  return out.is_number() ? out : json();
}

json bytes_of(const std::string& text) {
  try {
    const Capacity size = parse_capacity(text, {});
    if (size.kind == Capacity::Kind::kBytes) return size.count;
  } catch (const InputError&) {  // something else than a size
  }
  return {};
}

json rate_of(const std::string& text) {
  try {
    return parse_bandwidth(text, {});
  } catch (const InputError&) {
    return {};
  }
}

json value_of(Holds holds, const std::string& text) {
  switch (holds) {
    case Holds::kNumber:
      return number_of(text);
    case Holds::kBytes:
      return bytes_of(text);
    case Holds::kBytesPerSecond:
      return rate_of(text);
    case Holds::kText:
      break;
  }
  return text;
}

/// Precondition: a text or a number.
ColumnValue plain(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.get<double>();
}

}  // namespace

std::vector<VariedColumn> varied_columns(const Campaign& campaign,
                                         const std::set<std::string>& used) {
  std::vector<VariedColumn> out;
  const auto& keys = campaign.cells.front().values;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto has = [&](Holds holds) {
      return [k, holds](const SweepCell& cell) {
        return !value_of(holds, cell.values[k].second).is_null();
      };
    };
    const auto add = [&](const std::string& name, Holds holds) {
      out.push_back({used.contains(name) ? "vary." + name : name, k, holds});
    };
    const std::string& name = keys[k].first;
    if (std::ranges::all_of(campaign.cells, has(Holds::kNumber))) {
      add(name, Holds::kNumber);
      continue;
    }
    add(name, Holds::kText);
    if (std::ranges::any_of(campaign.cells, has(Holds::kBytes))) {
      add(name + "_bytes", Holds::kBytes);
    } else if (std::ranges::any_of(campaign.cells, has(Holds::kBytesPerSecond))) {
      add(name + "_bytes_per_s", Holds::kBytesPerSecond);
    }
  }
  return out;
}

json column_value(const VariedColumn& column, const SweepCell& cell) {
  return value_of(column.holds, cell.values[column.key].second);
}

ColumnValues values_of(const std::vector<VariedColumn>& columns, const SweepCell& cell) {
  ColumnValues out;
  for (const VariedColumn& column : columns) {
    const json value = column_value(column, cell);
    if (!value.is_null()) out[column.name] = plain(value);
  }
  return out;
}

}  // namespace spillway
