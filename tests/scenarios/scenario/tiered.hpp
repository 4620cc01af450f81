// Tiers behind host memory for tests: documents of 32 blocks, and what a run of them told.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {

// A document is 512 tokens: 32 blocks of 2 MiB, 67,108,864 bytes.
inline constexpr std::int64_t kDocument = 67'108'864;

/// A tier of kind fs that moves `rate` in either direction after 100 us a file.
inline std::string fs_tier(const std::string& rate, const std::string& more = "",
                           const std::string& name = "fs") {
  return fmt::format(R"({{"name": "{}", "kind": "fs", "device": {{"read_bandwidth": "{}",)"
                     R"( "write_bandwidth": "{}", "read_latency_us": 100,)"
                     R"( "write_latency_us": 100{}}}}})",
                     name, rate, rate, more);
}

/// The reference scenario with host memory for `dram` blocks, and `behind` it.
inline Scenario tiered(int hbm, int dram, const std::string& behind,
                       std::vector<std::string> assignments = {}) {
  assignments.insert(
      assignments.begin(),
      {fmt::format(R"(tiers=[{{"name": "dram", "kind": "dram", "capacity": "{}blocks"}}{}])", dram,
                   behind.empty() ? "" : "," + behind),
       fmt::format("engine.num_gpu_blocks={}", hbm + 1), "plan=null"});
  return reference_with(assignments);
}

struct Told {
  SimulationOutcome outcome;
  Journal journal;
  const RunResult& result() const { return outcome.result; }
  std::int64_t ttft_ns(std::size_t request) const {
    const RequestRecord& r = journal.requests[request];
    return (r.first_token - r.arrival).count();
  }
  bool warns(const std::string& text) const { return says(outcome.warnings, text); }
};

inline Told told(const Scenario& scenario, const Workload& workload) {
  Told out;
  SimulationOptions options;
  options.observers = {&out.journal};
  out.outcome = simulate(scenario, workload, options);
  return out;
}

/// Documents 0, 1 and 2 pass through an HBM of one document and a dram of one and a bit; then
/// document 0 comes again, which only the tiers behind still hold.
inline Workload three_then_the_first() {
  return workload_of(
      {{0, 512, 1, {0}}, {500, 512, 1, {1}}, {1000, 512, 1, {2}}, {1500, 512, 1, {0}}}, 512);
}

}  // namespace spillway::test
