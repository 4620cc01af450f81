// `spillway compare`: variants, verdicts, documents and refusals, through the program.
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

/// The scene with generated chat instead of its trace.
Args chat(const Scene& scene, const Args& more) {
  return Args{"compare", scene.scenario, "--set",
              "workload={\"synthetic\": {\"requests\": 200, \"block_tokens\": 64, "
              "\"user_tokens\": 300}, \"arrival\": \"trace\"}"} +
         more;
}

TEST_CASE("compare ranks variants by differences on the same workloads", "[cli]") {
  const Scene scene;
  const Args call = chat(scene, {"--vary", "tiers.0.capacity=0GiB,4GiB", "--replications", "5"});
  const json document = test::document_of(call);
  CHECK(document["kind"] == "compare");
  const json& inputs = document["inputs"];
  CHECK(inputs["vary"] == json({{{"key", "tiers.0.capacity"}, {"values", {"0GiB", "4GiB"}}}}));
  CHECK(inputs["replications"] == 5);
  CHECK(inputs["workloads"][0]["content_hashes"].size() == 5);
  const json& r = document["results"];
  CHECK(r["baseline"] == "0GiB");
  CHECK(r["metric"] == "p99_ttft_ms");
  CHECK(r["replication"] == "independent");
  CHECK(r["tests"] == 11);
  REQUIRE(r["variants"].size() == 2);
  const json& m = r["variants"][1]["metrics"]["cached_share"];
  double sum = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    sum += m["values"][i].get<double>() -
           r["variants"][0]["metrics"]["cached_share"]["values"][i].get<double>();
  }
  CHECK(m["difference"].get<double>() == Approx(sum / 5));
  CHECK(m["low"] < m["difference"]);
  CHECK(m["verdict"] == "better");
  CHECK(r["variants"][1]["digests"].size() == 5);
  CHECK(r["variants"][1]["values"]["tiers.0.capacity"] == "4GiB");
  CHECK(r["ranking"] == json({"4GiB", "0GiB"}));
  const CliResult text = test::spillway(call);
  CHECK_THAT(text.out, ContainsSubstring("4GiB has the best mean p99 TTFT: "));
  CHECK_THAT(test::spillway(call + Args{"--details"}).out,
             ContainsSubstring("verdicts hold at 5% for all 11 tests together"));
  CHECK_THAT(test::spillway(call + Args{"--notes"}).err, ContainsSubstring("seeds 1 to 5"));
}

TEST_CASE("compare resamples the sessions of a trace", "[cli]") {
  const Scene scene;
  const json document = test::document_of(
      {"compare", scene.scenario, "--vary", "tiers.0.capacity=0GiB,4GiB", "--replications", "5"});
  CHECK(document["results"]["replication"] == "resampled");
  const json run = test::document_of({"run", scene.scenario});
  CHECK(document["results"]["variants"][1]["metrics"]["p99_ttft_ms"]["recorded"] ==
        run["results"]["p99_ttft_ms"]);
  CHECK_THAT(document["results"]["replicates"].get<std::string>(),
             ContainsSubstring("6 sessions (suggested by prefixes, as the trace names none; other "
                               "requests are one each) are resampled within the whole trace"));
}

TEST_CASE("compare without replications prints points", "[cli]") {
  const Scene scene;
  for (const char* n : {"1", "4"}) {
    const Args call = {
        "compare", scene.scenario, "--vary", "tiers.0.eviction=lru,fifo", "--replications", n};
    const json r = test::document_of(call)["results"];
    CHECK(r["tests"] == 0);
    CHECK_FALSE(r["variants"][1]["metrics"]["p99_ttft_ms"].contains("low"));
    CHECK_THAT(test::spillway(call).out, ContainsSubstring("no interval"));
  }
  const json run = test::document_of({"run", scene.scenario});
  const json r = test::document_of({"compare", scene.scenario, "--vary",
                                    "tiers.0.eviction=lru,fifo", "--replications", "1"})["results"];
  CHECK(r["variants"][0]["digests"][0] == run["digest"]);
  refused({"compare", scene.scenario, "--vary", "tiers.0.eviction=lru,fifo", "--replications", "0"},
          2, "--replications: Value 0 not in range 1 to 1000");
}

TEST_CASE("compare --baseline names a value, or a key and its value", "[cli]") {
  const Scene scene;
  const auto with = [&](const Args& more) {
    return Args{"compare", scene.scenario, "--vary", "tiers.0.eviction=lru,fifo", "--replications",
                "1"} +
           more;
  };
  CHECK(test::document_of(with({"--baseline", "fifo"}))["results"]["baseline"] == "fifo");
  CHECK(test::document_of(with({"--vary", "engine.eviction=lru,fifo", "--baseline",
                                "engine.eviction=fifo"}))["results"]["baseline"] ==
        "tiers.0.eviction=lru, engine.eviction=fifo");
  refused(with({"--baseline", "fif"}), 2,
          "--baseline: unknown value \"fif\"; did you mean \"fifo\"? known: lru, fifo");
  refused(with({"--vary", "engine.eviction=lru,fifo", "--baseline", "fifo"}), 2,
          "--baseline: \"fifo\" is a value of several keys; expected key=value");
  refused(with({"--baseline", "fifo", "--baseline", "lru"}), 2,
          "--baseline: tiers.0.eviction: has a baseline already");
}

TEST_CASE("compare --engines runs a scenario on several engines", "[cli]") {
  const Scene scene;
  const json document =
      test::document_of({"compare", scene.scenario, "--engines", "vllm,sglang,trtllm",
                         "--replications", "2", "--set", "engine.offload_connector=native"});
  CHECK(document["inputs"]["vary"][0]["key"] == "engine.preset");
  REQUIRE(document["results"]["variants"].size() == 3);
  CHECK(document["warnings"].dump().find("tokens on the device") != std::string::npos);
  refused({"compare", scene.scenario, "--engines", "vllm,sglang", "--vary", "seed=1,2"}, 2,
          "excludes");
}

TEST_CASE("compare --metric ranks by any metric of a run", "[cli]") {
  const Scene scene;
  const auto with = [&](const std::string& metric) {
    return Args{"compare", scene.scenario, "--vary", "tiers.0.capacity=0GiB,4GiB", "--replications",
                "1",       "--metric",     metric};
  };
  const json r = test::document_of(with("p95_itl_ms"))["results"];
  CHECK(r["metrics"].size() == 12);
  CHECK(r["metrics"][0] == "p95_itl_ms");
  CHECK(test::document_of(with("rejected"))["results"]["metrics"].size() == 11);
  refused(with("p99_tft_ms"), 2,
          "--metric: unknown metric \"p99_tft_ms\"; did you mean \"p99_ttft_ms\"?");
}

TEST_CASE("a variant that rejects everybody wins nothing", "[cli]") {
  const Scene scene;
  const Args call =
      chat(scene, {"--vary", "policies.admission=always,token-bucket:tokens_per_s=1:burst=1",
                   "--replications", "5"});
  const json document = test::document_of(call);
  const json& results = document["results"];
  CHECK(results["ranking"][0] == "always");
  CHECK_THAT(document["notes"].dump(), ContainsSubstring("serves-nobody"));
  const CliResult table = test::spillway(call);
  CHECK_THAT(table.out, ContainsSubstring("rejected"));
}

TEST_CASE("compare refuses what it cannot vary, before anything runs", "[cli]") {
  const Scene scene;
  refused({"compare"}, 2, "SCENARIO is required");
  refused({"compare", scene.scenario}, 2, "expected --vary KEY=A,B or --engines A,B");
  const auto with = [&](const std::string& vary) {
    return Args{"compare", scene.scenario, "--vary", vary, "--set", "workload.trace=none.jsonl"};
  };
  refused(with("eviction"), 2, "--vary: expected key.path=value,value, found \"eviction\"");
  refused(with("tiers.0.eviction=lru"), 2,
          "--vary: tiers.0.eviction: expected two values or more, found \"lru\"");
  refused(with("tiers.0.eviction=lru,lru"), 2, "the value \"lru\" is given twice");
  refused(with("tiers.0.eviction=lru,"), 2, "an empty value in");
  refused(with("tiers.0.evictoin=lru,fifo"), 2,
          "--vary: tiers.0.evictoin: unknown key of tiers[] \"evictoin\"; did you mean "
          "\"eviction\"?");
  refused(with("tiers.0.eviction=lru,fiffo"), 2, "--vary: tiers.0.eviction: unknown ");
  refused(with("tiers.3.eviction=lru,fifo"), 2, "\"3\" is no place in an array of 1");
  refused(with("tiers.0.capacity=1GiB,1024MiB"), 2,
          "1GiB and 1024MiB are the same configuration; expected values that differ");
  refused(with("seed=1,2"), 2, "--vary: seed: replications vary the seed already");
  refused(with("tiers.0.eviction=lru,fifo") + Args{"--vary", "tiers.0.eviction=lru,fifo"}, 2,
          "--vary: tiers.0.eviction: is varied twice");
  std::string many = "engine.num_gpu_blocks=100";
  for (int i = 101; i < 165; ++i) many += "," + std::to_string(i);
  refused(with(many), 2, "combine to more than 64 variants");
  refused({"compare", scene.scenario, "--vary", "tiers.0.eviction=lru,fifo", "--set",
           "workload.trace=none.jsonl"},
          7, "none.jsonl: cannot open");
}

TEST_CASE("compare --output renders each kind, and report does so later", "[cli]") {
  const Scene scene;
  const Args call = chat(scene, {"--vary", "tiers.0.capacity=0GiB,4GiB", "--replications", "5"});
  for (const char* kind : {"html", "md", "csv", "text"}) {
    const CliResult result =
        test::spillway(call + Args{"--output", std::string("kind=") + kind + ",path=-"});
    INFO(kind);
    CHECK(result.code == 0);
    CHECK_THAT(result.out, ContainsSubstring("cached_share"));
    CHECK_THAT(result.out, ContainsSubstring("prompt tokens from dram"));
  }
  const std::string path = scene.path("compare.json");
  const CliResult now =
      test::spillway(call + Args{"--json", path, "--output", "kind=md,path=" + scene.path("c.md")});
  REQUIRE(now.code == 0);
  const CliResult later = test::spillway({"report", path, "--format", "md"});
  CHECK(later.code == 0);
  CHECK(later.out == test::read_file(scene.path("c.md")));

  // A document that was cut by hand is refused, not rendered.
  const json whole = json::parse(test::read_file(path));
  const std::pair<std::string, std::string> edits[] = {
      {"metrics", "not a complete result document"},
      {"variants", "not a complete result document"},
      {"ranking", "results.ranking.0: expected the name of one of 2 variants, found \"none\""},
      {"baseline", "results.baseline: expected the name of one of 2 variants, found \"none\""},
      {"metric", "results.metric: expected one of results.metrics, found \"none\""}};
  for (const auto& [member, says] : edits) {
    json cut = whole;
    const bool text = member == "baseline" || member == "metric";
    cut["results"][member] = text ? json("none") : json::array({"none"});
    const std::string file = scene.file("cut.json", cut.dump());
    INFO(member);
    refused({"report", file}, 2, says);
  }
}

TEST_CASE("compare ranks policies that the engine lacks behind those that it runs", "[cli]") {
  const Scene scene;
  const Args call =
      chat(scene, {"--vary", "tiers.0.eviction=lru,s3fifo,arc", "--replications", "3"});
  const json r = test::document_of(call)["results"];
  CHECK(r["ranking"].back() == "s3fifo");
  CHECK(r["variants"][1]["engine_lacks"] == "s3fifo");
  CHECK_FALSE(r["variants"][0].contains("engine_lacks"));
  const CliResult text = test::spillway(call);
  CHECK_THAT(text.out, ContainsSubstring("s3fifo (not in the engine)"));
  CHECK_THAT(text.err, ContainsSubstring("vLLM 0.23 cannot run s3fifo"));
}

}  // namespace
}  // namespace spillway
