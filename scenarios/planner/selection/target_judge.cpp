#include "scenarios/planner/selection/target_judge.hpp"

#include <algorithm>

#include "sim/det_math.hpp"

namespace spillway {

namespace {

constexpr double kFar = 1e6;                           // a distance beyond doubt
constexpr double kBets[] = {0.1, 0.3, 0.5, 0.7, 0.9};  // of what one has, each with a fifth of all

double log_odds(double p) {
  return det::ln(p / (1 - p));
}

}  // namespace

Evidence TargetJudge::evidence(std::span<const CellSample> runs, std::size_t index) const {
  std::vector<double> x;
  std::vector<double> weight;
  for (const CellSample& run : runs) {
    x.push_back(run.x[index]);
    weight.push_back(run.weight.empty() ? 1 : run.weight[index]);
  }
  Evidence out;
  out.x = summarise(x, weight, kind(), replication_, length_);
  out.won = won(x);
  if (target_.share) out.clusters = clusters_of(runs, index, target_.limit);
  return out;
}

double TargetJudge::won(std::span<const double> x) const {
  if (replication_ != Replication::kIndependent || target_.at_least || target_.limit <= 0) return 0;
  double out = 0;
  for (const double bet : kBets) {
    double money = 1.0 / static_cast<double>(std::size(kBets));
    for (const double figure : x) {
      money =
          std::min(kFar * kFar, money * (1 - bet + bet * std::max(0.0, figure) / target_.limit));
    }
    out += money;
  }
  return out;
}

double TargetJudge::distance(const SampleSummary& x) const {
  const double limit = target_.limit;
  const double side = target_.at_least ? -1 : 1;
  const bool open = target_.share ? limit > 0 && limit < 1 : limit > 0 && x.mean > 0;
  if (x.runs == 0) return 0;
  if (!open) return within(x.mean) ? kFar : -kFar;
  if (!target_.share) return side * det::ln(limit / x.mean);
  // Half a request more and less than none and all have odds.
  const double half = std::min(0.5, 0.5 / (x.requests * x.worth));
  return side * (log_odds(limit) - log_odds(std::clamp(x.mean, half, 1 - half)));
}

double TargetJudge::bound(const Evidence& e, double alpha, std::optional<double> usual) const {
  if (target_.at_least) return lower_bound(e.x, kind(), alpha, usual);
  if (e.clusters) {
    return std::min(1.0, e.clusters->start * clustered_upper(e.x, alpha, e.clusters->effective()));
  }
  return upper_bound(e.x, kind(), alpha, usual);
}

bool TargetJudge::holds(const Evidence& e, double alpha, std::optional<double> usual) const {
  if (e.x.runs == 0) return false;
  if (target_.limit == 0 && e.x.mean == 0) return true;
  return within(e.x.mean) && within(bound(e, alpha, usual));
}

bool TargetJudge::misses(const Evidence& e, double alpha, std::optional<double> usual) const {
  if (e.x.runs == 0 || within(e.x.mean)) return false;
  if (target_.limit == 0 && target_.share) return true;
  if (target_.at_least) return !within(upper_bound(e.x, kind(), alpha, usual));
  return !within(e.clusters ? clustered_lower(e.x, alpha, e.clusters->effective())
                            : lower_bound(e.x, kind(), alpha, usual));
}

bool TargetJudge::misses_by_far(std::span<const CellSample> runs, std::size_t index,
                                double alpha) const {
  if (target_.at_least || target_.limit <= 0) return false;
  // Runs are multiplied where they are independent; the average of dependent ones still obeys
  // Markov's inequality, and what it says after each run adds up.
  double product = 1;
  double sum = 0;
  double largest = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double ratio = std::max(0.0, runs[i].x[index]) / target_.limit;
    product = std::min(kFar * kFar, product * ratio);
    sum += ratio;
    largest = replication_ == Replication::kIndependent
                  ? std::max(largest, product)
                  : std::max(largest, sum / static_cast<double>(i + 1) / kScreening);
  }
  return largest * alpha >= 1;
}

}  // namespace spillway
