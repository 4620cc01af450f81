#include "scenarios/commands/tree/completion.hpp"

namespace spillway {

namespace {

constexpr ShellEntry kShells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

}  // namespace

std::span<const ShellEntry> shells() {
  return kShells;
}

std::vector<std::string> offered_words(const OptionPage& option) {
  if (!option.choices.empty()) return option.choices;
  if (option.kind == nullptr || option.kind->words == nullptr) return {};
  return option.kind->words();
}

Offer offer_of(const OptionPage& option) {
  if (!option.choices.empty()) return Offer::kWords;
  return option.kind == nullptr ? Offer::kNothing : option.kind->offer;
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace spillway
