// SGLang's bench_multiturn: order and gaps equal to what its sender draws in Python. In the lines
// of Python, `sender(clients, rounds, rate, distribution, policy, seed)` is its request loop where
// each answer is there before the next request (benchmark/hicache/bench_multiturn.py).
#include <functional>

#include "tests/support/catch.hpp"
#include "tests/traces/generate/benchmarks/benchmark_scene.hpp"
#include "traces/generate/benchmarks/benchmark_workload.hpp"

namespace spillway {
namespace {

using test::column;
using test::fault_key;
using test::sent;
using test::within_ns;
using Numbers = std::vector<std::uint32_t>;

/// The published runs of HiCache (lmsys.org/blog/2025-09-10-sglang-hicache).
BenchmarkConfig hicache() {
  BenchmarkConfig config;
  config.tool = "sglang-multiturn";
  config.version = "0.5.2";
  config.users = 80;
  config.turns = 10;
  config.prompt_tokens = 2048;
  config.output_tokens = 1;
  config.concurrency = 4;
  config.rate_per_s = 16;
  return config;
}

TEST_CASE("clients of bench_multiturn leave the queue at random", "[traces]") {
  const auto requests = sent(hicache());
  REQUIRE(requests.size() == 800);
  // sender(80, 10, 16, "poisson", "random", 1)
  CHECK(column(requests, &BenchmarkRequest::conversation, 12) ==
        Numbers{17, 8, 65, 62, 28, 3, 53, 0, 39, 34, 16, 5});
  CHECK(requests.back().conversation == 79);
  CHECK(within_ns(column(requests, &BenchmarkRequest::arrival_ns, 5),
                  {0, 52'632'520, 71'036'502, 160'482'415, 226'381'407}, 2));
  CHECK(within_ns({requests.back().arrival_ns}, {49'391'271'606}, 2000));
  // 2,048, and in each later round an answer of 1 and 2,048 more
  CHECK(requests.back().turn == 9);
  CHECK(requests.back().input_tokens == 10 * 2048 + 9);
  CHECK(tool_of(hicache()).load(hicache()).concurrency == 4);
}

TEST_CASE("bench_multiturn has defaults of its own", "[traces]") {
  BenchmarkConfig config;
  config.tool = "sglang-multiturn";
  config.version = "0.5.2";
  config.rate_per_s = 1;
  const auto requests = sent(config);
  REQUIRE(requests.size() == 1280);
  // sender(256, 5, 1, "poisson", "random", 1)
  CHECK(column(requests, &BenchmarkRequest::conversation, 12) ==
        Numbers{68, 32, 255, 243, 109, 14, 203, 1, 141, 122, 55, 17});
  CHECK(within_ns(column(requests, &BenchmarkRequest::arrival_ns, 3),
                  {0, 842'120'328, 1'136'584'045}, 2));
  CHECK(requests[0].input_tokens == 512);
  CHECK(requests.back().input_tokens == 512 + 4 * (64 + 512));
  CHECK(tool_of(config).load(config).concurrency == 128);
}

TEST_CASE("first come, first served takes the clients of bench_multiturn in turn", "[traces]") {
  BenchmarkConfig config = hicache();
  config.users = 6;
  config.turns = 3;
  config.rate_per_s = 4;
  config.arrivals = "uniform";
  config.queue = "fifo";
  config.seed = 7;
  config.next_prompt_tokens = 100;
  const auto requests = sent(config);
  CHECK(column(requests, &BenchmarkRequest::conversation, 8) == Numbers{0, 1, 2, 3, 4, 5, 0, 1});
  // sender(6, 3, 4, "uniform", "fifo", 7)
  CHECK(within_ns(column(requests, &BenchmarkRequest::arrival_ns, 5),
                  {0, 161'916'382, 237'340'969, 562'808'205, 599'026'349}, 2));
  CHECK(requests.back().input_tokens == 2048 + 2 * 101);
}

TEST_CASE("a round behind a barrier waits for all answers of the round before", "[traces]") {
  BenchmarkConfig config = hicache();
  config.round_barrier_s = 10;
  const auto requests = sent(config);
  REQUIRE(requests.size() == 800);
  CHECK(requests[79].turn == 0);
  // The same sender, whose queue has the clients of one round.
  CHECK(Numbers{requests[80].conversation, requests[81].conversation, requests[82].conversation} ==
        Numbers{76, 7, 32});
  CHECK(requests[80].after == std::pair(0U, 80U));
  CHECK(requests[799].after == std::pair(640U, 720U));
  CHECK(within_ns({requests[80].think_ns, requests[81].think_ns, requests[82].think_ns},
                  {10'026'287'041, 10'044'972'876, 10'188'771'110}, 2));
  const Workload workload = benchmark_workload(config);
  CHECK(workload.after(RequestId{80}).size() == 80);
  CHECK(workload.after(RequestId{79}).empty());
}

TEST_CASE("a turn of bench_multiturn finds its conversation", "[traces]") {
  const Workload workload = benchmark_workload(hicache());
  std::uint32_t turn = 0;
  while (workload.after(RequestId{turn}).empty()) ++turn;
  const RequestId before = workload.after(RequestId{turn})[0];
  CHECK(std::ranges::equal(workload.full_chain(before).first(2048 / 16),
                           workload.full_chain(RequestId{turn}).first(2048 / 16)));
  CHECK(workload.think_ns(RequestId{turn}) < 0);
}

TEST_CASE("what bench_multiturn cannot be told is refused by key", "[traces]") {
  const std::pair<const char*, std::function<void(BenchmarkConfig&)>> cases[] = {
      {"", [](BenchmarkConfig&) {}},
      {"version", [](BenchmarkConfig& c) { c.version = "0.4.0"; }},
      {"arrivals", [](BenchmarkConfig& c) { c.arrivals = "constant"; }},
      {"queue", [](BenchmarkConfig& c) { c.queue = "lifo"; }},
      {"rate_per_s", [](BenchmarkConfig& c) { c.rate_per_s.reset(); }},
      {"requests", [](BenchmarkConfig& c) { c.requests = 10; }},
      {"prompt_tokens", [](BenchmarkConfig& c) { c.next_prompt_tokens = 1 << 22; }},
      {"users", [](BenchmarkConfig& c) { c.turns = 10000, c.users = 1000; }},
      {"users", [](BenchmarkConfig& c) { c.round_barrier_s = 0, c.users = 5000; }}};
  for (const auto& [key, change] : cases) {
    BenchmarkConfig config = hicache();
    change(config);
    CHECK(fault_key(config) == key);
  }
}

}  // namespace
}  // namespace spillway
