#include "scenarios/planner/judgement/plan_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "scenarios/planner/selection/target_margin.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/error.hpp"
#include "sim/reasons.hpp"
#include "traces/stats/reuse_curve.hpp"

namespace spillway {

namespace {

constexpr double kBehind = 0.1;  // of the time over which requests come, or of the requests

TargetView view_of(const TargetEstimate& estimate) {
  TargetView out;
  out.name = estimate.name;
  out.tenant = estimate.tenant;
  out.at_least = estimate.at_least;
  out.target = estimate.target;
  out.value = estimate.value;
  out.met = estimate.met;
  out.margin =
      target_margin({out.value, out.target, out.at_least, estimate.x, estimate.limit, out.met});
  return out;
}

std::uint64_t at_share(std::vector<std::uint64_t>& values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void add_contexts(const Workload& workload, Demand& out) {
  std::vector<std::uint64_t> tokens;
  tokens.reserve(workload.size());
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    tokens.push_back(std::uint64_t{workload.input_tokens(RequestId{r})} +
                     workload.output_tokens(RequestId{r}));
  }
  out.context_p50 = at_share(tokens, 0.5);
  out.context_p95 = at_share(tokens, 0.95);
}

/// How much of the prompts is common to many requests: system prompts, templates.
void add_common(const Workload& workload, Demand& out) {
  std::vector<std::uint32_t> requests(workload.unique_blocks(), 0);
  for (const TraceBlockId id : workload.columns().chain) ++requests[raw(id)];
  const std::uint32_t many = std::max(10U, workload.size() / 100);
  double common = 0;
  double all = 0;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    all += workload.input_tokens(RequestId{r});
    for (const TraceBlockId id : workload.full_chain(RequestId{r})) {
      if (requests[raw(id)] < many) break;
      common += workload.block_tokens();
    }
  }
  if (all == 0) return;
  out.common_share = common / all;
  out.common_tokens = common / workload.size();
}

Demand demand_of(const Scenario& scenario, const Workload& workload) {
  Demand out;
  const ReuseCurve curve = reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest);
  if (curve.references > 0) {
    out.reusable =
        static_cast<double>(curve.block.infinite_hits()) / static_cast<double>(curve.references);
  }
  out.arrivals_s = offered_span_s(*scenario.workload, workload);
  add_contexts(workload, out);
  add_common(workload, out);
  return out;
}

}  // namespace

std::string TargetView::label() const {
  return target_label(name, tenant);
}

std::string TargetView::text() const {
  const std::vector<std::string> figures = format_reals({value, target});
  return fmt::format("{} is {}, target {} {}", label(), figures[0],
                     at_least ? "at least" : "at most", figures[1]);
}

std::vector<TargetView> targets_of(const RunResult& run) {
  std::vector<TargetView> out;
  for (const SloResult& slo : run.slo) {
    out.push_back(
        {slo.name, slo.tenant, slo.at_least, slo.target, slo.value, slo.passed,
         target_margin({slo.value, slo.target, slo.at_least, slo.value, slo.target, slo.passed})});
  }
  return out;
}

std::vector<TargetView> targets_of(const PlanPoint& point) {
  std::vector<TargetView> out;
  for (const TargetEstimate& estimate : point.targets) out.push_back(view_of(estimate));
  return out.empty() ? targets_of(point.run) : out;
}

TargetView tightest(const std::vector<TargetView>& targets) {
  KV_ASSERT(!targets.empty(), "a plan has a target");
  return *std::min_element(
      targets.begin(), targets.end(),
      [](const TargetView& a, const TargetView& b) { return a.margin < b.margin; });
}

TargetView tightest(const PlanPoint& point) {
  return tightest(targets_of(point));
}

double own_margin(const PlanResult& plan, const PlanPoint& point) {
  const bool replicated = plan.confidence && !point.run.slo.empty();
  return replicated ? tightest(targets_of(point.run)).margin : tightest(point).margin;
}

int judged_point(const PlanResult& plan) {
  if (plan.recommended >= 0) return plan.recommended;
  if (plan.provisional >= 0) return plan.provisional;
  std::size_t best = 0;
  const auto key = [&](std::size_t i) {
    return std::pair(plan.points[i].cold_limited ? 0 : 1, own_margin(plan, plan.points[i]));
  };
  for (std::size_t i = 1; i < plan.points.size(); ++i) {
    if (key(i) > key(best)) best = i;
  }
  return static_cast<int>(best);
}

bool is_overloaded(const RunResult& run, double arrivals_s) {
  if (arrivals_s <= 0 || run.requests == 0) return false;
  const double wait_s = (run.queue_time.median_ms + run.client_queue_time.median_ms) / 1e3;
  const double behind_s = run.duration_s - arrivals_s;
  const auto requests = static_cast<double>(run.requests);
  const std::uint64_t never = count_of(run.rejected_reasons, Reason::kExceedsPool);
  const std::uint64_t too_slow = run.rejected - std::min(run.rejected, never);
  return wait_s > kBehind * arrivals_s ||
         (behind_s > kBehind * arrivals_s && wait_s > behind_s / 4) ||
         static_cast<double>(too_slow) > kBehind * requests;
}

PlanFacts::PlanFacts(const PlanResult& plan, const SearchSpace& space, const Workload& workload,
                     const CellTrials& trials, Replication replication)
    : plan_(plan), space_(space), workload_(workload), trials_(trials), replication_(replication) {
  KV_ASSERT(plan.points.size() == space.cells.size(), "{} points of {} cells", plan.points.size(),
            space.cells.size());
  judged_ = judged_point(plan);
  const std::uint32_t variant = space.cells[static_cast<std::size_t>(judged_)].variant;
  for (std::size_t i = 0; i < space.cells.size(); ++i) {
    if (space.cells[i].variant == variant) line_.push_back(static_cast<int>(i));
  }
  demand_ = demand_of(scenario(judged_), workload);
}

std::size_t PlanFacts::place() const {
  return static_cast<std::size_t>(std::find(line_.begin(), line_.end(), judged_) - line_.begin());
}

std::string PlanFacts::label(int index) const {
  const PlanPoint& p = point(index);
  return space_.variants.size() > 1 && !p.name.empty() ? p.name : p.capacity;
}

int PlanFacts::without_tier() const {
  const int first = line_.front();
  return point(first).run.tiers.size() < 2 ? first : -1;
}

Compared PlanFacts::compared(int first, int second) const {
  const auto a = static_cast<std::size_t>(first);
  const auto b = static_cast<std::size_t>(second);
  const auto [of_a, of_b] = trials_.empty()
                                ? std::pair<std::vector<CellTrial>, std::vector<CellTrial>>()
                                : trials_in_common(trials_[a], trials_[b]);
  Compared out;
  if (of_a.size() < 2) {  // how much a replicate scatters is not known then
    out.first = plan_.confidence ? targets_of(run(first)) : targets_of(point(first));
    out.second = plan_.confidence ? targets_of(run(second)) : targets_of(point(second));
    out.apart.assign(out.first.size(), true);
    out.on = "in one run of each, of the workload itself";
    return out;
  }
  const auto views = [](const PlanPoint& at, const std::vector<CellTrial>& trials) {
    std::vector<TargetView> all;
    for (std::size_t t = 0; t < at.targets.size(); ++t) {
      all.push_back(view_of(estimate_over(trials, t, at.targets[t])));
    }
    return all;
  };
  out.first = views(point(first), of_a);
  out.second = views(point(second), of_b);
  for (std::size_t t = 0; t < out.first.size(); ++t) {
    const auto values = [&](const std::vector<CellTrial>& trials) {
      std::vector<double> all;
      for (const CellTrial& trial : trials) all.push_back(trial.targets[t].value);
      return all;
    };
    const PairedDifference d = paired_difference(values(of_b), values(of_a), replication_);
    out.noise.push_back(noise_of(d.variance, of_a.size(), replication_));
    out.apart.push_back(std::fabs(d.mean) > out.noise.back());
  }
  out.on = fmt::format("on the {} replicates that both ran", of_a.size());
  return out;
}

bool PlanFacts::overloaded(int index) const {
  return is_overloaded(run(index), demand_.arrivals_s);
}

}  // namespace spillway
