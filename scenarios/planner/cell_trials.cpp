#include "scenarios/planner/cell_trials.hpp"

#include <algorithm>
#include <iterator>

#include "scenarios/experiment/target_bound.hpp"

namespace spillway {

namespace {

/// A figure of a target over runs of different size.
double pooled(const std::vector<CellTrial>& trials, std::size_t target,
              double TargetSample::*figure) {
  double sum = 0;
  double weight = 0;
  for (const CellTrial& trial : trials) {
    const TargetSample& sample = trial.targets[target];
    const double w = static_cast<double>(std::max<std::uint64_t>(1, sample.judged));
    sum += w * sample.*figure;
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

/// Those that a cell is judged by: the fresh ones of a cell that was verified, the longest of
/// these, else those of the screening; `whole` leaves out those that were cut.
std::vector<CellTrial> trials_behind(const std::vector<CellTrial>& trials, bool whole) {
  std::vector<CellTrial> out;
  bool verified = false;
  std::uint32_t longest = 1;
  for (const CellTrial& trial : trials) {
    verified = verified || trial.replicate >= kScreening;
    longest = std::max(longest, trial.length);
  }
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(out), [&](const CellTrial& trial) {
    return !(whole && trial.cut) && trial.length == longest &&
           (!verified || trial.replicate >= kScreening);
  });
  return out;
}

}  // namespace

std::pair<std::vector<CellTrial>, std::vector<CellTrial>> trials_in_common(
    const std::vector<CellTrial>& a, const std::vector<CellTrial>& b) {
  std::pair<std::vector<CellTrial>, std::vector<CellTrial>> out;
  for (const CellTrial& of_a : a) {
    const auto of_b = std::find_if(b.begin(), b.end(), [&](const CellTrial& trial) {
      return trial.replicate == of_a.replicate && trial.length == of_a.length;
    });
    if (of_b == b.end() || of_a.cut || of_b->cut) continue;
    out.first.push_back(of_a);
    out.second.push_back(*of_b);
  }
  return out;
}

Standstills standstills_of(const std::vector<CellTrial>& trials,
                           const std::vector<TargetEstimate>& targets) {
  Standstills out;
  std::vector<CellTrial> others;
  for (const CellTrial& trial : trials) {
    ++out.of;
    if (trial.standstill.empty()) {
      others.push_back(trial);
    } else if (out.replicates++ == 0) {
      out.why = trial.standstill;
    }
  }
  if (out.replicates == 0) return {};
  out.decides = true;
  for (std::size_t t = 0; t < targets.size() && !others.empty(); ++t) {
    out.decides = out.decides && estimate_over(others, t, targets[t]).met;
  }
  return out;
}

TargetEstimate estimate_over(const std::vector<CellTrial>& trials, std::size_t index,
                             TargetEstimate target) {
  target.value = pooled(trials, index, &TargetSample::value);
  target.x = pooled(trials, index, &TargetSample::x);
  target.met = target.within(target.x);
  return target;
}

void estimate_from(const std::vector<CellTrial>& trials, const SelectionProblem& problem,
                   const SelectedCell& selected, PlanPoint& point) {
  const std::vector<CellTrial> all = trials_behind(trials, false);
  const std::vector<CellTrial> whole = trials_behind(trials, true);
  point.attainment_at_most = whole.size() < all.size();
  if (point.attainment_at_most) {
    // A run is cut where it goes badly: the mean of the others would flatter the cell.
    point.attainment = attained(all, problem).mean;
    point.attainment_low = 0;
  }
  if (whole.empty()) return;
  for (std::size_t t = 0; t < point.targets.size(); ++t) {
    point.targets[t].value = pooled(whole, t, &TargetSample::value);
  }
  if (point.attainment_at_most) return;
  const SampleSummary s = attained(whole, problem);
  point.attainment = point.attainment_low = s.mean;
  if (selected.any_missed) {
    point.attainment_low = std::min(s.mean, 1 - *selected.any_missed);
  } else if (whole.size() > 1) {
    const double alpha = selected.alpha > 0 ? selected.alpha : 1 - problem.confidence;
    point.attainment_low = lower_bound(s, FigureKind::kShare, alpha);
  }
}

}  // namespace spillway
