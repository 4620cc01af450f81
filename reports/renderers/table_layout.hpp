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

struct TableLayout {
  explicit TableLayout(const Table& table);
  std::vector<std::size_t> width;
  std::vector<bool> numeric;
};

}  // namespace spillway
