#include "reports/folded_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

namespace spillway {

namespace {

/// What may follow a number behind a space, and what it makes of it.
struct Unit {
  std::string_view name;
  char dimension;
  double scale;
};
constexpr std::array<Unit, 7> kFoldedUnits = {{{"B", 'b', 1},
                                               {"KiB", 'b', 0x1p10},
                                               {"MiB", 'b', 0x1p20},
                                               {"GiB", 'b', 0x1p30},
                                               {"TiB", 'b', 0x1p40},
                                               {"ms", 't', 1e-3},
                                               {"s", 't', 1}}};
constexpr char kNoDimension = 'n';
constexpr std::string_view kTo = " to ";
constexpr char kMark = '\1';

struct Figure {
  std::string text;  ///< with its unit
  double value = 0;
  char dimension = kNoDimension;
};

/// A range that is written out already counts as one figure with two ends.
struct Range {
  Figure least;
  Figure most;
};

struct Shape {
  std::string words;  ///< each figure replaced by its dimension between two marks
  std::vector<Range> figures;
};

bool digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Letters, digits and what binds them to a name: a number behind one is part of the name ("h2d",
/// "p99_ttft_ms", "0.25.1").
bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

/// Characters of the number that `text` begins with, as format_real() and format_count() write it.
std::size_t number(std::string_view text) {
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && digit(text[at])) ++at;
    return at - first;
  };
  if (digits() == 0) return 0;
  while (at + 3 < text.size() && text[at] == ',' && digit(text[at + 1]) && digit(text[at + 2]) &&
         digit(text[at + 3])) {
    at += 4;
  }
  const auto optional = [&](std::size_t mark) {  // and digits behind it, or neither
    const std::size_t before = at;
    at += mark;
    if (digits() == 0) at = before;
  };
  if (at < text.size() && text[at] == '.') optional(1);
  if (at + 1 < text.size() && text[at] == 'e') {
    optional(text[at + 1] == '+' || text[at + 1] == '-' ? 2 : 1);
  }
  return at;
}

Figure figure(std::string_view text) {
  Figure out;
  std::size_t end = number(text);
  if (end == 0) return out;
  std::string plain(text.substr(0, end));
  std::erase(plain, ',');
  out.value = std::strtod(plain.c_str(), nullptr);
  for (const Unit& unit : kFoldedUnits) {
    const std::string_view rest = text.substr(end);
    if (!rest.starts_with(' ') || !rest.substr(1).starts_with(unit.name)) continue;
    const std::string_view behind = rest.substr(1 + unit.name.size());
    if (!behind.empty() && in_name(behind[0]) && behind[0] != '.') continue;
    out.dimension = unit.dimension;
    out.value *= unit.scale;
    end += 1 + unit.name.size();
    break;
  }
  out.text = text.substr(0, end);
  return out;
}

Shape shape_of(std::string_view text) {
  Shape out;
  while (!text.empty()) {
    const bool name = !out.words.empty() && in_name(out.words.back());
    const Figure first = name ? Figure() : figure(text);
    if (first.text.empty()) {
      out.words += text.front() == kMark ? ' ' : text.front();
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(first.text.size());
    Figure last = first;
    if (text.starts_with(kTo)) {
      const Figure next = figure(text.substr(kTo.size()));
      if (!next.text.empty() && next.dimension == first.dimension) {
        last = next;
        text.remove_prefix(kTo.size() + next.text.size());
      }
    }
    out.words += {kMark, first.dimension, kMark};
    out.figures.push_back({first, last});
  }
  return out;
}

std::string written(const std::string& words, const std::vector<Range>& figures) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at] != kMark) {
      out += words[at];
      continue;
    }
    const Range& range = figures[next++];
    out += range.least.text;
    if (range.least.text != range.most.text) out.append(kTo).append(range.most.text);
    at += 2;
  }
  return out;
}

struct Kind {
  std::string words;
  std::string first;  ///< as it was said first
  bool alike = true;  ///< by all who said it
  std::vector<Range> figures;
  std::size_t cells = 0;
  std::size_t last_cell = 0;
};

void widen(Kind& kind, const Shape& shape) {
  for (std::size_t i = 0; i < kind.figures.size(); ++i) {
    Range& range = kind.figures[i];
    const Range& seen = shape.figures[i];
    if (seen.least.value < range.least.value) range.least = seen.least;
    if (seen.most.value > range.most.value) range.most = seen.most;
  }
}

}  // namespace

std::vector<std::string> folded_notes(const std::vector<std::vector<std::string>>& notes_by_cell) {
  std::vector<Kind> kinds;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t cell = 0; cell < notes_by_cell.size(); ++cell) {
    for (const std::string& note : notes_by_cell[cell]) {
      const Shape shape = shape_of(note);
      const auto [at, fresh] = known.emplace(shape.words, kinds.size());
      if (fresh) kinds.push_back({shape.words, note, true, shape.figures});
      Kind& kind = kinds[at->second];
      if (fresh || kind.last_cell != cell) ++kind.cells;
      kind.last_cell = cell;
      kind.alike = kind.alike && note == kind.first;
      widen(kind, shape);
    }
  }
  std::vector<std::string> out;
  for (const Kind& kind : kinds) {
    const std::string text = kind.alike ? kind.first : written(kind.words, kind.figures);
    const bool all = kind.cells == notes_by_cell.size();
    out.push_back(all ? text
                      : fmt::format("{} of {} cells: {}", kind.cells, notes_by_cell.size(), text));
  }
  return out;
}

}  // namespace spillway
