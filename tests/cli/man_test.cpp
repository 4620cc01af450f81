// The manual: a page for every verb, in roff that its readers accept.
#include <filesystem>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Scene;

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

TEST_CASE("every page of the manual is sound roff", "[cli]") {
  const Scene scene;
  const std::string folder = scene.path("man1");
  const auto made = test::spillway({"man", "--out", folder});
  REQUIRE(made.code == 0);
  std::size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++pages;
    const std::string text = test::read_file(entry.path().string());
    INFO(entry.path().filename());
    for (const char* heading :
         {"\n.TH SPILLWAY", "\n.SH NAME\nspillway", "\n.SH SYNOPSIS\n.B spill",
          "\n.SH EXAMPLES\n.nf\nspillway", "\n.SH OPTIONS\n", "\n.SH EXIT STATUS\n",
          "\n.SH SEE ALSO\n.BR spillway"}) {
      CHECK(text.find(heading) != std::string::npos);
    }
    CHECK(text.find("\n\n") == std::string::npos);
    CHECK(text.find("\t") == std::string::npos);
    if (!installed("groff")) continue;
    const std::string said = scene.path("said");
    const std::string call =
        fmt::format("groff -man -Tutf8 -ww -z '{}' >'{}' 2>&1", entry.path().string(), said);
    CHECK(std::system(call.c_str()) == 0);
    CHECK(test::read_file(said).empty());
  }
  // spillway, trace, sweep, scenario
  CHECK(pages == test::verbs(scene).size() + 4);
  CHECK_THAT(made.out, ContainsSubstring(fmt::format("{} manual pages in ", pages)));
}

TEST_CASE("a page is that of the verb that is named", "[cli]") {
  const auto nested = test::spillway({"man", "trace", "stats"});
  CHECK(nested.code == 0);
  CHECK_THAT(nested.out, ContainsSubstring(".SH NAME\nspillway\\-trace\\-stats \\- Lengths"));
  CHECK_THAT(nested.out,
             ContainsSubstring(".SH SYNOPSIS\n.B spillway trace stats [OPTIONS] TRACE"));
  CHECK_THAT(test::spillway({"man"}).out, ContainsSubstring(".BR spillway\\-plan (1)"));
}

}  // namespace
}  // namespace spillway
