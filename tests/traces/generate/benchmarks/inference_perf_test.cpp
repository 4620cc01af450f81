// inference-perf: its rules. It has no seed, so that there are no draws to be equal to.
#include <functional>
#include <map>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/traces/generate/benchmarks/benchmark_scene.hpp"
#include "traces/generate/benchmarks/benchmark_workload.hpp"

namespace spillway {
namespace {

using test::fault_key;
using test::sent;

/// 3 groups of 4 prompts, 5 requests a second for 10 seconds.
BenchmarkConfig perf() {
  BenchmarkConfig config;
  config.tool = "inference-perf";
  config.version = "0.2.0";
  config.prefix_count = 3;
  config.prompts_per_prefix = 4;
  config.prefix_tokens = 1000;
  config.prompt_tokens = 200;
  config.output_tokens = 70;
  config.rate_per_s = 5;
  config.seconds = 10;
  return config;
}

TEST_CASE("prompts of inference-perf repeat in one shuffled order", "[traces]") {
  const auto requests = sent(perf());
  REQUIRE(requests.size() == 50);
  std::set<std::uint32_t> prompts;
  std::map<std::uint32_t, int> of_prefix;
  for (std::size_t i = 0; i < 12; ++i) {
    prompts.insert(requests[i].conversation);
    ++of_prefix[requests[i].prefix];
    CHECK(requests[i].conversation == requests[i + 12].conversation);
  }
  CHECK(prompts.size() == 12);
  CHECK(of_prefix == std::map<std::uint32_t, int>{{0, 4}, {1, 4}, {2, 4}});
  CHECK(requests[0].input_tokens == 1200);
  CHECK(requests[0].output_tokens == 70);
}

TEST_CASE("a prompt sent again shares all its blocks", "[traces]") {
  const Workload workload = benchmark_workload(perf());
  const auto first = workload.chain(RequestId{0});
  const auto again = workload.chain(RequestId{12});
  CHECK(std::equal(first.begin(), first.end(), again.begin(), again.end()));
}

TEST_CASE("a constant stage of inference-perf ends with its last request", "[traces]") {
  const auto requests = sent(perf());
  CHECK(test::within_ns({requests.back().arrival_ns}, {10'000'000'000}, 2));
  CHECK(std::is_sorted(requests.begin(), requests.end(),
                       [](const auto& a, const auto& b) { return a.arrival_ns < b.arrival_ns; }));
}

TEST_CASE("a Poisson stage of inference-perf is full at the end of each second", "[traces]") {
  BenchmarkConfig config = perf();
  config.arrivals = "poisson";
  config.seconds = 100;
  const auto requests = sent(config);
  REQUIRE(requests.size() == 500);
  // The last request of a second comes at its end, so that whole seconds are among the times.
  std::set<std::int64_t> whole;
  for (const BenchmarkRequest& r : requests) {
    const std::int64_t off = (r.arrival_ns + 2) % 1'000'000'000;
    if (off <= 4) whole.insert((r.arrival_ns + 2) / 1'000'000'000);
  }
  CHECK(whole.size() > 80);
  CHECK(requests.back().arrival_ns > 80'000'000'000);
  CHECK(requests.back().arrival_ns < 120'000'000'000);
}

TEST_CASE("a concurrent stage of inference-perf is a closed loop", "[traces]") {
  BenchmarkConfig config = perf();
  config.arrivals = "concurrent";
  config.rate_per_s.reset();
  config.seconds.reset();
  config.requests = 30;
  config.concurrency = 4;
  CHECK(fault_key(config).empty());
  CHECK(tool_of(config).load(config).closed_loop);
  CHECK(sent(config).size() == 30);
}

TEST_CASE("stages of inference-perf wait for each other, and start over with the prompts",
          "[traces]") {
  BenchmarkConfig config = perf();
  config.rate_per_s.reset();
  config.rates_per_s = {1, 2};
  const auto requests = sent(config);
  REQUIRE(requests.size() == 10 + 20);
  const Workload workload = benchmark_workload(config);
  for (std::uint32_t i = 0; i < 10; ++i) {
    CHECK(workload.after(RequestId{i}).empty());
    CHECK(requests[i].text_of == requests[10 + i].text_of);
    const auto first = workload.chain(RequestId{i});
    const auto again = workload.chain(RequestId{10 + i});
    CHECK(std::equal(first.begin(), first.end(), again.begin(), again.end()));
  }
  for (std::uint32_t i = 10; i < 30; ++i) {
    CHECK(workload.after(RequestId{i}).size() == 10);
    // A second after the last answer, and as late in the stage as if it began then.
    const std::int64_t in_stage = requests[i].arrival_ns - 11'000'000'000;
    CHECK(workload.think_ns(RequestId{i}) - in_stage == 1'000'000'000);
  }
  CHECK(tool_of(config).load(config).turns);
  config.rate_per_s = 1;
  CHECK(fault_key(config) == "rates_per_s");
}

TEST_CASE("what inference-perf cannot be told is refused by key", "[traces]") {
  const std::pair<const char*, std::function<void(BenchmarkConfig&)>> cases[] = {
      {"", [](BenchmarkConfig&) {}},
      {"version", [](BenchmarkConfig& c) { c.version = "0.6.0"; }},
      {"arrivals", [](BenchmarkConfig& c) { c.arrivals = "throughput"; }},
      {"rate_per_s", [](BenchmarkConfig& c) { c.rate_per_s.reset(); }},
      {"rate_per_s", [](BenchmarkConfig& c) { c.rate_per_s = 0.01; }},
      {"seconds", [](BenchmarkConfig& c) { c.seconds.reset(); }},
      {"requests", [](BenchmarkConfig& c) { c.requests = 10; }},
      {"concurrency", [](BenchmarkConfig& c) { c.concurrency = 10; }},
      {"prompts_per_prefix", [](BenchmarkConfig& c) { c.prompts_per_prefix = 9'000'000; }},
      {"turns", [](BenchmarkConfig& c) { c.turns = 3; }}};
  for (const auto& [key, change] : cases) {
    BenchmarkConfig config = perf();
    change(config);
    CHECK(fault_key(config) == key);
  }
}

}  // namespace
}  // namespace spillway
