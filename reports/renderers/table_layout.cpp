#include "reports/renderers/table_layout.hpp"

#include <algorithm>

namespace spillway {

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

bool looks_numeric(std::string_view cell) {
  if (cell.empty() || cell == "-" || cell == "inf") return true;
  if (cell.front() == '-' || cell.front() == '+') cell.remove_prefix(1);
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
}

TableLayout::TableLayout(const Table& table) {
  std::size_t columns = table.header.size();
  for (const auto& row : table.rows) columns = std::max(columns, row.size());
  width.assign(columns, 0);
  numeric.assign(columns, !table.rows.empty());
  for (std::size_t i = 0; i < table.header.size(); ++i) width[i] = display_width(table.header[i]);
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], display_width(row[i]));
      numeric[i] = numeric[i] && looks_numeric(row[i]);
    }
  }
}

}  // namespace spillway
