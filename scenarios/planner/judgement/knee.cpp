// Where a larger tier stops paying: the first size with nearly all that the whole grid gains.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "scenarios/planner/judgement/parts.hpp"

namespace spillway {

namespace {

constexpr double kKneeShare = 0.95;  // of the gain that the whole grid offers

/// What a cache without bound would find, by the reuse of prompts alone.
std::string unbounded(const PlanFacts& facts, double most) {
  if (facts.point(facts.line().back()).unbounded) return "";
  const double reusable = facts.demand().reusable;
  return reusable - most >= kWorthwhile
             ? fmt::format("; without bound one would find about {} of prompt blocks",
                           format_percent(reusable))
             : fmt::format("; no more than about {} of prompt blocks are repeated at all",
                           format_percent(reusable));
}

void note_no_gain(PlanResult& plan, const PlanFacts& facts, double least, double most) {
  const PlanPoint& first = facts.point(facts.line().front());
  const PlanPoint& last = facts.point(facts.line().back());
  const std::string supply = fmt::format("caches supply {} to {} of prompt tokens",
                                         format_percent(least), format_percent(most));
  const bool alike = std::all_of(facts.line().begin(), facts.line().end(),
                                 [&](int i) { return facts.point(i).feasible == first.feasible; });
  if (!alike) {
    plan.notes.push_back(fmt::format(
        "Over the sizes tried {}: little more with size, yet enough to decide the SLO{}", supply,
        unbounded(facts, most)));
    return;
  }
  if (&first == &last) return;  // nothing to compare with
  plan.notes.push_back(
      fmt::format("Of the sizes tried, up to {}, {} adds hardly anything: {}{}", last.capacity,
                  first.run.tiers.size() < 2 ? "the tier" : "more than " + first.capacity, supply,
                  unbounded(facts, most)));
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
  plan.notes.push_back(
      fmt::format("No knee within the sizes tried: caches supply more and more up to {}",
                  facts.point(line.back()).capacity));
}

}  // namespace spillway
