// Which sizes meet the SLO and which do not, and what came second.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/standing.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/sections/plan.hpp"

namespace spillway {

namespace {

/// Sizes beyond a feasible one that miss: more is not always faster.
void note_losses(PlanResult& plan, const PlanFacts& facts) {
  if (plan.feasible_min < 0) return;
  std::map<std::string, std::vector<std::string>> sizes;  // by how they fall short
  for (const int i : facts.line()) {
    const PlanPoint& p = facts.point(i);
    if (i <= plan.feasible_min || p.feasible || p.verdict == CellVerdict::kExcluded) continue;
    // Where the budget went to smaller sizes, this one was not tried to the end.
    if (plan.confidence && p.verdict != CellVerdict::kMissed &&
        std::all_of(p.targets.begin(), p.targets.end(),
                    [](const TargetEstimate& t) { return t.met; })) {
      continue;
    }
    sizes[shortfall(plan, p)].push_back(spaced(facts.label(i)));
  }
  for (const auto& [how, labels] : sizes) {
    plan.notes.push_back(
        plan_note("larger-misses", {{"size", spaced(facts.label(plan.feasible_min))},
                                    {"sizes", and_list(labels)},
                                    {"how", how}}));
  }
}

/// The most preferred cell that meets the SLO besides the recommended one; else the one that comes
/// nearest to it.
int second(const PlanResult& plan, const PlanFacts& facts) {
  int nearest = -1;
  for (const std::uint32_t cell : preference_of(facts.space(), objective_scores(plan, facts))) {
    const int i = static_cast<int>(cell);
    if (i == plan.recommended || facts.point(i).cold_limited) continue;
    if (!facts.space().cells[cell].candidate) continue;  // the engine cannot run it
    if (facts.point(i).looks_met()) return i;
    if (nearest < 0 || own_margin(plan, facts.point(i)) > own_margin(plan, facts.point(nearest))) {
      nearest = i;
    }
  }
  return nearest;
}

/// The target that a cell breaks first; of one that meets all of them, the one that is uncertain.
std::string breach(const PlanPoint& point) {
  const bool missed = std::any_of(point.targets.begin(), point.targets.end(),
                                  [](const TargetEstimate& t) { return !t.met; });
  if (!missed && point.run.completed < point.run.requests) {
    return fmt::format("{} of {} requests do not complete",
                       format_count(point.run.requests - point.run.completed),
                       format_count(point.run.requests));
  }
  return miss_words(point);
}

/// The tightest target of the other cell and of the recommended one.
std::string beside(const TargetView& there, const TargetView& here) {
  const auto words = [](const TargetView& t) {
    return fmt::format("{} is {}", metric_words(t.name, t.tenant), figure_words(t.name, t.value));
  };
  return here.name == there.name && here.tenant == there.tenant
             ? fmt::format("{}, and {} here", words(there), figure_words(here.name, here.value))
             : fmt::format("{}; here {}", words(there), words(here));
}

Note why_it_lost(const PlanResult& plan, const PlanFacts& facts) {
  const PlanPoint& other = facts.point(plan.runner_up);
  if (!other.looks_met()) {
    NoteFigures figures = {{"how", shortfall(plan, other)}, {"what", breach(other)}};
    const LinkResult* link = busiest_link(other.run);
    if (link != nullptr && link->busy_fraction >= kBusyLink) {
      figures.emplace_back("resource", link->name);
      figures.emplace_back("busy_share", link->busy_fraction);
    } else if (other.run.binding && other.run.binding->resource != "none") {
      figures.emplace_back("resource", other.run.binding->resource);
    }
    return plan_note("runner-up-short", std::move(figures));
  }
  if (plan.confidence && !other.feasible) {
    return not_needed(other)
               ? plan_note("runner-up-not-needed", {{"replicates", other.replications}})
               : plan_note("runner-up-uncertain", {{"what", breach(other)}});
  }
  const Compared both = facts.compared(plan.recommended, plan.runner_up);
  const auto cell = [&](int i) -> const PlanCell& {
    return facts.space().cells[static_cast<std::size_t>(i)];
  };
  const std::int64_t bytes =
      total_bytes(cell(plan.runner_up)) - total_bytes(cell(plan.recommended));
  const std::uint32_t gpus = total_gpus(cell(plan.runner_up).scenario);
  const std::uint32_t own_gpus = total_gpus(cell(plan.recommended).scenario);
  NoteFigures figures = {{"figures", beside(tightest(both.second), tightest(both.first))},
                         {"tier", kind_of_tier(plan)},
                         {"more_bytes", bytes},
                         {"more_gpus", static_cast<std::int64_t>(gpus) - own_gpus},
                         {"objective", plan.objective}};
  if (other.unbounded) return plan_note("runner-up-unbounded", std::move(figures));
  const bool by_gpus = plan.objective == name_of(Objective::kLeastGpus) && gpus > own_gpus;
  if (bytes > 0 && !by_gpus) return plan_note("runner-up-larger", std::move(figures));
  if (gpus > own_gpus) return plan_note("runner-up-more-gpus", std::move(figures));
  if (plan.objective == name_of(Objective::kLeastDram) && bytes == 0 && gpus == own_gpus) {
    return plan_note("runner-up-equal", std::move(figures));
  }
  return plan_note("runner-up-less", std::move(figures));
}

}  // namespace

std::vector<double> objective_scores(const PlanResult& plan, const PlanFacts& facts) {
  if (plan.objective == name_of(Objective::kMostLoad)) return loads_of(facts.space());
  if (plan.objective == name_of(Objective::kLeastGpus)) return gpu_scores(facts.space());
  const bool cheap = plan.objective == name_of(Objective::kLeastCost);
  const bool goodput = plan.objective == name_of(Objective::kMostGoodputPerCost);
  if (!plan.cost || (!cheap && !goodput)) return {};
  std::vector<double> out(plan.points.size(), std::numeric_limits<double>::lowest());
  for (const CellCost& cell : plan.cost->cells) {
    out[cell.point] = cheap ? -cell.per_month : cell.goodput_per_cost;
  }
  return out;
}

void find_range(PlanResult& plan, const PlanFacts& facts) {
  if (plan.undecided) return;  // which sizes meet it is what is not known
  for (const int i : facts.line()) {
    const PlanPoint& p = facts.point(i);
    if (p.feasible) {
      plan.feasible_min = i;
      break;
    }
    if (!p.cold_limited) plan.infeasible_max = i;
  }
  if (plan.infeasible_max >= 0) plan.first_breach = breach(facts.point(plan.infeasible_max));
  note_losses(plan, facts);
  if (plan.recommended < 0 || plan.points.size() < 2) return;
  plan.runner_up = second(plan, facts);
  if (plan.runner_up >= 0) plan.runner_up_reason = why_it_lost(plan, facts);
}

}  // namespace spillway
