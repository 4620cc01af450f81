// What holds for the help of every verb, however deep in the tree.
#include <CLI/CLI.hpp>
#include <set>

#include "scenarios/commands/command.hpp"
#include "scenarios/commands/tree/help.hpp"
#include "scenarios/commands/tree/pages.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

/// The tree as main() builds it.
struct Tree {
  CLI::App app{"Spillway"};
  CommandList commands;
  Tree() {
    app.footer("  spillway demo\n  spillway --help\n");
    add_all_commands(app, commands);
  }
  std::vector<CommandPage> pages() const { return all_pages(app); }
};

TEST_CASE("every verb has two or more examples, each of itself", "[cli]") {
  for (const CommandPage& page : Tree().pages()) {
    INFO("verb: " << page.path);
    CHECK(page.examples.size() >= 2);
    std::size_t own = 0;
    for (const std::string& example : page.examples) {
      own += example.starts_with("spillway " + page.path) ? 1 : 0;
    }
    CHECK(own >= 2);
  }
}

TEST_CASE("every value of an option has a name that says what it is", "[cli]") {
  for (const CommandPage& page : Tree().pages()) {
    for (const OptionPage& option : page.options) {
      INFO("spillway " << page.path << " " << option.name
                       << ": give it a row in scenarios/commands/tree/value_kinds.cpp");
      CHECK((option.kind != &unknown_value() || !option.choices.empty()));
    }
  }
}

TEST_CASE("quantities say their unit, and what happens without the option", "[cli]") {
  // What is absent unless it is asked for.
  const std::set<std::string> none = {"--set",    "--json",   "--out",    "--output", "--data",
                                      "--verify", "--replay", "--window", "--rates",  "--profiles"};
  for (const CommandPage& page : Tree().pages()) {
    std::set<const ValueKind*> meant;
    for (const ValueKind* kind : page.meanings()) meant.insert(kind);
    for (const OptionPage& option : page.options) {
      if (option.kind == nullptr || option.positional) continue;
      INFO("spillway " << page.path << " " << option.name << ": " << option.help);
      static const std::set<std::string_view> kQuantities = {"SIZE",   "BLOCKS", "TIME", "SECONDS",
                                                             "TOKENS", "SHARE",  "RATE"};
      if (kQuantities.contains(option.kind->name)) CHECK(meant.contains(option.kind));
      const bool told = option.required || none.contains(option.name) ||
                        option.help.find("default") != std::string::npos ||
                        option.kind->meaning.empty();
      CHECK((told || option.help.size() > 20));
    }
  }
}

TEST_CASE("help opens with examples and ends with exit codes", "[cli]") {
  Tree tree;
  const HelpFormatter formatter(0);
  for (const CLI::App* app : tree.app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string text = formatter.make_help(app, "", CLI::AppFormatMode::Normal);
    INFO(text);
    const std::size_t usage = text.find("\nUsage: spillway " + app->get_name());
    const std::size_t examples = text.find("\nExamples:\n");
    const std::size_t codes = text.find("\nExit codes: 0 done; 2 ");
    REQUIRE(codes != std::string::npos);
    CHECK(usage < examples);
    CHECK(examples < text.find("\nCommon:\n"));
    CHECK(text.find("\n\n", codes + 1) == std::string::npos);
    CHECK(text.ends_with('\n'));
  }
}

TEST_CASE("help fits the terminal, but for what is there to be copied", "[cli]") {
  Tree tree;
  for (const std::size_t width : {40, 60, 80, 120}) {
    const HelpFormatter formatter(width);
    for (const CLI::App* app : tree.app.get_subcommands([](const CLI::App*) { return true; })) {
      std::istringstream text(formatter.make_help(app, "", CLI::AppFormatMode::Normal));
      for (std::string line; std::getline(text, line);) {
        INFO(width << ": " << line);
        const bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
        const bool option = line.starts_with("  -") || line.starts_with("  spillway ") ||
                            line.starts_with("    ") || line.starts_with("  sqlite3");
        CHECK((line.size() <= width || option || one_word));
      }
    }
  }
}

}  // namespace
}  // namespace spillway
