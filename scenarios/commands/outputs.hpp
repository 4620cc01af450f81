// `--output kind=K,path=P`: further forms of a result beside its document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/commands/command.hpp"

namespace spillway {

struct Output {
  std::string kind;
  std::string path;  ///< "-": standard output
};

/// All of them; throws InputError for a kind that is not in `kinds`, and where more than one thing
/// would go to standard output.
std::vector<Output> parse_outputs(const std::vector<std::string>& texts,
                                  const std::vector<std::string_view>& kinds,
                                  const CommonOptions& common);

std::vector<std::string> paths_of(const std::vector<Output>& outputs);
bool stdout_taken(const std::vector<Output>& outputs);

}  // namespace spillway
