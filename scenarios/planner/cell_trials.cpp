#include "scenarios/planner/cell_trials.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "scenarios/planner/selection/target_judge.hpp"

namespace spillway {

namespace {

/// The figure that a target bounds, over runs of different size.
double pooled(const std::vector<CellTrial>& trials, std::size_t target) {
  double sum = 0;
  double weight = 0;
  for (const CellTrial& trial : trials) {
    const TargetSample& sample = trial.targets[target];
    const double w = static_cast<double>(std::max<std::uint64_t>(1, sample.judged));
    sum += w * sample.value;
    weight += w;
  }
  return weight > 0 ? sum / weight : 0;
}

SampleSummary attained(const std::vector<CellTrial>& trials, const SelectionProblem& problem) {
  std::vector<double> share;
  std::vector<double> requests;
  for (const CellTrial& trial : trials) {
    std::uint64_t judged = 1;
    for (const TargetSample& target : trial.targets) judged = std::max(judged, target.judged);
    share.push_back(trial.attainment);
    requests.push_back(static_cast<double>(judged));
  }
  return summarise(share, requests, FigureKind::kShare, problem.replication, problem.length);
}

/// What may miss some target, by those that miss each; nothing where that is not known of all.
std::optional<double> missed_by_targets(const std::vector<CellTrial>& trials,
                                        const SelectionProblem& problem, double requests,
                                        double alpha) {
  std::vector<CellSample> samples;
  for (const CellTrial& trial : trials) {
    CellSample& sample = samples.emplace_back();
    for (const TargetSample& target : trial.targets) {
      sample.x.push_back(target.x);
      sample.weight.push_back(static_cast<double>(target.judged));
      sample.value.push_back(target.value);
    }
  }
  const auto shares = std::count_if(problem.targets.begin(), problem.targets.end(),
                                    [](const SelectionTarget& t) { return t.share; });
  if (shares == 0) return std::nullopt;
  double out = 0;
  for (std::size_t t = 0; t < problem.targets.size(); ++t) {
    const SelectionTarget& target = problem.targets[t];
    if (!target.share && !target.at_least) return std::nullopt;
    if (!target.share) continue;
    const TargetJudge judge(target, problem.replication, problem.length);
    const Evidence e = judge.evidence(samples, t);
    out += judge.bound(e, alpha / static_cast<double>(shares), {}) * e.x.requests / requests;
  }
  return out;
}

}  // namespace

void estimate_from(const std::vector<CellTrial>& trials, const SelectionProblem& problem,
                   PlanPoint& point) {
  std::vector<CellTrial> whole;
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(whole),
               [](const CellTrial& trial) { return !trial.cut; });
  if (whole.empty()) return;
  for (std::size_t t = 0; t < point.targets.size(); ++t) point.targets[t].value = pooled(whole, t);
  const SampleSummary s = attained(whole, problem);
  point.attainment = point.attainment_low = s.mean;
  if (whole.size() < 2) return;
  const double alpha = (1 - problem.confidence) / 2;
  point.attainment_low = lower_bound(s, FigureKind::kShare, alpha);
  if (const auto missed = missed_by_targets(whole, problem, s.requests, alpha)) {
    point.attainment_low = std::max(point.attainment_low, 1 - *missed);
  }
}

}  // namespace spillway
