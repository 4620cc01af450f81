#include "scenarios/commands/tree/completion.hpp"

#include <algorithm>

namespace spillway {

namespace {

constexpr ShellEntry kShells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

}  // namespace

std::span<const ShellEntry> shells() {
  return kShells;
}

namespace {

/// "kind=html,path=" and so on, of the help line "kind=html|md,path=FILE (repeatable)".
std::vector<std::string> output_words(const std::string& help) {
  std::vector<std::string> out;
  const std::size_t end = help.find(",path=");
  if (!help.starts_with("kind=") || end == std::string::npos) return out;
  for (std::size_t at = 5; at < end;) {
    const std::size_t bar = std::min(help.find('|', at), end);
    out.push_back("kind=" + help.substr(at, bar - at) + ",path=");
    at = bar + 1;
  }
  return out;
}

}  // namespace

std::vector<std::string> offered_words(const OptionPage& option) {
  if (option.name == "--output") return output_words(option.help);
  if (!option.choices.empty()) return option.choices;
  if (option.kind == nullptr || option.kind->words == nullptr) return {};
  return option.kind->words();
}

Offer offer_of(const OptionPage& option) {
  if (!option.choices.empty()) return Offer::kWords;
  return option.kind == nullptr ? Offer::kNothing : option.kind->offer;
}

}  // namespace spillway
