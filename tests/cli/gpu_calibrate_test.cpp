// `spillway calibrate` with a GPU: the simulated harness stands in for one.
#include "tests/cli/scene.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/fake_nccl.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::FakeGpu;
using test::json;
using test::refused;
using test::Scene;

Args calibrate(const Scene& scene, const Args& more) {
  return Args{"calibrate", "--budget", "20s", "--memory", "512MiB", "--out", scene.path("p.json")} +
         Args{"--harness", test::fake_gpu_harness()} + more;
}

bool warns(const json& document, const std::string& text) {
  for (const json& warning : document["warnings"]) {
    if (warning.get<std::string>().find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("calibrate --harness names what measures the GPU", "[cli]") {
  const FakeGpu fake("");
  const Scene scene;
  REQUIRE(test::spillway(calibrate(scene, {"--only", "copy,hbm,contention"})).code == 0);
  const json profile = json::parse(test::read_file(scene.path("p.json")));
  const json& results = profile["results"];
  CHECK(results["copy"].size() > 50);
  CHECK(results["compute"]["hbm"].size() == 6);
  CHECK(results["contention"].size() > 2);
  CHECK(results["machine"]["gpus"][0]["name"] == "Simulated GPU");
  CHECK(warns(profile, "simulated harness: not a measurement"));
  refused({"calibrate", "--dry-run", "--harness", scene.path("none")}, 7,
          "--harness: expected a program that can be started");
}

TEST_CASE("calibrate --all-reduce names what measures collectives", "[cli]") {
  const FakeGpu fake("gpus=2");
  const Scene scene;
  const test::Scratch programs;
  const Args more = {"--only", "collective", "--all-reduce", test::fake_all_reduce(programs)};
  REQUIRE(test::spillway(calibrate(scene, more)).code == 0);
  const json results = json::parse(test::read_file(scene.path("p.json")))["results"];
  REQUIRE(results["collective"].size() == 1);
  CHECK(results["collective"][0]["points"].size() == 16);
  const json& fit = results["fits"][0];
  CHECK(fit["target"] == "collective/all_reduce/2");
  CHECK(fit["params"]["latency_us"].get<double>() == Approx(24).epsilon(0.01));
  CHECK(fit["params"]["gbs"].get<double>() == Approx(16).epsilon(0.01));
  const Args verify = {"calibrate", "--verify", scene.path("p.json"), "--harness",
                       test::fake_gpu_harness()};
  CHECK(test::spillway(verify + more).code == 0);
  refused(calibrate(scene, {"--all-reduce", scene.path("none")}), 7,
          "--all-reduce: expected a program that can be started");
}

TEST_CASE("a GPU that is lost on the way leaves its rows, marked", "[cli]") {
  const Scene scene;
  // Two answers for hello and device, thirty cells.
  const FakeGpu fake("lost_after=32");
  const CliResult result = test::spillway(calibrate(scene, {"--only", "copy"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json profile = json::parse(test::read_file(scene.path("p.json")));
  CHECK(profile["results"]["copy"].size() == 30);
  CHECK(profile["results"]["complete"] == false);
  CHECK(warns(profile, "gpu was lost: the GPU is gone: cudaErrorDeviceUnavailable"));
  CHECK(warns(profile, "simulated harness: not a measurement"));
}

TEST_CASE("contents that differ are rows that say so", "[cli]") {
  const Scene scene;
  const FakeGpu fake("corrupt=1");
  REQUIRE(test::spillway(calibrate(scene, {"--only", "copy"})).code == 0);
  const json profile = json::parse(test::read_file(scene.path("p.json")));
  for (const json& row : profile["results"]["copy"]) CHECK(row["state"]["valid"] == false);
  CHECK(warns(profile, "cells failed; each says why in state.problem"));
}

// ---- closing the loop

/// The schedule of the scene's run, in `t.csv`, and its result, in `r.json`.
std::string schedule_of(const Scene& scene) {
  const std::string path = scene.path("t.csv");
  REQUIRE(test::spillway({"run", scene.scenario, "--output", "kind=transfers,path=" + path,
                          "--json", scene.path("r.json")})
              .code == 0);
  return path;
}

TEST_CASE("--output kind=transfers writes a row per transfer, and the result names the file",
          "[cli]") {
  const Scene scene;
  const std::string text = test::read_file(schedule_of(scene));
  // Request 0 stores 37 full blocks of 2 MiB when the step after its prefill begins, at 14.003 ms:
  // 10 us + 77,594,624 bytes / 25 GB/s = 3,113,785 ns.
  CHECK(text.rfind("link,direction,submitted_s,started_s,ended_s,bytes,copies\n"
                   "d2h,d2h,0.014003000,0.014003000,0.017116785,77594624,37\n",
                   0) == 0);
  const json result = json::parse(test::read_file(scene.path("r.json")));
  CHECK(result["inputs"]["transfers"] == scene.path("t.csv"));
  CHECK(std::count(text.begin(), text.end(), '\n') ==
        1 + result["results"]["links"][0]["transfers"].get<int>() +
            result["results"]["links"][1]["transfers"].get<int>());
}

TEST_CASE("calibrate --replay plays a run's transfers and compares", "[cli]") {
  const Scene scene;
  schedule_of(scene);
  const Args replay = {"calibrate", "--replay", scene.path("r.json"), "--harness",
                       test::fake_gpu_harness()};
  // The simulated GPU's link is the scenario's: 10 us + 25 GB/s.
  const json same = test::document_of(replay);
  CHECK(same["kind"] == "calibration-replay");
  CHECK(same["results"]["service"]["worst_error_percent"].get<double>() < 0.01);
  CHECK(warns(same, "simulated harness: not a measurement"));
  // At 20 GB/s, 77,594,624 bytes take 3,889.7 us, where 3,113.8 us were simulated: -19.9%.
  const FakeGpu slower("replay_gbs=20");
  const json off = test::document_of(replay);
  CHECK(off["results"]["service"]["worst_error_percent"].get<double>() ==
        Approx(100 * (1 - 3113.785 / 3889.7312)).epsilon(1e-4));
  const CliResult shown = test::spillway(replay);
  CHECK_THAT(shown.out, ContainsSubstring("Replay: simulated against measured"));
  CHECK_THAT(shown.out, ContainsSubstring("first submission to last end"));
}

TEST_CASE("calibrate --window chooses the part to replay", "[cli]") {
  const Scene scene;
  const Args replay = {"calibrate", "--replay", schedule_of(scene), "--harness",
                       test::fake_gpu_harness()};
  const json part = test::document_of(replay + Args{"--window", "100ms+50ms"});
  CHECK(part["results"]["window"]["transfers"] == 1);
  CHECK(part["results"]["window"]["from_s"] == 0.103763);
  refused(replay + Args{"--window", "60s+1s"}, 2, "no transfer is submitted within the window");
  refused(replay + Args{"--window", "soon"}, 2, "--window: ");
}

TEST_CASE("calibrate --api chooses how to copy", "[cli]") {
  const Scene scene;
  const Args replay = {"calibrate", "--replay", schedule_of(scene), "--harness",
                       test::fake_gpu_harness()};
  CHECK(test::document_of(replay + Args{"--api", "memcpy_batch"})["results"]["api"] ==
        "memcpy_batch");
  refused(replay + Args{"--api", "telepathy"}, 2, "--api");
}

TEST_CASE("calibrate --replay without a GPU says what is missing, and writes nothing", "[cli]") {
  const Scene scene;
  const std::string schedule = schedule_of(scene);
  const std::string before = scene.listing();
  const FakeGpu fake("missing=no_driver");
  refused({"calibrate", "--replay", schedule, "--harness", test::fake_gpu_harness(), "--out",
           scene.path("out"), "--json", scene.path("out.json")},
          7, "needs a GPU to play the schedule on: GPU: no driver");
  refused({"calibrate", "--replay", scene.trace, "--harness", test::fake_gpu_harness()}, 2,
          scene.trace);
  refused({"calibrate", "--replay", scene.path("absent.csv")}, 7, "absent.csv");
  refused({"calibrate", "--replay", schedule, "--dry-run"}, 2, "--dry-run");
  CHECK(scene.listing() == before);
}

// ---- the real harness, where it was built (ctest does not run this; no GPU is needed)

TEST_CASE("the harness beside the program says hello", "[.cuda]") {
  const Scene scene;
  const CliResult result = test::spillway({"calibrate", "--dry-run", "--only", "copy"});
  CHECK((result.code == 0 || result.err.find("GPU: no driver") != std::string::npos ||
         result.err.find("GPU: no device") != std::string::npos));
}

}  // namespace
}  // namespace spillway
