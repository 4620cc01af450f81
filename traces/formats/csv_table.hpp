// What every CSV reader shares: cells split as RFC 4180 says, columns found by name in any order,
// and faults that name line and column.
//
// A cell in double quotes may hold commas and, doubled, quotes; it ends on its line.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"

namespace spillway {

struct CsvColumn {
  std::string_view name;
  bool required = true;
};

/// What a column means that the format does not know.
enum class OtherColumns : std::uint8_t { kRefuse, kIgnore };

/// True where a file's first line is no JSON, and its cells may name `column`.
bool is_csv_header(std::string_view line, std::string_view column);

class CsvTable {
 public:
  /// Reads the header. `columns` outlives the table; other members name a column by its place in
  /// it. Throws InputError where a required column is missing, or one stands there twice.
  CsvTable(std::unique_ptr<LineReader> lines, std::span<const CsvColumn> columns,
           OtherColumns other);

  /// Splits the next line that is not empty; false at the end. Throws RowError where it has not
  /// the header's number of cells.
  bool next();
  std::int64_t line() const { return lines_->line(); }
  const std::string& path() const { return lines_->path(); }

  bool has(std::size_t column) const { return position_[column] >= 0; }
  /// The cell of this row; empty where the file has no such column.
  std::string_view cell(std::size_t column) const {
    return has(column) ? cells_[static_cast<std::size_t>(position_[column])] : std::string_view();
  }

  /// A whole number of at most 64 bits in (a part of) the cell of `column`, or RowError.
  std::uint64_t number(std::size_t column, std::string_view text) const;
  /// A whole number from `least` to `most`, or RowError.
  std::int64_t whole(std::size_t column, std::uint64_t least, std::uint64_t most) const;
  /// floor(cell * 10^power) nanoseconds since the origin, or RowError; see arrival_time().
  std::int64_t time_ns(std::size_t column, int power) const;

  /// Throws RowError for this row.
  [[noreturn]] void fail(std::size_t column, const std::string& message) const;

  /// A note on the columns that are not read, or nothing.
  std::vector<std::string> notes() const;

 private:
  void split(std::string_view line);
  std::string_view quoted(std::string_view& line);
  [[noreturn]] void fail_row(std::string_view field, const std::string& message) const;
  [[noreturn]] void fail_header(const std::string& message) const;

  std::unique_ptr<LineReader> lines_;
  std::span<const CsvColumn> columns_;
  std::vector<int> position_;
  std::size_t width_ = 0;  ///< cells in a row
  std::vector<std::string_view> cells_;
  std::string unquoted_;  ///< cells that are not on the line as they read; never reallocated
  std::vector<std::string> ignored_;
};

}  // namespace spillway
