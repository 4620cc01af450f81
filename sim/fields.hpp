// One fact, one row: the table of a struct's members, as documents name them. Writing, reading,
// JSON Schema, reference pages and tests walk the same table.
//
// Fields<Row>::visit(row, f) calls f(name, member, rule) for each member, in the order of reference
// pages. A table may also have
//   kName                a name of its own in schemas; without one it is written where it is used
//   kHelp                one sentence about the row
//   finish(row)          called when a row was read by reports/fields/read.hpp
//   absent(row)          a row that holds nothing, which is left out (profiles)
//   check(in, row)       throws for members that do not go together (profiles)
// Members that a document shows otherwise than C++ does go through the shapes below.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace spillway {

inline constexpr double kNoLimit = 1e18;

/// What a document may say of a member.
struct FieldRule {
  bool required = false;
  double least = 0;
  double most = kNoLimit;
  std::span<const std::string_view> choices = {};  ///< of a text; empty: any
  std::string_view help = {};                      ///< one sentence; the unit ends the key
  bool sparse = false;            ///< left out where it is false, empty, 0 or below `least`
  bool newer = false;             ///< missing in documents of earlier builds
  std::string_view pattern = {};  ///< of a text, as JSON Schema writes it; empty: any
};

inline constexpr FieldRule kNeeded = {.required = true};

// ---- rules of results, where every member is there but those that say otherwise

constexpr FieldRule says(std::string_view help, double least = 0, double most = kNoLimit) {
  return {.required = true, .least = least, .most = most, .help = help};
}
/// Written always; may be missing where a document is read, for people may write it.
constexpr FieldRule may_say(std::string_view help, double least = 0, double most = kNoLimit) {
  return {.least = least, .most = most, .help = help};
}
/// A figure of either sign.
constexpr FieldRule signed_figure(std::string_view help) {
  return says(help, -kNoLimit);
}
constexpr FieldRule one_of(std::span<const std::string_view> choices, std::string_view help) {
  return {.required = true, .choices = choices, .help = help};
}
/// Left out where there is nothing to say.
constexpr FieldRule if_any(std::string_view help, double least = 0) {
  return {.least = least, .help = help, .sparse = true};
}

/// Written always, and missing in documents of earlier builds.
constexpr FieldRule newer(FieldRule rule) {
  rule.newer = true;
  return rule;
}
constexpr FieldRule newer(std::string_view help) {
  return newer(says(help));
}

/// A text of this form.
constexpr FieldRule text_like(std::string_view pattern, std::string_view help) {
  return {.required = true, .help = help, .pattern = pattern};
}
inline constexpr std::string_view kDigestForm = "^[0-9a-f]{16}$";

template <class Row>
struct Fields;

template <class Row>
concept HasFields = requires {
  sizeof(Fields<Row>);
};

/// Names of an enumeration in documents, in its order: kNames.
template <class Enum>
struct EnumNames;

template <class Enum>
concept HasNames = requires {
  EnumNames<Enum>::kNames.size();
};

template <HasNames Enum>
constexpr std::string_view name_of(Enum value) {
  return EnumNames<Enum>::kNames[static_cast<std::size_t>(value)];
}

// ---- shapes: how a document shows what C++ holds otherwise. Parts are references, const while
// a document is written.

/// A count, or "inf".
template <class Flag, class Count>
struct OrInf {
  Flag& unbounded;
  Count& count;
};
template <class Flag, class Count>
OrInf<Flag, Count> or_inf(Flag& unbounded, Count& count) {
  return {unbounded, count};
}

/// A number, or a word in place of 0.
template <class Value>
struct OrWord {
  Value& value;
  std::string_view word;
};
template <class Value>
OrWord<Value> or_word(Value& value, std::string_view word) {
  return {value, word};
}

/// One of two words; the first one is left out where the rule is sparse.
template <class Flag>
struct Either {
  Flag& flag;
  std::array<std::string_view, 2> words;  ///< of true, of false
};
template <class Flag>
Either<Flag> either(Flag& flag, std::string_view yes, std::string_view no) {
  return {flag, {yes, no}};
}

/// A word where the flag is set, nothing where it is not.
template <class Flag>
struct Mark {
  Flag& flag;
  std::string_view word;
};
template <class Flag>
Mark<Flag> mark(Flag& flag, std::string_view word) {
  return {flag, word};
}

/// A member that is there where the flag is set.
template <class Flag, class Value>
struct Given {
  Flag& flag;
  Value& value;
};
template <class Flag, class Value>
Given<Flag, Value> given(Flag& flag, Value& value) {
  return {flag, value};
}

/// A member that is there where the members before it say so.
template <class Value>
struct OnlyIf {
  bool there;
  Value& value;
};
template <class Value>
OnlyIf<Value> only_if(bool there, Value& value) {
  return {there, value};
}

/// A member that is left out where it is `none`, which may be NaN.
template <class Value>
struct Unless {
  Value& value;
  std::remove_const_t<Value> none;
  bool known() const { return value != none && value == value; }
};
template <class Value>
Unless<Value> unless(Value& value, std::remove_const_t<Value> none) {
  return {value, none};
}

/// Members that stand in an object of their own: visit(f) calls f as a table does.
template <class Visit>
struct Group {
  Visit visit;
};
template <class Visit>
Group<Visit> group(Visit visit) {
  return {visit};
}

/// Rows as an object: one member is the key, another one the value.
template <class Rows, class Key, class Value>
struct ByName {
  Rows& rows;
  Key key;  ///< pointers to members
  Value value;
};
template <class Rows, class Key, class Value>
ByName<Rows, Key, Value> by_name(Rows& rows, Key key, Value value) {
  return {rows, key, value};
}

/// Pairs as an array of objects of two members.
template <class Rows>
struct AsPairs {
  Rows& rows;
  std::array<std::string_view, 2> names;
};
template <class Rows>
AsPairs<Rows> as_pairs(Rows& rows, std::string_view first, std::string_view second) {
  return {rows, {first, second}};
}

/// What follows from other members: written, left alone where a document is read.
template <class Value>
struct Derived {
  Value value;
};
template <class Value>
Derived<Value> derived(Value value) {
  return {value};
}

/// Members of the same object that are there together: written where `there`, read where the
/// document has the member by whose name they are visited. visit(f) calls f as a table does.
template <class Visit>
struct Together {
  bool there;
  Visit visit;
};
template <class Visit>
Together<Visit> together(bool there, Visit visit) {
  return {there, visit};
}
/// The row of an optional whose members are there together.
template <class Row>
Row& held(std::optional<Row>& row) {
  return row ? *row : row.emplace();
}
template <class Row>
const Row& held(const std::optional<Row>& row) {
  static const Row kNone{};
  return row ? *row : kNone;
}

/// Results of another kind, held as JSON text; `definition` is their name in schemas.
template <class Text>
struct AsText {
  Text& text;
  std::string_view definition;
};
template <class Text>
AsText<Text> as_text(Text& text, std::string_view definition) {
  return {text, definition};
}

/// Rows as an object: one member is the key, the table of the others the value.
template <class Rows, class Key>
struct Keyed {
  Rows& rows;
  Key key;  ///< pointer to a member that the table leaves out
};
template <class Rows, class Key>
Keyed<Rows, Key> keyed(Rows& rows, Key key) {
  return {rows, key};
}

}  // namespace spillway
