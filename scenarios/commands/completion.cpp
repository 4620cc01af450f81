// `spillway completion`: a script that teaches a shell the command line.
#include "scenarios/commands/tree/completion.hpp"

#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/text_fields.hpp"
#include "scenarios/commands/tree/pages.hpp"
#include "sim/catalogue.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

struct CompletionOptions {
  std::string shell;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

int run(const CLI::App& root, const CompletionOptions& options) {
  const CommonOptions& common = *options.common;
  const ShellEntry& shell = find_row(shells(), "shell", options.shell, {"completion", 0, ""});
  check_writable(common);
  Document document;
  document.kind = "completion";
  document.inputs = {{"shell", shell.name}};
  const CompletionScript made{std::string(shell.name), shell.script(all_pages(root))};
  document.results = to_document(made);
  write_document(document, common, "completion");
  if (!common.json_only()) print(made.script);
  return 0;
}

}  // namespace

void add_completion(CLI::App& app, CommandList& commands) {
  auto options = std::make_shared<CompletionOptions>();
  CLI::App* command = add_command(
      app, commands, "completion", "Completion of verbs, options and their values for a shell",
      "  spillway completion bash > ~/.local/share/bash-completion/completions/spillway\n"
      "  spillway completion zsh > ~/.zfunc/_spillway\n"
      "  spillway completion fish > ~/.config/fish/completions/spillway.fish\n"
      "Or at once, in bash: source <(spillway completion bash). zsh wants the file's folder in\n"
      "fpath before compinit.\n",
      options->common, [&app, options] { return run(app, *options); });
  command->add_option("SHELL", options->shell, "bash, zsh or fish")->required();
}

}  // namespace spillway
