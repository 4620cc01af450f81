// Which sizes meet the SLO and which do not, and what came second.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reports/format.hpp"
#include "scenarios/planner/judgement/parts.hpp"

namespace spillway {

namespace {

/// Sizes beyond a feasible one that miss: more is not always faster.
void note_losses(PlanResult& plan, const PlanFacts& facts) {
  if (plan.feasible_min < 0) return;
  for (const int i : facts.line()) {
    const PlanPoint& p = facts.point(i);
    if (i <= plan.feasible_min || p.feasible || p.verdict == CellVerdict::kExcluded) continue;
    // Where the budget went to smaller sizes, this one was not tried to the end.
    if (plan.confidence && p.verdict != CellVerdict::kMissed &&
        std::all_of(p.targets.begin(), p.targets.end(),
                    [](const TargetEstimate& t) { return t.met; })) {
      continue;
    }
    plan.notes.push_back(
        fmt::format("{} misses the SLO although {} meets it: more is not always faster here",
                    facts.label(i), facts.label(plan.feasible_min)));
  }
}

/// With confidence, or as far as it was tried.
bool meets(const PlanPoint& point) {
  return point.feasible || point.verdict == CellVerdict::kLooksMet;
}

/// The most preferred cell that meets the SLO besides the recommended one; else the one that comes
/// nearest to it.
int second(const PlanResult& plan, const PlanFacts& facts) {
  int nearest = -1;
  for (const std::uint32_t cell : preference_of(facts.space(), objective_scores(plan, facts))) {
    const int i = static_cast<int>(cell);
    if (i == plan.recommended || facts.point(i).cold_limited) continue;
    if (meets(facts.point(i))) return i;
    if (nearest < 0 || tightest(facts.point(i)).margin > tightest(facts.point(nearest)).margin) {
      nearest = i;
    }
  }
  return nearest;
}

/// Of a cell that looks as if it met the SLO: which target is not sure.
std::string not_backed(const PlanPoint& point) {
  for (const TargetEstimate& target : point.targets) {
    if (target.backed || target.limit == target.target) continue;
    std::string out = fmt::format("may meet it, and that is not backed: {} of requests miss {}",
                                  format_percent(target.x), target.name);
    if (target.bound) {
      out += fmt::format(", at most {} with confidence", format_percent(*target.bound));
    }
    return out + fmt::format(", and {} may", format_percent(target.limit));
  }
  return fmt::format("may meet it, and that is not backed by {} replicates", point.replications);
}

std::string why_it_lost(const PlanResult& plan, const PlanFacts& facts) {
  const PlanPoint& first = facts.point(plan.recommended);
  const PlanPoint& other = facts.point(plan.runner_up);
  if (!meets(other)) {
    const TargetView miss = tightest(other);
    if (miss.met) {
      return fmt::format("{}, not backed with confidence", miss.text());
    }
    const LinkResult* link = busiest_link(other.run);
    const std::string bottleneck =
        link != nullptr && link->busy_fraction >= kBusyLink
            ? fmt::format(" (link {} is busy {})", link->name, format_percent(link->busy_fraction))
        : other.run.binding && other.run.binding->resource != "none"
            ? fmt::format(" ({}: {})", other.run.binding->resource, other.run.binding->why)
            : std::string();
    return fmt::format("misses: {}{}", miss.text(), bottleneck);
  }
  if (plan.confidence && !other.feasible) return not_backed(other);
  const TargetView here = tightest(first);
  const TargetView there = tightest(other);
  const std::string figures =
      fmt::format("{} is {} there and {} here", there.label(), format_real(there.value),
                  here.name == there.name && here.tenant == there.tenant
                      ? format_real(here.value)
                      : fmt::format("{} {}", here.label(), format_real(here.value)));
  const auto cell = [&](int i) -> const PlanCell& {
    return facts.space().cells[static_cast<std::size_t>(i)];
  };
  const std::int64_t bytes =
      total_bytes(cell(plan.runner_up)) - total_bytes(cell(plan.recommended));
  const std::uint32_t gpus = total_gpus(cell(plan.runner_up).scenario);
  const std::uint32_t own_gpus = total_gpus(cell(plan.recommended).scenario);
  if (other.unbounded) return "has no bound; " + figures;
  const bool by_gpus = plan.objective == name_of(Objective::kLeastGpus) && gpus > own_gpus;
  if (bytes > 0 && !by_gpus) {
    return fmt::format("takes {} more {} for the same SLO; {}",
                       format_bytes(static_cast<double>(bytes)), plan.tier, figures);
  }
  if (gpus > own_gpus) {
    return fmt::format("takes {} more GPUs for the same SLO; {}", gpus - own_gpus, figures);
  }
  return fmt::format("is preferred less by {}; {}", plan.objective, figures);
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
  if (plan.infeasible_max >= 0) {
    const TargetView miss = tightest(facts.point(plan.infeasible_max));
    const RunResult& run = facts.run(plan.infeasible_max);
    if (!miss.met) {
      plan.first_breach = miss.text();
    } else if (run.completed < run.requests) {
      plan.first_breach = fmt::format("{} of {} requests do not complete",
                                      run.requests - run.completed, run.requests);
    } else {
      plan.first_breach = fmt::format("{}, not backed with confidence", miss.text());
    }
  }
  note_losses(plan, facts);
  if (plan.recommended < 0 || plan.points.size() < 2) return;
  plan.runner_up = second(plan, facts);
  if (plan.runner_up >= 0) plan.runner_up_reason = why_it_lost(plan, facts);
}

}  // namespace spillway
