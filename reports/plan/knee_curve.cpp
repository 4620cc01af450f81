#include "reports/plan/knee_curve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"

namespace spillway {

namespace {

constexpr std::size_t kFewestSizes = 3;
constexpr double kLogFrom = 20;  // times from the least figure to the largest

/// How much of a target a figure uses up; above 1 it misses.
double use_of(const SloResult& slo) {
  if (slo.at_least) return slo.value > 0 ? slo.target / slo.value : 0;
  return slo.target > 0 ? slo.value / slo.target : 0;
}

int answer_of(const PlanResult& plan) {
  for (const int cell : {plan.recommended, plan.provisional, plan.infeasible_max}) {
    if (cell >= 0) return cell;
  }
  const auto best = std::max_element(
      plan.points.begin(), plan.points.end(),
      [](const PlanPoint& a, const PlanPoint& b) { return a.attainment < b.attainment; });
  return static_cast<int>(best - plan.points.begin());
}

std::vector<const PlanPoint*> sizes_beside(const PlanResult& plan, const PlanPoint& answer) {
  std::vector<const PlanPoint*> out;
  for (const PlanPoint& point : plan.points) {
    if (point.values == answer.values) out.push_back(&point);
  }
  std::stable_sort(out.begin(), out.end(), [](const PlanPoint* a, const PlanPoint* b) {
    return std::pair(a->unbounded, a->capacity_bytes) < std::pair(b->unbounded, b->capacity_bytes);
  });
  return out;
}

/// The target that a size of them comes nearest to missing, or misses by most.
std::size_t tightest_of(const std::vector<const PlanPoint*>& sizes) {
  std::size_t out = 0;
  double most = -1;
  for (const PlanPoint* point : sizes) {
    for (std::size_t t = 0; t < point->run.slo.size(); ++t) {
      if (use_of(point->run.slo[t]) <= most) continue;
      most = use_of(point->run.slo[t]);
      out = t;
    }
  }
  return out;
}

}  // namespace

std::optional<Chart> knee_curve(const PlanResult& plan) {
  if (plan.points.empty()) return std::nullopt;
  const int answer = answer_of(plan);
  const PlanPoint& at = plan.points[static_cast<std::size_t>(answer)];
  const std::vector<const PlanPoint*> sizes = sizes_beside(plan, at);
  if (sizes.size() < kFewestSizes || at.run.slo.empty()) return std::nullopt;
  const std::size_t target = tightest_of(sizes);
  if (target >= at.run.slo.size()) return std::nullopt;
  const SloResult* tightest = &at.run.slo[target];

  Chart chart;
  chart.y_label = tightest->tenant.empty()
                      ? tightest->name
                      : fmt::format("{} of {}", tightest->name, tightest->tenant);
  chart.x_label = fmt::format("{} size", plan.tier);
  chart.title = fmt::format("{} by {}", chart.y_label, chart.x_label);
  chart.points = true;
  ChartSeries line;
  for (const PlanPoint* point : sizes) {
    if (target >= point->run.slo.size()) return std::nullopt;
    line.x.push_back(static_cast<double>(chart.x_names.size()));
    line.y.push_back(point->run.slo[target].value);
    if (point == &at && plan.recommended == answer)
      chart.regions.push_back({"recommended", line.x.back(), line.x.back()});
    chart.x_names.push_back(point->capacity);
  }
  const auto [least, most] = std::minmax_element(line.y.begin(), line.y.end());
  chart.log_y = *least > 0 && *most / *least > kLogFrom;
  chart.series.push_back(std::move(line));
  chart.limits.emplace_back(fmt::format("target: at {} {}", tightest->at_least ? "least" : "most",
                                        format_real(tightest->target)),
                            tightest->target);
  return chart;
}

}  // namespace spillway
