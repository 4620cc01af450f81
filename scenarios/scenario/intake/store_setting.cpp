#include "scenarios/scenario/intake/store_setting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "sim/catalogue.hpp"
#include "sim/numbers.hpp"

namespace spillway {

std::string StoreSetting::place() const {
  return where.line > 0 ? fmt::format("{}:{}", where.file, where.line) : where.file;
}

const SettingRow* setting_row(std::span<const SettingRow> rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SettingRow& row) {
    return row.name.ends_with('_') ? name.starts_with(row.name) : name == row.name;
  });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<std::string_view> names_of_rows(std::span<const SettingRow> rows) {
  std::vector<std::string_view> out;
  for (const SettingRow& row : rows) {
    if (!row.name.ends_with('_')) out.push_back(row.name);
  }
  return out;
}

SourceRef place_of_variable(const EngineCall& call, const std::string& name) {
  const auto found = call.places.find(name);
  SourceRef out = found == call.places.end() ? call.where : found->second;
  out.field = name;
  return out;
}

StoreSettings settings_of(const EngineCall& call, std::string_view prefix) {
  StoreSettings out;
  for (const auto& [name, value] : call.environment) {
    if (!name.starts_with(prefix)) continue;
    out.push_back(
        {name.substr(prefix.size()), value, name + "=" + value, place_of_variable(call, name)});
  }
  return out;
}

const StoreSetting* find_setting(const StoreSettings& settings, std::string_view name) {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [&](const StoreSetting& one) { return one.name == name; });
  return found == settings.rend() ? nullptr : &*found;
}

void refuse_setting(const StoreSetting& setting, std::string_view expected) {
  throw InputError(Fault::kUsage, setting.where,
                   fmt::format("expected {}, found \"{}\"", expected, setting.value));
}

std::int64_t whole_setting(const StoreSetting& setting, std::int64_t least, std::int64_t most) {
  const auto value = parse_whole<std::int64_t>(setting.value);
  if (value && *value >= least && *value <= most) return *value;
  if (most < std::numeric_limits<std::int64_t>::max()) {
    refuse_setting(setting, fmt::format("a whole number from {} to {}", least, most));
  }
  refuse_setting(setting, least == 0 ? "a whole number, 0 or more"
                                     : fmt::format("a whole number, {} or more", least));
}

double real_setting(const StoreSetting& setting, double least, double most) {
  const auto value = parse_real(setting.value);
  if (value && *value >= least && *value <= most) return *value;
  refuse_setting(setting, fmt::format("a number from {} to {}", least, most));
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool truth_setting(const StoreSetting& setting) {
  const std::string word = lower_case(setting.value);
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word == "0" || word == "false" || word == "no" || word == "off") return false;
  refuse_setting(setting, "true or false");
}

std::size_t choice_setting(const StoreSetting& setting, std::span<const std::string_view> names) {
  const std::string wanted = lower_case(setting.value);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (lower_case(names[i]) == wanted) return i;
  }
  refuse_setting(setting, fmt::format("one of {}", fmt::join(names, ", ")));
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known,
                         std::string_view prefix) {
  const std::string_view near = nearest_name(name, known);
  return near.empty() ? std::string() : fmt::format("did you mean {}{}? ", prefix, near);
}

void remark_unknown(const StoreSetting& setting, std::string_view store,
                    std::span<const std::string_view> known, std::string_view prefix,
                    Draft& draft) {
  draft.remark(Standing::kUnknown, setting.written,
               fmt::format("{}: {}{} does not know it and ignores it", setting.place(),
                           did_you_mean(setting.name, known, prefix), store));
}

nlohmann::ordered_json number_as_json(double value) {
  constexpr double kMost = 9e15;
  if (value == std::floor(value) && std::abs(value) < kMost) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

}  // namespace spillway
