// Hardware profiles through the real program: measured here and used by a scenario, verified,
// reported, and refused where they are of another machine.
#include <filesystem>

#include "scenarios/scenario/profiles/profile_json.hpp"
#include "tests/cli/scene.hpp"
#include "tests/models/calibration/synthetic_machine.hpp"

namespace spillway {
namespace {

using Catch::Matchers::Contains;
using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

/// The small scenario with its links left to the hardware, and `more` top-level keys.
std::string scenario_on(const std::string& more) {
  json scenario = json::parse(test::small_scenario());
  scenario.erase("links");
  scenario.update(json::parse("{" + more + "}"));
  return scenario.dump(1);
}

std::string synthetic_document() {
  const HardwareProfile profile = test::SyntheticMachine().profile();
  return render_document(profile_document(profile));
}

json run_of(const Args& args) {
  const CliResult result = test::spillway(Args{"run"} + args + Args{"--json", "-"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

TEST_CASE("what is measured here, a scenario uses in the same breath", "[cli]") {
  const Scene scene;
  const std::string profile = scene.path("here.json");
  const CliResult measured =
      test::spillway({"calibrate", "--host-only", "--budget", "3s", "--memory", "64MiB", "--only",
                      "dram,storage", "--out", profile, "--quiet"});
  INFO(measured.err);
  REQUIRE(measured.code == 0);
  const json document = json::parse(test::read_file(profile));
  const json& fits = document["results"]["fits"];
  const auto read = std::find_if(fits.begin(), fits.end(),
                                 [](const json& fit) { return fit["target"] == "storage/read"; });
  REQUIRE(read != fits.end());

  const std::string drive = R"("tiers": [{"name": "disk", "kind": "nvme", "capacity": "4GiB"}],)"
                            R"("gpu": "H100")";
  const std::string with = scene.file("with.json", scenario_on(drive + R"(, "hardware": "here")"));
  const json run = run_of({with, "--strict"});  // this is the machine that was measured
  CHECK(run["inputs"]["hardware"]["name"] == "here");
  CHECK(run["inputs"]["hardware"]["content_hash"] == document["digest"]);
  CHECK(run["inputs"]["hardware"]["machine_hash"] == document["results"]["machine_hash"]);
  const std::string warnings = run["warnings"].dump();
  CHECK_THAT(warnings, Contains("read_bandwidth") && Contains("from hardware profile here"));
  CHECK_THAT(warnings, !Contains("another machine"));

  const json without = run_of({scene.file("without.json", scenario_on(drive))});
  CHECK(run["inputs"]["configuration"]["tiers"] != without["inputs"]["configuration"]["tiers"]);
  CHECK(run["results"]["completed"] == 6);
}

TEST_CASE("links come from a profile, and the run says so", "[cli]") {
  const Scene scene;
  scene.file("box.json", synthetic_document());
  const std::string path = scene.file("with.json", scenario_on(R"("hardware": "box")"));
  const json run = run_of({path});
  const json& links = run["inputs"]["configuration"]["links"];
  CHECK_THAT(links[1]["source"].get<std::string>(),
             Contains("copy/h2d/memcpy_async/host_alloc/contiguous"));
  CHECK_THAT(run["warnings"].dump(), Contains("was measured on another machine (cpu: profile a "
                                              "processor, here "));
  CHECK(run["digest"] == run_of({path})["digest"]);
}

TEST_CASE("--strict refuses a profile of another machine", "[cli]") {
  const Scene scene;
  scene.file("box.json", synthetic_document());
  const std::string path = scene.file("with.json", scenario_on(R"("hardware": "box")"));
  const std::string says =
      "hardware: Hardware profile box was measured on another machine (cpu: ";
  refused({"run", path, "--strict"}, 2, says);
  refused({"plan", path, "--strict"}, 2, says);
  refused({"compare", path, "--vary", "tiers.0.eviction=lru,fifo", "--strict"}, 2, says);
  CHECK(test::spillway({"run", scene.scenario, "--strict"}).code == 0);  // has no profile
}

TEST_CASE("profiles that cannot be used are refused with their place", "[cli]") {
  const Scene scene;
  const std::string path = scene.file("with.json", scenario_on(R"("hardware": "box")"));
  refused({"run", path}, 2, "hardware: unknown hardware profile \"box\"");
  refused({"run", path, "--set", "hardware=./box.json"}, 7, "box.json: cannot open");
  refused({"run", path, "--set", "hardware=3"}, 2,
          "--set: hardware: expected a hardware profile's name or path, found 3");
  json document = json::parse(synthetic_document());
  document["profile_version"] = 9;
  scene.file("box.json", document.dump(1));
  refused({"run", path}, 2, "profile_version: unknown version 9; expected 1");
  document["profile_version"] = 1;
  document["results"]["copy"][5]["time"]["med_us"] = 0.01;
  scene.file("box.json", document.dump(1));
  refused({"run", path}, 2, "results.copy.5: copy h2d memcpy_async");
  document["results"]["copy"] = json::array();
  scene.file("box.json", document.dump(1));
  refused({"run", path}, 2, "missing; expected a link hbm to dram");
  refused(
      {"run", path, "--set", R"(links=[{"name":"up","from":"dram","to":"hbm","kind":"profile"}])"},
      2, "Measure them with: spillway calibrate --only copy,contention");
}

TEST_CASE("report renders a profile, warnings first", "[cli]") {
  const Scene scene;
  HardwareProfile profile = test::SyntheticMachine().profile();
  profile.warnings = {"link of gpu 0 trained down"};
  const std::string path = scene.file("box.json", render_document(profile_document(profile)));
  const CliResult html = test::spillway({"report", path});
  REQUIRE(html.code == 0);
  CHECK_THAT(html.out, Contains("<svg") && Contains("Host to GPU") && Contains("Storage read") &&
                           Contains("DRAM by threads"));
  CHECK(html.out.find("trained down") < html.out.find("NVIDIA H100 80GB HBM3"));
  const CliResult text = test::spillway({"report", path, "--format", "text"});
  CHECK_THAT(text.out,
             Contains("h2d memcpy_async host_alloc contiguous: GB/s by size and copies") &&
                 Contains("64 MiB") && Contains("x 256"));
  json edited = json::parse(test::read_file(path));
  edited["results"]["copy"][0]["bytes"] = 1;
  CHECK_THAT(
      test::spillway({"report", scene.file("edited.json", edited.dump()), "--format", "md"}).out,
      Contains("do not match their digest"));
  edited["results"]["copy"][0].erase("time");
  refused({"report", scene.file("edited.json", edited.dump())}, 2,
          "results.copy.0.time: missing; expected an object");
}

TEST_CASE("calibrate --verify says whether a profile still holds", "[cli]") {
  const Scene scene;
  const std::string profile = scene.path("here.json");
  REQUIRE(test::spillway({"calibrate", "--host-only", "--budget", "2s", "--memory", "64MiB",
                          "--only", "dram", "--out", profile, "--quiet"})
              .code == 0);
  const CliResult result =
      test::spillway({"calibrate", "--verify", profile, "--host-only", "--memory", "64MiB",
                      "--scratch", scene.path("."), "--json", "-"});
  INFO(result.err);
  REQUIRE((result.code == 0 || result.code == 99));  // a test machine may be busy
  const json document = test::parse_document(result.out);
  CHECK(document["kind"] == "calibration-verify");
  CHECK(document["results"]["holds"] == (result.code == 0));
  CHECK(document["results"]["stored"]["cells"] >= 1);

  json wrong = json::parse(test::read_file(profile));
  for (json& cell : wrong["results"]["dram"]) cell["gbs"] = cell["gbs"].get<double>() / 20;
  const CliResult slower =
      test::spillway({"calibrate", "--verify", scene.file("wrong.json", wrong.dump()),
                      "--host-only", "--memory", "64MiB", "--scratch", scene.path(".")});
  CHECK(slower.code == 99);
  CHECK_THAT(slower.out, Contains("does not hold") && Contains("Worst cells"));
  refused({"calibrate", "--verify", scene.path("none.json"), "--scratch", scene.path(".")}, 7,
          "none.json: cannot open");
  refused({"calibrate", "--verify", scene.scenario, "--scratch", scene.path(".")}, 2, "kind");
  refused({"calibrate", "--verify", profile, "--dry-run"}, 2,
          "--verify: expected no --dry-run, --resume or --replay beside it");
}

}  // namespace
}  // namespace spillway
