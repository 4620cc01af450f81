// The results of verbs that write text from the tool's own tables, and their members by name:
// `completion`, `man` and `list`.
#pragma once

#include <map>
#include <string>

#include "sim/fields.hpp"

namespace spillway {

struct CompletionScript {
  std::string shell;
  std::string script;
};

struct ManPage {
  std::string name;
  std::string text;
};

/// A row of a catalogue: its cells by the heading of their column.
using ListRow = std::map<std::string, std::string>;

template <>
struct Fields<CompletionScript> {
  static constexpr std::string_view kName = "completion";
  static constexpr std::string_view kHelp = "Completion of the command line in a shell.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("shell", r.shell, says("Name of the shell."));
    f("script", r.script, says("Script that the shell reads."));
  }
};

template <>
struct Fields<ManPage> {
  static constexpr std::string_view kName = "man_page";
  static constexpr std::string_view kHelp = "Manual page of the program or of a verb.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Name of the page, without .1."));
    f("text", r.text, says("Its text for man."));
  }
};

}  // namespace spillway
