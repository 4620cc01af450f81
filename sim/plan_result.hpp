// What a plan found: every cell that it tried (one combination of sizes and searched values), which
// one it recommends and with what confidence, why, and what would change that.
//
// Cells keep their order: searched values as written, the first key changing slowest, sizes
// ascending within them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/plan_parts.hpp"
#include "sim/result.hpp"

namespace spillway {

/// What people call a target of `tenant`'s requests, or of everyone's where that is empty.
inline std::string target_label(const std::string& name, const std::string& tenant) {
  return tenant.empty() ? name : name + " of " + tenant;
}

/// One target of the SLO at one cell, over its replications.
///
/// A percentile target is a statement about a share of requests: p99 <= 2 s says that at most 1% of
/// them take longer. `x` is that share, for other targets the figure itself; `limit` what it may
/// be.
struct TargetEstimate {
  std::string name;    ///< a result key, e.g. p99_ttft_ms
  std::string tenant;  ///< whose requests; empty: everyone's
  bool at_least = false;
  bool share = false;  ///< `x` is a share of requests
  double target = 0;
  double value = 0;  ///< the figure that `target` bounds, of all replications together
  double x = 0;      ///< mean over replications
  double limit = 0;
  /// One-sided confidence bound of `x` on its worse side; none from a handful of replications.
  std::optional<double> bound;
  bool met = false;     ///< as `x` says
  bool backed = false;  ///< as `bound` says too

  std::string label() const { return target_label(name, tenant); }
  bool within(double figure) const { return at_least ? figure >= limit : figure <= limit; }
};

enum class CellVerdict : std::uint8_t {
  kMet,       ///< with the plan's confidence
  kMissed,    ///< with the plan's confidence
  kLooksMet,  ///< screened only, or undecided at the end of the budget
  kLooksMissed,
  kExcluded,  ///< not judged: `reason` says why
};
template <>
struct EnumNames<CellVerdict> {
  static constexpr std::array<std::string_view, 5> kNames = {"met", "missed", "looks-met",
                                                             "looks-missed", "excluded"};
};

/// By how much a cell's share of requests in time is above that of the cell that the plan speaks
/// of, on the replicates that both ran.
struct CellDifference {
  std::uint32_t to = 0;  ///< that cell, by its index
  double mean = 0;
  double noise = 0;              ///< half the width of its 95% interval
  std::uint32_t replicates = 0;  ///< 2 at least; of few of them the interval is a rough guess
};

/// Replicates in which a server ceases to serve for ever: its requests wait for each other.
struct Standstills {
  std::uint32_t replicates = 0;
  std::uint32_t of = 0;  ///< replicates run
  bool decides = false;  ///< on the others the cell meets the SLO, or there are none
  std::string why{};     ///< of the first
};

struct PlanPoint {
  std::string name;  ///< its size and searched values, joined
  std::vector<std::pair<std::string, std::string>> values;  ///< of the searched keys
  std::string combination{};  ///< its searched values in words, "eviction=arc"
  std::uint32_t gpus = 1;     ///< of all replicas
  std::uint32_t replicas = 1;
  std::int64_t capacity_bytes = 0;
  bool unbounded = false;  ///< capacity "inf"
  std::string capacity;    ///< as written, e.g. "64GiB"
  bool feasible = false;   ///< met with confidence; without replications, met by `run`
  CellVerdict verdict = CellVerdict::kLooksMissed;
  std::string reason{};  ///< why it is out: a stable word, e.g. "slo", "not-in-engine"
  std::uint32_t replications = 0;
  std::uint32_t cut = 0;  ///< of these, stopped early as their verdict was decided
  std::vector<TargetEstimate> targets{};
  double attainment = 0;            ///< share of requests that meet every latency target
  double attainment_low = 0;        ///< its one-sided bound
  bool attainment_at_most = false;  ///< some run was cut short: `attainment` is an upper bound
  Standstills standstill{};
  std::optional<CellDifference> difference{};
  bool cold_limited = false;  ///< the workload never filled its tiers
  /// The policy that the engine cannot run, e.g. "s3fifo": a bound, never recommended beside points
  /// that it can.
  std::string engine_lacks{};
  std::string digest;  ///< of `run`
  RunResult run;       ///< of the workload itself

  /// With confidence, or as far as it was tried.
  bool looks_met() const { return feasible || verdict == CellVerdict::kLooksMet; }
};

/// How sure the recommendation is, and how that was found out.
struct PlanConfidence {
  double level = 0.95;  ///< that the recommended cell meets every target
  std::string method;   ///< how replications came about
  std::uint64_t runs = 0;
  std::uint64_t reused = 0;  ///< of these, taken from the cache
  std::vector<std::uint32_t> stages;
  std::string stop_reason;
  std::string boundary;  ///< smooth, cliff, non_monotone or none
};

struct PlanResult {
  std::string tier;
  std::string objective = "least-dram";
  std::vector<PlanPoint> points;
  int recommended = -1;                ///< index of the best cell that meets the SLO; -1: none
  std::string recommended_size{};      ///< of one instance, rounded up to what can be set
  std::int64_t recommended_bytes = 0;  ///< of one instance
  std::int64_t recommended_total_bytes = 0;  ///< of all engines and replicas
  bool undecided = false;                    ///< the budget ended first; nothing is recommended
  int provisional = -1;        ///< of such a plan: what is known so far speaks for this cell
  std::string would_decide{};  ///< of such a plan
  int runner_up = -1;
  Note runner_up_reason{};  ///< why it lost
  int feasible_min = -1;           ///< smallest size that meets the SLO, at the recommended values
  int infeasible_max = -1;         ///< largest size below that which misses it
  std::string first_breach{};      ///< the target it misses first, with its figure
  int knee = -1;                   ///< beyond it a larger tier gains little; -1: no knee
  std::string verdict;             ///< one sentence
  Notes binding;  ///< why the limiting resource is judgement.binding_kind
  double headroom = 0;  ///< least relative distance to a target at the recommendation
  std::optional<PlanConfidence> confidence;  ///< none: judged by the workload itself
  PlanAnswer answer;
  std::optional<PlanFloor> floor;      ///< none: not run
  std::optional<PlanCeiling> ceiling;  ///< of a plan that load decides
  std::optional<PlanMargin> margin;    ///< of a recommendation whose events were asked for
  PlanJudgement judgement;
  std::optional<EngineFlags> flags;  ///< of the recommended cell
  std::optional<PlanCost> cost;
  std::optional<PlanRegret> regret;  ///< over plan.demand
  std::optional<Sensitivity> sensitivity;
  std::optional<PlanStress> stress;      ///< of the recommended cell, else the nearest
  std::optional<PlanWorkload> workload;  ///< none: not known
  Notes notes;
};

}  // namespace spillway
