// The plain result that a run produces, and that reports render.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/histogram.hpp"
#include "sim/note.hpp"
#include "sim/ttft_stages.hpp"

namespace spillway {

struct ReasonCount {
  std::string reason;
  std::uint64_t count = 0;
};

/// The device behind a storage tier. What does not apply is absent.
struct DeviceResult {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::optional<double> drive_writes;        ///< how often the whole drive was written
  std::optional<double> endurance_share;     ///< of the bytes it is rated for, written in this run
  std::optional<double> slow_write_seconds;  ///< spent writing with the write cache full
  double latency_p50_ms = 0;  ///< of loads: from the request for them until they have left it
  double latency_p99_ms = 0;
};

/// What a tier behind the first one did, as TieringOffloadingSpec's counters tell it.
struct TieringResult {
  std::uint64_t promotions = 0;          ///< jobs towards the first tier
  std::uint64_t cascades = 0;            ///< jobs from it
  std::uint64_t promotion_failures = 0;  ///< blocks found that the first tier had no room for
  double peak_pinned_share = 0;          ///< of the first tier, by writes to this one
};

/// Where tiers keep chunks (LMCache) or files (llm-d), counts of a tier are of these.
struct ChunkTierResult {
  std::uint64_t tokens = 0;         ///< of one
  std::uint64_t lost = 0;           ///< found by look-ups, gone or late when they were read
  std::uint64_t ticks = 0;          ///< of eviction by the clock, above its watermark
  std::uint64_t idle_ticks = 0;     ///< of these, that found nothing to drop
  std::uint64_t missing_reads = 0;  ///< files gone before their read, which was not told
};

struct TierResult {
  std::string name;
  std::int64_t capacity_bytes = 0;
  bool unbounded = false;  ///< capacity "inf"
  std::uint64_t capacity_blocks = 0;
  std::int64_t peak_bytes = 0;     ///< HBM: held by requests; below: stored
  double mean_bytes = 0;           ///< first arrival to last event
  std::uint64_t queries = 0;       ///< full blocks asked for at first admissions
  std::uint64_t hits = 0;          ///< of these, found
  std::uint64_t hits_resumed = 0;  ///< found by requests that had been preempted
  std::uint64_t stores = 0;
  std::uint64_t evictions = 0;
  std::uint64_t store_failures = 0;
  std::vector<ReasonCount> write_refusals{};  ///< blocks that write admission kept out
  std::string kind{};                         ///< empty: DRAM (or HBM)
  std::optional<DeviceResult> device{};
  std::uint64_t stores_skipped = 0;  ///< blocks offered and kept out by store_threshold
  std::optional<TieringResult> tiering{};
  std::optional<ChunkTierResult> chunks{};  ///< of a connector that keeps chunks
};

/// Shortest prefix that comes from a tier, nothing else on its way, before it is computed.
struct LoadBreakEven {
  std::string tier;
  std::uint64_t tokens = 0;  ///< 0: none
};

/// A prefix from an idle tier against the same prefix computed.
struct LoadTime {
  std::string tier;
  std::uint64_t tokens = 0;
  double load_ms = 0;
  double compute_ms = 0;
};

/// Transfers that a link's model was not measured at.
struct ReachCount {
  std::uint64_t transfers = 0;
  std::int64_t least_piece = 0;  ///< bytes of a copy
  std::int64_t most_piece = 0;
  std::uint32_t least_copies = 0;
  std::uint32_t most_copies = 0;
};

struct LinkResult {
  std::string name;
  std::string from;
  std::string to;
  std::int64_t bytes = 0;
  std::uint64_t transfers = 0;
  double busy_fraction = 0;     ///< of first arrival to last event
  double peak_bytes_per_s = 0;  ///< highest mean over one bin of `series`
  double capacity_bytes_per_s = 0;
  std::string model;          ///< where its times come from
  bool medium = false;        ///< shared by links: its bytes are theirs
  ReachCount extrapolated{};  ///< beyond what its model was measured at
  ReachCount across_step{};   ///< between measured rates that differ by more than 2x
  std::uint32_t ranks = 1;    ///< alike, whose bytes and rates this row sums
};

/// Loads from below against computing the same again.
struct LoadChoiceResult {
  /// Shortest prefix that an idle link brings no later than the GPU computes it; 0: none.
  std::uint64_t break_even_tokens = 0;
  bool decided = false;          ///< admissions chose; otherwise whatever lay below was loaded
  std::uint64_t loaded = 0;      ///< admissions that chose to load
  std::uint64_t recomputed = 0;  ///< that could have loaded, and computed
};

/// Steps that waited for loads, where the engine's load semantics let them.
struct LoadWaitResult {
  std::uint64_t steps = 0;
  double stall_s = 0;
};

/// API server processes between clients and engines, where they take time.
struct FrontEndResult {
  std::uint64_t processes = 1;
  double busy_fraction = 0;     ///< of their event loops, from the first request to the last chunk
  double tokens_per_chunk = 1;  ///< more than 1: tokens waited for a loop
};

/// v0's swapping. A swap that the engine died of does not count.
struct SwapResult {
  std::uint64_t swapped_out = 0;  ///< requests
  std::uint64_t swapped_in = 0;
  std::uint64_t blocks_out = 0;
  std::uint64_t blocks_in = 0;
  double stall_s = 0;              ///< steps waited for these copies
  std::uint64_t peak_swapped = 0;  ///< requests at once (vllm:num_requests_swapped)
  double peak_cpu_usage = 0;       ///< share of the blocks (vllm:cpu_cache_usage_perc)
  std::string fatal{};             ///< the error on which the engine would have died
};

/// One of several engines that share the work.
struct EngineShare {
  std::uint64_t requests = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t steps = 0;
  double busy_fraction = 0;  ///< of first arrival to last event
};

/// What most limits a run, and the figure that says so.
struct BindingResource {
  std::string resource;  ///< hbm, compute, a tier, a link, or none
  Note why;
};

struct SloResult {
  std::string name;       ///< a result key, e.g. p99_ttft_ms
  bool at_least = false;  ///< target is a minimum (throughputs)
  double target = 0;
  double value = 0;
  bool passed = false;
  std::string tenant{};  ///< whose requests `value` is of; empty: everyone's
};

/// A quantity over time, in equal bins from time 0.
struct Series {
  std::string name;
  std::string unit;
  double bin_s = 0;
  std::vector<double> values;
};

struct SimulationCost {
  std::uint64_t events = 0;
  double wall_s = 0;
  double requests_per_wall_s = 0;
  double steps_per_wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
  std::int64_t memory_estimate_bytes = 0;  ///< memory_estimate() at the run's end
};

struct RunResult {
  std::uint64_t requests = 0;  ///< measured: neither of the warm-up nor not sent
  std::uint64_t completed = 0;
  std::uint64_t rejected = 0;
  std::uint64_t failed = 0;
  std::uint64_t stuck = 0;
  std::uint64_t warmup_requests = 0;  ///< ran before measuring began or ended after it
  std::uint64_t not_sent = 0;         ///< due after the workload's horizon
  double duration_s = 0;              ///< first arrival to last finish, of measured requests
  std::uint64_t input_tokens = 0;     ///< of completed requests
  std::uint64_t output_tokens = 0;
  double request_throughput = 0;
  double output_throughput = 0;
  double total_token_throughput = 0;
  LatencyStats ttft;
  LatencyStats tpot;
  LatencyStats itl;
  LatencyStats e2el;
  LatencyStats queue_time;         ///< arrival to first scheduled tokens
  LatencyStats client_queue_time;  ///< due to arrival
  std::uint64_t peak_waiting = 0;  ///< requests, of the engine that had most
  std::uint64_t preemptions = 0;
  std::uint64_t recomputed_tokens = 0;
  std::uint64_t engine_steps = 0;
  std::uint64_t deferrals = 0;  ///< look-ups that had to be repeated at a later step
  std::uint64_t flushes = 0;    ///< steps that waited for stores
  double flush_stall_s = 0;
  std::vector<std::pair<std::string, std::uint64_t>> prompt_tokens_by_source;
  std::vector<TierResult> tiers;  ///< HBM first
  std::vector<LinkResult> links;
  std::optional<LoadChoiceResult> load_choice;  ///< where there is a tier below
  std::vector<LoadBreakEven> break_even;        ///< by tier
  std::vector<LoadTime> load_times;             ///< by tier and length
  std::uint64_t load_failures = 0;              ///< loads that did not come whole
  std::optional<LoadWaitResult> load_wait;      ///< where steps may wait for loads
  std::optional<double> copy_harm_s;            ///< by which copies lengthened steps, where they do
  double steps_s = 0;                           ///< all steps of all engines together
  std::optional<double> connector_s;            ///< by which a connector's own costs did
  std::optional<FrontEndResult> front_end;      ///< nothing: it takes no time
  std::optional<SwapResult> swap;
  std::vector<EngineShare> engines;        ///< where there are several
  std::optional<double> collective_s;      ///< of all engines, where ranks or engines wait in steps
  std::optional<double> collective_share;  ///< of the time of their steps
  std::optional<BindingResource> binding;
  double cold_blocks_per_token_mean = 0;
  double cold_blocks_per_token_p99 = 0;
  std::vector<SloResult> slo;
  double goodput = 0;  ///< requests/s that meet every latency target
  std::vector<ReasonCount> rejected_reasons;
  std::vector<ReasonCount> failed_reasons;
  std::vector<ReasonCount> stuck_reasons;
  std::vector<Series> series;
  std::vector<TtftBand> ttft_bands;  ///< "all" first; none where nothing completed
  std::vector<SlowRequest> slowest;  ///< by time to first token, the slowest first
  SimulationCost sim;
};

/// Share of prompt tokens that tiers from `first_tier` on supplied (0: HBM and all below).
inline double cached_share(const RunResult& run, std::size_t first_tier = 0) {
  std::uint64_t tokens = 0;
  for (std::size_t i = first_tier + 1; i < run.prompt_tokens_by_source.size(); ++i) {
    tokens += run.prompt_tokens_by_source[i].second;
  }
  return run.input_tokens == 0
             ? 0
             : static_cast<double>(tokens) / static_cast<double>(run.input_tokens);
}

}  // namespace spillway
