// A strict reader of the HTML that reports write: every tag is closed by its own name, attributes
// are quoted, and no markup character stands bare in text.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway::test {

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;

  std::string attribute(std::string_view key) const {
    for (const auto& [name_of, value] : attributes) {
      if (name_of == key) return value;
    }
    return "";
  }
};

struct Markup {
  std::vector<Element> elements;  ///< in order of their opening tags
  std::string problem;            ///< empty: well formed

  std::size_t count(std::string_view name) const {
    std::size_t out = 0;
    for (const Element& element : elements) out += element.name == name ? 1 : 0;
    return out;
  }
};

namespace markup {

/// Whether `text` holds "&" only as the head of an entity, and no bare quote when `quoted`.
inline bool inert(std::string_view text, bool quoted) {
  static constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || (text[i] == '>' && !quoted)) return false;
    if (text[i] != '&') continue;
    bool known = false;
    for (const std::string_view entity : kEntities) {
      known = known || text.substr(i).starts_with(entity);
    }
    if (!known) return false;
  }
  return true;
}

/// Reads `name a="1" b="2"`; false when it has any other form.
inline bool read_tag(std::string_view tag, Element& out) {
  const std::size_t end = std::min(tag.find(' '), tag.size());
  out.name = tag.substr(0, end);
  if (out.name.empty() || out.name.find_first_of("=\"'<&") != std::string::npos) return false;
  for (std::size_t at = end; at < tag.size();) {
    if (tag[at] != ' ') return false;
    const std::size_t equal = tag.find("=\"", at);
    if (equal == std::string_view::npos) return false;
    const std::size_t close = tag.find('"', equal + 2);
    if (close == std::string_view::npos) return false;
    const std::string_view value = tag.substr(equal + 2, close - equal - 2);
    if (!inert(value, true)) return false;
    out.attributes.emplace_back(tag.substr(at + 1, equal - at - 1), value);
    at = close + 1;
  }
  return true;
}

}  // namespace markup

/// Reads a whole page, or a fragment such as one SVG drawing.
inline Markup read_markup(std::string_view text) {
  static const std::set<std::string, std::less<>> kVoid = {"meta", "link", "br", "img", "hr"};
  Markup out;
  std::vector<std::string> open;
  const auto fail = [&](std::string_view why, std::size_t at) {
    out.problem = std::string(why) + " at: " + std::string(text.substr(at, 60));
    return out;
  };
  constexpr std::string_view kDoctype = "<!DOCTYPE html>";
  for (std::size_t at = text.starts_with(kDoctype) ? kDoctype.size() : 0; at < text.size();) {
    if (text[at] != '<') {
      const std::size_t end = std::min(text.find('<', at), text.size());
      const bool style = !open.empty() && open.back() == "style";
      if (!style && !markup::inert(text.substr(at, end - at), false)) return fail("bare text", at);
      at = end;
      continue;
    }
    const std::size_t end = text.find('>', at);
    if (end == std::string_view::npos) return fail("unfinished tag", at);
    std::string_view tag = text.substr(at + 1, end - at - 1);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return fail("closes what is not open", at);
      open.pop_back();
    } else {
      const bool closed = tag.ends_with('/');
      if (closed) tag.remove_suffix(1);
      Element element;
      if (!markup::read_tag(tag, element)) return fail("malformed tag", at);
      if (!closed && !kVoid.contains(element.name)) open.push_back(element.name);
      out.elements.push_back(std::move(element));
    }
    at = end + 1;
  }
  if (!open.empty()) out.problem = "never closed: " + open.back();
  return out;
}

}  // namespace spillway::test
