// Commands out of a text as people paste it: a line with backslashes, a script, a container's
// `sh -c`. Words are split as a POSIX shell splits them; nothing is ever run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

using ShellVariables = std::map<std::string, std::string, std::less<>>;

struct ShellWord {
  std::string text;
  std::vector<std::string> open{};  ///< substitutions in it that nothing here resolves: "$MODEL"
};

struct ShellCommand {
  ShellVariables environment;  ///< NAME=value in front of it
  std::vector<ShellWord> words;
  std::int64_t line = 0;
};

struct ShellText {
  std::vector<ShellCommand> commands;
  std::vector<std::string> reassigned{};  ///< variables that get several values
  ShellVariables files{};                 ///< by name, that here-documents are written to
  std::string fault{};                    ///< a quote that is never closed
};

/// `variables` resolve $NAME, ${NAME}, ${NAME:-default} and, as Kubernetes writes it, $(NAME); the
/// text's own assignments resolve what follows them.
ShellText read_shell(std::string_view text, ShellVariables variables, std::int64_t first_line = 1);

}  // namespace spillway
