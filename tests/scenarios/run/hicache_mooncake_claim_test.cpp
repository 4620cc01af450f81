// The committed page on HiCache with Mooncake: what its rows say is what runs give.
#include <fmt/format.h>

#include <numeric>

#include "tests/scenarios/run/claim_page.hpp"

namespace spillway::test {
namespace {

const std::string kName = "hicache-mooncake";
const std::string kBenchmark = "workload.benchmark.";

/// Mean TTFT of requests that were computed whole, and of those that the store (behind HBM and
/// dram) served.
struct Times {
  double computed_s = 0;
  double stored_s = 0;
  std::uint32_t computed = 0;
  std::uint32_t stored = 0;
};

Times times_of(const Sets& sets) {
  const Scenario scenario = claim_scenario(kName, sets);
  Journal journal;
  SimulationOptions options;
  options.observers.push_back(&journal);
  simulate(scenario, open_workload(scenario, {}), options);
  Times out;
  for (const RequestRecord& r : journal.requests) {
    if (r.status != RequestStatus::kCompleted) continue;
    const double ttft_s = seconds_of(r.first_token - r.arrival);
    if (std::accumulate(r.cached_tokens.begin(), r.cached_tokens.end(), 0U) == 0) {
      out.computed_s += ttft_s;
      ++out.computed;
    } else if (r.cached_tokens[2] > 0) {
      out.stored_s += ttft_s;
      ++out.stored;
    }
  }
  if (out.computed > 0) out.computed_s /= out.computed;
  if (out.stored > 0) out.stored_s /= out.stored;
  return out;
}

void check_times(const std::string& what, double computed_s, double stored_s) {
  check_line(kName, fmt::format("| {} | {:.3f} s | {:.3f} s | {:.0f}% |", what, computed_s,
                                stored_s, 100 * (stored_s / computed_s - 1)));
}

TEST_CASE("the page on HiCache with Mooncake says what runs give", "[scenarios]") {
  const std::vector<std::pair<std::string, int>> lengths = {{"1,024", 1'024},   {"2,048", 2'048},
                                                            {"4,096", 4'096},   {"8,192", 8'192},
                                                            {"16,384", 16'384}, {"32,768", 32'768}};
  for (const auto& [what, tokens] : lengths) {
    const Times times = times_of({kBenchmark + fmt::format("prompt_tokens={}", tokens)});
    check_times(what, times.computed_s, times.stored_s);
  }
  for (const int rate : {2, 4, 5, 6}) {
    const Sets sets = {kBenchmark + fmt::format("rate_per_s={}", rate),
                       kBenchmark + "arrivals=poisson"};
    Sets alone = sets;
    alone.push_back(kBenchmark + "dataset_entries=800");
    alone.emplace_back("tiers=[]");
    check_times(fmt::format("{}/s", rate), times_of(alone).computed_s, times_of(sets).stored_s);
  }
}

/// So many of the 4,096 tokens of each prompt have never been sent before.
Sets new_tokens(int count) {
  return {kBenchmark + fmt::format("prefix_tokens={}", 4'096 - count),
          kBenchmark + "prefix_count=400", kBenchmark + fmt::format("prompt_tokens={}", count),
          kBenchmark + "dataset_entries=800"};
}

Sets network(int gbs) {
  const std::string device = "tiers.1.device.";
  return {device + fmt::format("client_limit={}GB/s", gbs),
          device + fmt::format("server_limit={}GB/s", 2 * gbs)};
}

TEST_CASE("the page on HiCache with Mooncake says what its assumptions weigh", "[scenarios]") {
  const std::string policy = "engine.hicache_storage_prefetch_policy=";
  const std::vector<std::pair<std::string, Sets>> rows = {
      {"512 tokens of each prompt are new", new_tokens(512)},
      {"1,024 are new", new_tokens(1'024)},
      {"2,048 are new", new_tokens(2'048)},
      {"network of 25 GB/s", network(25)},
      {"50 GB/s", network(50)},
      {"400 GB/s", network(400)},
      {"`timeout`", Sets{policy + "timeout"}},
      {"GPUs are H200", Sets{std::string("gpu=H200"), "engine.mem_fraction_static=0.85"}},
      {"KV in BF16", Sets{std::string("model.kv_dtype=bf16")}}};
  for (const auto& [what, sets] : rows) {
    const Times times = times_of(sets);
    check_times(what, times.computed_s, times.stored_s);
  }
  CHECK(times_of({policy + "best_effort"}).stored == 0);
}

}  // namespace
}  // namespace spillway::test
