// The outer form of every file: what clang-format does not look at, or is not run for.
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/source_tree.hpp"

namespace spillway::test {
namespace {

using Complaints = std::vector<std::string>;

std::string at_line(const SourceFile& file, std::size_t index, const std::string& what) {
  return file.path + ":" + std::to_string(index + 1) + ": " + what;
}

std::size_t width_of(const std::string& line) {
  std::size_t out = 0;
  for (const char c : line) out += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return out;
}

Complaints white_space(const SourceFile& file) {
  Complaints out;
  if (file.path == "LICENSE") return out;
  if (file.text.empty()) return {file.path + ": is empty"};
  if (!file.text.ends_with('\n')) out.push_back(file.path + ": has no newline at its end");
  if (file.text.ends_with("\n\n")) out.push_back(file.path + ": ends in an empty line");
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find('\t') != std::string::npos) out.push_back(at_line(file, i, "has a tab"));
    if (lines[i].find('\r') != std::string::npos) out.push_back(at_line(file, i, "has a CR"));
    if (lines[i].ends_with(' ')) out.push_back(at_line(file, i, "ends in a blank"));
  }
  return out;
}

Complaints long_lines(const SourceFile& file) {
  Complaints out;
  if (!file.is_code()) return out;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t width = width_of(lines[i]);
    if (width > 100) out.push_back(at_line(file, i, std::to_string(width) + " columns"));
  }
  return out;
}

/// A header opens with its purpose, then #pragma once. A .cpp opens with its purpose, unless its
/// first line includes the header of its folder that states it.
Complaints opening(const SourceFile& file) {
  if (!file.is_code()) return {};
  const std::vector<std::string> lines = lines_of(file.text);
  std::size_t i = 0;
  while (i < lines.size() && lines[i].starts_with("//")) ++i;
  const std::string next = i < lines.size() ? lines[i] : "";
  if (file.ends_with(".hpp")) {
    if (i == 0) return {file.path + ": does not open with its purpose"};
    if (next != "#pragma once") return {at_line(file, i, "expected #pragma once")};
    return {};
  }
  const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
  const std::string own = "#include \"" + folder;
  if (i > 0 || (next.starts_with(own) && next.find('/', own.size()) == std::string::npos))
    return {};
  return {file.path + ": does not open with its purpose"};
}

Complaints macros(const SourceFile& file) {
  static const std::set<std::string> kOurs = {"KV_ASSERT"};
  Complaints out;
  if (!file.is_code() || file.path == "tests/support/main.cpp") return out;
  const std::vector<std::string> lines = lines_of(file.code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t hash = lines[i].find_first_not_of(' ');
    if (hash == std::string::npos || lines[i][hash] != '#') continue;
    const std::size_t word = lines[i].find_first_not_of(' ', hash + 1);
    if (word == std::string::npos || !lines[i].substr(word).starts_with("define ")) continue;
    const std::string name =
        lines[i].substr(word + 7, lines[i].find_first_of(" (", word + 7) - word - 7);
    if (!kOurs.contains(name)) out.push_back(at_line(file, i, "defines the macro " + name));
  }
  return out;
}

// Spelled in halves, so that this file obeys its own rules.
const std::vector<std::string> kLeftovers = {
    "TO"
    "DO",
    "FIX"
    "ME",
    "X"
    "XX",
    "HA"
    "CK",
    "WI"
    "P"};
const std::vector<std::string> kMachinePaths = {
    "/ho"
    "me/",
    "/t"
    "mp/",
    "/ro"
    "ot/",
    "/wo"
    "rk/",
    "/mn"
    "t/",
    "/Us"
    "ers/",
    "C"
    ":\\"};

Complaints leftovers(const SourceFile& file) {
  Complaints out;
  if (file.path == "LICENSE") return out;
  for (const std::string& word : kLeftovers) {
    for (const std::size_t at : find_word(file.text, word)) {
      // mktemp patterns end in a row of X.
      if (at > 0 && file.text[at - 1] == 'X') continue;
      out.push_back(place(file, at) + ": " + word);
    }
  }
  return out;
}

Complaints machine_paths(const SourceFile& file) {
  Complaints out;
  for (const std::string& path : kMachinePaths) {
    for (std::size_t at = file.text.find(path); at != std::string::npos;
         at = file.text.find(path, at + 1)) {
      // Part of a longer path ("a/b/c") or of an address, or not.
      const char before = at == 0 ? ' ' : file.text[at - 1];
      const bool inside = std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '.';
      if (!inside) out.push_back(place(file, at) + ": " + path);
    }
  }
  return out;
}

TEST_CASE("text files end in one newline and hold no tabs or trailing blanks", "[tidy]") {
  CHECK(listed(complaints_about_project(white_space)) == "");
}

TEST_CASE("lines of code have at most 100 columns", "[tidy]") {
  CHECK(listed(complaints_about_project(long_lines)) == "");
}

TEST_CASE("each file opens with its purpose, each header with #pragma once", "[tidy]") {
  CHECK(listed(complaints_about_project(opening)) == "");
}

TEST_CASE("the only macro is KV_ASSERT", "[tidy]") {
  CHECK(listed(complaints_about_project(macros)) == "");
}

TEST_CASE("no notes to self are left behind", "[tidy]") {
  CHECK(listed(complaints_about_project(leftovers)) == "");
}

TEST_CASE("no path of somebody's machine is committed", "[tidy]") {
  CHECK(listed(complaints_about_project(machine_paths)) == "");
}

TEST_CASE("canary: white space", "[tidy]") {
  CHECK(white_space(SourceFile("a.md", "one\n")).empty());
  CHECK(white_space(SourceFile("a.md", "one")).size() == 1);
  CHECK(white_space(SourceFile("a.md", "one\n\n")).size() == 1);
  CHECK(listed(white_space(SourceFile("a.md", "one\n\ttwo\n"))) == "a.md:2: has a tab\n");
  CHECK(listed(white_space(SourceFile("a.md", "one \ntwo\n"))) == "a.md:1: ends in a blank\n");
  CHECK(white_space(SourceFile("a.md", "one\r\n")).size() == 1);
  CHECK(white_space(SourceFile("a.md", "")).size() == 1);
}

TEST_CASE("canary: long lines count characters, not bytes", "[tidy]") {
  const std::string full(100, 'x');
  CHECK(long_lines(SourceFile("sim/a.cpp", full + "\n")).empty());
  CHECK(listed(long_lines(SourceFile("sim/a.cpp", "\n" + full + "x\n"))) ==
        "sim/a.cpp:2: 101 columns\n");
  CHECK(long_lines(SourceFile("sim/a.cpp", full.substr(1) + "\xc3\xa9\n")).empty());
}

TEST_CASE("canary: openings", "[tidy]") {
  CHECK(opening(SourceFile("sim/a.hpp", "// A.\n#pragma once\n")).empty());
  CHECK(opening(SourceFile("sim/a.hpp", "#pragma once\n")).size() == 1);
  CHECK(opening(SourceFile("sim/a.hpp", "// A.\n#include <x>\n#pragma once\n")).size() == 1);
  CHECK(opening(SourceFile("sim/a.cpp", "#include \"sim/a.hpp\"\n")).empty());
  CHECK(opening(SourceFile("sim/a.cpp", "// A.\n#include <vector>\n")).empty());
  CHECK(opening(SourceFile("sim/a.cpp", "#include <vector>\n")).size() == 1);
  CHECK(opening(SourceFile("models/a.cpp", "#include \"sim/a.hpp\"\n")).size() == 1);
}

TEST_CASE("canary: macros", "[tidy]") {
  CHECK(macros(SourceFile("sim/a.hpp", "#define KV_ASSERT(x) x\n")).empty());
  CHECK(listed(macros(SourceFile("sim/a.hpp", "// A\n #  define MAX(a, b) a\n"))) ==
        "sim/a.hpp:2: defines the macro MAX\n");
  CHECK(macros(SourceFile("sim/a.hpp", "// #define MAX 1\n")).empty());
}

TEST_CASE("canary: leftovers and machine paths", "[tidy]") {
  for (const std::string& word : kLeftovers) {
    CHECK(leftovers(SourceFile("sim/a.md", "a " + word + ": later\n")).size() == 1);
    CHECK(leftovers(SourceFile("sim/a.md", "a" + word + "b\n")).empty());
  }
  for (const std::string& path : kMachinePaths) {
    CHECK(machine_paths(SourceFile("a.sh", "cd " + path + "me\n")).size() == 1);
    CHECK(machine_paths(SourceFile("a.sh", "cd \"" + path + "me\"\n")).size() == 1);
  }
  CHECK(machine_paths(SourceFile("a.md", "see scenarios" + kMachinePaths[1] + "x\n")).empty());
}

}  // namespace
}  // namespace spillway::test
