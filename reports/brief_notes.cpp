#include "reports/brief_notes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "reports/renderers/table_layout.hpp"

namespace spillway {

namespace {

struct KnownNote {
  std::string_view begins;
  std::string_view says;
};
constexpr std::string_view kPublished =
    "GPU and links use published figures. For yours: spillway calibrate";
constexpr std::array<KnownNote, 4> kKnown = {
    {{"compute: host overhead", kPublished},
     {"compute: kernel efficiencies", kPublished},
     {"reuse inside differing trace blocks",
      "cache hits are a lower bound: the trace does not show reuse inside its blocks"},
     {"where the session's next prompt begins",
      "a session's next prompt is taken to contain the answer before it"}}};

bool is_published(std::string_view note) {
  return note.starts_with("link ") && note.find(": default, ") != note.npos;
}

/// Up to a place where a thought ends; else up to a word, with dots.
std::string first_thought(std::string_view note, std::size_t columns) {
  if (display_width(note) <= columns) return std::string(note);
  std::size_t end = 0;
  for (const std::string_view stop : {". ", "; ", " (", ": "}) {
    const std::size_t at = note.substr(0, columns + 1).rfind(stop);
    if (at == note.npos || at < columns / 3) continue;
    end = at;
    break;
  }
  if (end > 0) return std::string(note.substr(0, end));
  end = note.substr(0, columns - 3).rfind(' ');
  return std::string(note.substr(0, end == note.npos ? columns - 3 : end)) + "...";
}

}  // namespace

std::vector<std::string> brief_notes(const std::vector<std::string>& notes, std::size_t columns) {
  std::vector<std::string> out;
  for (const std::string& note : notes) {
    const auto known = std::find_if(kKnown.begin(), kKnown.end(), [&](const KnownNote& row) {
      return note.starts_with(row.begins);
    });
    const std::string_view text = known != kKnown.end() ? known->says
                                  : is_published(note)  ? kPublished
                                                        : std::string_view(note);
    std::string brief = first_thought(text, columns);
    if (std::find(out.begin(), out.end(), brief) == out.end()) out.push_back(std::move(brief));
  }
  return out;
}

}  // namespace spillway
