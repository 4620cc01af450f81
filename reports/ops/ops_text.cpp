#include "reports/ops/ops_text.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "reports/format.hpp"

namespace spillway {

namespace {

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string out = printable(text);
  // U+2028 and U+2029 break lines in YAML 1.1; it refuses a byte-order mark, surrogates, which
  // UTF-8 can be made to spell, and U+FFFE and U+FFFF.
  constexpr std::array<std::string_view, 5> kOthers = {
      "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf", "\xef\xbf\xbe", "\xef\xbf\xbf"};
  for (const std::string_view other : kOthers) replace_all(out, other, "?");
  for (std::size_t at = 0; at + 2 < out.size(); ++at) {
    const bool surrogate = out[at] == '\xed' && static_cast<unsigned char>(out[at + 1]) >= 0xa0;
    if (surrogate) out.replace(at, 3, "?");
  }
  return out;
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(one_line(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string untemplated(std::string_view text) {
  std::string out(text);
  // Twice: "{{{" is two overlapping pairs.
  for (int i = 0; i < 2; ++i) {
    replace_all(out, "{{", "{ {");
    replace_all(out, "}}", "} }");
  }
  return out;
}

}  // namespace spillway
