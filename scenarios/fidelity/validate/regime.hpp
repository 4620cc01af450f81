// In which of four regimes a measured run was, and the figures that decide it: an error says little
// without it, for each regime leaves another part of a simulator untested.
//
//   idle        nobody waits and batches are small: a latency is about that of a lone request
//   busy        requests share batches, but no queue to speak of: step times decide
//   saturated   a queue persists, or slots or the KV pool are full: queueing decides
//   thrashing   saturated, and work is thrown away: preemptions recompute what had been computed
//
// Decided over the samples (1 s counters; without them, what the request log says at as many
// instants) at which any request is in the system:
//
//   saturated   waiting > 0, all slots taken, or KV usage >= 95%, in at least a quarter of them
//   thrashing   saturated, and preemptions are at least a tenth of the requests; where preemptions
//               are known neither from the engine nor from the simulation: the pool is full
//               (>= 95%) in half of the samples, and running falls while waiting grows in a tenth
//   idle        not saturated, the mean of running at most 1/32 of the slots (but at least 1), KV
//               usage (where counted) at most 50%
//   busy        everything else
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario/measured/measured_run.hpp"
#include "sim/fields.hpp"

namespace spillway {

enum class Regime : std::uint8_t { kIdle, kBusy, kSaturated, kThrashing };
template <>
struct EnumNames<Regime> {
  static constexpr std::array<std::string_view, 4> kNames = {"idle", "busy", "saturated",
                                                             "thrashing"};
};

/// What of a run decides, each a share of the samples unless it says otherwise.
struct RegimeFigures {
  std::uint32_t samples = 0;  ///< with a request in the system
  bool from_counters = false;
  double mean_running = 0;  ///< requests
  double peak_running = 0;
  double mean_waiting = 0;
  double peak_waiting = 0;
  double waiting_share = 0;     ///< somebody waits
  double full_slots_share = 0;  ///< running has reached max_num_seqs
  std::optional<double> peak_kv_usage;
  std::optional<double> full_pool_share;  ///< KV usage of 95% and more
  double falling_share = 0;               ///< running falls while waiting grows, pool full
  std::optional<double> preemptions_per_request;
  bool preemptions_simulated = false;  ///< the engine did not log them
};

struct RegimeDecision {
  Regime regime = Regime::kBusy;
  RegimeFigures figures;
  std::string why;  ///< in words, with the figures
};

struct RegimeFacts {
  std::uint32_t max_num_seqs = 256;
  /// Of the simulation, where the engine did not log its own.
  std::optional<double> preemptions_per_request;
};

/// Samples of running and waiting from the request log alone, `count` of them over the run: who has
/// arrived and is not scheduled waits, who is scheduled and has tokens to come runs.
std::vector<MeasuredCounters> counters_from_log(const std::vector<MeasuredRequest>& requests,
                                                std::uint32_t count);

RegimeDecision decide_regime(const MeasuredRun& run, const RegimeFacts& facts);

}  // namespace spillway
