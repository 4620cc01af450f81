// The command tree as plain data: what --help, the manual and the shells' completions are written
// from. Nothing is said twice: verbs, options and help lines come from CLI11's tree, the words for
// values and their meaning from value_kinds.hpp.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/commands/tree/value_kinds.hpp"

namespace spillway {

struct OptionPage {
  std::string name;                  ///< "--jobs", or a positional's "SCENARIO"
  std::string short_name;            ///< "-j"; mostly empty
  std::string value;                 ///< "N", "auto|always|never"; empty: a flag
  std::string help;                  ///< one line: what it does, its range and its default
  std::string group;                 ///< "Options", "Common"
  std::vector<std::string> choices;  ///< all that it may be; empty: not a choice
  const ValueKind* kind = nullptr;   ///< of flags none
  bool positional = false;
  bool required = false;
  bool many = false;   ///< may be given more than once
  bool comma = false;  ///< takes values with commas between them
};

struct CommandPage {
  std::string path;  ///< "trace stats"; empty: the program itself
  std::string summary;
  std::string usage;                  ///< "spillway trace stats [OPTIONS] TRACE"
  std::vector<std::string> examples;  ///< commands; a backslash at the end goes on below
  std::vector<std::string> notes;     ///< sentences behind the examples
  std::vector<OptionPage> options;    ///< positionals first
  std::vector<std::pair<std::string, std::string>> verbs;  ///< names and summaries

  /// The groups of the options, in order, positionals left out.
  std::vector<std::string> groups() const;
  /// Kinds of values with a meaning, each once, in order.
  std::vector<const ValueKind*> meanings() const;
};

CommandPage page_of(const CLI::App& app);
/// Of the program and every verb, parents first.
std::vector<CommandPage> all_pages(const CLI::App& root);

struct ExitCode {
  int code;
  std::string_view meaning;
};
const std::vector<ExitCode>& exit_codes();

}  // namespace spillway
