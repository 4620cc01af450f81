// `spillway plan`: the answer, its document, and what makes it impossible.
#include "scenarios/experiment/segments.hpp"
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

/// Sixteen sessions take turns; with so small a pool only the tier below remembers them.
std::string busy_trace() {
  std::string out;
  for (int i = 0; i < 64; ++i) {
    out += fmt::format(
        "{{\"timestamp\": {}, \"input_length\": 2048, \"output_length\": 4, \"hash_ids\": [{}, {}, "
        "{}, {}]}}\n",
        100 * i, 4 * (i % 16), 4 * (i % 16) + 1, 4 * (i % 16) + 2, 4 * (i % 16) + 3);
  }
  return out;
}

/// A recomputed prompt takes 2 ms + 2048 x 20 us + 10.24 us = 42.97 ms, a loaded one (127 blocks of
/// 2 MiB at 25 GB/s) about 11 ms and a short step.
Args busy(const Scene& scene) {
  scene.file("busy.jsonl", busy_trace());
  return {"plan",  scene.scenario,
          "--set", "workload.trace=busy.jsonl",
          "--set", "engine.num_gpu_blocks=300",
          "--set", "plan.sizes=[\"0GiB\",\"256MiB\",\"8GiB\",\"16GiB\"]",
          "--set", "slo=[{\"metric\": \"median_ttft_ms\", \"max\": 30}]"};
}

TEST_CASE("a plan recommends the smallest size that meets the SLO", "[cli]") {
  const Scene scene;
  const json document = test::document_of(busy(scene));
  CHECK(document["kind"] == "plan");
  const json& r = document["results"];
  CHECK(r["tier"] == "dram");
  CHECK(r["feasible"] == true);
  CHECK(r["recommended"] == "8GiB");
  CHECK(r["headroom"].get<double>() > 0);
  REQUIRE(r["points"].size() == 4);
  const bool feasible[] = {false, false, true, true};
  for (std::size_t i = 0; i < 4; ++i) {
    const json& point = r["points"][i];
    CHECK(point["feasible"] == feasible[i]);
    CHECK(point["digest"].get<std::string>().size() == 16);
    CHECK(point["run"]["completed"] == 64);
  }
  CHECK(r["points"][2]["capacity_bytes"] == std::int64_t{8} << 30);
  CHECK_THAT(r["verdict"].get<std::string>(),
             ContainsSubstring("Use 8 GiB of DRAM. It meets the SLO: median TTFT "));
}

TEST_CASE("each point of a plan is the run of that size", "[cli]") {
  const Scene scene;
  const Args call = busy(scene);
  const json points = test::document_of(call)["results"]["points"];
  for (const json& point : points) {
    Args run = call + Args{"--set", "tiers.0.capacity=" + point["capacity"].get<std::string>()};
    run[0] = "run";
    CHECK(test::document_of(run)["digest"] == point["digest"]);
  }
}

TEST_CASE("a plan's terminal shows the verdict, the sizes and the flag to set", "[cli]") {
  const Scene scene;
  const CliResult result = test::spillway(busy(scene));
  CHECK(result.code == 0);
  CHECK(result.out.rfind("Use 8 GiB of DRAM. ", 0) == 0);
  CHECK_THAT(result.out, ContainsSubstring("\nConfidence: "));
  CHECK_THAT(result.out, ContainsSubstring("--kv-offloading-size 8"));
  for (const char* size :
       {" 0 GiB  missed ", "256 MiB  missed ", " 8 GiB  met ", " 16 GiB  met "}) {
    CHECK_THAT(result.out, ContainsSubstring(size));
  }
}

TEST_CASE("--details prints all that is known, and every note", "[cli]") {
  const Scene scene;
  const Args call = busy(scene);
  const CliResult brief = test::spillway(call);
  const CliResult whole = test::spillway(call + Args{"--details", "--notes"});
  CHECK(whole.code == 0);
  CHECK(whole.out.substr(0, whole.out.find('\n')) == brief.out.substr(0, brief.out.find('\n')));
  CHECK_THAT(whole.out, ContainsSubstring("Limiting resource: "));
  CHECK_THAT(whole.out, ContainsSubstring("from dram"));
  const json warnings = test::document_of(call)["warnings"];
  const auto notes = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(notes(whole.err) == static_cast<std::ptrdiff_t>(warnings.size()));
  CHECK(notes(brief.err) <= 4);
}

TEST_CASE("no feasible size is exit 4, with the document and the report", "[cli]") {
  const Scene scene;
  const Args call = Args{"plan", scene.scenario, "--set", "slo.0.max=0.001"};
  const CliResult text = test::spillway(call);
  CHECK(text.code == 4);
  CHECK_THAT(text.out, ContainsSubstring("Out of reach with these step times: p99 TTFT is "));
  const CliResult result = test::spillway(call + Args{"--json", "-", "--out", scene.path("o")});
  CHECK(result.code == 4);
  const json r = test::parse_document(result.out)["results"];
  CHECK(r["feasible"] == false);
  CHECK_FALSE(r.contains("recommended"));
  CHECK(test::read_file(scene.path("o/plan.json")) == result.out);
  CHECK(std::filesystem::exists(scene.path("o/report.html")));
}

TEST_CASE("plan: a size at which requests do not complete is not feasible", "[cli]") {
  const Scene scene;
  CHECK(test::spillway({"plan", scene.scenario, "--set", "engine.max_model_len=10"}).code == 4);
}

TEST_CASE("an unbounded size is \"inf\" in the document", "[cli]") {
  const Scene scene;
  const json r = test::document_of(
      {"plan", scene.scenario, "--set", "plan.sizes=[\"1000blocks\",\"inf\"]"})["results"];
  CHECK(r["points"][0]["capacity_bytes"] == 1000 * 16 * 131072);
  CHECK(r["points"][1]["capacity_bytes"] == "inf");
  CHECK(r["points"][1]["run"]["tiers"][1]["capacity_blocks"] == "inf");
}

TEST_CASE("--out takes plan.json and report.html, and says where the report lies", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("out");
  const CliResult result = test::spillway({"plan", scene.scenario, "--out", out});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("\nReport: " + out + "/report.html\n"));
  test::parse_document(test::read_file(out + "/plan.json"));
  CHECK_THAT(test::read_file(out + "/report.html"), ContainsSubstring("<!DOCTYPE html>"));
}

TEST_CASE("an --out whose report cannot be written leaves no document", "[cli]") {
  const Scene scene;
  const std::string out = scene.path("out");
  std::filesystem::create_directories(out + "/report.html");
  for (const char* verb : {"plan", "run"}) {
    refused({verb, scene.scenario, "--out", out, "--json", scene.path("d.json")}, 7,
            "report.html: is a directory; expected a file to write");
  }
  CHECK(std::distance(std::filesystem::directory_iterator(out), {}) == 2);
  CHECK(scene.listing() == "out s.json t.jsonl");
}

TEST_CASE("a scenario without a plan is planned with defaults, and says which", "[cli]") {
  const Scene scene;
  const json document =
      test::document_of({"plan", scene.scenario, "--set", "plan=null", "--replications", "1"});
  CHECK(document["results"]["objective"] == "least-dram");
  CHECK(document["results"]["points"].size() > 2);
  CHECK(document["notes"][0]["code"] == "plan-by-default");
  CHECK(document["notes"][0]["figures"]["objective"] == "least-dram");
}

TEST_CASE("a scenario without slo or tiers is refused by plan and taken by run", "[cli]") {
  const Scene scene;
  refused({"plan", scene.scenario, "--set", "plan=null", "--set", "slo=[]"}, 2,
          "s.json: slo: missing; expected at least");
  refused(
      {"plan", scene.scenario, "--set", "plan=null", "--set", "tiers=null", "--set", "links=null"},
      2, "s.json: plan: the scenario has no tier whose size a plan could choose");
  CHECK(test::spillway({"run", scene.scenario, "--set", "plan=null", "--set", "slo=[]"}).code == 0);
}

TEST_CASE("an option that does not do is named, not the file", "[cli]") {
  const Scene scene;
  const auto with = [&](const char* option, const char* value) {
    return Args{"plan", scene.scenario, option, value};
  };
  refused(with("--objective", "least-cost"), 2, "--objective: plan.objective: least-cost needs");
  refused(with("--objective", "cheapest"), 2, "--objective: plan.objective: unknown objective");
  refused(with("--max-runs", "none"), 2, "--max-runs: plan.max_runs: expected");
  refused(with("--replications", "0"), 2, "--replications: plan.replications: expected");
  refused(
      with("--replications", "4"), 2,
      "--replications: plan.replications: 4 replicates decide nothing; expected 5 or more, or 1");
}

TEST_CASE("bad sizes are refused", "[cli]") {
  const Scene scene;
  const auto with = [&](const std::string& sizes) {
    return Args{"plan", scene.scenario, "--set", "plan.sizes=" + sizes};
  };
  refused(with("[]"), 2, "plan.sizes: missing; expected sizes to try");
  refused(with("[\"4GiB\",\"1GiB\"]"), 2, "plan.sizes: expected ascending sizes, found 1GiB after");
  refused(with("[\"1GiB\",\"1GiB\"]"), 2, "plan.sizes: expected ascending sizes");
  refused(with("[\"1\"]"), 2, "plan.sizes: expected a size with a unit");
  refused(with("[1]"), 2, "plan.sizes: expected an array, each item a size with");
  refused(with("4GiB"), 2, "plan.sizes: expected an array, each item a size with");
  refused({"plan", scene.scenario, "--set", "plan.tier=nvme"}, 2,
          "plan.tier: unknown tier \"nvme\"; known: dram");
}

TEST_CASE("a kept run with other members than ours is refused, not read as something", "[cli]") {
  const Scene scene;
  const Args plan = {"plan", scene.scenario, "--quiet", "--replications", "1", "--cache"};
  const std::string kept = scene.path("kept");
  test::spillway(plan + Args{kept});
  const std::string planted = scene.path("planted");
  std::filesystem::create_directory(planted);
  {
    SegmentWriter writer(planted, "plan");
    read_segments(kept, [&](SegmentEntry&& entry, const SegmentPlace&) {
      writer.append({entry.key, "{\"targets\":3}", "{}"});
    });
  }
  refused(plan + Args{planted}, 2, planted + ": keeps a run that this program did not write (");
}

}  // namespace
}  // namespace spillway
