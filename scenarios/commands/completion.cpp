// `spillway completion`: a script that teaches a shell to ask `spillway __complete` what fits.
#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/text_fields.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

constexpr std::string_view kBash = R"sh(_spillway() {
  local line=${COMP_LINE:0:COMP_POINT} rule='' before='' cut='' whole word help
  local -a typed paths
  # Words as typed: bash's own are cut at = and : and @.
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  whole=${typed[${#typed[@]}-1]}
  COMPREPLY=()
  while IFS=$'\t' read -r word help; do
    case $word in
      :*) rule=${word#:} before=$help ;;
      "$whole"* | "$before"scenarios/library/"${whole#"$before"}"*) COMPREPLY+=("$word") ;;
    esac
  done < <("${typed[0]/#\~/$HOME}" __complete "${typed[@]:1}" 2>/dev/null)
  line=${whole#"$before"}
  case $rule in
    files) mapfile -t paths < <(compgen -f -- "$line") ;;
    folders) mapfile -t paths < <(compgen -d -- "$line") ;;
    scenarios) mapfile -t paths < <(compgen -d -- "$line"; compgen -f -X '!*.json' -- "$line") ;;
  esac
  for word in "${paths[@]}"; do COMPREPLY+=("$before$word"); done
  [[ $rule == words || $rule == list ]] || compopt -o filenames 2>/dev/null
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace 2>/dev/null
  # Readline puts a reply behind the last of its word breaks.
  word=${COMP_WORDBREAKS//[^=:@]/}
  [[ -n $word ]] && cut=${whole%"${whole##*[$word]}"}
  COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}
complete -F _spillway spillway
)sh";

constexpr std::string_view kZsh = R"sh(_spillway() {
  local line word rule before
  local -a plain open more
  local -a typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  for line in "${(@f)$(${~words[1]} __complete "${typed[@]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*} line=${line#*$'\t'}
    case $word in
      :*) rule=${word#:} before=$line ;;
      *[=:]) open+=("${word//:/\\:}${line:+:$line}") ;;
      ?*) plain+=("${word//:/\\:}${line:+:$line}") ;;
    esac
  done
  [[ $rule == list ]] && more=(-qS ,)
  _describe spillway plain $more -- open -S ''
  compset -P "${(b)before}"
  case $rule in
    files) _files ;;
    folders) _files -/ ;;
    scenarios) _files -g '*.json(-.)' ;;
  esac
}
if [ "$funcstack[1]" = "_spillway" ]; then
  _spillway "$@"
else
  compdef _spillway spillway
fi
)sh";

constexpr std::string_view kFish = R"sh(function __spillway_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    for line in ($typed[1] __complete $typed[2..-1] "$current" 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        set -l path (string sub -s (math 1 + (string length -- "$parts[2]")) -- "$current")
        switch $parts[1]
            case :files
                string join \n -- "$parts[2]"(complete -C "'' $path")
            case :folders
                string join \n -- "$parts[2]"(__fish_complete_directories "$path")
            case :scenarios
                set -l files (complete -C "'' $path")
                string join \n -- "$parts[2]"(string match -r '.*(?:/|[.]json)$' -- $files)
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c spillway -f -a '(__spillway_complete)'
)sh";

struct ShellEntry {
  std::string_view name;
  std::string_view first;  ///< line that the shell wants at the top
  std::string_view script;
};
constexpr ShellEntry kShellRows[] = {
    {"bash", "", kBash}, {"zsh", "#compdef spillway\n", kZsh}, {"fish", "", kFish}};

std::span<const ShellEntry> shells() {
  return kShellRows;
}
constexpr ValueKind kShell{"SHELL", "", Offer::kWords, names_in<shells>};

struct CompletionOptions {
  std::string shell;
  CommonOptions common;
};

int run(const CompletionOptions& options) {
  const CommonOptions& common = options.common;
  const ShellEntry& shell = find_row(shells(), "shell", options.shell, {"completion", 0, ""});
  check_writable(common);
  Document document;
  document.kind = "completion";
  document.inputs = {{"shell", shell.name}};
  const CompletionScript made{
      std::string(shell.name),
      fmt::format("{0}# Completion of spillway for {1}. Written by: spillway completion {1}\n{2}",
                  shell.first, shell.name, shell.script)};
  document.results = to_document(made);
  write_document(document, common, "completion");
  if (!common.json_only()) print(made.script);
  return 0;
}

}  // namespace

void add_completion(Verb& program) {
  auto [command, options] = add_command<CompletionOptions>(
      program, "completion", "Completion of verbs, options and their values for a shell",
      "  spillway completion bash > ~/.local/share/bash-completion/completions/spillway\n"
      "  spillway completion zsh > ~/.zfunc/_spillway\n"
      "  spillway completion fish > ~/.config/fish/completions/spillway.fish\n"
      "Or at once, in bash: source <(spillway completion bash). zsh wants the file's folder in\n"
      "fpath before compinit.\n",
      run);
  command.add("SHELL", options.shell, kShell, "bash, zsh or fish").require();
}

}  // namespace spillway
