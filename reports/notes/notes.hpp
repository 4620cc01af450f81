// The words of notes. Each kind of note is one row: its code, what it is about, how grave it is,
// and its sentences. Code that finds something gives the code and the figures:
//   run_note("pool-differs", {{"given_blocks", 900}, {"off_share", -0.1}})
// A code without a row does not compile; a figure that the row names and the call leaves out is an
// InternalError, unless it stands between brackets.
//
// In a text, {name} is a figure, shown by the unit that its name ends in: _share as a percentage,
// _bytes, _bytes_per_s, _ms, _s, _us; others as a count or a real number. {name:+} shows the sign.
// {name|one|many} is a word for 1 and one for other counts; {name||s} a plural's s. What stands in
// [brackets] is left out where one of its figures is not given.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "sim/note.hpp"

namespace spillway {

struct NoteRow {
  std::string_view code;
  std::string_view about;  ///< "link", "compute", ...: notes of one kind stand together
  NoteGrade grade;
  std::string_view text;
};

using NoteTable = std::span<const NoteRow>;

/// Of a table that is known as the program is compiled.
consteval const NoteRow* note_row(NoteTable rows, std::string_view code) {
  const NoteRow* found = nullptr;
  for (const NoteRow& row : rows) {
    if (row.code == code) found = &row;
  }
  if (found == nullptr) throw "no note has this code";
  return found;
}

/// A code of a table; one that is not there does not compile.
template <const auto& kRows>
struct NoteCode {
  consteval NoteCode(const char* code) : row(note_row(kRows, code)) {}  // NOLINT(*-explicit-*)
  const NoteRow* row;
};

Note make_note(const NoteRow& row, NoteFigures figures);
/// A row's text with these figures.
std::string note_text(std::string_view text, std::span<const NoteFigure> figures);

/// Every row of every table; nullptr: no such code.
const NoteRow* find_note_row(std::string_view code);
std::span<const NoteTable> note_tables();
/// A figure that is a text; empty: the note has none of that name.
std::string text_figure(const Note& note, std::string_view name);
/// What a note is about; "other" where it has no code.
std::string_view about_of(const Note& note);

/// Notes of several runs, each kind once with the range of its figures, and how many of the runs
/// say it.
Notes folded(std::span<const Notes> by_run);

/// The gravest first; those of one grade keep their order.
Notes by_grade(Notes notes);
/// As many whole sentences as fit into `columns`, the first one in any case.
std::string sentences_within(std::string_view text, std::size_t columns);

/// Of a terminal that is not asked for --notes.
inline constexpr std::size_t kMostNotes = 3;

/// How notes are shown on a terminal: the gravest `most` of those that are no details, then how
/// many more there are. `columns`: each within a line, cut where its first sentence is longer;
/// 0: in full.
struct NoteRoom {
  std::size_t most = kMostNotes;
  std::size_t columns = 0;
};
std::vector<std::string> shown_notes(Notes notes, const NoteRoom& room);

/// Adds a note unless an equal one is there.
void add_once(Notes& notes, Note note);

}  // namespace spillway
