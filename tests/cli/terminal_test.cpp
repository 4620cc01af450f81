// On a terminal: its width, its characters and its colours; elsewhere none of these.
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "reports/renderers/table_layout.hpp"
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::Scene;
using Environment = std::map<std::string, std::string>;

/// What spillway writes on a terminal of that width, both streams together.
std::string on_terminal(const Args& args, unsigned short columns, const Environment& environment) {
  const winsize size = {24, columns, 0, 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const char* name : {"COLUMNS", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG", "SPILLWAY_ASCII"})
      unsetenv(name);
    setenv("TERM", "xterm", 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words = {const_cast<char*>(SPILLWAY_BINARY)};
    for (const std::string& arg : args) words.push_back(const_cast<char*>(arg.c_str()));
    words.push_back(nullptr);
    execv(SPILLWAY_BINARY, words.data());
    std::abort();
  }
  std::string out;
  char piece[4096];
  for (ssize_t n = 0; (n = read(terminal, piece, sizeof piece)) > 0;)
    out.append(piece, static_cast<std::size_t>(n));
  close(terminal);
  waitpid(child, nullptr, 0);
  std::string plain;  // a terminal writes CR LF
  for (const char c : out) {
    if (c != '\r') plain += c;
  }
  return plain;
}

const Environment kUtf8 = {{"LANG", "C.UTF-8"}};
const Environment kPlain = {{"LANG", "C.UTF-8"}, {"NO_COLOR", "1"}};

TEST_CASE("a plan fits narrow terminals, word for word", "[cli]") {
  const Scene scene;
  for (const unsigned short columns : std::vector<unsigned short>{40, 60, 80, 120}) {
    const std::string text = on_terminal({"plan", scene.scenario, "--quiet"}, columns, kPlain);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      INFO(columns << ": " << line);
      const bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
      CHECK((display_width(line) <= columns || one_word));
    }
    CHECK_THAT(text, ContainsSubstring("4 GiB"));
  }
}

/// Of the library those whose plan takes seconds, and answers of every kind.
TEST_CASE("a plan is read in one screen, the answer first", "[cli]") {
  const std::string library = SPILLWAY_SOURCE_DIR "/scenarios/library/";
  const std::vector<Args> calls = {
      {"plan", library + "quickstart.json", "--replications", "1"},
      {"plan", library + "quickstart.json", "--max-runs", "20"},
      {"plan", library + "quickstart.json", "--set", "slo.0.max=100", "--replications", "1"},
      {"plan", library + "quickstart.json", "--recipe", "compare-policies", "--replications", "1",
       "--no-sensitivity"},
      {"plan", library + "link-bound.json"},
      {"plan", library + "load-semantics.json", "--replications", "1"},
      {"plan", library + "nvme-tier.json", "--replications", "1", "--no-sensitivity"},
      {"plan", library + "fs-tier.json", "--replications", "1", "--no-sensitivity"},
      {"run", library + "quickstart.json"},
      {"run", library + "nvme-tier.json"},
      {"compare", library + "link-bound.json", "--vary", "tiers.0.eviction=lru,arc,fifo",
       "--replications", "5"}};
  const Scene scene;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Args call = calls[i] + Args{"--out", scene.path("out" + std::to_string(i))};
    // Once to do the work: a plan then finds its runs.
    const std::string first = test::spillway(call + Args{"--quiet"}).out;
    const std::string answer = first.substr(0, first.find('\n'));
    REQUIRE_FALSE(answer.empty());
    for (const unsigned short columns : std::vector<unsigned short>{80, 100}) {
      if (columns == 80 && call[0] != "plan") continue;
      std::istringstream lines(on_terminal(call, columns, kPlain));
      std::vector<std::string> shown;
      for (std::string line; std::getline(lines, line);) {
        // Progress is drawn over: what is left of it is no line.
        const std::size_t drawn = line.rfind("\x1b[K");
        if (drawn != std::string::npos) line.erase(0, drawn + 3);
        // Told where a machine is so slow that somebody waits.
        if (line.find(": this takes about ") == std::string::npos) shown.push_back(line);
      }
      std::string all;
      for (const std::string& line : shown) all += line + "\n";
      INFO(i << " at " << columns << ":\n" << all);
      CHECK(shown.size() <= 24);
      CHECK(answer.starts_with(shown.front()));
      for (const std::string& line : shown) {
        // A flag's JSON is one word of the shell, which nothing breaks: it has a line of its own.
        const bool one_word = line.starts_with("  '{") && line.find(' ', 2) == std::string::npos;
        CHECK((display_width(line) <= columns || line.starts_with("Report: ") || one_word));
      }
    }
  }
}

TEST_CASE("COLUMNS rules over the terminal's own width", "[cli]") {
  const Scene scene;
  const Args call = {"list", "policies"};
  Environment narrow = kPlain;
  narrow["COLUMNS"] = "50";
  CHECK(on_terminal(call, 120, narrow) == on_terminal(call, 50, kPlain));
  CHECK(on_terminal(call, 120, kPlain) != on_terminal(call, 50, kPlain));
}

TEST_CASE("lines are drawn where the locale has them, unless ASCII is asked for", "[cli]") {
  const Args call = {"list", "gpus"};
  const auto draws = [&](const Environment& environment) {
    return on_terminal(call, 80, environment).find("─") != std::string::npos;
  };
  CHECK(draws(kUtf8));
  CHECK(draws({{"LC_ALL", "en_GB.UTF-8"}, {"LANG", "C"}}));
  CHECK_FALSE(draws({{"LANG", "C"}}));
  CHECK_FALSE(draws({{"LC_ALL", "POSIX"}, {"LANG", "C.UTF-8"}}));
  CHECK_FALSE(draws({{"LANG", "C.UTF-8"}, {"SPILLWAY_ASCII", "1"}}));
}

TEST_CASE("colours are for terminals without NO_COLOR", "[cli]") {
  const Args call = {"list", "gpus"};
  const auto coloured = [&](const Args& args, const Environment& environment) {
    return on_terminal(args, 80, environment).find("\x1b[1m") != std::string::npos;
  };
  CHECK(coloured(call, kUtf8));
  CHECK_FALSE(coloured(call, kPlain));
  CHECK_FALSE(coloured(call, {{"TERM", "dumb"}}));
  CHECK_FALSE(coloured(call + Args{"--color", "never"}, kUtf8));
  CHECK(coloured(call + Args{"--color", "always"}, kPlain));
}

TEST_CASE("without a terminal text is ASCII, and details are as long as they are", "[cli]") {
  const Scene scene;
  const std::string text = test::spillway({"plan", scene.scenario}).out;
  for (const char c : text) CHECK(static_cast<unsigned char>(c) < 0x80);
  // All but the answer, which can be pasted as it is, keep to one screen's width.
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) CHECK(line.size() <= 100);
  std::size_t longest = 0;
  std::istringstream whole(test::spillway({"plan", scene.scenario, "--details"}).out);
  while (std::getline(whole, line)) longest = std::max(longest, line.size());
  CHECK(longest > 120);
}

TEST_CASE("help on a terminal is wrapped", "[cli]") {
  for (const std::uint16_t width : {std::uint16_t{40}, std::uint16_t{70}}) {
    std::istringstream lines(on_terminal({"plan", "--help"}, width, kPlain));
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (line.starts_with("  spillway ")) continue;  // an example stays one line, to be copied
      INFO(width << ": " << line);
      CHECK(line.size() <= width);
    }
  }
}

}  // namespace
}  // namespace spillway
