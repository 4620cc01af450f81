// What holds for every verb and option, however deep in the tree.
#include <map>
#include <set>
#include <sstream>

#include "scenarios/commands/command.hpp"
#include "scenarios/commands/tree/help.hpp"
#include "scenarios/commands/tree/pages.hpp"
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

/// The tree as main() builds it.
struct Tree {
  Verb program{"Spillway", "  spillway demo\n  spillway --help\n"};
  Tree() { add_all_commands(program); }
  std::vector<CommandPage> pages() const { return all_pages(program); }
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

TEST_CASE("every verb has a call that the tests of all verbs make, and its help", "[cli]") {
  const test::Scene scene;
  std::set<std::string> called;
  for (const test::Verb& verb : verbs(scene)) called.insert(verb.name);
  std::set<std::string> leaves;
  for (const CommandPage& page : Tree().pages()) {
    if (page.verbs.empty()) leaves.insert(page.path);
    test::Args words;
    std::istringstream path(page.path);
    for (std::string word; path >> word;) words.push_back(word);
    const auto help = test::spillway(words + test::Args{"--help"});
    CHECK(help.code == 0);
    for (const auto& [name, summary] : page.verbs)
      CHECK_THAT(help.out, ContainsSubstring("\n  " + name + " "));
  }
  CHECK(called == leaves);
}

TEST_CASE("every option has one help line", "[cli]") {
  for (const CommandPage& page : Tree().pages()) {
    for (const Option& option : page.options) {
      INFO("spillway " << page.path << " " << option.name);
      CHECK(option.help.size() > 5);
      CHECK(option.help.find('\n') == std::string::npos);
    }
  }
}

/// A file of tests/cli: all of it, and the bodies of its test cases.
struct TestFile {
  std::string text;
  std::vector<std::string> bodies;
};

std::vector<TestFile> test_files() {
  std::vector<TestFile> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("tests/cli"))) {
    if (!entry.path().string().ends_with("_test.cpp")) continue;
    TestFile file{test::read_file(entry.path().string()), {}};
    const std::string start = "\nTEST_CASE(\"";
    for (std::size_t at = file.text.find(start); at != std::string::npos;) {
      const std::size_t end = file.text.find("\n}\n", at);
      file.bodies.push_back(file.text.substr(at, end - at));
      at = file.text.find(start, end);
    }
    out.push_back(std::move(file));
  }
  return out;
}

TEST_CASE("a test uses each option, in a file that calls its verb", "[cli]") {
  // What several verbs say in the same words was added by the same function.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> owners;
  for (const CommandPage& page : Tree().pages()) {
    for (const Option& option : page.options) {
      if (!option.positional())
        owners[{option.name, option.help}].insert(page.path.substr(page.path.rfind(' ') + 1));
    }
  }
  const auto files = test_files();
  REQUIRE(files.size() > 30);
  for (const auto& owner : owners) {
    const auto& option = owner.first;
    const auto& verbs = owner.second;
    INFO(option.first << " of " << *verbs.begin());
    const auto uses = [&](const TestFile& file) {
      const auto names = [](const std::string& text, const std::string& word) {
        return text.find("\"" + word + "\"") != std::string::npos;
      };
      return std::ranges::any_of(file.bodies,
                                 [&](const auto& body) { return names(body, option.first); }) &&
             std::ranges::any_of(verbs, [&](const std::string& verb) {
               return verb.empty() || names(file.text, verb);
             });
    };
    CHECK(std::ranges::any_of(files, uses));
  }
}

TEST_CASE("quantities say their unit, and what happens without the option", "[cli]") {
  // What is absent unless it is asked for.
  const std::set<std::string> none = {"--set",    "--json",   "--out",    "--output", "--data",
                                      "--verify", "--replay", "--window", "--rates",  "--profiles"};
  for (const CommandPage& page : Tree().pages()) {
    std::set<const ValueKind*> meant;
    for (const ValueKind* kind : page.meanings()) meant.insert(kind);
    for (const Option& option : page.options) {
      if (option.kind == nullptr || option.positional()) continue;
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
  const Tree tree;
  for (const Verb& verb : tree.program.verbs) {
    const std::string text = help_of(verb, 0);
    INFO(text);
    const std::size_t usage = text.find("\nUsage: spillway " + verb.name);
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
  const Tree tree;
  for (const std::size_t width : {40UL, 60UL, 80UL, 120UL}) {
    for (const Verb& verb : tree.program.verbs) {
      std::istringstream text(help_of(verb, width));
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
