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

namespace {

constexpr std::size_t kLongestNumber = 40;  // an interval with its unit; longer is a sentence

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, display_width(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

}  // namespace

std::size_t TableLayout::total() const {
  std::size_t out = width.empty() ? 0 : 2 * (width.size() - 1);
  for (const std::size_t w : width) out += w;
  return out;
}

TableLayout::TableLayout(const Table& table, std::size_t limit) {
  std::size_t columns = table.header.size();
  for (const auto& row : table.rows) columns = std::max(columns, row.size());
  width.assign(columns, 0);
  numeric.assign(columns, !table.rows.empty());
  std::vector<std::size_t> least(columns, 0);
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    width[i] = display_width(table.header[i]);
    least[i] = longest_word(table.header[i]);
  }
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], display_width(row[i]));
      numeric[i] = numeric[i] && looks_numeric(row[i]) && display_width(row[i]) <= kLongestNumber;
    }
  }
  if (limit == 0 || total() <= limit) return;
  // First only headers give way, so that rows stay lines; then the words of cells.
  std::vector<std::size_t> rows_whole = least;
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      rows_whole[i] = std::max(rows_whole[i], display_width(row[i]));
      // A number keeps its unit beside it.
      least[i] = std::max(least[i], numeric[i] ? display_width(row[i]) : longest_word(row[i]));
    }
  }
  shrink(rows_whole, limit);
  shrink(least, limit);
  too_wide = total() > limit;
}

void TableLayout::shrink(const std::vector<std::size_t>& least, std::size_t limit) {
  while (total() > limit) {
    std::size_t widest = width.size();
    for (std::size_t i = 0; i < width.size(); ++i) {
      if (width[i] <= least[i]) continue;
      if (widest == width.size() || width[i] > width[widest]) widest = i;
    }
    if (widest == width.size()) return;
    --width[widest];
  }
}

}  // namespace spillway
