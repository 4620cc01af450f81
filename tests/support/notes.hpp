// Notes in tests: by code and figures, not by words.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "reports/notes/notes.hpp"

namespace spillway::test {

inline Note coded(std::string code, std::string text) {
  Note out(std::move(text));
  out.code = std::move(code);
  return out;
}

/// The first with this code; null: none.
inline const Note* find_note(const Notes& notes, std::string_view code) {
  const auto found =
      std::find_if(notes.begin(), notes.end(), [&](const Note& n) { return n.code == code; });
  return found == notes.end() ? nullptr : &*found;
}

/// Its least, where it is a range. Throws where the note has no such figure, or a text.
inline double figure(const Note& note, std::string_view name) {
  const auto found = std::find_if(note.figures.begin(), note.figures.end(),
                                  [&](const NoteFigure& f) { return f.name == name; });
  if (found == note.figures.end()) throw std::out_of_range(std::string(name));
  if (const auto* count = std::get_if<std::int64_t>(&found->value)) {
    return static_cast<double>(*count);
  }
  return std::get<double>(found->value);
}

/// Whether some note's sentence has this part.
inline bool says(const Notes& notes, std::string_view part) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

inline std::string joined_text(const Notes& notes) {
  std::string out;
  for (const Note& note : notes) out += (out.empty() ? "" : " ") + note.text;
  return out;
}

}  // namespace spillway::test
