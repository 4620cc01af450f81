#include "reports/plan/pages/confidence_grade.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/cells.hpp"

namespace spillway {

namespace {

constexpr double kHigh = 0.95;  // the field's usual level

/// What the replicates speak for.
std::string about(const PlanConfidence& c) {
  return c.method.empty() ? "" : "replicates: " + c.method;
}

ConfidenceGrade of_recommended(const PlanResult& plan, const PlanConfidence& c) {
  const PlanPoint& point = cell_at(plan, plan.recommended);
  const bool uneven = c.boundary == "non_monotone";
  const char* word = c.level >= kHigh && !uneven ? "High" : "Medium";
  return {fmt::format("{}: {:.4g}% over {} replicates", word, 100 * c.level,
                      format_count(point.replications)),
          fmt::format("{}{}", uneven ? "sizes around it behave unevenly; " : "", about(c))};
}

ConfidenceGrade of_missed(const PlanResult& plan, const PlanConfidence& c) {
  const auto shown = static_cast<std::size_t>(
      std::count_if(plan.points.begin(), plan.points.end(),
                    [](const PlanPoint& p) { return p.verdict == CellVerdict::kMissed; }));
  const bool all = shown == plan.points.size();
  return {fmt::format("{}: {} of {} cells are shown to miss at {:.4g}%",
                      all && c.level >= kHigh ? "High" : "Medium", shown, plan.points.size(),
                      100 * c.level),
          about(c)};
}

}  // namespace

ConfidenceGrade grade_of(const PlanResult& plan) {
  if (!plan.confidence) {
    return {"None: one run of each cell",
            "what met the SLO once may miss it on other traffic like it; several replications "
            "(leave --replications 1 out) would tell"};
  }
  const PlanConfidence& c = *plan.confidence;
  if (plan.undecided) {
    return {"Low: nothing is backed yet",
            fmt::format("{:.4g}% was asked for, {} run{} were made; {}", 100 * c.level,
                        format_count(c.runs), c.runs == 1 ? "" : "s", about(c))};
  }
  return plan.recommended >= 0 ? of_recommended(plan, c) : of_missed(plan, c);
}

}  // namespace spillway
