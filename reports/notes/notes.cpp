#include "reports/notes/notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "reports/notes/run_notes.hpp"
#include "reports/notes/scenario_notes.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/renderers/table_layout.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::array<NoteTable, 4> kTables = {kScenarioNotes, kRunNotes, kPlanNotes, kStudyNotes};

std::string with_unit(std::string_view name, double value) {
  if (name.ends_with("_share")) return format_percent(value);
  if (name.ends_with("_bytes_per_s")) return format_real(value / 1e9) + " GB/s";
  if (name.ends_with("_bytes")) return format_bytes(value);
  if (name.ends_with("_per_s")) return format_real(value) + "/s";
  if (name.ends_with("_ms")) return format_ms(value);
  if (name.ends_with("_us")) return format_real(value) + " us";
  if (name.ends_with("_s")) return format_ms(1000 * value);
  return format_real(value);
}

std::string shown(std::string_view name, const NoteValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* real = std::get_if<double>(&value)) return with_unit(name, *real);
  const std::int64_t count = std::get<std::int64_t>(value);
  const bool unit = with_unit(name, 1) != format_real(1);
  if (unit) return with_unit(name, static_cast<double>(count));
  const std::string digits = format_count(static_cast<std::uint64_t>(count < 0 ? -count : count));
  return count < 0 ? "-" + digits : digits;
}

double number_of(const NoteValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  const auto* count = std::get_if<std::int64_t>(&value);
  return count == nullptr ? 0 : static_cast<double>(*count);
}

class Words {
 public:
  explicit Words(std::span<const NoteFigure> figures) : figures_(figures) {}

  /// Nothing where a figure is not given.
  std::optional<std::string> fill(std::string_view text) const {
    std::string out;
    while (!text.empty()) {
      const std::size_t plain = std::min(text.find_first_of("{["), text.size());
      out += text.substr(0, plain);
      text.remove_prefix(plain);
      if (text.empty()) break;
      const std::size_t end = text.find(text.front() == '{' ? '}' : ']');
      KV_ASSERT(end != text.npos, "a note's words have a bracket that is not closed");
      const std::string_view inner = text.substr(1, end - 1);
      const std::optional<std::string> part = text.front() == '{' ? figure(inner) : fill(inner);
      if (!part && text.front() == '{') return std::nullopt;
      out += part.value_or("");
      text.remove_prefix(end + 1);
    }
    return out;
  }

 private:
  std::optional<std::string> figure(std::string_view form) const {
    const std::size_t bar = form.find('|');
    const std::size_t sign = form.find(":+");
    const std::string_view name = form.substr(0, std::min(bar, sign));
    const auto found = std::find_if(figures_.begin(), figures_.end(),
                                    [&](const NoteFigure& f) { return f.name == name; });
    if (found == figures_.end()) return std::nullopt;
    if (bar != form.npos) {
      const std::string_view words = form.substr(bar + 1);
      const std::size_t next = words.find('|');
      const bool one = !found->most && number_of(found->value) == 1;
      return std::string(one ? words.substr(0, next) : words.substr(next + 1));
    }
    std::string out = shown(name, found->value);
    if (sign != form.npos && number_of(found->value) > 0) out.insert(0, "+");
    if (!found->most) return out;
    const std::string most = shown(name, *found->most);
    return most == out ? out : fmt::format("{} to {}", out, most);
  }

  std::span<const NoteFigure> figures_;
};

/// What tells kinds of notes apart: not the numbers, nor the order of figures (a document's is not
/// that of the code).
std::string kind_of(const Note& note) {
  if (note.code.empty()) return note.text;
  std::vector<std::string> figures;
  for (const NoteFigure& figure : note.figures) {
    const auto* text = std::get_if<std::string>(&figure.value);
    figures.push_back(figure.name + (text == nullptr ? "" : '=' + *text));
  }
  std::sort(figures.begin(), figures.end());
  return fmt::format("{}\n{}", note.code, fmt::join(figures, "\n"));
}

void widen(NoteFigure& to, const NoteFigure& seen) {
  if (std::holds_alternative<std::string>(to.value)) return;
  const NoteValue most = seen.most.value_or(seen.value);
  if (number_of(most) > number_of(to.most.value_or(to.value))) to.most = most;
  if (number_of(seen.value) >= number_of(to.value)) return;
  if (!to.most) to.most = to.value;
  to.value = seen.value;
}

/// Its first sentences, or the beginning of the first.
std::string one_line(std::string_view text, std::size_t columns) {
  std::string out = sentences_within(text, columns);
  if (display_width(out) <= columns) return out;
  while (display_width(out) + 4 > columns && out.find_last_of(' ') != out.npos) {
    out.resize(out.find_last_of(' '));
  }
  return out + " ...";
}

}  // namespace

std::string note_text(std::string_view text, std::span<const NoteFigure> figures) {
  std::optional<std::string> out = Words(figures).fill(text);
  KV_ASSERT(out, "a note names a figure that was not given");
  return *std::move(out);
}

Note make_note(const NoteRow& row, NoteFigures figures) {
  std::erase_if(figures, [](const NoteFigure& f) { return !f.given; });
  Note out(note_text(row.text, figures));
  out.code = row.code;
  out.grade = row.grade;
  out.figures = std::move(figures);
  return out;
}

std::span<const NoteTable> note_tables() {
  return kTables;
}

const NoteRow* find_note_row(std::string_view code) {
  for (const NoteTable table : kTables) {
    for (const NoteRow& row : table) {
      if (row.code == code) return &row;
    }
  }
  return nullptr;
}

std::string text_figure(const Note& note, std::string_view name) {
  for (const NoteFigure& figure : note.figures) {
    const auto* text = std::get_if<std::string>(&figure.value);
    if (figure.name == name && text != nullptr) return *text;
  }
  return {};
}

std::string_view about_of(const Note& note) {
  const NoteRow* row = find_note_row(note.code);
  return row == nullptr ? "other" : row->about;
}

Notes folded(std::span<const Notes> by_run) {
  struct Kind {
    Note note;
    std::size_t runs = 0;
    std::size_t last = 0;
  };
  std::vector<Kind> kinds;
  std::map<std::string, std::size_t> known;
  for (std::size_t run = 0; run < by_run.size(); ++run) {
    for (const Note& note : by_run[run]) {
      const auto [at, fresh] = known.emplace(kind_of(note), kinds.size());
      if (fresh) kinds.push_back({note});
      Kind& kind = kinds[at->second];
      if (fresh || kind.last != run) ++kind.runs;
      kind.last = run;
      for (NoteFigure& figure : kind.note.figures) {
        widen(figure, *std::ranges::find(note.figures, figure.name, &NoteFigure::name));
      }
    }
  }
  Notes out;
  for (Kind& kind : kinds) {
    Note& note = kind.note;
    if (const NoteRow* row = find_note_row(note.code)) {
      note.text = note_text(row->text, note.figures);
    }
    if (kind.runs < by_run.size()) {
      note.text = fmt::format("{} of {} configurations: {}", kind.runs, by_run.size(), note.text);
      note.figures.emplace_back("configurations", kind.runs);
      note.figures.emplace_back("configurations_in_all", by_run.size());
    }
    out.push_back(std::move(note));
  }
  return out;
}

Notes by_grade(Notes notes) {
  std::stable_sort(notes.begin(), notes.end(),
                   [](const Note& a, const Note& b) { return a.grade < b.grade; });
  return notes;
}

std::string sentences_within(std::string_view text, std::size_t columns) {
  std::size_t end = std::min(text.find(". "), text.size());
  while (end < text.size()) {
    const std::size_t next = std::min(text.find(". ", end + 2), text.size());
    if (display_width(text.substr(0, next + 1)) > columns) break;
    end = next;
  }
  return std::string(text.substr(0, end + 1));
}

std::vector<std::string> shown_notes(Notes notes, const NoteRoom& room) {
  notes = by_grade(std::move(notes));
  std::vector<std::string> out;
  for (const Note& note : notes) {
    if (out.size() == room.most || note.grade == NoteGrade::kDetail) break;
    out.push_back(room.columns == 0 ? note.text : one_line(note.text, room.columns));
  }
  if (notes.size() > out.size()) {
    out.push_back(fmt::format("{} more: add --notes", notes.size() - out.size()));
  }
  return out;
}

void add_once(Notes& notes, Note note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

}  // namespace spillway
