// Each folder says what it is for, and what a README points at exists.
#include <filesystem>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "tests/support/source_tree.hpp"

namespace spillway::test {
namespace {

const std::set<std::string> kFolders = {"sim",     "traces",    "policies", "models",
                                        "reports", "scenarios", "tests"};

/// What stands between `open` and `close`, wherever both are on one line.
std::vector<std::string> between(const std::string& line, const std::string& open,
                                 const std::string& close) {
  std::vector<std::string> out;
  for (std::size_t at = line.find(open); at != std::string::npos;) {
    const std::size_t begin = at + open.size();
    const std::size_t end = line.find(close, begin);
    if (end == std::string::npos) break;
    out.push_back(line.substr(begin, end - begin));
    at = line.find(open, end + close.size());
  }
  return out;
}

/// `sim/units.hpp`, `tests/long`: begins with a folder of ours, and has no wildcard.
bool names_a_file(const std::string& text) {
  const std::size_t slash = text.find('/');
  return slash != std::string::npos && kFolders.contains(text.substr(0, slash)) &&
         text.find_first_of(" *<>{}$[](,:#=") == std::string::npos &&
         text.find("...") == std::string::npos && text.find("/foo") == std::string::npos;
}

bool leads_out(const std::string& link) {
  return link.empty() || link.front() == '#' || link.find("://") != std::string::npos ||
         link.starts_with("mailto:");
}

/// Links, relative to the README, and quoted paths, relative to it or to the project, that lead to
/// nothing. Code blocks are left out: their commands make files.
std::vector<std::string> dead_ends(const SourceFile& file, const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  if (!file.ends_with("README.md")) return out;
  const fs::path folder = (root / file.path).parent_path();
  bool fenced = false;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("```")) fenced = !fenced;
    if (fenced) continue;
    const auto missing = [&](const std::string& name) {
      out.push_back(file.path + ":" + std::to_string(i + 1) + ": " + name + " does not exist");
    };
    for (const std::string& link : between(lines[i], "](", ")")) {
      const std::string path = link.substr(0, link.find('#'));
      if (!leads_out(link) && !fs::exists(folder / path)) missing(path);
    }
    // A pair of .hpp and .cpp goes by its stem.
    const auto exists = [](const fs::path& path) {
      return fs::exists(path) || fs::exists(path.string() + ".hpp");
    };
    for (const std::string& name : between(lines[i], "`", "`")) {
      if (names_a_file(name) && !exists(root / name) && !exists(folder / name)) missing(name);
    }
  }
  return out;
}

TEST_CASE("the project and each of its folders have a README", "[tidy]") {
  CHECK(std::filesystem::exists(source_path("README.md")));
  for (const std::string& folder : kFolders) {
    INFO(folder);
    CHECK(std::filesystem::exists(source_path(folder + "/README.md")));
  }
}

TEST_CASE("a README opens with a heading and fits its purpose", "[tidy]") {
  for (const SourceFile& file : project_files()) {
    if (!file.ends_with("README.md")) continue;
    INFO(file.path);
    CHECK(file.text.starts_with("# "));
  }
}

TEST_CASE("what a README points at exists", "[tidy]") {
  CHECK(listed(complaints_about_project(
            [](const SourceFile& file) { return dead_ends(file, source_path("")); })) == "");
}

TEST_CASE("canary: dead links and paths are found, others are left alone", "[tidy]") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path("sim"));
  scratch.file("sim/units.hpp", "");
  const auto said = [&](const char* text) {
    return listed(dead_ends(SourceFile("sim/README.md", text), scratch.path("")));
  };
  CHECK(said("[units](units.hpp) and `sim/units.hpp`\n") == "");
  CHECK(said("# A\n[ids](ids.hpp)\n") == "sim/README.md:2: ids.hpp does not exist\n");
  CHECK(said("See `sim/ids.hpp`, `sim/units.hpp`.\n") ==
        "sim/README.md:1: sim/ids.hpp does not exist\n");
  CHECK(said("[web](https://example.org/x) [top](#a) `a/b` `sim/*.hpp` `sim/<name>.hpp`\n") == "");
  CHECK(said("`sim/units` is a pair\n") == "");
  CHECK(said("```\n`sim/ids.hpp`\n```\n") == "");
  CHECK(said("[one](units.hpp#part) [two](../sim/ids.hpp)\n") ==
        "sim/README.md:1: ../sim/ids.hpp does not exist\n");
}

}  // namespace
}  // namespace spillway::test
