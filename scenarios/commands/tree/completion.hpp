// Completion scripts of the shells, from the command tree. A script holds all it offers: nothing is
// asked of spillway while somebody types, and it works for build/spillway as well.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/commands/tree/pages.hpp"

namespace spillway {

struct ShellEntry {
  std::string_view name;
  std::string (*script)(const std::vector<CommandPage>& pages);
};

std::span<const ShellEntry> shells();

std::string bash_completion(const std::vector<CommandPage>& pages);
std::string zsh_completion(const std::vector<CommandPage>& pages);
std::string fish_completion(const std::vector<CommandPage>& pages);

/// What may stand behind an option or for a positional.
std::vector<std::string> offered_words(const OptionPage& option);
Offer offer_of(const OptionPage& option);

}  // namespace spillway
