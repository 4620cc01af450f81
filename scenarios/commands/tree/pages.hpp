// What --help and the manual say of a verb, in their order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/commands/tree/verb.hpp"

namespace spillway {

struct CommandPage {
  std::string path;  ///< "trace stats"; empty: the program itself
  std::string summary;
  std::string usage;                  ///< "spillway trace stats [OPTIONS] TRACE"
  std::vector<std::string> examples;  ///< commands; a backslash at the end goes on below
  std::vector<std::string> notes;     ///< sentences behind the examples
  std::vector<Option> options;        ///< positionals first
  std::vector<std::pair<std::string, std::string>> verbs;  ///< names and summaries

  /// The groups of the options, in order, positionals left out.
  std::vector<std::string> groups() const;
  /// Kinds of values with a meaning, each once, in order.
  std::vector<const ValueKind*> meanings() const;
};

CommandPage page_of(const Verb& verb);
/// Of the program and every verb, parents first.
std::vector<CommandPage> all_pages(const Verb& root);

struct ExitCode {
  int code;
  std::string_view meaning;
};
const std::vector<ExitCode>& exit_codes();

}  // namespace spillway
