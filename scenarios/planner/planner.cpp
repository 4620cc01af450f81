#include "scenarios/planner/planner.hpp"

#include <algorithm>
#include <atomic>
#include <set>

#include "reports/document.hpp"
#include "reports/run_json.hpp"
#include "scenarios/parallel.hpp"
#include "scenarios/planner/judgement.hpp"
#include "scenarios/run_metrics.hpp"
#include "scenarios/simulation.hpp"

namespace spillway {

namespace {

/// Whether every target is met, and every request done. Rejected requests count as done where a
/// target bounds their share.
bool is_feasible(const RunResult& run) {
  const auto bounds_rejected = [](const SloResult& s) { return s.name == kRejectedShare; };
  const bool may_reject = std::any_of(run.slo.begin(), run.slo.end(), bounds_rejected);
  return std::all_of(run.slo.begin(), run.slo.end(), [](const SloResult& s) { return s.passed; }) &&
         run.completed + (may_reject ? run.rejected : 0) == run.requests;
}

}  // namespace

PlanOutcome plan_sizes(const Scenario& scenario, const Workload& workload, unsigned threads,
                       const std::function<void(std::size_t, std::size_t)>& progress) {
  if (!scenario.plan) {
    throw InputError(Fault::kUsage, {scenario.path, 0, "plan"},
                     "missing; expected {\"sizes\": [\"0GiB\", \"64GiB\", ...]}");
  }
  if (scenario.slo.empty()) {
    throw InputError(Fault::kUsage, {scenario.path, 0, "slo"},
                     "missing; expected at least one target, e.g. {\"metric\": \"p99_ttft_ms\", "
                     "\"max\": 2000}");
  }
  const PlanChoice& choice = *scenario.plan;
  PlanOutcome out;
  out.result.tier = choice.tier;
  out.result.points.resize(choice.sizes.size());
  std::vector<std::vector<std::string>> warnings(choice.sizes.size());
  std::atomic<std::size_t> done{0};
  parallel_for(choice.sizes.size(), threads, [&](std::size_t i) {
    Scenario one = scenario;
    one.tier->capacity = choice.capacities[i];
    SimulationOutcome run = simulate(one, workload);
    PlanPoint& point = out.result.points[i];
    const std::uint64_t blocks = one.tier_blocks(choice.capacities[i]);
    point.capacity = choice.sizes[i];
    point.unbounded = choice.capacities[i].kind == Capacity::Kind::kUnbounded;
    if (!point.unbounded) {
      point.capacity_bytes = static_cast<std::int64_t>(blocks) * one.tier_block_bytes().count();
    }
    point.feasible = is_feasible(run.result);
    point.digest = digest_of(to_json(run.result));
    point.run = std::move(run.result);
    warnings[i] = std::move(run.warnings);
    const std::size_t finished = ++done;
    if (progress) progress(finished, choice.sizes.size());
  });
  judge(out.result, scenario, workload);
  std::set<std::string> seen;  // most warnings are the same at every size
  for (const auto& list : warnings) {
    for (const std::string& warning : list) {
      if (seen.insert(warning).second) out.warnings.push_back(warning);
    }
  }
  return out;
}

}  // namespace spillway
