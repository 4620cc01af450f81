#include "scenarios/machine/transfer_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/decimal.hpp"
#include "sim/input_file.hpp"

namespace spillway {

namespace {

constexpr std::array<std::string_view, 7> kColumns = {
    "link", "direction", "submitted_s", "started_s", "ended_s", "bytes", "copies"};

/// Cells of a line; quotes as in reports/renderers/csv.hpp.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      out.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += line[i];
    }
  }
  return out;
}

/// One line of the file, read by column.
class Line {
 public:
  Line(const std::string& path, std::int64_t number, std::string_view text)
      : path_(path), number_(number), cells_(cells_of(text)) {
    if (cells_.size() != kColumns.size()) {
      fail("", fmt::format("expected {} cells, found {}", kColumns.size(), cells_.size()));
    }
  }

  const std::string& text(std::size_t column) const { return cells_[column]; }

  /// The cell times 10^power, a whole number of at least `least`.
  std::int64_t scaled(std::size_t column, int power, std::int64_t least) const {
    const auto value = parse_decimal(cells_[column]);
    std::int64_t out = -1;
    try {
      if (value) out = floor_scaled(*value, power);
    } catch (const std::out_of_range&) {
      out = -1;
    }
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    if (!value || out < least || out > kMost) {
      fail(kColumns[column],
           fmt::format("expected a number, {} or more, found \"{}\"", least, cells_[column]));
    }
    return out;
  }

  [[noreturn]] void fail(std::string_view column, const std::string& message) const {
    throw InputError(Fault::kUsage, {path_, number_, std::string(column)}, message);
  }

 private:
  const std::string& path_;
  std::int64_t number_;
  std::vector<std::string> cells_;
};

ScheduledTransfer transfer_of(const Line& line) {
  ScheduledTransfer out;
  out.link = line.text(0);
  out.to_device = line.text(1) == "h2d";
  out.submitted_ns = line.scaled(2, 9, 0);
  out.started_ns = line.scaled(3, 9, out.submitted_ns);
  out.ended_ns = line.scaled(4, 9, out.started_ns);
  out.bytes = line.scaled(5, 0, 1);
  out.copies = line.scaled(6, 0, 1);
  if (out.copies > out.bytes) line.fail("copies", "expected no more copies than bytes");
  return out;
}

TransferSchedule schedule_of(const std::string& path, std::string_view text) {
  TransferSchedule out;
  out.path = path;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view row = text.substr(at, end - at);
    if (row.ends_with('\r')) row.remove_suffix(1);
    at = end + 1;
    ++number;
    if (row.empty()) continue;
    const Line line(path, number, row);
    if (number == 1) {
      for (std::size_t i = 0; i < kColumns.size(); ++i) {
        if (line.text(i) != kColumns[i]) {
          line.fail(kColumns[i], fmt::format("expected this column, as run --output kind=transfers "
                                             "writes it, found \"{}\"",
                                             line.text(i)));
        }
      }
      continue;
    }
    const std::string& direction = line.text(1);
    if (direction == "host") {
      ++out.host_hops;
    } else if (direction == "h2d" || direction == "d2h") {
      out.transfers.push_back(transfer_of(line));
    } else {
      line.fail("direction", fmt::format("expected h2d, d2h or host, found \"{}\"", direction));
    }
  }
  if (number == 0) {
    throw InputError(Fault::kUsage, {path, 0, ""}, "is empty; expected a schedule of transfers");
  }
  std::stable_sort(out.transfers.begin(), out.transfers.end(),
                   [](const ScheduledTransfer& a, const ScheduledTransfer& b) {
                     return a.submitted_ns < b.submitted_ns;
                   });
  return out;
}

/// The CSV file that a result names.
std::string schedule_path(const std::string& result) {
  const JsonSource source = JsonSource::from_file(result);
  const nlohmann::json& root = source.root();
  const nlohmann::json none;
  const nlohmann::json& inputs = root.contains("inputs") ? root["inputs"] : none;
  if (!inputs.is_object() || !inputs.contains("transfers") || !inputs["transfers"].is_string()) {
    throw InputError(Fault::kUsage, {result, 0, "inputs.transfers"},
                     "expected the schedule of its transfers; write one with spillway run ... "
                     "--output kind=transfers,path=FILE");
  }
  namespace fs = std::filesystem;
  const fs::path named = inputs["transfers"].get<std::string>();
  std::error_code ignored;
  if (fs::exists(named, ignored)) return named.string();
  const fs::path beside = fs::path(result).parent_path() / named.filename();
  return fs::exists(beside, ignored) ? beside.string() : named.string();
}

std::int64_t ns_of(double seconds) {
  constexpr double kMost = 4e9;  // 127 years
  return static_cast<std::int64_t>(std::min(seconds, kMost) * 1e9);
}

}  // namespace

TransferSchedule read_transfer_schedule(const std::string& path) {
  const std::string text = read_text_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && text[first] == '{';
  if (!json) return schedule_of(path, text);
  const std::string schedule = schedule_path(path);
  return schedule_of(schedule, read_text_file(schedule));
}

WindowChoice parse_window(std::string_view text, const SourceRef& where) {
  WindowChoice out;
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    // A run begins at 0, which is no time above 0.
    const std::string_view from = text.substr(0, plus);
    out.from_s = from == "0s" || from == "0" ? 0 : parse_seconds(from, where);
    text.remove_prefix(plus + 1);
  }
  out.length_s = parse_seconds(text, where);
  return out;
}

std::span<const ScheduledTransfer> choose_window(const TransferSchedule& schedule,
                                                 const WindowChoice& choice, std::size_t most) {
  const std::vector<ScheduledTransfer>& all = schedule.transfers;
  const auto fail = [&](const std::string& message) {
    throw InputError(Fault::kUsage, {schedule.path, 0, ""}, message);
  };
  if (all.empty()) fail("holds no transfer between HBM and a tier below; nothing can be replayed");
  const std::int64_t length = ns_of(choice.length_s);
  const auto first_from = [&](std::int64_t ns) {
    return std::lower_bound(
        all.begin(), all.end(), ns,
        [](const ScheduledTransfer& t, std::int64_t at) { return t.submitted_ns < at; });
  };

  auto begin = all.begin();
  auto end = all.begin();
  if (choice.from_s) {
    begin = first_from(ns_of(*choice.from_s));
    end = first_from(ns_of(*choice.from_s) + length);
    if (begin == end) {
      fail(
          fmt::format("no transfer is submitted within the window; the first is at {:.3f} s, the "
                      "last at {:.3f} s",
                      static_cast<double>(all.front().submitted_ns) / 1e9,
                      static_cast<double>(all.back().submitted_ns) / 1e9));
    }
  } else {
    // Two ends of a window move along the schedule; `bytes` are what lies between them.
    std::int64_t bytes = 0;
    std::int64_t best = -1;
    std::int64_t in_flight_until = 0;
    auto to = all.begin();
    for (auto from = all.begin(); from != all.end(); ++from) {
      for (; to != all.end() && to->submitted_ns < from->submitted_ns + length; ++to) {
        bytes += to->bytes;
      }
      if (from->submitted_ns >= in_flight_until && bytes > best) {
        best = bytes;
        begin = from;
        end = to;
      }
      in_flight_until = std::max(in_flight_until, from->ended_ns);
      bytes -= from->bytes;
    }
  }
  const auto count = static_cast<std::size_t>(end - begin);
  if (count > most) {
    fail(
        fmt::format("the window holds {} transfers; expected at most {}: choose a shorter --window",
                    count, most));
  }
  return {begin, end};
}

}  // namespace spillway
