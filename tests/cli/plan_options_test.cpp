// Options of `plan`: recipes, objectives, budgets, what is kept and what is left out.
#include <algorithm>
#include <filesystem>

#include "tests/cli/scene.hpp"

namespace spillway::test {
namespace {

/// 64 requests a tenth of a second apart, two prompts each asked 32 times in a row.
Args steady(const Scene& scene) {
  std::string rows;
  for (int i = 0; i < 64; ++i) {
    rows += fmt::format(
        "{{\"timestamp\": {}, \"input_length\": 512, \"output_length\": 2, \"hash_ids\": [{}]}}\n",
        100 * i, i / 32);
  }
  scene.file("steady.jsonl", rows);
  return {"plan",  scene.scenario,
          "--set", "workload.trace=steady.jsonl",
          "--set", "plan.sizes=[\"0GiB\",\"1GiB\"]",
          "--set", "slo=[{\"metric\": \"median_ttft_ms\", \"max\": 500}]"};
}

Args with(Args call, const Args& more) {
  call.insert(call.end(), more.begin(), more.end());
  return call;
}

TEST_CASE("--recipe fills in a plan and says what it set", "[cli]") {
  const Scene scene;
  const json document = test::document_of(with(steady(scene), {"--recipe", "compare-policies"}));
  std::string said;
  for (const json& warning : document["warnings"]) said += warning.get<std::string>() + "\n";
  CHECK_THAT(said,
             ContainsSubstring("Recipe compare-policies sets plan.search to "
                               "{\"tiers.0.eviction\":[\"lru\",\"arc\",\"s3fifo\",\"lfu\"]}"));
  CHECK_THAT(said, !ContainsSubstring("plan.sizes"));  // which the scenario gives
  REQUIRE(document["results"]["points"].size() == 8);
  CHECK(document["results"]["points"][3]["name"] == "1GiB, eviction=arc");
  CHECK(document["results"]["recommended_values"]["tiers.0.eviction"] == "lru");
  refused(with(steady(scene), {"--recipe", "compare-policy"}), 2, "compare-policies");
}

TEST_CASE("recipes of load and of GPUs pin the size and answer in their words", "[cli]") {
  const Scene scene;
  const Args one = with(steady(scene), {"--set", "plan.sizes=[\"1GiB\"]", "--replications", "1"});
  const json gpus = test::document_of(with(one, {"--recipe", "how-many-gpus"}))["results"];
  CHECK(gpus["points"].size() == 8);
  CHECK_THAT(
      gpus["verdict"].get<std::string>(),
      ContainsSubstring("Use 1 GPU (replicas=1) at 1 GiB of DRAM. It meets the SLO: "));
  // 64 requests in 6.3 s are 10.16 a second; 64 times as many meet the SLO too, and no more are
  // tried: what ran on the way, and the recorded rate.
  const json load = test::document_of(with(one, {"--recipe", "max-rate-under-slo"}))["results"];
  CHECK(load["points"].size() == 8);
  CHECK_THAT(load["verdict"].get<std::string>(),
             ContainsSubstring("The most load that meets the SLO at 1 GiB of DRAM is 64x of the "
                               "recorded rate = 650 requests/s (the most tried). "));
  CHECK_THAT(load["notes"].dump(),
             ContainsSubstring("Tried up to 64 times the rate, which meets the SLO as well"));
  refused(with(steady(scene), {"--recipe", "how-many-gpus"}), 2,
          "plan.sizes: [\"0GiB\",\"1GiB\"] contradicts the recipe how-many-gpus");
}

TEST_CASE("--objective replaces the scenario's", "[cli]") {
  const Scene scene;
  refused(with(steady(scene), {"--objective", "most-load"}), 2, "most-load needs loads");
  const json r =
      test::document_of(with(steady(scene), {"--objective", "most-load", "--set",
                                             "plan.search={\"workload.speed\":[1,2]}"}))["results"];
  CHECK(r["objective"] == "most-load");
  CHECK(r["recommended_values"]["workload.speed"] == "2");
}

/// Lines of all files of a folder.
std::size_t lines_in(const std::string& folder) {
  std::size_t lines = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = test::read_file(entry.path().string());
    lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  return lines;
}

TEST_CASE("--replications backs the answer, and the cache answers the second time", "[cli]") {
  const Scene scene;
  const std::string cache = scene.path("cache");
  const Args call = with(steady(scene), {"--replications", "10", "--cache", cache, "--set",
                                         "workload.replication.warmup_s=0"});
  const json first = test::document_of(call);
  const json& r = first["results"];
  CHECK(r["recommended"] == "0GiB");
  CHECK(r["confidence"]["runs"] >= 2 + 6 + 10);
  CHECK(r["sim"]["runs_reused"] == 0);
  const json& target = r["points"][0]["targets"][0];
  CHECK(target["limit"] == 0.5);  // of requests may be slower than a median
  CHECK(target["backed"] == true);
  const std::size_t kept = lines_in(cache);
  CHECK(kept >= r["confidence"]["runs"].get<std::size_t>());
  const json second = test::document_of(call);
  CHECK(second["digest"] == first["digest"]);
  CHECK(lines_in(cache) == kept);
  CHECK(second["results"]["sim"]["runs_reused"] == r["confidence"]["runs"]);
  // What is asked is part of the key: another target finds none of them.
  const json other = test::document_of(with(call, {"--set", "slo.0.max=400"}));
  CHECK(other["results"]["sim"]["runs_reused"] == 0);
}

TEST_CASE("budgets too small to decide end undecided and say what would decide", "[cli]") {
  const Scene scene;
  for (const Args& budget : {Args{"--max-runs", "3"}, Args{"--budget", "1ms"}}) {
    const CliResult result =
        test::spillway(with(steady(scene), with({"--replications", "10", "--json", "-"}, budget)));
    CHECK(result.code == 5);
    const json r = test::parse_document(result.out)["results"];
    CHECK(r["undecided"] == true);
    CHECK_FALSE(r.contains("recommended"));
    // One run of each size is all that was made. Nothing backs what it says.
    CHECK(r["provisional"] == "0GiB");
    CHECK(r["points"][0]["verdict"] == "looks-met");
    CHECK(r["points"][0]["feasible"] == false);
    const std::string verdict = r["verdict"];
    CHECK_THAT(verdict, ContainsSubstring("0 GiB meets every target in one run, and"));
    CHECK_THAT(verdict, ContainsSubstring("What would decide: "));
  }
  refused(with(steady(scene), {"--budget", "soon"}), 2, "--budget");
}

TEST_CASE("fewer runs than cells are refused before any is made", "[cli]") {
  const Scene scene;
  refused(with(steady(scene), {"--replications", "1", "--max-runs", "1"}), 5,
          "1 runs do not reach each of 2 cells once, and nothing was run; expected about 2");
  // Each of 2 cells once, three times in the screening, and 60 for finalists.
  refused(with(steady(scene), {"--replications", "10", "--max-runs", "1"}), 5, "about 68");
}

TEST_CASE("--other-recordings asks for more than replicates can tell", "[cli]") {
  const Scene scene;
  const Args call =
      with(steady(scene), {"--replications", "10", "--set", "workload.replication.warmup_s=0"});
  const auto method = [](const CliResult& result) {
    return test::parse_document(result.out)["results"]["confidence"]["method"].get<std::string>();
  };
  const CliResult plain = test::spillway(with(call, {"--json", "-"}));
  const CliResult wide = test::spillway(with(call, {"--json", "-", "--other-recordings"}));
  CHECK(plain.code == 0);
  CHECK_THAT(method(plain), ContainsSubstring("Confidence is about such traffic"));
  CHECK_THAT(method(wide), ContainsSubstring("about traffic of which this trace is one sample"));
  refused(with(steady(scene), {"--replications", "1", "--other-recordings"}), 2,
          "--other-recordings: widens confidence, and plan.replications 1 has none; expected 5");
}

TEST_CASE("--no-sensitivity leaves it out", "[cli]") {
  const Scene scene;
  const Args on = {"--set", "plan.sensitivity=true"};
  CHECK(test::document_of(with(steady(scene), on))["results"].contains("sensitivity"));
  CHECK_FALSE(
      test::document_of(with(steady(scene), with(on, {"--no-sensitivity"})))["results"].contains(
          "sensitivity"));
}

TEST_CASE("plan --output renders each kind", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("p.md");
  CHECK(test::spillway(with(steady(scene), {"--output", "kind=md,path=" + path})).code == 0);
  CHECK_THAT(test::read_file(path), ContainsSubstring("Decision"));
}

TEST_CASE("what is hardly meant is told before a plan runs, and heads its warnings", "[cli]") {
  const Scene scene;
  const Args call =
      with(steady(scene), {"--set", "slo=[{\"metric\": \"median_ttft_ms\", \"max\": 0.05}]",
                           "--set", "workload.concurrency=8"});
  const test::CliResult result = test::spillway(call);
  const std::string doubt =
      "slo.0.max: max 0.05 of median_ttft_ms is 0.05 ms, and an idle server takes 2.02 ms. If 0.05 "
      "s are meant, write 50";
  CHECK_THAT(result.err, ContainsSubstring(doubt));
  CHECK_THAT(result.err, ContainsSubstring("workload.concurrency caps requests in flight"));
  // A target about no request is refused: answers of one token have no time per token.
  std::string ones = test::small_trace();
  for (std::size_t at = ones.find("\"output_length\": 5"); at != std::string::npos;
       at = ones.find("\"output_length\": 5")) {
    ones.replace(at, 18, "\"output_length\": 1");
  }
  scene.file("one.jsonl", ones);
  refused(with(steady(scene), {"--set", "slo=[{\"metric\": \"p99_tpot_ms\", \"max\": 50}]", "--set",
                               "workload.trace=one.jsonl"}),
          2, "p99_tpot_ms is about no request");
}

}  // namespace
}  // namespace spillway::test
