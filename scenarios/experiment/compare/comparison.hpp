// A paired comparison: every variant runs on the same replicates of the workload (common random
// numbers), and what is tested is the difference to the baseline, replicate by replicate.
//
// Generated workloads are replicated by their seeds: seed, seed + 1, ... A recorded trace is
// replicated by drawing its sessions again (traces/reshape/session_bootstrap.hpp); random arrivals
// then draw from these seeds too. A single replication is the workload itself.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "scenarios/experiment/variants.hpp"
#include "sim/compare_result.hpp"
#include "sim/note.hpp"
#include "traces/byte_source.hpp"

namespace spillway {

inline constexpr std::uint32_t kMostReplications = 1000;
inline constexpr double kAlpha = 1 - kConfidence;

struct CompareOptions {
  std::uint32_t replications = 10;
  std::string metric = "p99_ttft_ms";
  unsigned threads = 1;
  ReadProgress reading;
  std::function<void(std::uint64_t, std::uint64_t)> progress;  ///< (runs done, runs in all)
};

/// The replicates that some variants shared.
struct SharedWorkload {
  std::vector<std::size_t> variants;
  std::vector<std::uint64_t> hashes;  ///< content hash by replicate
};

struct CompareOutcome {
  CompareResult result;
  std::vector<SharedWorkload> workloads;
  nlohmann::json inputs;  ///< of the baseline on the original workload, as of a run
  Notes warnings;
};

/// Throws InputError (exit 2) unless `metric` is a run's (run_metrics()).
void check_metric(const std::string& metric);

/// Results do not depend on the number of threads.
CompareOutcome compare(const VariantSet& set, const CompareOptions& options);

}  // namespace spillway
