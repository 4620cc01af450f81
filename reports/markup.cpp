#include "reports/markup.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reports/format.hpp"

namespace spillway {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_text(std::string_view text, std::size_t most) {
  return html_text(shortened(text, most));
}

std::string shortened(std::string_view text, std::size_t most) {
  const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  std::size_t characters = 0;
  std::size_t keep = 0;  // bytes of all but the last of them
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!starts(text[i])) continue;
    if (++characters == most) keep = i;
    if (characters > most) return std::string(text.substr(0, keep)) + "…";
  }
  return std::string(text);
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    const bool markup = c == '<' || c == '>' || c == '&' || c == '\'';
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (markup) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
}

}  // namespace spillway
