// spillway demo: a first answer, with files of its own.
#include <set>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::refused;
using test::Scene;

TEST_CASE("demo writes a trace, a scenario and the answer, and says where", "[cli]") {
  const Scene scene;
  const std::string folder = scene.path("first");
  const auto result = test::spillway({"demo", "--out", folder});
  INFO(result.err);
  REQUIRE(result.code == 0);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  CHECK(names == std::set<std::string>{"plan.json", "report.html", "runs", "scenario.json",
                                       "scenario.schema.json", "trace.jsonl.gz"});
  CHECK_THAT(result.out, ContainsSubstring("Use 64 GiB of DRAM. It meets the SLO: "));
  CHECK_THAT(result.out, ContainsSubstring("report.html     the answer, for a browser"));
  CHECK_THAT(result.out, ContainsSubstring("spillway plan " + folder + "/scenario.json"));
  // The scenario names its schema, for editors.
  CHECK_THAT(test::read_file(folder + "/scenario.json"),
             ContainsSubstring("\"$schema\": \"scenario.schema.json\""));
  CHECK(test::read_file(folder + "/scenario.schema.json") ==
        test::spillway({"schema", "scenario"}).out);
  // The scenario stands by itself.
  CHECK(test::spillway({"plan", folder + "/scenario.json", "--replications", "1"}).code == 0);
}

TEST_CASE("demo keeps what somebody has changed", "[cli]") {
  const Scene scene;
  std::filesystem::create_directories(scene.path("first"));
  const std::string mine = scene.file("first/scenario.json", "{}");
  refused({"demo", "--out", scene.path("first")}, 2,
          mine + ": has changed since demo wrote it, and is kept; to plan with it: spillway plan " +
              mine + " --out " + scene.path("first") + "; to begin anew: spillway demo --out " +
              scene.path("first-2"));
  CHECK(test::read_file(mine) == "{}");
  CHECK_FALSE(std::filesystem::exists(scene.path("first/trace.jsonl.gz")));
}

}  // namespace
}  // namespace spillway
