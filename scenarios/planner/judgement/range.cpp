// Which sizes meet the SLO and which do not, and what came second.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/standing.hpp"
#include "scenarios/planner/judgement/parts.hpp"

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
    sizes[shortfall(plan, p)].push_back(facts.label(i));
  }
  for (const auto& [how, labels] : sizes) {
    plan.notes.push_back(fmt::format("More is not always faster here: {} meets the SLO, {} {}{}",
                                     facts.label(plan.feasible_min), fmt::join(labels, ", "),
                                     labels.size() > 1 ? "each " : "", how));
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

/// What is seen of a target, what is not ruled out, and what may be.
std::string share_against_limit(const TargetEstimate& t) {
  const char* side = t.at_least ? "at least" : "at most";
  const std::initializer_list<double> compared = {t.x, t.bound.value_or(t.x), t.limit};
  const std::vector<std::string> x = t.share ? format_percents(compared) : format_reals(compared);
  std::string out = t.share ? fmt::format("{} of requests miss {}", x[0], t.label())
                            : fmt::format("{} is {}", t.label(), x[0]);
  if (t.bound) out += fmt::format(", {} {} with confidence", side, x[1]);
  return out + (t.share ? fmt::format(", where {} may", x[2])
                        : fmt::format(", target {} {}", side, x[2]));
}

/// The target that a cell breaks first; of one that meets all of them, the one that is not backed.
std::string breach(const PlanPoint& point) {
  const TargetView tight = tightest(point);
  for (const TargetEstimate& t : point.targets) {
    // The share of requests decides: the figure over all replicates may lie within the target.
    const bool within = t.at_least ? t.value >= t.target : t.value <= t.target;
    if (!tight.met && within && t.name == tight.name && t.tenant == tight.tenant) {
      return share_against_limit(t);
    }
  }
  if (!tight.met) return tight.text();
  if (point.run.completed < point.run.requests) {
    return fmt::format("{} of {} requests do not complete",
                       point.run.requests - point.run.completed, point.run.requests);
  }
  for (const TargetEstimate& t : point.targets) {
    if (!t.backed) return share_against_limit(t);
  }
  return tight.text();
}

/// The tightest target of the other cell and of the recommended one.
std::string beside(const TargetView& there, const TargetView& here) {
  if (here.name != there.name || here.tenant != there.tenant) {
    return fmt::format("{} is {} there and {} {} here", there.label(), format_real(there.value),
                       here.label(), format_real(here.value));
  }
  if (here.value == there.value) {
    return fmt::format("{} is {} at both", here.label(), format_real(here.value));
  }
  const std::vector<std::string> figures = format_reals({there.value, here.value});
  return fmt::format("{} is {} there and {} here", here.label(), figures[0], figures[1]);
}

std::string why_it_lost(const PlanResult& plan, const PlanFacts& facts) {
  const PlanPoint& other = facts.point(plan.runner_up);
  if (!other.looks_met()) {
    const LinkResult* link = busiest_link(other.run);
    const std::string bottleneck =
        link != nullptr && link->busy_fraction >= kBusyLink
            ? fmt::format(" (link {} is busy {})", link->name, format_percent(link->busy_fraction))
        : other.run.binding && other.run.binding->resource != "none"
            ? fmt::format(" ({}: {})", other.run.binding->resource, other.run.binding->why)
            : std::string();
    return fmt::format("{}: {}{}", shortfall(plan, other), breach(other), bottleneck);
  }
  if (plan.confidence && !other.feasible) {
    if (not_needed(other)) {
      return fmt::format(
          "meets every target as far as it was run, {} replicates, and nobody "
          "needed to know more: the recommended cell is preferred",
          other.replications);
    }
    return fmt::format("may meet the SLO, and that {}: {}", shortfall(plan, other), breach(other));
  }
  const Compared both = facts.compared(plan.recommended, plan.runner_up);
  const std::string figures = beside(tightest(both.second), tightest(both.first));
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
  if (plan.objective == name_of(Objective::kLeastDram) && bytes == 0 && gpus == own_gpus) {
    return fmt::format("takes as much {} and as many GPUs, and is listed later; {}", plan.tier,
                       figures);
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
  if (plan.infeasible_max >= 0) plan.first_breach = breach(facts.point(plan.infeasible_max));
  note_losses(plan, facts);
  if (plan.recommended < 0 || plan.points.size() < 2) return;
  plan.runner_up = second(plan, facts);
  if (plan.runner_up >= 0) plan.runner_up_reason = why_it_lost(plan, facts);
}

}  // namespace spillway
