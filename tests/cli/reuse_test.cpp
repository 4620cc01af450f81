// Traces without block ids through the real program: what is assumed is asked for and said; and
// tables of arrival rates, which are no traces of requests.
#include "tests/cli/scene.hpp"
#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

/// Three turns of one session that could each hold the one before, and a failure.
constexpr const char* kBurst =
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "0,a,1,GPT-4,64,16,80,Conversation log\n"
    "1,a,1,GPT-4,96,16,112,Conversation log\n"
    "2,a,1,GPT-4,0,0,0,Conversation log\n"
    "3,a,1,GPT-4,128,16,144,Conversation log\n";

constexpr const char* kRates =
    "client,start_s,rate_rps,cv,dist,param1,param2\n"
    "0,0,1.5,1,Gamma,1,0.5\n1,0,2.5,2,Weibull,0.6,0.5\n0,600,1,1,Gamma,1,0.5\n";

TEST_CASE("--reuse names what the requests of a trace share", "[cli]") {
  // In blocks of 16: 4 + 6 + 8 references. session-prefix: 4 of the second and 6 of the third turn
  // were there before; shared-prefix:32: 2 of each.
  const Scene scene;
  const std::string trace = scene.file("b.csv", kBurst);
  const std::string out = scene.path("o.jsonl");
  const auto hits = [&](const Args& more) {
    return test::document_of(
        {Args{"trace", "stats", trace} + more})["results"]["infinite_cache_hits"];
  };
  CHECK(hits({}) == 0);
  CHECK(hits({"--reuse", "none"}) == 0);
  CHECK(hits({"--reuse", "session-prefix"}) == 10);
  CHECK(hits({"--reuse", "shared-prefix:32"}) == 4);
  CHECK(hits({"--reuse", "session-prefix", "--block-tokens", "64"}) == 2);

  const json replayed = test::document_of(
      {"replay", "--trace", trace, "--reuse", "session-prefix", "--capacity", "inf"});
  CHECK(replayed["results"][0]["references"] == 18);
  CHECK(replayed["results"][0]["hits"] == 10);
  CHECK_THAT(replayed["warnings"].dump(), ContainsSubstring("2 of 3 requests do"));
  CHECK(replayed["inputs"]["trace"]["rows"]["dropped"] == 1);

  REQUIRE(test::spillway({"trace", "convert", trace, out, "--reuse", "session-prefix"}).code == 0);
  CHECK(test::document_of({"trace", "stats", out, "--block-tokens",
                           "16"})["results"]["infinite_cache_hits"] == 10);
}

TEST_CASE("a trace without block ids says that no hits are invented", "[cli]") {
  const Scene scene;
  const std::string trace = scene.file("b.csv", kBurst);
  const CliResult result = test::spillway({"trace", "stats", trace});
  CHECK(result.code == 0);
  CHECK_THAT(result.err, ContainsSubstring("note: 1 rows of " + trace));
  CHECK_THAT(result.err, ContainsSubstring("no hits are invented"));
}

TEST_CASE("--reuse is refused where the trace names its blocks, and so are unknown models",
          "[cli]") {
  const Scene scene;
  const std::string bin = scene.path("t.bin");
  REQUIRE(test::spillway({"trace", "convert", scene.trace, bin}).code == 0);
  for (const std::string& trace : {scene.trace, bin}) {
    refused({"trace", "stats", trace, "--reuse", "session-prefix"}, 2,
            trace + ": names its blocks itself; the reuse model session-prefix is only for traces");
  }
  for (const char* name : {"lru", "", "shared-prefix", "shared-prefix:0", "shared-prefix:1e3"}) {
    refused({"trace", "stats", scene.trace, std::string("--reuse=") + name}, 2, "--reuse");
  }
  REQUIRE(test::spillway({"trace", "stats", scene.trace, "--reuse", "none"}).code == 0);
}

TEST_CASE("a scenario names its reuse model, and the result shows it", "[cli]") {
  const Scene scene;
  scene.file("b.csv", kBurst);
  const auto run = [&](const std::string& reuse) {
    return test::document_of({"run", scene.scenario, "--set", "workload.trace=b.csv", "--set",
                              "workload.reuse=" + reuse});
  };
  const json none = run("none");
  CHECK(none["inputs"]["configuration"]["workload"]["reuse"] == "none");
  CHECK(none["results"]["prompt_tokens_by_source"]["local_compute"] == 64 + 96 + 128);
  CHECK_THAT(none["warnings"].dump(), ContainsSubstring("no hits are invented"));
  const json prefix = run("session-prefix");
  CHECK(prefix["inputs"]["configuration"]["workload"]["reuse"] == "session-prefix");
  CHECK(prefix["results"]["prompt_tokens_by_source"]["local_compute"] < 64 + 96 + 128);
  CHECK_THAT(prefix["warnings"].dump(), ContainsSubstring("(--reuse session-prefix)"));
  refused({"run", scene.scenario, "--set", "workload.reuse=session-prefix"}, 2,
          "names its blocks itself");
  refused({"run", scene.scenario, "--set", "workload.reuse=lru"}, 2,
          "workload.reuse: unknown reuse model \"lru\"; known: none, session-prefix");
}

TEST_CASE("trace stats describes a table of arrival rates", "[cli]") {
  // Windows 0: 1.5 + 2.5 = 4 requests/s; 600: 1. 5 * 600 requests over 1,200 s.
  const Scene scene;
  const std::string rates = scene.file("r.csv", kRates);
  const json document = test::document_of({"trace", "stats", rates});
  CHECK(document["kind"] == "rate-table-stats");
  const json& r = document["results"];
  CHECK(r["clients"] == 2);
  CHECK(r["rows"] == 3);
  CHECK(r["windows"] == 2);
  CHECK(r["window_s"] == 600);
  CHECK(r["span_s"] == 1200);
  CHECK(r["requests_per_s"]["mean"] == 2.5);
  CHECK(r["requests_per_s"]["median"] == 2.5);
  CHECK(r["requests_per_s"]["min"] == 1.0);
  CHECK(r["requests_per_s"]["max"] == 4.0);
  CHECK(r["requests"] == 3000.0);
  CHECK(r["gamma_rows"] == 2);
  CHECK(r["weibull_rows"] == 1);
  const CliResult text = test::spillway({"trace", "stats", rates});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, ContainsSubstring(rates + ": arrival rates of 2 clients over 1,200 s"));
}

TEST_CASE("a table of arrival rates is refused where requests are wanted", "[cli]") {
  const Scene scene;
  const std::string rates = scene.file("r.csv", kRates);
  const std::string says = "is a table of arrival rates, not of requests; expected a request trace";
  refused({"replay", "--trace", rates}, 3, says);
  refused({"trace", "convert", rates, scene.path("o.bin")}, 3, says);
  refused({"run", scene.scenario, "--set", "workload.trace=r.csv"}, 3, says);
  refused({"plan", scene.scenario, "--set", "workload.trace=r.csv"}, 3, says);
  for (const Args& more : {Args{"--limit", "1"}, Args{"--block-tokens", "16"}, Args{"--lenient"},
                           Args{"--reuse", "session-prefix"}}) {
    refused(Args{"trace", "stats", rates} + more, 2, "which are about requests");
  }
  const std::string bad = scene.file("bad.csv", std::string(kRates) + "0,1200,x,1,Gamma,1,1\n");
  refused({"trace", "stats", bad}, 3, "bad.csv:5: rate_rps: expected a number from 0");
}

TEST_CASE("list formats shows every format that is read", "[cli]") {
  const CliResult result = test::spillway({"list", "formats"});
  for (const char* name : {"mooncake", "csv", "azure", "burstgpt", "rate-table", "binary"}) {
    CHECK_THAT(result.out, ContainsSubstring("\n" + std::string(name) + " "));
  }
}

}  // namespace
}  // namespace spillway
