// The tree of verbs and their options, as verbs declare them. The parser, help, manual pages and
// completions are made from these rows: what an option is stands in one place, beside its member.
// Free of CLI11, which is slow to compile: verb.cpp tells it what it needs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "scenarios/commands/tree/value_kinds.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace spillway {

/// An option or a positional: its row.
struct Option {
  std::string name;        ///< "--jobs", or a positional's "SCENARIO"
  std::string short_name;  ///< "-j"; mostly empty
  std::string help;        ///< one line: what it does, its range and its default
  std::string group = "Options";
  const ValueKind* kind = nullptr;   ///< of flags none
  std::vector<std::string> choices;  ///< all that it may be; empty: not a choice
  std::vector<std::string> words;    ///< offered in place of its kind's
  bool required = false;
  bool many = false;    ///< may be given more than once
  bool comma = false;   ///< takes values with commas between them
  bool hidden = false;  ///< a name of earlier releases
  CLI::Option* parsed = nullptr;

  bool positional() const { return !name.starts_with("-"); }
  /// "N", "auto|always|never"; empty: a flag.
  std::string value() const;
  /// Whether it was typed.
  bool given() const;

  /// In place of what was said when it was added.
  Option& describe(const ValueKind& kind, std::string help);
  Option& require();
  Option& commas();
  Option& hide();
  /// Takes one value at a time: the word behind it is a positional again.
  Option& one_each();
  Option& one_of(std::vector<std::string> all);
  /// `fault` returns what is wrong with a value, or nothing.
  Option& check(const std::function<std::string(const std::string&)>& fault);
  Option& needs(Option& other);
  Option& excludes(Option& other);
  template <class T>
  Option& range(T least, T most) {
    if constexpr (std::is_floating_point_v<T>) {
      return in_reals(least, most);
    } else {
      return in_wholes(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most));
    }
  }

 private:
  Option& in_reals(double least, double most);
  Option& in_wholes(std::int64_t least, std::int64_t most);
};

/// What is wrong with a command line.
struct Misread {
  std::string message;  ///< the parser's
  std::string unknown;  ///< the word where a verb is expected; empty: something else is wrong
};

struct Reading {
  bool help = false;  ///< --help was typed
  std::optional<Misread> fault;
};

struct Verb;
/// What a verb's file defines and a list of verbs names.
using AddVerb = void(Verb& parent);

/// A verb, or the program: its options, and the verbs below it.
struct Verb {
  std::string name;  ///< empty: the program
  std::string summary;
  /// Lines that begin with two blanks; what begins without is a note on them.
  std::string examples;
  const Verb* parent = nullptr;
  std::deque<Option> options;
  std::list<Verb> verbs;
  std::function<int()> run;  ///< after parsing; returns the exit code
  std::shared_ptr<CLI::App> parser;

  /// The program.
  Verb(std::string summary, std::string examples);
  Verb(Verb& parent, std::string name, std::string summary, std::string examples);
  Verb& add_verb(std::string name, std::string summary, std::string examples);

  /// `names` are "--limit", "-j,--jobs" or "TRACE".
  template <class T>
  Option& add(const std::string& names, T& target, const ValueKind& kind, std::string help);
  Option& add_flag(const std::string& name, bool& target, std::string help);
  void add_all(std::initializer_list<AddVerb*> list) {
    for (AddVerb* add_one : list) add_one(*this);
  }
  /// One that is there: "--out".
  Option& option(std::string_view name);
  bool given(std::string_view name) const;

  /// "trace stats"; empty: the program.
  std::string path() const;
  /// Of the program: sets the members that its options name.
  Reading read(int argc, const char* const* argv);
  /// The verb that was typed, as far as it is known.
  const Verb& reached() const;

 private:
  Option& row(const std::string& names, std::string help, CLI::Option* parsed);
};

}  // namespace spillway
