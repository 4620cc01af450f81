#include "reports/renderers/wrap.hpp"

#include <algorithm>

#include "reports/renderers/table_layout.hpp"

namespace spillway {

std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t hang) {
  if (width == 0 || display_width(text) <= width) return {std::string(text)};
  std::vector<std::string> out;
  // Blanks at the front of a line are its indent; they stay.
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::string line(text.substr(0, indent));
  std::size_t used = indent;
  bool empty = true;
  text.remove_prefix(indent);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t wide = display_width(word);
    if (!empty && used + 1 + wide > width) {
      out.push_back(std::move(line));
      line.assign(hang, ' ');
      used = hang;
      empty = true;
    }
    if (!empty) line += ' ';
    used += wide + (empty ? 0 : 1);
    line += word;
    empty = false;
  }
  out.push_back(std::move(line));
  return out;
}

}  // namespace spillway
