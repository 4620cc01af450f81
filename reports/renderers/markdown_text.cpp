#include "reports/renderers/markdown_text.hpp"

#include <algorithm>
#include <array>

#include "reports/format.hpp"

namespace spillway {

namespace {

/// U+2060, a word joiner: has no width, and ends what GitHub would make a mention, a reference or a
/// link of after Markdown is done, where a backslash no longer helps.
constexpr std::string_view kJoiner = "\xe2\x81\xa0";

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool alnum_at(std::string_view text, std::size_t at) {
  return at < text.size() && is_alnum(text[at]);
}

/// "name" of "name:" that ends at `colon`, in lower case.
std::string scheme_before(std::string_view text, std::size_t colon) {
  std::size_t begin = colon;
  while (begin > 0 && is_alnum(text[begin - 1])) --begin;
  std::string out(text.substr(begin, colon - begin));
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

/// Whether a joiner has to follow the character at `at`.
bool needs_joiner(std::string_view text, std::size_t at) {
  switch (text[at]) {
    case '@': {  // a mention, an address; in "vllm@0.25", which people copy, neither
      const bool release = at > 0 && is_alnum(text[at - 1]) && at + 1 < text.size() &&
                           text[at + 1] >= '0' && text[at + 1] <= '9';
      return at + 1 < text.size() && text[at + 1] != ' ' && !release;
    }
    case '#':  // a reference
      return alnum_at(text, at + 1);
    case '-':  // GH-123
      return at >= 2 && scheme_before(text, at) == "gh" && alnum_at(text, at + 1);
    case ':': {
      const std::string scheme = scheme_before(text, at);
      return text.substr(at).starts_with("://") || scheme == "mailto" || scheme == "xmpp";
    }
    case '.':
      return scheme_before(text, at) == "www";
    default:
      return false;
  }
}

bool needs_backslash(std::string_view text, std::size_t at) {
  constexpr std::string_view kAlways = "\\`*[<>|~$";
  const char c = text[at];
  if (kAlways.find(c) != std::string_view::npos) return true;
  // Within a word it is no emphasis, and most names have some.
  if (c == '_') return at == 0 || !is_alnum(text[at - 1]) || !alnum_at(text, at + 1);
  if (c == '&') return at + 1 < text.size() && (text[at + 1] == '#' || is_alnum(text[at + 1]));
  if (c == '#') return at + 1 == text.size() || alnum_at(text, at + 1);
  return false;
}

/// Direction marks and other characters without a shape, with which a name can look like another.
std::string visible(std::string_view text) {
  constexpr std::array<std::string_view, 12> kHidden = {
      "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xab",
      "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xa6",
      "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9", "\xef\xbb\xbf"};
  std::string out = printable(text);
  for (const std::string_view hidden : kHidden) {
    for (std::size_t at = 0; (at = out.find(hidden, at)) != std::string::npos; ++at) {
      out.replace(at, hidden.size(), "?");
    }
  }
  return out;
}

}  // namespace

std::string markdown_text(std::string_view text) {
  const std::string shown = visible(text);
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (needs_backslash(shown, i)) out += '\\';
    out += shown[i];
    if (needs_joiner(shown, i)) out += kJoiner;
  }
  return out;
}

std::string markdown_block(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  std::string out = markdown_text(first == std::string_view::npos ? "" : text.substr(first));
  if (out.empty()) return out;
  constexpr std::string_view kMarks = "#+-=";
  if (kMarks.find(out.front()) != std::string_view::npos) return "\\" + out;
  // "1." and "1)" begin a list.
  const std::size_t digits = out.find_first_not_of("0123456789");
  if (digits > 0 && digits != std::string::npos && (out[digits] == '.' || out[digits] == ')')) {
    out.insert(digits, "\\");
  }
  return out;
}

std::string markdown_html(std::string_view text) {
  const std::string shown = visible(text);
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    switch (shown[i]) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += shown[i];
    }
    if (needs_joiner(shown, i)) out += kJoiner;
  }
  return out;
}

}  // namespace spillway
