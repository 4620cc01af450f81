// The committed page on PrisKV: what its rows say is what runs give.
#include <fmt/format.h>

#include "tests/scenarios/run/claim_page.hpp"

namespace spillway::test {
namespace {

const std::string kName = "priskv";
const std::string kBenchmark = "workload.benchmark.";

/// vLLM as it is there, without AIBrix. `more` are further keys of the engine.
Sets without_l2(const std::string& more = "") {
  return {"tiers=[]", "links=[]",
          fmt::format(R"(engine={{"preset":"vllm@0.23","async_scheduling":false,)"
                      R"("tensor_parallel_size":4,"block_tokens":64,)"
                      R"("enable_prefix_caching":false{}}})",
                      more)};
}

Sets joined_sets(Sets first, const Sets& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST_CASE("the page on PrisKV says what runs give", "[scenarios]") {
  const std::vector<std::pair<std::string, Sets>> systems = {{"without L2", without_l2()},
                                                             {"with PrisKV", {}}};
  for (const auto& [what, system] : systems) {
    std::string line = fmt::format("| {} |", what);
    for (const int clients : {16, 32}) {
      const RunResult r = run_claim(
          kName, joined_sets(system, {kBenchmark + fmt::format("concurrency={}", clients)}));
      line += fmt::format(" {:.2f} s | {:.0f} ms | {:.2f} |", r.ttft.mean_ms / 1000, r.tpot.mean_ms,
                          r.request_throughput);
    }
    check_line(kName, line);
  }
}

/// A row on what was assumed: what it changes with PrisKV, and without it.
struct Variation {
  const char* what;
  Sets with;
  Sets without;
};

/// So many tokens of each prompt have never been sent before.
Sets new_tokens(int count) {
  return {kBenchmark + fmt::format("prefix_tokens={}", 8'192 - count),
          kBenchmark + "prefix_count=128", kBenchmark + fmt::format("prompt_tokens={}", count),
          kBenchmark + "dataset_entries=1024"};
}

Variation prompts(const char* what, int count) {
  return {what, new_tokens(count), joined_sets(without_l2(), new_tokens(count))};
}

Variation network(const char* what, const std::string& rate) {
  return {what, {"links.0.bandwidth=" + rate, "links.1.bandwidth=" + rate}, without_l2()};
}

TEST_CASE("the page on PrisKV says what its assumptions weigh", "[scenarios]") {
  const std::vector<Variation> rows = {{"as above", {}, without_l2()},
                                       prompts("512 tokens of each prompt are new", 512),
                                       prompts("2,048 are new", 2'048),
                                       prompts("4,096 are new", 4'096),
                                       network("network of 12.5 GB/s", "12.5GB/s"),
                                       network("25 GB/s", "25GB/s"),
                                       network("100 GB/s", "100GB/s"),
                                       {"2,048 tokens a step",
                                        {"engine.max_num_batched_tokens=2048"},
                                        without_l2(R"(,"max_num_batched_tokens":2048)")},
                                       {"8,192 tokens may be on their way to L2",
                                        {"engine.aibrix.max_inflight_tokens=8192"},
                                        without_l2()},
                                       {"L1 of 64 GiB", {"tiers.0.capacity=64GiB"}, without_l2()}};
  for (const Variation& row : rows) {
    const RunResult with = run_claim(kName, row.with);
    const RunResult without = run_claim(kName, row.without);
    check_line(kName, fmt::format("| {} | {:.2f} s | {:.2f} s | {:.1f} |", row.what,
                                  without.ttft.mean_ms / 1000, with.ttft.mean_ms / 1000,
                                  with.request_throughput / without.request_throughput));
  }
}

}  // namespace
}  // namespace spillway::test
