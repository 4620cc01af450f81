// Request logs of real engines: columns by name, units by suffix, metrics by the definitions of a
// run's results.
#include "scenarios/scenario/measured/measured_run.hpp"

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

TEST_CASE("a request log is read, and its metrics are those of a run", "[scenarios]") {
  const test::Scratch scratch;
  // Two requests: the first answers after 0.5 s with 3 tokens in 0.2 s, the second, which waits
  // 0.1 s, after 0.3 s with one token.
  const std::string log = scratch.file("requests.csv",
                                       "input_toks,output_toks,arrival_s,queued_s,scheduled_s,"
                                       "first_token_s,last_token_s\n"
                                       "100,3,0,0.1,0.2,0.5,0.7\n"
                                       "600,1,1,1,1.1,1.3,1.3\n");
  const MeasuredRun run = load_measured({log});
  REQUIRE(run.requests.size() == 2);
  CHECK(run.requests[1].line == 3);
  CHECK(run.requests[1].queued_s == 1);
  const auto metrics = metrics_of(run);
  CHECK(metrics.at("completed") == 2);
  CHECK(metrics.at("mean_ttft_ms") == Approx(400));    // (500 + 300) / 2
  CHECK(metrics.at("median_ttft_ms") == Approx(400));  // halfway between them
  CHECK(metrics.at("p90_ttft_ms") == Approx(480));     // 300 + 0.9 * 200
  CHECK(metrics.at("std_ttft_ms") == Approx(100));     // the population's
  CHECK(metrics.at("mean_tpot_ms") == Approx(100));    // 200 / (3 - 1); one token: left out
  CHECK(metrics.at("mean_e2el_ms") == Approx(500));    // (700 + 300) / 2
  CHECK(metrics.at("mean_queue_time_ms") == Approx(150));
  CHECK(metrics.at("duration_s") == Approx(1.3));
  CHECK(metrics.at("output_throughput") == Approx(4 / 1.3));

  const Workload workload = workload_of(run, 512);
  REQUIRE(workload.size() == 2);
  CHECK(workload.columns().unique_blocks == 3);  // ceil(100 / 512) + ceil(600 / 512): none shared
}

TEST_CASE("a request log with the line ends of Python's csv.writer reads alike",
          "[scenarios][measured]") {
  const test::Scratch scratch;
  const auto load = [&](const std::string& end) {
    return load_measured(
        {scratch.file("requests.csv", "input_toks,output_toks,arrival_s,last_token_s" + end +
                                          "100,3,0,0.75" + end + "600,1,1,1.25" + end)});
  };
  const MeasuredRun run = load("\r\n");
  REQUIRE(run.requests.size() == 2);
  CHECK(run.requests[0].last_token_s == 0.75);  // the last cell of the row counts
  CHECK(metrics_of(run) == metrics_of(load("\n")));
}

TEST_CASE("units of a request log are those of its columns", "[scenarios]") {
  const test::Scratch scratch;
  const std::string rows =
      R"({"request_id": "a-0", "prompt_tokens": 8, "completion_tokens": 2, "arrival_ms": 1500,
)"
      R"("ttft_ms": 250, "e2el_s": 0.5})";
  std::string line = rows;
  line.erase(std::remove(line.begin(), line.end(), '\n'), line.end());
  const MeasuredRun run = load_measured({scratch.file("log.jsonl", line + "\n")});
  REQUIRE(run.requests.size() == 1);
  CHECK(run.requests[0].first_token_s - run.requests[0].arrival_s == Approx(0.25));
  CHECK(run.requests[0].last_token_s - run.requests[0].arrival_s == Approx(0.5));
  CHECK(run.requests[0].scheduled_s == kUnknownTime);
}

TEST_CASE("a list of objects is a request log too, with lines", "[scenarios]") {
  const test::Scratch scratch;
  const auto load = [&](const char* output) {
    return load_measured({scratch.file(
        "log.json", fmt::format("[\n {{\"arrival_ms\": 0, \"input_len\": 5, \"output_len\": 2, "
                                "\"first_token_ms\": 30, \"last_token_ms\": 50}},\n"
                                " {{\"arrival_ms\": 500, \"input_len\": 5, \"output_len\": {}, "
                                "\"first_token_ms\": 530, \"last_token_ms\": 550}}\n]\n",
                                output))});
  };
  CHECK(load("2").requests.size() == 2);
  CHECK_THROWS_WITH(load("0"), ContainsSubstring("log.json:3: output_len: expected at least 1"));
}

TEST_CASE("the measured RTX 4090 run reads whole", "[scenarios]") {
  const std::string name = "profiles/llmss_e2e_RTX4090_Llama-3.1-8B_";
  const auto files =
      test::materials({name + "requests.csv.gz", name + "timeseries.csv.gz", name + "meta.json"});
  const test::Figures figure(files[0], "run");
  const MeasuredRun run = load_measured({files[0].path, files[1].path, files[2].path});
  CHECK(run.requests.size() == figure(300u, "requests"));
  REQUIRE(run.counters.size() == figure(184u, "counters"));
  CHECK(run.counters[4].kv_usage == figure(1.0, "fifth_kv_usage"));
  CHECK(run.facts.version == "0.19.0");
  CHECK(run.facts.max_num_seqs == 256U);
}

}  // namespace
}  // namespace spillway
