// bash: a table of pages, a table of values, and one function that looks things up in them.
#include <fmt/format.h>

#include "reports/shell_word.hpp"
#include "scenarios/commands/tree/completion.hpp"

namespace spillway {

namespace {

constexpr std::string_view kBashHead =
    R"sh(# Completion of spillway for bash. Written by: spillway completion bash

# Sets the verbs and options of a verb ("trace stats"; empty: the program).
_spillway_page() {
  verbs='' options=''
  case "$1" in
)sh";

constexpr std::string_view kBetween = R"sh(  esac
}

# Sets what an option or positional (@1, @2, @* for all others) of a verb may be. An option that is
# not here takes no value.
_spillway_value() {
  offer=flag comma='' words=''
  case "$1 $2" in
)sh";

constexpr std::string_view kBashTail = R"sh(  esac
}

_spillway_scenarios() {
  local file
  compgen -d -- "$1"
  compgen -f -X '!*.json' -- "$1"
  for file in scenarios/library/*.json; do
    [[ -e $file && ( $file == "$1"* || $file == "scenarios/library/$1"* ) ]] && echo "$file"
  done
}

_spillway() {
  local line=${COMP_LINE:0:COMP_POINT} path='' expect='' before='' count=0 i word
  local verbs options offer comma words current whole breaks='' cut=''
  local -a typed found
  # Words as typed: bash's own are cut at = and : and @.
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] || ${#typed[@]} -eq 0 ]] && typed+=('')
  current=${typed[${#typed[@]}-1]}
  whole=$current
  for ((i = 1; i < ${#typed[@]} - 1; i++)); do
    word=${typed[i]}
    if [[ -n $expect ]]; then
      expect=''
      continue
    fi
    _spillway_page "$path"
    case $word in
      --*=*) ;;
      -*)
        _spillway_value "$path" "$word"
        [[ $offer != flag ]] && expect=$word
        ;;
      *)
        if [[ " $verbs " == *" $word "* ]]; then
          path=${path:+$path }$word
        else
          count=$((count + 1))
        fi
        ;;
    esac
  done
  if [[ -z $expect && $current == --*=* ]]; then
    expect=${current%%=*}
    before=$expect=
    current=${current#*=}
  fi
  _spillway_page "$path"
  if [[ -n $expect ]]; then
    _spillway_value "$path" "$expect"
  elif [[ $current == -* ]]; then
    offer=words comma='' words=$options
  elif [[ -n $verbs ]]; then
    offer=words comma='' words=$verbs
  else
    _spillway_value "$path" "@$((count + 1))"
    [[ $offer == flag ]] && _spillway_value "$path" '@*'
  fi
  if [[ -n $comma && $current == *,* ]]; then
    before+=${current%,*},
    current=${current##*,}
  fi
  case $offer in
    words) mapfile -t found < <(compgen -W "$words" -- "$current") ;;
    files) mapfile -t found < <(compgen -f -- "$current") ;;
    folders) mapfile -t found < <(compgen -d -- "$current") ;;
    scenarios) mapfile -t found < <(_spillway_scenarios "$current" | sort -u) ;;
    keys)
      mapfile -t found < <(compgen -W "$words" -- "$current")
      # Values only behind the =.
      if [[ $current != *=* ]]; then
        typed=()
        for word in "${found[@]}"; do [[ $word == *= ]] && typed+=("$word"); done
        found=("${typed[@]}")
      fi
      ;;
    *) found=() ;;
  esac
  [[ $offer == words || $offer == keys ]] || compopt -o filenames 2>/dev/null
  [[ ${#found[@]} -eq 1 && ${found[0]} == *[=:] ]] && compopt -o nospace 2>/dev/null
  # Readline puts a reply behind the last of its word breaks.
  for word in = : @; do
    [[ $COMP_WORDBREAKS == *"$word"* ]] && breaks+=$word
  done
  [[ -n $breaks && $whole == *[$breaks]* ]] && cut=${whole%"${whole##*[$breaks]}"}
  COMPREPLY=()
  for word in "${found[@]}"; do
    word=$before$word
    COMPREPLY+=("${word#"$cut"}")
  done
}

complete -F _spillway spillway
)sh";

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string page_case(const CommandPage& page) {
  std::vector<std::string> verbs;
  for (const auto& verb : page.verbs) verbs.push_back(verb.first);
  std::vector<std::string> options;
  for (const OptionPage& option : page.options) {
    if (option.positional) continue;
    options.push_back(option.name);
    if (!option.short_name.empty()) options.push_back(option.short_name);
  }
  return fmt::format("    {}) verbs={} options={} ;;\n", shell_quoted(page.path),
                     shell_quoted(joined(verbs)), shell_quoted(joined(options)));
}

std::string_view offer_name(Offer offer) {
  switch (offer) {
    case Offer::kNothing:
      return "nothing";
    case Offer::kFiles:
      return "files";
    case Offer::kFolders:
      return "folders";
    case Offer::kScenarios:
      return "scenarios";
    case Offer::kWords:
      return "words";
    case Offer::kKeys:
      return "keys";
  }
  return "nothing";
}

std::string value_case(const std::string& path, const OptionPage& option, int& place) {
  if (option.kind == nullptr) return "";
  std::string names;
  if (option.positional) {
    names =
        shell_quoted(fmt::format("{} @{}", path, option.many ? "*" : fmt::format("{}", ++place)));
  } else {
    names = shell_quoted(path + " " + option.name);
    if (!option.short_name.empty()) names += "|" + shell_quoted(path + " " + option.short_name);
  }
  std::string out = fmt::format("    {}) offer={}", names, offer_name(offer_of(option)));
  if (option.comma) out += " comma=,";
  if (const auto words = offered_words(option); !words.empty())
    out += " words=" + shell_quoted(joined(words));
  return out + " ;;\n";
}

}  // namespace

std::string bash_completion(const std::vector<CommandPage>& pages) {
  std::string out(kBashHead);
  for (const CommandPage& page : pages) out += page_case(page);
  out += kBetween;
  for (const CommandPage& page : pages) {
    int place = 0;
    for (const OptionPage& option : page.options) out += value_case(page.path, option, place);
  }
  return out + std::string(kBashTail);
}

}  // namespace spillway
