#include "reports/plan/standing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/plan/limits.hpp"
#include "reports/status.hpp"

namespace spillway {

namespace {

bool verified(const PlanPoint& point) {
  return std::any_of(point.targets.begin(), point.targets.end(),
                     [](const TargetEstimate& target) { return target.bound.has_value(); });
}

std::string replicates_of(const PlanPoint& point) {
  return fmt::format("{} replicate{}", point.replications, point.replications == 1 ? "" : "s");
}

}  // namespace

Status standing_status(const PlanResult& plan, const PlanPoint& point) {
  switch (point.verdict) {
    case CellVerdict::kExcluded:
      return Status::kNone;
    case CellVerdict::kMissed:
      return Status::kMissed;
    case CellVerdict::kMet:
      if (point.replications == 0) return Status::kMet;
      return plan.undecided ? Status::kUncertain : Status::kMet;
    case CellVerdict::kLooksMet:
      return point.replications == 0 || not_needed(point) ? Status::kMet : Status::kUncertain;
    case CellVerdict::kLooksMissed:
      break;
  }
  return verified(point) ? Status::kUncertain : Status::kMissed;
}

std::string standing(const PlanResult& plan, const PlanPoint& point) {
  if (point.verdict == CellVerdict::kExcluded) return point.reason;
  const Status status = standing_status(plan, point);
  const std::string word(word_of(status));
  if (status == Status::kUncertain) return word;
  if (point.replications == 0) return word + " (one run)";
  const bool backed = point.verdict == CellVerdict::kMet || point.verdict == CellVerdict::kMissed;
  return backed ? word : fmt::format("{} ({})", word, replicates_of(point));
}

std::string shortfall(const PlanResult& plan, const PlanPoint& point) {
  if (point.verdict == CellVerdict::kExcluded) return "cannot be judged";
  if (not_needed(point)) {
    return fmt::format("was run on {} only, as a smaller size suffices", replicates_of(point));
  }
  if (point.looks_met() || standing_status(plan, point) == Status::kUncertain) {
    return "is uncertain";
  }
  if (point.verdict == CellVerdict::kMissed) return "misses the SLO";
  if (point.replications > 0) return "missed the SLO in " + replicates_of(point);
  return "missed the SLO in its one run";
}

}  // namespace spillway
