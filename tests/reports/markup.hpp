// A strict reader of the HTML that reports write: every tag is closed by its own name, attributes
// are quoted, and no markup character stands bare in text. What scripts, styles and comments hold
// is kept apart.
#pragma once

#include <algorithm>
#include <cctype>
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
  std::string text;               ///< of all elements but scripts and styles, entities resolved
  std::vector<std::pair<Element, std::string>> scripts;
  std::vector<std::string> styles;
  std::vector<std::string> comments;
  std::string problem;  ///< empty: well formed

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

/// With the entities that inert() knows resolved.
inline std::string resolved(std::string_view text) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  while (!text.empty()) {
    std::size_t size = 1;
    char c = text.front();
    for (const auto& [entity, meaning] : kEntities) {
      if (!text.starts_with(entity)) continue;
      size = entity.size();
      c = meaning;
    }
    out += c;
    text.remove_prefix(size);
  }
  return out;
}

/// Where `tag`, in any case of letters, is next.
inline std::size_t end_tag(std::string_view text, std::string_view tag, std::size_t from) {
  const auto found = std::search(
      text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), tag.begin(), tag.end(),
      [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  return found == text.end() ? std::string_view::npos
                             : static_cast<std::size_t>(found - text.begin());
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
      const std::string_view part = text.substr(at, end - at);
      if (!markup::inert(part, false)) return fail("bare text", at);
      out.text += markup::resolved(part) + "\n";
      at = end;
      continue;
    }
    if (text.substr(at).starts_with("<!--")) {
      const std::size_t end = text.find("--", at + 4);
      if (end == std::string_view::npos || text.substr(end, 3) != "-->") return fail("comment", at);
      out.comments.emplace_back(text.substr(at + 4, end - at - 4));
      at = end + 3;
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
      out.elements.push_back(element);
      if (element.name == "script" || element.name == "style") {
        // As browsers do: all up to the first end tag, in any case of letters, is its text.
        const std::size_t stop = markup::end_tag(text, "</" + element.name, end + 1);
        if (stop == std::string_view::npos) return fail("never closed", at);
        std::string content(text.substr(end + 1, stop - end - 1));
        if (content.find("<!--") != std::string::npos) return fail("comment in a script", at);
        if (element.name == "style") {
          out.styles.push_back(std::move(content));
        } else {
          out.scripts.emplace_back(element, std::move(content));
        }
        at = stop;
        continue;
      }
    }
    at = end + 1;
  }
  if (!open.empty()) out.problem = "never closed: " + open.back();
  return out;
}

}  // namespace spillway::test
