// Column widths and alignment of a table, shared by the text-like renderers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/report.hpp"

namespace spillway {

/// Columns a terminal uses for UTF-8 text (one per code point).
std::size_t display_width(std::string_view text);
/// Starts like a number, or is empty or a dash.
bool looks_numeric(std::string_view cell);

/// Widths of a table's columns, two blanks apart. Where they exceed `limit` (0: there is none),
/// columns of words are narrowed and their cells go on below, and the header's words stand one
/// under the other; no word and no number is ever cut.
struct TableLayout {
  explicit TableLayout(const Table& table, std::size_t limit = 0);
  std::vector<std::size_t> width;
  std::vector<bool> numeric;
  /// Not even so: each row is better shown by itself, a line each for its cells.
  bool too_wide = false;

  /// Of all columns, with what stands between them.
  std::size_t total() const;

 private:
  /// Takes from the widest columns, none below `least`, until all of them fit.
  void shrink(const std::vector<std::size_t>& least, std::size_t limit);
};

}  // namespace spillway
