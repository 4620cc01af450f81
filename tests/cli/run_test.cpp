// `spillway run`: documents, overrides, outputs, gates.
#include <sstream>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scene;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST_CASE("a run document has every key of the contract", "[cli]") {
  const Scene scene;
  const json document = test::document_of({"run", scene.scenario});
  CHECK(document["kind"] == "run");
  const json& r = document["results"];
  for (const char* key :
       {"completed", "rejected", "failed", "duration_s", "request_throughput", "output_throughput",
        "total_token_throughput", "preemptions", "recomputed_tokens", "engine_steps",
        "prompt_tokens_by_source", "queue_time_ms", "tiers", "links",
        "decode_cold_blocks_per_token", "slo", "goodput", "reasons", "sim"}) {
    INFO(key);
    CHECK(r.contains(key));
  }
  for (const char* kind : {"ttft", "tpot", "itl", "e2el"}) {
    for (const char* what : {"mean", "median", "std", "p90", "p95", "p99"}) {
      CHECK(r[fmt::format("{}_{}_ms", what, kind)].is_number());
    }
  }
  for (const char* key : {"mean", "p50", "p99"}) CHECK(r["queue_time_ms"][key].is_number());
  REQUIRE(r["tiers"].size() == 2);
  CHECK(r["tiers"][0]["name"] == "hbm");
  CHECK(r["tiers"][1]["name"] == "dram");
  for (const json& tier : r["tiers"]) {
    for (const char* key : {"capacity_bytes", "capacity_blocks", "peak_bytes", "mean_bytes",
                            "queries", "hits", "stores", "evictions", "store_failures"}) {
      CHECK(tier[key].is_number());
    }
  }
  REQUIRE(r["links"].size() == 2);
  for (const json& link : r["links"]) {
    for (const char* key :
         {"bytes", "transfers", "busy_fraction", "peak_bytes_per_s", "capacity_bytes_per_s"}) {
      CHECK(link[key].is_number());
    }
    for (const char* key : {"name", "from", "to"}) CHECK(link[key].is_string());
  }
  REQUIRE(r["slo"].size() == 1);
  CHECK(r["slo"][0]["passed"].is_boolean());
  for (const char* key : {"events", "wall_s", "requests_per_wall_s", "peak_rss_bytes"}) {
    CHECK(r["sim"][key].is_number());
  }
  for (const char* key : {"local_compute", "hbm", "dram"}) {
    CHECK(r["prompt_tokens_by_source"][key].is_number());
  }
}

TEST_CASE("the inputs of a run say where everything came from", "[cli]") {
  const Scene scene;
  const json inputs = test::document_of({"run", scene.scenario})["inputs"];
  CHECK(inputs["seed"] == 1);
  CHECK(inputs["scenario"]["name"] == "small");
  CHECK(inputs["configuration"]["engine"]["num_gpu_blocks"] == 2048);
  CHECK(inputs["configuration_hash"].get<std::string>().size() == 16);
  const json stats = test::document_of({"trace", "stats", scene.trace});
  CHECK(inputs["trace"]["content_hash"] == stats["results"]["content_hash"]);
}

TEST_CASE("a run's figures follow from the contract", "[cli]") {
  // One request of 600 tokens: one step of 2 ms + 600 x 20 us + 600 x 5 ns = 14.003 ms, then four
  // of 2.02 ms + (600 + k) x 5 ns: 8.08 ms + 2,410 x 5 ns = 8.09205 ms.
  const Scene scene;
  const json r = test::document_of({"run", scene.scenario, "--set", "workload.limit=1"})["results"];
  CHECK(r["completed"] == 1);
  CHECK(r["mean_ttft_ms"].get<double>() == Approx(14.003).epsilon(1e-12));
  CHECK(r["mean_e2el_ms"].get<double>() == Approx(22.09505).epsilon(1e-12));
  CHECK(r["mean_tpot_ms"].get<double>() == Approx(8.09205 / 4).epsilon(1e-6));  // whole ns
  CHECK(r["prompt_tokens_by_source"]["local_compute"] == 600);
}

TEST_CASE("the summary on the terminal names what was simulated", "[cli]") {
  const Scene scene;
  const CliResult result = test::spillway({"run", scene.scenario});
  CHECK_THAT(result.out, ContainsSubstring("Run: small\n6 requests"));
  CHECK_THAT(result.out, ContainsSubstring("p99 TTFT   at most 2.0 s"));
  CHECK_THAT(result.out, ContainsSubstring("Time to first token"));
}

// ---- traces

TEST_CASE("--output kind=perfetto writes a part of the run under a cap", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("trace.json");
  const std::string output = "kind=perfetto,path=" + path;
  const auto whole = test::spillway({"run", scene.scenario, "--output", output});
  REQUIRE(whole.code == 0);
  const auto document = nlohmann::json::parse(test::read_file(path));
  CHECK(document.at("traceEvents").size() > 20);
  CHECK(document.at("otherData").at("events_left_out_by_cap") == 0);
  // The first request's one prefill, from 0 to 14.003 ms: what a window of its middle holds.
  const auto part = test::spillway({"run", scene.scenario, "--output", output, "--trace-window",
                                    "5ms+2ms", "--trace-cap", "64KiB"});
  REQUIRE(part.code == 0);
  CHECK_THAT(part.err, ContainsSubstring("--trace-window chooses another part"));
  const auto cut = nlohmann::json::parse(test::read_file(path));
  for (const auto& event : cut.at("traceEvents")) {
    if (!event.contains("ts")) continue;
    CHECK(event["ts"].get<double>() >= 5'000);
    CHECK(event["ts"].get<double>() + event.value("dur", 0.0) <= 7'000);
  }
}

TEST_CASE("a window or a cap that makes no sense is refused", "[cli]") {
  const Scene scene;
  const std::string output = "kind=perfetto,path=" + scene.path("trace.json");
  const auto refused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"run", scene.scenario};
    args.insert(args.end(), more.begin(), more.end());
    const auto result = test::spillway(args);
    CHECK(result.code == 2);
    return result.err;
  };
  for (const char* window : {"60", "0s", "1s+", "+1s", "1s+0s", "-1s", "1s+1s+1s", "1e300s"}) {
    INFO(window);
    CHECK_THAT(refused({"--output", output, "--trace-window", window}),
               ContainsSubstring("--trace-window"));
  }
  CHECK_THAT(refused({"--output", output, "--trace-cap", "1KiB"}), ContainsSubstring("64KiB"));
  CHECK_THAT(refused({"--output", output, "--trace-cap", "many"}),
             ContainsSubstring("--trace-cap"));
  CHECK_THAT(refused({"--trace-window", "60s"}), ContainsSubstring("kind=perfetto"));
}

// ---- metrics over time

TEST_CASE("--output kind=openmetrics begins at --metrics-start", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("run.om");
  const std::string output = "kind=openmetrics,path=" + path;
  REQUIRE(
      test::spillway({"run", scene.scenario, "--output", output, "--metrics-start", "1764200000"})
          .code == 0);
  const std::string text = test::read_file(path);
  CHECK_THAT(text, ContainsSubstring("# TYPE vllm:time_to_first_token_seconds histogram\n"));
  CHECK_THAT(text, ContainsSubstring("} 0 1764200000.000\n"));
  CHECK(text.ends_with("# EOF\n"));
  for (const char* start : {"-1", "now", "1e9", "999999999999"}) {
    INFO(start);
    const auto refused =
        test::spillway({"run", scene.scenario, "--output", output, "--metrics-start", start});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, ContainsSubstring("--metrics-start"));
  }
  const auto alone = test::spillway({"run", scene.scenario, "--metrics-start", "1"});
  CHECK(alone.code == 2);
  CHECK_THAT(alone.err, ContainsSubstring("kind=openmetrics"));
}

// ---- requests as CSV

TEST_CASE("--output kind=requests writes the columns of the contract", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("with, comma.csv");
  REQUIRE(test::spillway({"run", scene.scenario, "--output", "kind=requests,path=" + path}).code ==
          0);
  const auto lines = lines_of(test::read_file(path));
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] ==
        "request_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens,"
        "cached_tokens_hbm,cached_tokens_dram,preemptions,status,reason,due_s,"
        "queue_s,load_wait_s,load_s,recompute_s,step_s,front_end_s");
  CHECK(lines[1] ==
        "0,0.000000000,0.000000000,0.014003000,0.022095050,600,5,0,0,0,completed,,"
        "0.000000000,0.000000000,0.000000000,0.000000000,0.000000000,0.014003000,0.000000000");
  // Block 0 holds 512 tokens, which the second request finds: 88 remain, 2 ms + 1.76 ms + 3 us.
  CHECK(lines[2] ==
        "1,0.100000000,0.100000000,0.103763000,0.111855050,600,5,512,0,0,completed,,"
        "0.100000000,0.000000000,0.000000000,0.000000000,0.000000000,0.003763000,0.000000000");
}

TEST_CASE("--output kind=requests without a tier has no column for one", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("r.csv");
  REQUIRE(test::spillway({"run", scene.scenario, "--set", "tiers=[]", "--set", "links=[]", "--set",
                          "plan=null", "--output", "kind=requests,path=" + path})
              .code == 0);
  CHECK_THAT(lines_of(test::read_file(path))[0],
             ContainsSubstring("output_tokens,cached_tokens_hbm,preemptions,status,reason"));
}

TEST_CASE("a request that is too long fails with its reason, times empty", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("r.csv");
  const CliResult result =
      test::spillway({"run", scene.scenario, "--set", "engine.max_model_len=604", "--output",
                      "kind=requests,path=" + path, "--json", "-"});
  REQUIRE(result.code == 0);
  const json r = test::parse_document(result.out)["results"];
  CHECK(r["failed"] == 6);
  CHECK(r["completed"] == 0);
  CHECK(r["reasons"]["failed"]["too_long"] == 6);
  CHECK(lines_of(test::read_file(path))[1] ==
        "0,0.000000000,,,,600,5,0,0,0,failed,too_long,0.000000000,,,,,,");
}

TEST_CASE("--output renders each kind, to a file or to stdout", "[cli]") {
  const Scene scene;
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"requests", "request_id,arrival_s"},
      {"transfers", "link,direction,submitted_s,started_s,ended_s,bytes,copies\n"},
      {"html", "<!DOCTYPE html>"},
      {"md", "# Run: small"},
      {"csv", "Service level objectives\r\n"},
      {"text", "Run: small\n"}};
  for (const auto& [kind, start] : kinds) {
    INFO(kind);
    const std::string path = scene.path("out." + kind);
    const std::string to_file = fmt::format("kind={},path={}", kind, path);
    REQUIRE(test::spillway({"run", scene.scenario, "--output", to_file}).code == 0);
    CHECK(test::read_file(path).rfind(start, 0) == 0);
    const CliResult out =
        test::spillway({"run", scene.scenario, "--output", "kind=" + kind + ",path=-"});
    CHECK(out.code == 0);
    if (kind == "html") continue;  // shows how long the simulation took
    CHECK(out.out == test::read_file(path));
  }
}

TEST_CASE("several --output are all written", "[cli]") {
  const Scene scene;
  const std::string csv = "kind=csv,path=" + scene.path("a.csv");
  const std::string text = "path=" + scene.path("b.txt");
  CHECK(test::spillway({"run", scene.scenario, "--output", csv, "--output", "kind=text," + text})
            .code == 0);
  CHECK(scene.listing() == "a.csv b.txt s.json t.jsonl");
}

TEST_CASE("a malformed --output is refused", "[cli]") {
  const Scene scene;
  const std::string says = "--output: expected kind=KIND,path=FILE, found \"";
  for (const std::string text : {"requests", "kind=requests", "path=x", "kind=,path=x",
                                 "kind=csv,path=", "kind=csv,file=x"}) {
    refused({"run", scene.scenario, "--output", text}, 2, says + text + "\"");
  }
  refused({"run", scene.scenario, "--output", "kind=reqests,path=x"}, 2,
          "--output: kind: unknown output kind \"reqests\"; did you mean \"requests\"? known: ");
}

TEST_CASE("standard output takes one thing", "[cli]") {
  const Scene scene;
  refused({"run", scene.scenario, "--json", "-", "--output", "kind=csv,path=-"}, 2,
          "standard output already takes the JSON document");
  refused({"run", scene.scenario, "--output", "kind=csv,path=-", "--output", "kind=md,path=-"}, 2,
          "standard output already takes another --output");
}

TEST_CASE("an --output that cannot be written is exit 7 and leaves nothing", "[cli]") {
  const Scene scene;
  const std::string kept = scene.file("kept.json", "kept");
  const std::string before = scene.listing();
  for (const char* kind : {"requests", "html", "md", "csv", "text"}) {
    const auto to = [&](const std::string& path) {
      return fmt::format("kind={},path={}", kind, path);
    };
    const Args call = {"run", scene.scenario, "--json", kept, "--output"};
    refused(call + Args{to(scene.path("missing/o"))}, 7, "missing/o: cannot open for writing");
    refused(call + Args{to(scene.path(""))}, 7, "is a directory; expected a file to write");
    refused(call + Args{to("/dev/full")}, 7, "/dev/full: cannot write: No space left on device");
  }
  CHECK(scene.listing() == before);
  CHECK(test::read_file(kept) == "kept");
}

TEST_CASE("an existing output is replaced as a whole", "[cli]") {
  const Scene scene;
  const std::string path = scene.file("r.json", std::string(1 << 20, 'x'));
  REQUIRE(test::spillway({"run", scene.scenario, "--json", path}).code == 0);
  test::parse_document(test::read_file(path));
}

// ---- gates

TEST_CASE("--gate is exit 99 when an SLO is missed, and the results are still there", "[cli]") {
  const Scene scene;
  const Args met = {"run", scene.scenario, "--gate", "--json", "-"};
  CHECK(test::spillway(met).code == 0);
  const CliResult missed = test::spillway(met + Args{"--set", "slo.0.max=1"});
  CHECK(missed.code == 99);
  const json slo = test::parse_document(missed.out)["results"]["slo"];
  CHECK(slo[0]["passed"] == false);
  CHECK(slo[0]["name"] == "p99_ttft_ms");
  CHECK(slo[0]["target"] == 1);
}

TEST_CASE("without --gate a missed SLO is a result like any other", "[cli]") {
  const Scene scene;
  const CliResult result = test::spillway({"run", scene.scenario, "--set", "slo.0.max=1"});
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("missed"));
}

TEST_CASE("--gate counts requests that do not complete as missed", "[cli]") {
  const Scene scene;
  CHECK(
      test::spillway({"run", scene.scenario, "--gate", "--set", "engine.max_model_len=10"}).code ==
      99);
}

// ---- --set and --seed

TEST_CASE("--set beats the file, and the last one wins", "[cli]") {
  const Scene scene;
  const auto blocks = [&](const Args& more) {
    return test::document_of(Args{"run", scene.scenario} +
                             more)["inputs"]["configuration"]["engine"]["num_gpu_blocks"];
  };
  CHECK(blocks({}) == 2048);
  CHECK(blocks({"--set", "engine.num_gpu_blocks=100"}) == 100);
  CHECK(blocks({"--set", "engine.num_gpu_blocks=100", "--set", "engine.num_gpu_blocks=90"}) == 90);
  CHECK(blocks({"--set=engine.num_gpu_blocks=80"}) == 80);
}

TEST_CASE("--set takes text, JSON, array places and keys the file does not have", "[cli]") {
  const Scene scene;
  const json c =
      test::document_of({"run", scene.scenario, "--set", "tiers.0.capacity=64MiB", "--set",
                         "workload.speed=2", "--set", "name=\"other\"", "--set",
                         "engine={\"preset\": \"vllm@0.19\", \"num_gpu_blocks\": 99}"})["inputs"];
  CHECK(c["settings"]["tiers"][0]["capacity"] == "64MiB");
  CHECK(c["configuration"]["tiers"][0]["capacity"] == "67108864B");
  CHECK(c["configuration"]["workload"]["speed"] == 2.0);
  CHECK(c["scenario"]["name"] == "other");
  CHECK(c["configuration"]["engine"]["preset"] == "vllm@0.19");
  CHECK(c["origins"]["tiers.0.capacity"] == "--set");
}

TEST_CASE("a bad --set says what it found", "[cli]") {
  const Scene scene;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"tiers", "--set: expected key.path=value, found \"tiers\""},
      {"=3", "--set: expected key.path=value, found \"=3\""},
      {"", "--set: expected key.path=value, found \"\""},
      {"tiers.9.capacity=1GiB", "--set: tiers.9.capacity: \"9\" is no place in an array of 1; "},
      {"name.x=1", "--set: name.x: \"x\" leads into string"},
      {"tiers.0.capacity=64", "--set: tiers.0.capacity: expected a size with its unit"},
      {"tiers.0.capacity=64 apples", "--set: tiers.0.capacity: expected a size with a unit"},
      {"media.0.bandwidth=25GB/s",
       "--set: media.0.bandwidth: the scenario gives no media, so there is no place 0 in it; "
       "expected the whole list, media=[...]"},
      {"tiers.0.capasity=1GiB",
       "--set: tiers.0.capasity: unknown key of tiers[] \"capasity\"; did "
       "you mean \"capacity\"?"},
      {"engine.max_num_seqs=0", "--set: engine.max_num_seqs: expected a whole number from 1"},
      {"engine.eviction=lruu",
       "--set: engine.eviction: unknown eviction policy \"lruu\"; did you "
       "mean \"lru\"?"},
      {"compute.step_us=NaN", "--set: compute.step_us: expected a number from 0"},
      {"workload.speed=-1", "--set: workload.speed: expected a number from"},
      {"seed=-1", "--set: seed: expected a whole number from 0"},
  };
  for (const auto& [set, says] : cases) refused({"run", scene.scenario, "--set", set}, 2, says);
}

TEST_CASE("--seed beats the file, is recorded and moves the draws", "[cli]") {
  const Scene scene;
  const auto at = [&](const Args& more) {
    return test::document_of(Args{"run", scene.scenario, "--set", "workload.arrival=poisson",
                                  "--set", "workload.rate_per_s=5"} +
                             more);
  };
  const json one = at({});
  const json seven = at({"--seed", "7"});
  CHECK(one["inputs"]["seed"] == 1);
  CHECK(seven["inputs"]["seed"] == 7);
  CHECK(at({"--seed", "1"})["digest"] == one["digest"]);
  CHECK(at({"--seed", "7"})["digest"] == seven["digest"]);
  CHECK(one["digest"] != seven["digest"]);
}

TEST_CASE("a bad --seed is refused", "[cli]") {
  const Scene scene;
  for (const std::string seed : {"x", "-1", "1.5", "12abc", "9223372036854775808", "1e3", " 1"}) {
    const std::string says = "--seed: expected a whole number, 0 or more, found \"" + seed + "\"";
    refused({"run", scene.scenario, "--seed=" + seed}, 2, says);
    refused({"plan", scene.scenario, "--seed=" + seed}, 2, says);
    refused({"trace", "generate", "--out", scene.path("x.jsonl"), "--seed=" + seed}, 2, says);
  }
  CHECK(test::spillway({"run", scene.scenario, "--seed", "9223372036854775807"}).code == 0);
}

}  // namespace
}  // namespace spillway
