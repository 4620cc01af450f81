// Where a larger tier stops paying: the first size with nearly all that the whole grid gains.
#include <algorithm>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "scenarios/planner/judgement/parts.hpp"

namespace spillway {

namespace {

constexpr double kKneeShare = 0.95;  // of the gain that the whole grid offers

void note_no_gain(PlanResult& plan, const PlanFacts& facts, double least, double most) {
  const PlanPoint& first = facts.point(facts.line().front());
  const PlanPoint& last = facts.point(facts.line().back());
  NoteFigures figures = {{"least_share", least},
                         {"most_share", most},
                         {"tier", kind_of_tier(plan)},
                         {"size", spaced(last.capacity)}};
  // A size that was only tried on few replicates is not one that misses.
  const auto misses = [&](int i) {
    const PlanPoint& point = facts.point(i);
    return plan.confidence ? point.verdict == CellVerdict::kMissed : !point.feasible;
  };
  const bool alike = std::all_of(facts.line().begin(), facts.line().end(),
                                 [&](int i) { return misses(i) == misses(facts.line().front()); });
  if (&first == &last && alike) return;  // nothing to compare with
  plan.notes.push_back(!alike ? plan_note("little-gain-decides", std::move(figures))
                              : plan_note("little-gain", std::move(figures)));
  if (last.unbounded) return;
  const double reusable = facts.demand().reusable;
  plan.notes.push_back(reusable - most >= kWorthwhile
                           ? plan_note("unbounded-finds-more", {{"reuse_share", reusable}})
                           : plan_note("no-more-reuse", {{"reuse_share", reusable}}));
}

}  // namespace

void find_knee(PlanResult& plan, const PlanFacts& facts) {
  const std::vector<int>& line = facts.line();
  double most = 0;
  for (const int i : line) most = std::max(most, cached_share(facts.run(i)));
  const double least = cached_share(facts.run(line.front()));
  if (most - least < kWorthwhile) return note_no_gain(plan, facts, least, most);
  const auto knee = std::find_if(line.begin(), line.end(), [&](int i) {
    return cached_share(facts.run(i)) >= least + kKneeShare * (most - least);
  });
  if (*knee != line.back()) {
    plan.knee = *knee;
    return;
  }
  plan.notes.push_back(plan_note("no-knee", {{"size", spaced(facts.point(line.back()).capacity)}}));
}

}  // namespace spillway
