#include "scenarios/planner/cell_trials.hpp"

#include <algorithm>
#include <cmath>

#include "sim/student_t.hpp"

namespace spillway {

namespace {

/// The figure that a target bounds, over runs of different size.
double pooled(const std::vector<CellTrial>& trials, std::size_t target) {
  double sum = 0;
  double weight = 0;
  for (const CellTrial& trial : trials) {
    if (trial.cut) continue;
    const TargetSample& sample = trial.targets[target];
    const double w = static_cast<double>(std::max<std::uint64_t>(1, sample.judged));
    sum += w * sample.value;
    weight += w;
  }
  return weight > 0 ? sum / weight : 0;
}

}  // namespace

void estimate_from(const std::vector<CellTrial>& trials, Replication replication, double confidence,
                   PlanPoint& point) {
  std::vector<double> attained;
  for (const CellTrial& trial : trials) {
    if (!trial.cut) attained.push_back(trial.attainment);
  }
  if (attained.empty()) return;
  for (std::size_t t = 0; t < point.targets.size(); ++t) point.targets[t].value = pooled(trials, t);
  point.attainment = point.attainment_low = mean_of(attained);
  if (attained.size() < kLeastReplications) return;
  // The standard error is that of paired_difference.hpp: more resamples are not more days.
  const auto n = static_cast<double>(attained.size());
  const double spread =
      std::sqrt(variance_of(attained) * (1 / n + (replication == Replication::kResampled ? 1 : 0)));
  const double t =
      student_t_quantile(2 * confidence - 1, static_cast<std::uint32_t>(attained.size() - 1));
  point.attainment_low = std::max(0.0, point.attainment - t * spread);
}

}  // namespace spillway
