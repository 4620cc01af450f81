// The committed page on agents with Mooncake Store: what its rows say is what runs give.
#include <fmt/format.h>

#include "tests/scenarios/run/claim_page.hpp"

namespace spillway::test {
namespace {

const std::string kName = "mooncake-agents";
const std::string kBenchmark = "workload.benchmark.";
const Sets kWithout = {"tiers=[]", "links=[]", "engine.preset=vllm@0.25",
                       "engine.async_scheduling=false"};

Sets all_of(Sets first, const Sets& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Sets sessions_of(int sessions, int turns) {
  return {kBenchmark + fmt::format("concurrency={}", sessions),
          kBenchmark + fmt::format("requests={}", sessions * turns),
          kBenchmark + fmt::format("turns={}", turns)};
}

/// The store's share of so many times 12 GPUs.
Sets store_of(int dozens) {
  return {fmt::format("tiers.0.capacity={}GB", 1'200 * dozens),
          fmt::format("tiers.0.segments={}", 12 * dozens)};
}

Sets instances(int count) {
  return {fmt::format("fleet.replicas={}", count)};
}

std::string figures(const RunResult& r) {
  CHECK(r.failed == 0);
  return fmt::format("{:.1f}% | {:.2f} | {:.2f} s", 100 * cached_share(r), r.request_throughput,
                     r.ttft.median_ms / 1000);
}

/// `both` holds with and without the store, `store` only with it.
void check_row(const std::string& what, const Sets& both, const Sets& store) {
  const std::string without = figures(run_claim(kName, all_of(kWithout, both)));
  const std::string with = figures(run_claim(kName, all_of(both, store)));
  check_line(kName, fmt::format("| {} | {} | {} |", what, without, with));
}

Sets scale_of(int dozens) {
  return all_of(instances(dozens), sessions_of(75 * dozens - 1, 30));
}

void check_scale(int dozens) {
  check_row(fmt::format("{}", 12 * dozens), scale_of(dozens), store_of(dozens));
}

TEST_CASE("the page on agents with Mooncake Store says what runs give", "[scenarios]") {
  check_scale(1);
  check_scale(2);
  for (const int sessions : {24, 49, 74, 149}) {
    Sets traces = all_of(instances(1), sessions_of(sessions, 33));
    traces.push_back(kBenchmark + "prefix_tokens=1000");
    traces.push_back(kBenchmark + "prompt_tokens=2241");
    traces.emplace_back("workload.turnaround_ms=12200");
    check_row(fmt::format("{}", sessions), traces, store_of(1));
  }
}

TEST_CASE("the page on agents with Mooncake Store says what large runs give", "[.long]") {
  check_scale(5);
  check_row("no pause, 60 GPUs", all_of(scale_of(5), {"workload.turnaround_ms=0"}), store_of(5));
  const Sets decoding = {"fleet.replicas=3", kBenchmark + "prompt_tokens=2048",
                         kBenchmark + "output_tokens=900", "workload.turnaround_ms=5200"};
  check_row("three instances that decode, too", all_of(sessions_of(74, 30), decoding), store_of(1));
}

TEST_CASE("the page on agents with Mooncake Store says what its assumptions weigh", "[scenarios]") {
  struct Variation {
    const char* what;
    Sets both;
    Sets store;
  };
  const std::vector<Variation> rows = {
      {"as above", {}, {}},
      {"no pause", {std::string("workload.turnaround_ms=0")}, {}},
      {"a pause of 10 s", {std::string("workload.turnaround_ms=10000")}, {}},
      {"a pause of 60 s", {std::string("workload.turnaround_ms=60000")}, {}},
      {"turns bring 2,048 tokens", {kBenchmark + "prompt_tokens=2048"}, {}},
      {"NICs of 12.5 GB/s",
       {},
       {std::string("links.0.bandwidth=12.5GB/s"), "links.1.bandwidth=12.5GB/s"}},
      {"KV in BF16", {std::string("model.kv_dtype=bf16")}, {}},
      {"a store of 300 GB", {}, {std::string("tiers.0.capacity=300GB")}},
      {"a store of 150 GB", {}, {std::string("tiers.0.capacity=150GB")}}};
  for (const Variation& row : rows) {
    check_row(row.what, all_of(scale_of(1), row.both), all_of(store_of(1), row.store));
  }
}

}  // namespace
}  // namespace spillway::test
