// zsh: one function a verb, each a call of _arguments.
#include <fmt/format.h>

#include <algorithm>

#include "reports/shell_word.hpp"
#include "scenarios/commands/tree/completion.hpp"

namespace spillway {

namespace {

constexpr std::string_view kZshHead = R"(#compdef spillway
# Completion of spillway for zsh. Written by: spillway completion zsh

_spillway_scenarios() {
  local -a shipped
  shipped=(scenarios/library/*.json(N))
  (( $#shipped )) && compadd -f -- $shipped
  _files -g '*.json(-.)'
}

# Keys of a scenario; values only behind the =.
_spillway_keys() {
  if [[ $PREFIX == *=* ]]; then
    compadd -- "$@"
  else
    compadd -S '' -- ${(M)@:#*=}
  fi
}

)";

constexpr std::string_view kZshTail = R"(
if [ "$funcstack[1]" = "_spillway" ]; then
  _spillway "$@"
else
  compdef _spillway spillway
fi
)";

/// Behind a backslash what _arguments would read as its own.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string function_of(const std::string& path) {
  std::string out = path.empty() ? "_spillway" : "_spillway_verb_" + path;
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

std::string zsh_action(const OptionPage& option) {
  std::string words;
  for (const std::string& word : offered_words(option)) words += " " + escaped(word, ":() ");
  switch (offer_of(option)) {
    case Offer::kNothing:
      return " ";
    case Offer::kFiles:
      return "_files";
    case Offer::kFolders:
      return "_files -/";
    case Offer::kScenarios:
      return "_spillway_scenarios";
    case Offer::kKeys:
      return "_spillway_keys" + words;
    case Offer::kWords:
      break;
  }
  return option.comma ? "_sequence compadd -" + words
                      : "(" + words.substr(std::min<std::size_t>(words.size(), 1)) + ")";
}

std::string spec_of(const OptionPage& option, int& place) {
  const std::string value =
      option.kind == nullptr
          ? ""
          : fmt::format(":{}:{}", escaped(option.positional ? option.name : option.value, ":"),
                        zsh_action(option));
  if (option.positional) {
    return shell_quoted((option.many ? "*" : fmt::format("{}", ++place)) + value);
  }
  const std::string help = fmt::format("[{}]", escaped(option.help, "[]:"));
  const std::string many = option.many ? "*" : "";
  if (option.short_name.empty()) return shell_quoted(many + option.name + help + value);
  return fmt::format("'({0} {1})'{{{0},{1}}}{2}", option.short_name, option.name,
                     shell_quoted(help + value));
}

std::string verb_function(const CommandPage& page) {
  std::string out = fmt::format("{}() {{\n", function_of(page.path));
  if (!page.verbs.empty()) out += "  local curcontext=\"$curcontext\" state line\n";
  out += fmt::format("  _arguments {}", page.verbs.empty() ? "-s" : "-C");
  int place = 0;
  for (const OptionPage& option : page.options) out += " \\\n    " + spec_of(option, place);
  if (page.verbs.empty()) return out + "\n}\n\n";
  out +=
      " \\\n    '1:verb:->verb' '*::rest:->rest'\n  case $state in\n    verb)\n"
      "      local -a verbs\n      verbs=(\n";
  for (const auto& [name, summary] : page.verbs)
    out += fmt::format("        {}\n", shell_quoted(name + ":" + escaped(summary, ":")));
  out += "      )\n      _describe verb verbs\n      ;;\n    rest)\n      case $line[1] in\n";
  for (const auto& [name, summary] : page.verbs) {
    out += fmt::format("        {}) {} ;;\n", name,
                       function_of(page.path.empty() ? name : page.path + " " + name));
  }
  return out + "      esac\n      ;;\n  esac\n}\n\n";
}

}  // namespace

std::string zsh_completion(const std::vector<CommandPage>& pages) {
  std::string out(kZshHead);
  for (const CommandPage& page : pages) out += verb_function(page);
  return out + std::string(kZshTail);
}

}  // namespace spillway
