#include "traces/formats/csv_table.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "sim/numbers.hpp"
#include "traces/formats/arrival_time.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

constexpr std::size_t kShown = 40;  // characters of a cell in an error

std::string names_of(std::span<const CsvColumn> columns) {
  std::vector<std::string_view> names;
  for (const CsvColumn& column : columns) names.push_back(column.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool is_csv_header(std::string_view line, std::string_view column) {
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] != '{' && line[first] != '[' &&
         line.find(',') != std::string_view::npos && line.find(column) != std::string_view::npos;
}

CsvTable::CsvTable(std::unique_ptr<LineReader> lines, std::span<const CsvColumn> columns,
                   OtherColumns other)
    : lines_(std::move(lines)), columns_(columns), position_(columns.size(), -1) {
  std::string_view header;
  lines_->next(header);
  split(header);
  width_ = cells_.size();
  for (std::size_t i = 0; i < width_; ++i) {
    const auto known = std::find_if(columns_.begin(), columns_.end(),
                                    [&](const CsvColumn& c) { return c.name == cells_[i]; });
    if (known == columns_.end()) {
      if (other == OtherColumns::kRefuse) {
        fail_header(
            fmt::format("unknown column \"{}\"; expected {}", cells_[i], names_of(columns_)));
      }
      ignored_.emplace_back(cells_[i]);
      continue;
    }
    int& position = position_[static_cast<std::size_t>(known - columns_.begin())];
    if (position >= 0) fail_header(fmt::format("two columns \"{}\"", cells_[i]));
    position = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].required && !has(i)) {
      fail_header(fmt::format("missing column \"{}\"", columns_[i].name));
    }
  }
}

bool CsvTable::next() {
  std::string_view line;
  do {
    if (!lines_->next(line)) return false;
  } while (line.empty());
  split(line);
  if (cells_.size() != width_) {
    fail_row("", fmt::format("expected {} columns, found {}", width_, cells_.size()));
  }
  return true;
}

void CsvTable::split(std::string_view line) {
  cells_.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());  // views into it stay valid
  for (;;) {
    if (line.starts_with('"')) {
      cells_.push_back(quoted(line));
    } else {
      cells_.push_back(line.substr(0, line.find(',')));
      line.remove_prefix(cells_.back().size());
    }
    if (line.empty()) return;
    line.remove_prefix(1);  // the comma
  }
}

/// Takes a quoted cell off the front of `line`, up to its comma.
std::string_view CsvTable::quoted(std::string_view& line) {
  const std::size_t begin = unquoted_.size();
  for (line.remove_prefix(1);; line.remove_prefix(1)) {
    const std::size_t quote = line.find('"');
    if (quote == std::string_view::npos) {
      fail_row("", fmt::format("expected a quote at the end of cell {}, found none on this line",
                               cells_.size() + 1));
    }
    unquoted_.append(line.substr(0, quote));
    line.remove_prefix(quote + 1);
    if (!line.starts_with('"')) break;
    unquoted_.push_back('"');
  }
  if (!line.empty() && line.front() != ',') {
    fail_row("", fmt::format("expected a comma behind the quoted cell {}, found \"{}\"",
                             cells_.size() + 1, line.substr(0, kShown)));
  }
  return std::string_view(unquoted_).substr(begin);
}

std::uint64_t CsvTable::number(std::size_t column, std::string_view text) const {
  const auto value = parse_whole<std::uint64_t>(text);
  if (!value) {
    fail(column, fmt::format("expected a whole number, found \"{}\"", text.substr(0, kShown)));
  }
  return *value;
}

std::int64_t CsvTable::whole(std::size_t column, std::uint64_t least, std::uint64_t most) const {
  const std::uint64_t value = number(column, cell(column));
  if (value < least || value > most) {
    fail(column, fmt::format("expected {} to {}, found {}", least, most, value));
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t CsvTable::time_ns(std::size_t column, int power) const {
  const auto ns = arrival_time(cell(column), power);
  if (!ns) {
    fail(column, fmt::format("expected {} from 0 to {}, found \"{}\"",
                             power == 6 ? "milliseconds" : "seconds",
                             power == 6 ? kMaxArrivalMs : kMaxArrivalMs / 1000,
                             cell(column).substr(0, kShown)));
  }
  return *ns;
}

std::vector<std::string> CsvTable::notes() const {
  if (ignored_.empty()) return {};
  return {fmt::format("ignored columns in {}: {}", path(), fmt::join(ignored_, ", "))};
}

void CsvTable::fail(std::size_t column, const std::string& message) const {
  fail_row(columns_[column].name, message);
}

void CsvTable::fail_row(std::string_view field, const std::string& message) const {
  throw RowError({path(), line(), std::string(field)}, message);
}

void CsvTable::fail_header(const std::string& message) const {
  throw InputError(Fault::kTrace, {path(), line(), "header"}, message);
}

}  // namespace spillway
