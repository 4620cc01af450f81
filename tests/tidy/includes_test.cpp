// Includes follow the dependency direction, and never reach past what CMake links:
//   sim <- traces    sim <- policies <- models    sim <- reports    all <- scenarios
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "tests/support/source_tree.hpp"

namespace spillway::test {
namespace {

const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"sim", {}},           {"traces", {"sim"}},
    {"policies", {"sim"}}, {"models", {"sim", "policies"}},
    {"reports", {"sim"}},  {"scenarios", {"sim", "traces", "policies", "models", "reports"}}};

// Where a third-party header comes from, as CMakeLists.txt names it.
const std::map<std::string, std::string> kThirdParty = {
    {"fmt/", "fmt::fmt"},         {"nlohmann/", "nlohmann_json::nlohmann_json"},
    {"CLI/", "CLI11::CLI11"},     {"simdjson", "simdjson::simdjson"},
    {"zlib.h", "ZLIB::ZLIB"},     {"zstd", "PkgConfig::zstd"},
    {"xxh", "PkgConfig::xxhash"}, {"catch2/", "Catch2::Catch2"}};

struct Include {
  std::string name;
  bool quoted;
  std::size_t line;
};

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> out;
  std::size_t number = 0;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    if (!line.starts_with("#include ")) continue;
    const std::size_t open = line.find_first_of("\"<");
    const std::size_t close = line.find_first_of("\">", open + 1);
    REQUIRE(close != std::string::npos);
    out.push_back({line.substr(open + 1, close - open - 1), line[open] == '"', number});
  }
  return out;
}

/// A library of CMakeLists.txt: everything it may see, and what it hands on to those that link it.
struct Library {
  std::set<std::string> sees;
  std::set<std::string> hands_on;
};

/// Reads the calls of spillway_library(folder [PUBLIC things] PRIVATE things), in order.
std::map<std::string, Library> linked_libraries(const std::string& cmake) {
  std::map<std::string, Library> out;
  const std::string call = "\nspillway_library(";
  for (std::size_t at = cmake.find(call); at != std::string::npos; at = cmake.find(call, at + 1)) {
    const std::size_t begin = at + call.size();
    std::istringstream words(cmake.substr(begin, cmake.find(')', begin) - begin));
    std::string folder;
    words >> folder;
    Library& library = out[folder];
    bool is_public = true;
    for (std::string word; words >> word;) {
      if (word == "PRIVATE") is_public = false;
      if (word == "PRIVATE") continue;
      std::set<std::string> things = {word};
      if (word.starts_with("spillway_")) {
        const std::string other = word.substr(9);
        things = out.at(other).hands_on;
        things.insert(other);
      }
      library.sees.insert(things.begin(), things.end());
      if (is_public) library.hands_on.insert(things.begin(), things.end());
    }
  }
  return out;
}

std::vector<std::string> wrong_direction(const SourceFile& file) {
  std::vector<std::string> out;
  const std::string folder = file.folder();
  const auto rule = kMayInclude.find(folder);
  if (!file.is_code() || rule == kMayInclude.end()) return out;
  for (const Include& include : includes_of(file)) {
    if (!include.quoted) continue;
    const std::string target = include.name.substr(0, include.name.find('/'));
    if (target == folder || rule->second.contains(target)) continue;
    out.push_back(file.path + ":" + std::to_string(include.line) + ": " + folder +
                  " must not include " + include.name);
  }
  return out;
}

/// Rooms of scenarios/, lowest first: each includes only those before it (scenarios/README.md).
constexpr std::array<std::string_view, 9> kRooms = {"scenario", "machine",    "run",
                                                    "fidelity", "experiment", "replay",
                                                    "planner",  "sweep",      "commands"};

/// "run" of "scenarios/run/simulation.hpp"; empty elsewhere and for main.cpp.
std::string room_of(const std::string& path) {
  constexpr std::string_view kFolder = "scenarios/";
  if (!path.starts_with(kFolder)) return "";
  const std::size_t end = path.find('/', kFolder.size());
  return end == std::string::npos ? "" : path.substr(kFolder.size(), end - kFolder.size());
}

std::vector<std::string> against_the_floors(const SourceFile& file) {
  std::vector<std::string> out;
  const std::string room = room_of(file.path);
  if (!file.is_code() || room.empty()) return out;
  const auto floor = [](const std::string& name) {
    return std::find(kRooms.begin(), kRooms.end(), name) - kRooms.begin();
  };
  for (const Include& include : includes_of(file)) {
    const std::string target = room_of(include.name);
    if (target.empty() || target == room || floor(target) < floor(room)) continue;
    out.push_back(file.path + ":" + std::to_string(include.line) + ": " + room +
                  " must not include " + include.name);
  }
  return out;
}

std::vector<std::string> not_linked(const SourceFile& file,
                                    const std::map<std::string, Library>& libraries) {
  std::vector<std::string> out;
  const auto library = libraries.find(file.folder());
  if (!file.is_code() || library == libraries.end()) return out;
  for (const Include& include : includes_of(file)) {
    std::string needed = include.name.substr(0, include.name.find('/'));
    if (include.quoted && needed == file.folder()) continue;
    if (!include.quoted) {
      needed.clear();
      for (const auto& [prefix, target] : kThirdParty) {
        if (include.name.starts_with(prefix)) needed = target;
      }
    }
    if (needed.empty() || library->second.sees.contains(needed)) continue;
    out.push_back(file.path + ":" + std::to_string(include.line) + ": includes " + include.name +
                  ", but spillway_" + file.folder() + " does not link " + needed);
  }
  return out;
}

TEST_CASE("folders include only what the design lets them", "[tidy]") {
  CHECK(listed(complaints_about_project(wrong_direction)) == "");
}

TEST_CASE("rooms of scenarios include only rooms below them", "[tidy]") {
  CHECK(listed(complaints_about_project(against_the_floors)) == "");
  std::set<std::string> arrows;
  for (const SourceFile& file : project_files()) {
    const std::string room = room_of(file.path);
    if (!file.is_code() || room.empty()) continue;
    CHECK(std::find(kRooms.begin(), kRooms.end(), room) != kRooms.end());
    for (const Include& include : includes_of(file)) {
      const std::string target = room_of(include.name);
      if (!target.empty() && target != room) arrows.insert(room + " -> " + target);
    }
  }
  CHECK(arrows.size() <= 30);  // 26
}

TEST_CASE("canary: an include against the floors is found", "[tidy]") {
  const SourceFile file("scenarios/run/a.cpp",
                        "#include \"scenarios/planner/planner.hpp\"\n"
                        "#include \"scenarios/scenario/scenario.hpp\"\n"
                        "#include \"scenarios/run/binding.hpp\"\n");
  CHECK(listed(against_the_floors(file)) ==
        "scenarios/run/a.cpp:1: run must not include scenarios/planner/planner.hpp\n");
}

TEST_CASE("folders include only what their library links", "[tidy]") {
  const auto libraries = linked_libraries(read_file(source_path("CMakeLists.txt")));
  REQUIRE(libraries.size() == kMayInclude.size());
  CHECK(listed(complaints_about_project(
            [&](const SourceFile& file) { return not_linked(file, libraries); })) == "");
}

TEST_CASE("libraries link only in the direction of the design", "[tidy]") {
  for (const auto& [folder, library] : linked_libraries(read_file(source_path("CMakeLists.txt")))) {
    INFO(folder);
    for (const auto& [other, unused] : kMayInclude) {
      if (library.sees.contains(other)) CHECK(kMayInclude.at(folder).contains(other));
    }
  }
}

TEST_CASE("every top folder of code has its place in the design", "[tidy]") {
  for (const SourceFile& file : project_files()) {
    if (!file.is_code() || file.folder() == "tests") continue;
    INFO(file.path);
    CHECK(kMayInclude.contains(file.folder()));
  }
}

TEST_CASE("includes of the project are found from its root, and exist", "[tidy]") {
  const auto missing = [](const SourceFile& file) {
    std::vector<std::string> out;
    if (!file.is_code()) return out;
    for (const Include& include : includes_of(file)) {
      if (!include.quoted || std::filesystem::exists(source_path(include.name))) continue;
      out.push_back(file.path + ":" + std::to_string(include.line) + ": " + include.name);
    }
    return out;
  };
  CHECK(listed(complaints_about_project(missing)) == "");
  CHECK(missing(SourceFile("sim/a.hpp", "#include \"units.hpp\"\n")).size() == 1);
}

TEST_CASE("canary: an include against the direction is reported with its place", "[tidy]") {
  const SourceFile planted("sim/a.cpp",
                           "// A.\n#include \"sim/b.hpp\"\n#include \"models/c.hpp\"\n");
  CHECK(listed(wrong_direction(planted)) == "sim/a.cpp:3: sim must not include models/c.hpp\n");
  CHECK(wrong_direction(SourceFile("policies/a.cpp", "#include \"models/link/x.hpp\"\n")).size() ==
        1);
  CHECK(wrong_direction(SourceFile("reports/a.cpp", "#include \"tests/x.hpp\"\n")).size() == 1);
  CHECK(wrong_direction(SourceFile("tests/a.cpp", "#include \"models/x.hpp\"\n")).empty());
}

TEST_CASE("canary: what is linked privately is not seen by others", "[tidy]") {
  const auto libraries = linked_libraries(
      "\nspillway_library(sim fmt::fmt PRIVATE PkgConfig::xxhash)\n"
      "spillway_library(models spillway_sim)\n");
  const auto said = [&](const char* path, const char* text) {
    return listed(not_linked(SourceFile(path, text), libraries));
  };
  CHECK(said("sim/a.cpp", "#include <xxhash.h>\n") == "");
  CHECK(said("models/a.cpp", "#include <fmt/format.h>\n#include \"sim/b.hpp\"\n") == "");
  CHECK(said("models/a.cpp", "#include <xxhash.h>\n") ==
        "models/a.cpp:1: includes xxhash.h, but spillway_models does not link PkgConfig::xxhash\n");
  CHECK(said("sim/a.cpp", "#include \"models/b.hpp\"\n") ==
        "sim/a.cpp:1: includes models/b.hpp, but spillway_sim does not link models\n");
}

}  // namespace
}  // namespace spillway::test
