#include "reports/plan/pages/confidence_grade.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"

namespace spillway {

namespace {

constexpr double kHigh = 0.95;  // the field's usual level

ConfidenceGrade of_recommended(const PlanResult& plan, const PlanConfidence& c) {
  const PlanPoint& point = cell_at(plan, plan.recommended);
  const bool uneven = c.boundary == "non_monotone";
  const bool high = c.level >= kHigh && !uneven;
  const Certain certain = certain_of(point, c.level);
  return {fmt::format("{} ({:.4g}%)", high ? "High" : "Medium", 100 * c.level),
          fmt::format("{}{} of requests within SLO, {}; {} replicates",
                      uneven ? "Sizes around it behave unevenly. " : "", certain.share,
                      certain.claim, format_count(point.replications)),
          high ? Status::kMet : Status::kUncertain};
}

ConfidenceGrade of_missed(const PlanResult& plan, const PlanConfidence& c) {
  const auto shown = static_cast<std::size_t>(
      std::count_if(plan.points.begin(), plan.points.end(),
                    [](const PlanPoint& p) { return p.verdict == CellVerdict::kMissed; }));
  const bool high = shown == plan.points.size() && c.level >= kHigh;
  return {fmt::format("{} ({:.4g}%)", high ? "High" : "Medium", 100 * c.level),
          fmt::format("{} of {} configurations miss the SLO with that confidence; {} runs", shown,
                      plan.points.size(), format_count(c.runs)),
          high ? Status::kMet : Status::kUncertain};
}

}  // namespace

ConfidenceGrade grade_of(const PlanResult& plan) {
  if (!plan.confidence) {
    return {"None: one run of each size",
            "Other traffic like this may miss the SLO. Use 5 replications or more"};
  }
  const PlanConfidence& c = *plan.confidence;
  if (plan.undecided) {
    return {"Low: not decided", fmt::format("{} run{}; {:.4g}% was asked for", format_count(c.runs),
                                            c.runs == 1 ? "" : "s", 100 * c.level)};
  }
  return plan.recommended >= 0 ? of_recommended(plan, c) : of_missed(plan, c);
}

}  // namespace spillway
