// fish: one complete command an option.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/commands/tree/completion.hpp"

namespace spillway {

namespace {

constexpr std::string_view kFishHead =
    R"(# Completion of spillway for fish. Written by: spillway completion fish

# Whether the verbs typed so far are these; verbs come before all options that take a value.
function __spillway_at
    set -l typed (commandline -opc)
    set -e typed[1]
    set -l path
    for word in $typed
        string match -q -- '-*' $word; and continue
        if test -z "$path"
            set path $word
            contains -- $word $__spillway_groups; or break
        else
            set path "$path $word"
            break
        end
    end
    test "$path" = "$argv[1]"
end

function __spillway_scenarios
    for file in scenarios/library/*.json
        echo $file
    end
    __fish_complete_suffix .json
end

# Keys of a scenario; values only behind the =.
function __spillway_keys
    if string match -q -- '*=*' (commandline -ct)
        printf '%s\n' $argv
    else
        string match -- '*=' $argv
    end
end

)";

/// fish knows two escapes within single quotes.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_action(const OptionPage& option) {
  std::string words;
  for (const std::string& word : offered_words(option)) words += " " + word;
  switch (offer_of(option)) {
    case Offer::kNothing:
      return option.positional ? "" : " -x";
    case Offer::kFiles:
      return " -F -r";
    case Offer::kFolders:
      return " -x -a '(__fish_complete_directories)'";
    case Offer::kScenarios:
      return " -x -a '(__spillway_scenarios)'";
    case Offer::kKeys:
      return " -x -a " + fish_quoted("(__spillway_keys" + words + ")");
    case Offer::kWords:
      break;
  }
  if (option.comma) return " -x -a " + fish_quoted("(__fish_append ," + words + ")");
  return " -x -a " + fish_quoted(words.substr(std::min<std::size_t>(words.size(), 1)));
}

std::string line_of(const CommandPage& page, const OptionPage& option) {
  std::string out =
      fmt::format("complete -c spillway -n {}",
                  fish_quoted(fmt::format("__spillway_at {}", fish_quoted(page.path))));
  if (!option.positional) {
    if (!option.short_name.empty()) out += " -s " + option.short_name.substr(1);
    out += " -l " + option.name.substr(2);
  }
  if (option.kind != nullptr) out += fish_action(option);
  if (!option.positional) out += " -d " + fish_quoted(option.help);
  return out + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<CommandPage>& pages) {
  std::string out(kFishHead);
  out += "set -g __spillway_groups";
  for (const CommandPage& page : pages) {
    if (!page.verbs.empty() && !page.path.empty()) out += " " + page.path;
  }
  out += "\n\ncomplete -c spillway -f\n";
  for (const CommandPage& page : pages) {
    for (const auto& [name, summary] : page.verbs) {
      out += fmt::format("complete -c spillway -n {} -a {} -d {}\n",
                         fish_quoted(fmt::format("__spillway_at {}", fish_quoted(page.path))), name,
                         fish_quoted(summary));
    }
    for (const OptionPage& option : page.options) out += line_of(page, option);
  }
  return out;
}

}  // namespace spillway
