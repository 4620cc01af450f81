// LMBenchmark's multi-round QA, equal to what its session manager does in Python with a clock of
// exact tenths of a second and answers that come at once
// (synthetic-multi-round-qa/multi-round-qa.py).
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

/// synthetic-multi-round-qa/long_input_short_output_run.sh
BenchmarkConfig long_input() {
  BenchmarkConfig config;
  config.tool = "lmbenchmark";
  config.version = "2025.4";
  config.users = 15;
  config.turns = 20;
  config.rate_per_s = 0.1;
  config.prefix_tokens = 1000;
  config.history_tokens = 20'000;
  config.output_tokens = 100;
  config.seconds = 100;
  return config;
}

/// Tenths of a second.
std::vector<std::int64_t> looks(const std::vector<BenchmarkRequest>& requests, std::size_t first) {
  std::vector<std::int64_t> out;
  for (const std::int64_t ns : column(requests, &BenchmarkRequest::arrival_ns, first)) {
    out.push_back(ns / 100'000'000);
  }
  return out;
}

TEST_CASE("users of LMBenchmark stand at the start as after a long run", "[traces]") {
  const auto requests = sent(long_input());
  // manager(15, 20, 0.1, 100)
  REQUIRE(requests.size() == 10);
  CHECK(looks(requests, 10) ==
        std::vector<std::int64_t>{0, 101, 201, 301, 401, 501, 601, 701, 801, 901});
  CHECK(column(requests, &BenchmarkRequest::conversation, 10) ==
        Numbers{15, 4, 8, 12, 1, 5, 9, 13, 2, 6});
  CHECK(requests[0].prefix_tokens == 1008);
  CHECK(requests[0].input_tokens == 21'038);
}

TEST_CASE("a user of LMBenchmark asks on when the gap is over", "[traces]") {
  BenchmarkConfig config = long_input();
  config.users = 10;
  config.turns = 6;
  config.rate_per_s = 2.5;
  config.seconds = 20;
  const auto requests = sent(config);
  // manager(10, 6, 2.5, 20)
  REQUIRE(requests.size() == 55);
  CHECK(looks(requests, 12) ==
        std::vector<std::int64_t>{0, 21, 21, 21, 21, 21, 21, 41, 41, 41, 41, 41});
  CHECK(column(requests, &BenchmarkRequest::conversation, 12) ==
        Numbers{10, 1, 3, 5, 7, 9, 11, 2, 4, 6, 8, 10});
  CHECK(requests[11].turn == 1);
  CHECK(requests[11].input_tokens == 21'038 + 100 + 19);
  CHECK(requests.back().arrival_ns == 18'900'000'000);
  CHECK(requests.back().conversation == 19);
}

TEST_CASE("new users of LMBenchmark join when one has left", "[traces]") {
  BenchmarkConfig config = long_input();
  config.users = 320;
  config.turns = 10;
  config.rate_per_s = 4;
  config.seconds = 30;
  const auto requests = sent(config);
  // manager(320, 10, 4, 30)
  REQUIRE(requests.size() == 133);
  CHECK(looks(requests, 12) ==
        std::vector<std::int64_t>{0, 3, 6, 8, 11, 13, 16, 18, 21, 23, 23, 26});
  CHECK(column(requests, &BenchmarkRequest::conversation, 12) ==
        Numbers{320, 249, 178, 107, 36, 285, 214, 143, 72, 1, 321, 250});
}

TEST_CASE("users of LMBenchmark share the system prompt and nothing else", "[traces]") {
  const Workload workload = benchmark_workload(long_input());
  const auto a = workload.chain(RequestId{0});
  const auto b = workload.chain(RequestId{1});
  CHECK(a[1008 / 16 - 1] == b[1008 / 16 - 1]);
  CHECK(a[1008 / 16] != b[1008 / 16]);
}

TEST_CASE("what LMBenchmark cannot be told is refused by key", "[traces]") {
  const std::pair<const char*, std::function<void(BenchmarkConfig&)>> cases[] = {
      {"", [](BenchmarkConfig&) {}},
      {"version", [](BenchmarkConfig& c) { c.version = "1.0"; }},
      {"seconds", [](BenchmarkConfig& c) { c.seconds.reset(); }},
      {"history_tokens", [](BenchmarkConfig& c) { c.history_tokens.reset(); }},
      {"concurrency", [](BenchmarkConfig& c) { c.concurrency = 3; }},
      {"template_tokens", [](BenchmarkConfig& c) { c.template_tokens = {{3}}; }},
      {"turns", [](BenchmarkConfig& c) { c.output_tokens = 1 << 22; }},
      {"seconds", [](BenchmarkConfig& c) { c.seconds = 1e6; }}};
  for (const auto& [key, change] : cases) {
    BenchmarkConfig config = long_input();
    change(config);
    CHECK(fault_key(config) == key);
  }
}

}  // namespace
}  // namespace spillway
