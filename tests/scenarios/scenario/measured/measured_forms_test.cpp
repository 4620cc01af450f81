// The forms in which people have measured runs, each told by its content.
#include "scenarios/scenario/measured/measured_run.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

bool noted(const MeasuredRun& run, const std::string& words) {
  for (const std::string& note : run.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("a request log of vLLM's own clocks is read", "[scenarios]") {
  // Two rows as LLMServingSim's bench writes them from RequestOutput.metrics.
  const test::Scratch scratch;
  const MeasuredRun run = load_measured({scratch.file(
      "requests.jsonl",
      "{\"request_id\": \"bench-0\", \"input_toks\": 2358, \"output_toks\": 531, \"arrival_time\": "
      "1777142838.338653, \"queued_ts\": 479748.340626, \"scheduled_ts\": 479748.340672, "
      "\"first_token_ts\": 479748.510151, \"last_token_ts\": 479764.054028}\n"
      "{\"request_id\": \"bench-1\", \"input_toks\": 1034, \"output_toks\": 769, \"arrival_time\": "
      "1777142838.623712, \"queued_ts\": 479748.625554, \"scheduled_ts\": 479748.625559, "
      "\"first_token_ts\": 479748.688143, \"last_token_ts\": 479772.123050}\n")});
  REQUIRE(run.requests.size() == 2);
  CHECK(noted(run, "behind arrival_time: another clock"));
  CHECK(run.requests[1].arrival_s == Approx(0.285059).margin(1e-6));
  CHECK(run.requests[1].first_token_s - run.requests[1].scheduled_s ==
        Approx(0.062584).margin(1e-6));
  CHECK(run.requests[1].last_token_s - run.requests[1].first_token_s == Approx(23.434907));
}

TEST_CASE("a detailed result of vllm bench serve has requests and metrics", "[scenarios]") {
  // Times in seconds on the client's clock. The second one failed.
  const test::Scratch scratch;
  const std::string text =
      R"({"date": "20260101-000000", "backend": "vllm", "model_id": "m/x", "request_rate": 2.0,
 "max_concurrency": null, "duration": 3.5, "completed": 2, "failed": 1, "total_input_tokens": 700,
 "mean_ttft_ms": 110.0, "mean_tpot_ms": 15.0, "mean_itl_ms": 15.0,
 "input_lens": [100, 300, 600], "output_lens": [3, 0, 2], "ttfts": [0.1, 0.0, 0.12],
 "itls": [[0.01, 0.02], [], [0.02]], "start_times": [5000.0, 5000.5, 5001.0],
 "errors": ["", "timed out", ""]})";
  const MeasuredRun run = load_measured({scratch.file("bench.json", text)});
  REQUIRE(run.requests.size() == 3);
  CHECK(run.requests[0].last_token_s == Approx(0.13));  // 0.1 + 0.01 + 0.02
  CHECK_FALSE(run.requests[1].completed);
  CHECK(run.facts.model == "m/x");
  const auto metrics = metrics_of(run);
  CHECK(metrics.at("mean_ttft_ms") == Approx(110));
  CHECK(metrics.at("mean_tpot_ms") ==
        Approx(17.5));  // (30 / 2 + 20 / 1) / 2, not what was reported
  CHECK(noted(run, "mean_tpot_ms is reported as 15.0, its requests have 17.5 (+16.7%)"));
  CHECK(metrics.at("request_rate") == 2);
  CHECK(workload_of(run, 512).size() == 2);

  std::string wrong = text;
  wrong.replace(wrong.find("\"completed\": 2"), 14, "\"completed\": 3");
  CHECK_THROWS_WITH(load_measured({scratch.file("wrong.json", wrong)}),
                    ContainsSubstring("wrong.json:2: completed: expected as many completed "
                                      "requests as in") &&
                        ContainsSubstring("2, found 3"));
  wrong = text;
  wrong.replace(wrong.find("[3, 0, 2]"), 9, "[3, 0]");
  CHECK_THROWS_WITH(load_measured({scratch.file("wrong.json", wrong)}),
                    ContainsSubstring("output_lens: expected as many values as in input_lens, 3, "
                                      "found 2"));
}

TEST_CASE("a result without start times gives metrics only", "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredRun run = load_measured(
      {scratch.file("bench.json", R"({"completed": 100, "duration": 60.0, "mean_ttft_ms": 80.5,
 "mean_tpot_ms": 12.0, "p99_ttft_ms": 200.0, "input_lens": [1], "ttfts": [0.1]})")});
  CHECK(run.requests.empty());
  CHECK(noted(run, "has no start_times"));
  const auto metrics = metrics_of(run);
  CHECK(metrics.at("mean_ttft_ms") == 80.5);
  CHECK(metrics.at("duration_s") == 60);
  CHECK_THROWS_WITH(load_measured({scratch.file("s.json", R"({"completed": 9, "mean_ttft_ms": 0.08,
 "mean_tpot_ms": 0.012})")}),
                    ContainsSubstring("s.json:2: mean_tpot_ms: expected 0.3 to 2000 ms per token"));
}

TEST_CASE("engine arguments are facts, what the engine resolved above what it was given",
          "[scenarios]") {
  const test::Scratch scratch;
  const auto facts = [&](const char* text) {
    return load_measured({scratch.file("meta.json", text)}).facts;
  };
  const MeasuredFacts meta = facts(R"({"model": "m/x", "vllm_version": "0.28.0",
 "engine_kwargs": {"max_num_seqs": 128, "max_model_len": null, "enforce_eager": false},
 "kv_cache": {"num_gpu_blocks": 35913, "block_size": 16},
 "hardware": {"device_name": "NVIDIA H100 80GB HBM3"},
 "resolved_config": {"model_config": {"max_model_len": 131072}, "instance_id": "1"}})");
  CHECK(meta.version == "0.28.0");
  CHECK(meta.gpu == "NVIDIA H100 80GB HBM3");
  CHECK(meta.num_gpu_blocks == 35913U);
  CHECK(meta.max_num_seqs == 128U);
  CHECK(meta.max_model_len == 131072U);
  CHECK(meta.enforce_eager == false);
  CHECK(facts(R"({"num_gpu_blocks": 2588})").num_gpu_blocks == 2588U);
  CHECK(facts("# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n"
              "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"2588\","
              "num_gpu_blocks_override=\"None\"} 1.0\n")
            .num_gpu_blocks == 2588U);
}

TEST_CASE("copy rates are those of the connector's own lines", "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredFacts facts =
      load_measured(
          {scratch.file(
              "server.log",
              "INFO [metrics.py:1] KV Transfer metrics: GPU_to_CPU_total_bytes=2000000000, "
              "GPU_to_CPU_total_time=0.15, CPU_to_GPU_total_bytes=1000000, "
              "CPU_to_GPU_total_time=8e-05\n"
              "INFO [metrics.py:1] KV Transfer metrics: GPU_to_CPU_total_bytes=1000000000, "
              "GPU_to_CPU_total_time=0.05\n")})
          .facts;
  CHECK(*facts.d2h_gbs == Approx(15));    // 3 GB in 0.2 s
  CHECK(*facts.h2d_gbs == Approx(12.5));  // 1 MB in 80 us
}

TEST_CASE("a server's log gives facts and counters", "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredRun run = load_measured({scratch.file(
      "server.log",
      "(EngineCore pid=7) INFO 05-19 10:10:00 [core.py:90] Initializing a V1 LLM engine (v0.19.0) "
      "with config: model='meta-llama/Llama-3.1-8B', tensor_parallel_size=2, enforce_eager=False\n"
      "(EngineCore pid=7) INFO 05-19 10:10:09 [kv_cache_utils.py:1316] GPU KV cache size: 41,408 "
      "tokens\n"
      "(EngineCore pid=7) INFO 05-19 10:10:09 [kv_cache_utils.py:1321] Maximum concurrency for "
      "32,768 tokens per request: 1.26x\n"
      "(APIServer pid=3) INFO 05-19 10:13:11 [loggers.py:271] Engine 000: Avg prompt throughput: "
      "10.5 tokens/s, Avg generation throughput: 1055.3 tokens/s, Running: 18 reqs, Waiting: 43 "
      "reqs, GPU KV cache usage: 95.9%, Prefix cache hit rate: 0.0%\n"
      "(APIServer pid=3) INFO 05-19 10:13:21 [loggers.py:271] Engine 000: Avg prompt throughput: "
      "0.0 tokens/s, Avg generation throughput: 1226.3 tokens/s, Running: 17 reqs, Waiting: 42 "
      "reqs, GPU KV cache usage: 95.5%, Prefix cache hit rate: 12.0%\n")});
  CHECK(run.facts.version == "0.19.0");
  CHECK(run.facts.model == "meta-llama/Llama-3.1-8B");
  CHECK(run.facts.kv_tokens == 41408U);
  CHECK(run.facts.max_model_len == 32768U);
  CHECK(run.facts.tensor_parallel_size == 2U);
  REQUIRE(run.counters.size() == 2);
  CHECK(run.counters[1].at_s - run.counters[0].at_s == 10);
  CHECK(run.counters[0].running == 18);
  CHECK(run.counters[0].kv_usage == Approx(0.959));
  CHECK(run.counters[1].output_tokens_per_s == Approx(1226.3));
  CHECK(noted(run, "prefix cache"));
}

TEST_CASE("a cache larger than any machine's is no fact", "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredRun run = load_measured({scratch.file(
      "server.log",
      "(EngineCore pid=7) INFO 05-19 10:10:00 [core.py:90] Initializing a V1 LLM engine (v0.19.0) "
      "with config: model='meta-llama/Llama-3.1-8B', tensor_parallel_size=2, enforce_eager=False\n"
      "(EngineCore pid=7) INFO 05-19 10:10:09 [kv_cache_utils.py:1316] GPU KV cache size: "
      "99999999999999999999999 tokens\n")});
  CHECK_FALSE(run.facts.kv_tokens);
}

TEST_CASE("engines that share a server are summed", "[scenarios]") {
  const test::Scratch scratch;
  std::string text;
  for (const int second : {10, 20}) {
    for (const int engine : {0, 1}) {
      text += fmt::format(
          "INFO 05-19 10:13:{} [loggers.py:1] Engine 00{}: Avg prompt throughput: 0.0 tokens/s, "
          "Avg "
          "generation throughput: 100.0 tokens/s, Running: {} reqs, Waiting: 1 reqs, GPU KV cache "
          "usage: {}.0%\n",
          second, engine, 3 + engine, 20 + 20 * engine);
    }
  }
  const MeasuredRun run = load_measured({scratch.file("server.log", text)});
  REQUIRE(run.counters.size() == 2);
  CHECK(run.counters[0].running == 7);
  CHECK(run.counters[0].output_tokens_per_s == 200);
  CHECK(run.counters[0].kv_usage == Approx(0.3));
}

TEST_CASE("an answer of Prometheus is counters", "[scenarios]") {
  const test::Scratch scratch;
  const auto series = [](const char* name, const char* at, const char* later) {
    return fmt::format(
        "{{\"metric\": {{\"__name__\": \"vllm:{}\"}}, \"values\": [[1700000000, \"{}\"], "
        "[1700000001, \"{}\"]]}}",
        name, at, later);
  };
  const MeasuredRun run = load_measured({scratch.file(
      "range.json",
      fmt::format("{{\"status\": \"success\", \"data\": {{\"result\": [{}, {}, {}, {}]}}}}\n",
                  series("num_requests_running", "3", "5"),
                  series("num_requests_waiting", "0", "2"),
                  series("kv_cache_usage_perc", "0.25", "0.5"),
                  series("generation_tokens_total", "1000", "1040")))});
  REQUIRE(run.counters.size() == 2);
  CHECK(run.counters[0].at_s == 0);
  CHECK(run.counters[1].running == 5);
  CHECK(run.counters[1].kv_usage == 0.5);
  CHECK(run.counters[1].output_tokens_per_s == 40);
}

TEST_CASE("counters that count nothing are unknown, and percent is no share", "[scenarios]") {
  const test::Scratch scratch;
  const MeasuredRun run = load_measured(
      {scratch.file("t.csv", "t,running,waiting,kv_cache_pct\n1,9,0,0.0\n2,19,1,0.0\n")});
  CHECK(run.counters[0].kv_usage == kUnknownTime);
  CHECK(noted(run, "KV usage is 0 throughout though 19 requests ran"));
  CHECK_THROWS_WITH(load_measured({scratch.file("u.csv",
                                                "t,running,waiting,kv_cache_usage\n"
                                                "1,9,0,13.2\n")}),
                    ContainsSubstring("u.csv:2: kv_cache_usage: expected a number from 0 to 1"));
}

TEST_CASE("counters are put on the log's clock", "[scenarios]") {
  // Twenty requests, one a second, that run for half of it from 100 s on; the counters' clock is
  // 7 s ahead of theirs.
  const test::Scratch scratch;
  std::string log = "input_toks,output_toks,arrival_s,scheduled_s,first_token_s,last_token_s\n";
  std::string ticks = "t,running,waiting,kv_cache_pct,gen_throughput\n";
  for (int i = 0; i < 20; ++i) {
    const double at = 100 + i + (i % 3 == 0 ? 0.2 : 0);
    log += fmt::format("{},11,{},{},{},{}\n", 100 + i, at, at, at + 0.1, at + 0.9);
    ticks += fmt::format("{},{},0,1,11\n", 107.5 + i, 1);
  }
  const MeasuredRun run =
      load_measured({scratch.file("log.csv", log), scratch.file("ticks.csv", ticks)});
  CHECK(run.counters.front().at_s == Approx(100.5));
  CHECK(noted(run, "moved by -7.0 s"));
}

TEST_CASE("what is none of these forms says which there are", "[scenarios]") {
  const test::Scratch scratch;
  CHECK_THROWS_WITH(load_measured({scratch.file("a.csv", "x,y\n1,2\n")}),
                    ContainsSubstring("a.csv:1: expected a request log"));
  CHECK_THROWS_WITH(load_measured({scratch.file("a.json", "{\"x\": 1}\n")}),
                    ContainsSubstring("a.json: expected engine arguments"));
  CHECK_THROWS_WITH(load_measured({scratch.path("none")}), ContainsSubstring("none: cannot open"));
}

}  // namespace
}  // namespace spillway
