// AIPerf's requests, equal to what its generators draw in Python and numpy. In the lines of Python,
// `profile(seed, requests, entries, ...)` makes the dataset, shuffles it and draws gaps as AIPerf
// does (src/aiperf/dataset/composer, dataset_samplers.py, timing/intervals.py).
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

BenchmarkConfig aiperf() {
  BenchmarkConfig config;
  config.tool = "aiperf";
  config.version = "0.5.0";
  config.requests = 250;
  config.seed = 42;
  config.prompt_tokens_stdev = 100;
  config.output_tokens = 128;
  config.output_tokens_stdev = 30;
  config.prefix_tokens = 1000;
  config.prefix_count = 7;
  config.rate_per_s = 10;
  return config;
}

BenchmarkConfig gamma_arrivals(double smoothness) {
  BenchmarkConfig config = aiperf();
  config.seed = 7;
  config.requests = 40;
  config.dataset_entries = 16;
  config.prompt_tokens = 1000;
  config.prompt_tokens_stdev.reset();
  config.output_tokens = 200;
  config.output_tokens_stdev = 50;
  config.prefix_tokens.reset();
  config.prefix_count.reset();
  config.rate_per_s = 4;
  config.arrivals = "gamma";
  config.burstiness = smoothness;
  return config;
}

std::uint64_t tokens_of(const std::vector<BenchmarkRequest>& requests,
                        std::uint32_t BenchmarkRequest::*member) {
  std::uint64_t out = 0;
  for (const BenchmarkRequest& r : requests) out += r.*member;
  return out;
}

TEST_CASE("lengths, prefixes and order of AIPerf come from generators by name", "[traces]") {
  const auto requests = sent(aiperf());
  // profile(42, 250, 100, isl=(550, 100), osl=(128, 30), pool=7, rate=10)
  CHECK(column(requests, &BenchmarkRequest::conversation, 8) ==
        Numbers{70, 0, 99, 26, 57, 33, 19, 53});
  CHECK(column(requests, &BenchmarkRequest::input_tokens, 8) ==
        Numbers{1624, 1651, 1751, 1412, 1706, 1621, 1542, 1372});
  CHECK(column(requests, &BenchmarkRequest::output_tokens, 8) ==
        Numbers{129, 167, 116, 147, 124, 160, 126, 136});
  CHECK(column(requests, &BenchmarkRequest::prefix, 8) == Numbers{4, 6, 0, 5, 3, 2, 1, 4});
  CHECK(within_ns(column(requests, &BenchmarkRequest::arrival_ns, 5),
                  {73'158'611, 108'934'686, 155'810'927, 214'818'684, 235'386'779}, 2));
  // The dataset comes two and a half times, in three orders.
  CHECK(tokens_of(requests, &BenchmarkRequest::input_tokens) == 138'071 + 250'000);
  CHECK(tokens_of(requests, &BenchmarkRequest::output_tokens) == 32'692);
  CHECK(requests.back().conversation == 42);
}

TEST_CASE("gamma gaps of AIPerf are Python's", "[traces]") {
  const auto bursts = sent(gamma_arrivals(0.5));
  // profile(7, 40, 16, isl=(1000, 0), osl=(200, 50), rate=4, pattern="gamma", smoothness=0.5)
  CHECK(column(bursts, &BenchmarkRequest::conversation, 8) == Numbers{1, 4, 5, 11, 2, 6, 7, 13});
  CHECK(column(bursts, &BenchmarkRequest::output_tokens, 8) ==
        Numbers{231, 164, 185, 208, 323, 159, 215, 129});
  CHECK(within_ns(column(bursts, &BenchmarkRequest::arrival_ns, 5),
                  {307'602'909, 349'242'760, 441'240'510, 1'926'651'461, 1'983'129'985}, 4));
  CHECK(bursts.back().conversation == 8);
  CHECK(within_ns(column(sent(gamma_arrivals(3)), &BenchmarkRequest::arrival_ns, 5),
                  {338'008'264, 488'680'439, 682'827'825, 848'108'453, 1'065'025'003}, 4));
}

TEST_CASE("a concurrency of AIPerf is a closed loop, and prompts come again", "[traces]") {
  BenchmarkConfig config = aiperf();
  config.rate_per_s.reset();
  config.concurrency = 8;
  config.dataset_entries = 10;
  CHECK(tool_of(config).load(config).closed_loop);
  CHECK(tool_of(config).load(config).concurrency == 8);
  const auto requests = sent(config);
  const Workload workload = benchmark_workload(config);
  std::uint32_t again = 10;
  while (requests[again].conversation != requests[0].conversation) ++again;
  CHECK(std::ranges::equal(workload.chain(RequestId{0}), workload.chain(RequestId{again})));
}

TEST_CASE("AIPerf without a seed draws otherwise each time, and a note says so", "[traces]") {
  BenchmarkConfig config = aiperf();
  CHECK(tool_of(config).notes(config).empty());
  config.seed.reset();
  CHECK(tool_of(config).notes(config).size() == 1);
}

TEST_CASE("what AIPerf cannot be told is refused by key", "[traces]") {
  const std::pair<const char*, std::function<void(BenchmarkConfig&)>> cases[] = {
      {"", [](BenchmarkConfig&) {}},
      {"version", [](BenchmarkConfig& c) { c.version = "0.13.0"; }},
      {"requests", [](BenchmarkConfig& c) { c.requests.reset(); }},
      {"output_tokens", [](BenchmarkConfig& c) { c.output_tokens.reset(); }},
      {"prefix_count", [](BenchmarkConfig& c) { c.prefix_count.reset(); }},
      {"burstiness", [](BenchmarkConfig& c) { c.burstiness = 2; }},
      {"arrivals", [](BenchmarkConfig& c) { c.rate_per_s.reset(), c.arrivals = "constant"; }},
      {"prompt_tokens", [](BenchmarkConfig& c) { c.prompt_tokens = 1 << 24; }},
      {"turns", [](BenchmarkConfig& c) { c.turns = 3; }}};
  for (const auto& [key, change] : cases) {
    BenchmarkConfig config = aiperf();
    change(config);
    CHECK(fault_key(config) == key);
  }
}

}  // namespace
}  // namespace spillway
