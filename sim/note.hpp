// What a result says beside its figures: a stable code, the figures that it is about, and the
// sentence that reports/notes has for them.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/fields.hpp"

namespace spillway {

enum class NoteGrade : std::uint8_t {
  kDanger,   ///< the result does not say what the reader thinks it says
  kWarning,  ///< has a consequence, and something mends it
  kDetail,   ///< an assumption or a model's limit: for --notes and documents
};
template <>
struct EnumNames<NoteGrade> {
  static constexpr std::array<std::string_view, 3> kNames = {"danger", "warning", "detail"};
};

using NoteValue = std::variant<std::int64_t, double, std::string>;

/// The unit ends the name, as in documents: busy_share, wait_ms, pool_bytes, rate_bytes_per_s.
struct NoteFigure {
  NoteFigure(std::string figure, double v) : name(std::move(figure)), value(v) {}
  NoteFigure(std::string figure, std::string v) : name(std::move(figure)), value(std::move(v)) {}
  NoteFigure(std::string figure, const char* v) : name(std::move(figure)), value(std::string(v)) {}
  NoteFigure(std::string figure, std::string_view v)
      : name(std::move(figure)), value(std::string(v)) {}
  template <std::integral Count>
  NoteFigure(std::string figure, Count v)
      : name(std::move(figure)), value(static_cast<std::int64_t>(v)) {}
  /// Without a value it is not given.
  template <class Value>
  NoteFigure(std::string figure, const std::optional<Value>& v)
      : NoteFigure(std::move(figure), v.value_or(Value{})) {
    given = v.has_value();
  }

  std::string name;
  NoteValue value;
  std::optional<NoteValue> most{};  ///< of a note about several runs: `value` is the least
  bool given = true;
};

using NoteFigures = std::vector<NoteFigure>;

struct Note {
  Note() = default;
  /// Without a code: what a file said that this program did not make.
  Note(std::string sentence) : text(std::move(sentence)) {}  // NOLINT(*-explicit-*)
  Note(const char* sentence) : text(sentence) {}             // NOLINT(*-explicit-*)

  bool empty() const { return text.empty(); }

  std::string code{};
  NoteGrade grade = NoteGrade::kWarning;
  NoteFigures figures{};
  std::string text{};

  bool operator==(const Note& other) const { return text == other.text && code == other.code; }
};

using Notes = std::vector<Note>;

inline void append(Notes& to, Notes more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Sentences that have no codes: of measuring programs, and of readers of traces and profiles.
inline Notes plain_notes(const std::vector<std::string>& sentences) {
  return {sentences.begin(), sentences.end()};
}

}  // namespace spillway
