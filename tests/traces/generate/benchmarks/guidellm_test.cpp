// GuideLLM's requests, equal to what its algorithm draws in Python. In the lines of Python,
// `lengths(mean, stdev, least, most, seed)` is GuideLLM's IntegerRangeSampler
// (src/guidellm/utils/random.py).
#include <functional>

#include "tests/support/catch.hpp"
#include "tests/traces/generate/benchmarks/benchmark_scene.hpp"
#include "traces/generate/benchmarks/benchmark_workload.hpp"

namespace spillway {
namespace {

using test::column;
using test::fault_key;
using test::sent;
using Numbers = std::vector<std::uint32_t>;

/// The published runs of llm-d's KV offload: --random-seed 889.
BenchmarkConfig published(const std::string& version) {
  BenchmarkConfig config;
  config.tool = "guidellm";
  config.version = version;
  config.concurrency = 50;
  config.seconds = 120;
  config.seed = 889;
  config.prompt_tokens = 128;
  config.output_tokens = 128;
  config.prefix_tokens = 10'000;
  config.prefix_count = 100;
  config.turns = 5;
  return config;
}

TEST_CASE("a conversation of GuideLLM 0.5.4 has one turn and a prefix by random choice",
          "[traces]") {
  const auto requests = sent(published("0.5.4"));
  // r = random.Random(889 + 3); [r.choice(range(100)) for _ in range(10)]
  CHECK(column(requests, &BenchmarkRequest::prefix, 10) ==
        Numbers{28, 96, 39, 85, 90, 31, 57, 94, 54, 27});
  CHECK(column(requests, &BenchmarkRequest::input_tokens, 2) == Numbers{10'128, 10'128});
  CHECK(column(requests, &BenchmarkRequest::conversation, 3) == Numbers{0, 1, 2});
  // 50 clients, 120 s, 128 tokens of 2 ms: 23,437.5, and one request more of each client
  CHECK(requests.size() == 23'488);
  CHECK(tool_of(published("0.5.4")).notes(published("0.5.4")).size() == 1);
}

TEST_CASE("turns of GuideLLM 0.6.0 carry the conversation, with the template's tokens",
          "[traces]") {
  BenchmarkConfig config = published("0.6.0");
  config.template_tokens = {14, 9};
  const auto requests = sent(config);
  // 10,000 + 128 + 14; then each time the answer, 128, a prompt and 9
  CHECK(column(requests, &BenchmarkRequest::input_tokens, 6) ==
        Numbers{10'142, 10'407, 10'672, 10'937, 11'202, 10'142});
  CHECK(column(requests, &BenchmarkRequest::prefix, 6) == Numbers{28, 28, 28, 28, 28, 96});
  CHECK(column(requests, &BenchmarkRequest::turn, 6) == Numbers{0, 1, 2, 3, 4, 0});
}

TEST_CASE("lengths of GuideLLM come from three seeds in a row", "[traces]") {
  BenchmarkConfig config;
  config.tool = "guidellm";
  config.version = "0.5.4";
  config.requests = 10;
  config.concurrency = 1;
  config.prompt_tokens = 512;
  config.prompt_tokens_stdev = 128;
  config.output_tokens = 128;
  config.output_tokens_stdev = 32;
  config.output_tokens_min = 64;
  config.output_tokens_max = 160;
  // list(islice(lengths(512, 128, None, None, 42), 10))
  CHECK(column(sent(config), &BenchmarkRequest::input_tokens, 10) ==
        Numbers{494, 490, 498, 602, 496, 320, 555, 478, 484, 527});
  // list(islice(lengths(128, 32, 64, 160, 43), 10))
  CHECK(column(sent(config), &BenchmarkRequest::output_tokens, 10) ==
        Numbers{160, 140, 150, 156, 101, 78, 92, 139, 160, 132});
  config.prompt_tokens = 200;
  config.prompt_tokens_stdev.reset();
  config.prompt_tokens_min = 100;
  config.prompt_tokens_max = 300;
  // list(islice(lengths(200, None, 100, 300, 42), 10))
  CHECK(column(sent(config), &BenchmarkRequest::input_tokens, 10) ==
        Numbers{263, 128, 106, 289, 170, 162, 157, 135, 288, 126});
}

TEST_CASE("a rate of GuideLLM is constant or Poisson", "[traces]") {
  BenchmarkConfig config;
  config.tool = "guidellm";
  config.version = "0.6.0";
  config.prompt_tokens = 100;
  config.output_tokens = 10;
  config.seconds = 2;
  config.rate_per_s = 5;
  config.arrivals = "constant";
  CHECK(sent(config).size() == 10);
  CHECK(column(sent(config), &BenchmarkRequest::arrival_ns, 2) ==
        std::vector<std::int64_t>{200'000'000, 400'000'000});
  config.arrivals = "poisson";
  // r = random.Random(42); list(accumulate(r.expovariate(5.0) for _ in range(5)))
  CHECK(test::within_ns(column(sent(config), &BenchmarkRequest::arrival_ns, 5),
                        {204'012'057, 209'077'825, 273'402'638, 323'919'875, 590'638'409}, 2));
  CHECK(sent(config).back().arrival_ns <= 2'000'000'000);
}

TEST_CASE("what GuideLLM cannot be told is refused by key", "[traces]") {
  const std::pair<const char*, std::function<void(BenchmarkConfig&)>> cases[] = {
      {"", [](BenchmarkConfig&) {}},
      {"tool", [](BenchmarkConfig& c) { c.tool = "guide"; }},
      {"version", [](BenchmarkConfig& c) { c.version = "0.4.0"; }},
      {"version", [](BenchmarkConfig& c) { c.version = "newest"; }},
      {"version", [](BenchmarkConfig& c) { c.version.reset(); }},
      {"concurrency", [](BenchmarkConfig& c) { c.concurrency.reset(); }},
      {"concurrency", [](BenchmarkConfig& c) { c.arrivals = "synchronous"; }},
      {"arrivals", [](BenchmarkConfig& c) { c.arrivals = "closed"; }},
      {"rate_per_s", [](BenchmarkConfig& c) { c.arrivals = "poisson"; }},
      {"rate_per_s", [](BenchmarkConfig& c) { c.rate_per_s = 3; }},
      {"requests", [](BenchmarkConfig& c) { c.seconds.reset(); }},
      {"requests", [](BenchmarkConfig& c) { c.arrivals = "throughput", c.turns.reset(); }},
      {"turns",
       [](BenchmarkConfig& c) { c.arrivals = "throughput", c.requests = 9, c.version = "0.6.0"; }},
      {"prompt_tokens", [](BenchmarkConfig& c) { c.prompt_tokens.reset(); }},
      {"prompt_tokens", [](BenchmarkConfig& c) { c.prompt_tokens = 1 << 24; }},
      {"prompt_tokens_max",
       [](BenchmarkConfig& c) { c.prompt_tokens_min = 100, c.prompt_tokens_max = 20; }},
      {"output_tokens", [](BenchmarkConfig& c) { c.output_tokens.reset(); }},
      {"prefix_count", [](BenchmarkConfig& c) { c.prefix_tokens = 0; }},
      {"template_tokens", [](BenchmarkConfig& c) { c.template_tokens = {14}; }},
      {"burstiness", [](BenchmarkConfig& c) { c.burstiness = 2; }},
      {"dataset", [](BenchmarkConfig& c) { c.dataset = "random"; }}};
  for (const auto& [key, change] : cases) {
    BenchmarkConfig config = published("0.5.4");
    change(config);
    CHECK(fault_key(config) == key);
  }
}

TEST_CASE("conversations of a prefix share its blocks, turns those of their conversation",
          "[traces]") {
  BenchmarkConfig config = published("0.6.0");
  config.requests = 10;
  config.prefix_count = 1;
  const Workload workload = benchmark_workload(config);
  REQUIRE(workload.size() == 10);
  CHECK(workload.block_tokens() == 16);
  const auto shared = [&](std::uint32_t a, std::uint32_t b) {
    const auto x = workload.chain(RequestId{a});
    const auto y = workload.chain(RequestId{b});
    return std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin();
  };
  CHECK(shared(0, 5) == 625);  // 10,000 / 16
  CHECK(shared(0, 1) == 633);  // 10,128 / 16
  CHECK(workload.after(RequestId{1}).size() == 1);
  CHECK(workload.after(RequestId{5}).empty());
}

}  // namespace
}  // namespace spillway
