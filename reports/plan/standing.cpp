#include "reports/plan/standing.hpp"

#include "reports/plan/limits.hpp"

namespace spillway {

namespace {

bool seen_to_meet(const PlanPoint& point) {
  return point.verdict == CellVerdict::kMet || point.verdict == CellVerdict::kLooksMet;
}

}  // namespace

std::string standing(const PlanResult& plan, const PlanPoint& point) {
  if (point.verdict == CellVerdict::kExcluded) return point.reason;
  const std::string seen = seen_to_meet(point) ? "met" : "missed";
  if (point.replications == 0) return seen + " once";
  // Nobody went on with it, for what is preferred to it holds.
  if (not_needed(point)) return "looks met, not needed";
  const bool backed = point.verdict == CellVerdict::kMissed ||
                      (point.verdict == CellVerdict::kMet && !plan.undecided);
  return backed ? seen : "looks " + seen;
}

std::string_view shortfall(const PlanResult& plan, const PlanPoint& point) {
  if (point.verdict == CellVerdict::kExcluded) return "cannot be judged";
  if (not_needed(point)) return "was not run further, which was not needed";
  if (seen_to_meet(point)) return "is not backed";
  if (point.verdict == CellVerdict::kMissed) return "misses the SLO";
  // Without replicates in the whole plan nobody expects more than this one run.
  return plan.confidence && point.replications > 0 ? "looks as if it missed the SLO"
                                                   : "missed the SLO in its one run";
}

}  // namespace spillway
