#include "scenarios/planner/selection/settling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/compared.hpp"
#include "scenarios/planner/selection/finalists.hpp"

namespace spillway {

namespace {

constexpr double kMostRequests = 1e8;  // of a replicate: more is no advice

/// Rounded up to two digits.
double two_digits_up(double x) {
  double unit = 1;
  while (x / unit >= 100) unit *= 10;
  return std::ceil(x / unit) * unit;
}

/// The target of a cell that is nearest to its limit, in standard errors, or farthest beyond it.
std::size_t tightest(const CellRecords& records, std::uint32_t cell) {
  std::size_t out = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < records.targets(); ++t) {
    const TargetJudge& judge = records.judges()[t];
    const SampleSummary s = judge.evidence(records[cell].best_runs(), t).x;
    const double z = judge.distance(s) / std::max(1e-12, relative_error(s, judge.kind()));
    if (z >= least) continue;
    least = z;
    out = t;
  }
  return out;
}

}  // namespace

std::string what_settles(const SelectionProblem& problem, const CellRecords& records,
                         std::uint32_t cell) {
  const std::size_t t = tightest(records, cell);
  const std::uint32_t most = problem.most_replications;
  const std::string name = name_of(problem, cell);
  const TargetJudge& judge = records.judges()[t];
  const SelectionTarget& target = problem.targets[t];
  const SampleSummary s = judge.evidence(records[cell].best_runs(), t).x;
  const double error = relative_error(s, judge.kind(), records.usual(t)) * std::sqrt(s.worth);
  const double distance = judge.distance(s);
  const std::vector<std::string> figures =
      target.share ? format_percents({s.mean, target.limit}) : format_reals({s.mean, target.limit});
  const std::string close = target.share ? fmt::format("{} of requests miss {} at {}, where {} may",
                                                       figures[0], target.name, name, figures[1])
                                         : fmt::format("{} at {} is {} against a limit of {}",
                                                       target.name, name, figures[0], figures[1]);
  const std::string unsettled = close + ", which these runs do not settle";
  const double ratio =
      upper_t((1 - problem.confidence) * kAnchorShare / 2, 60) * error / std::max(distance, 1e-9);
  const double worth = ratio * ratio;
  const double per_run = problem.replication == Replication::kResampled ? problem.length : 0;
  if (worth < 1e5 && worth * per_run >= 1) {
    return fmt::format(
        "{}; recordings of about {:.0f} times this length, or as many days, would "
        "decide",
        unsettled, std::ceil(worth * per_run));
  }
  const double times = FreshVerdicts(problem, records).needed(cell, {});
  const double requests = static_cast<double>(problem.requests) * std::max(2.0, times);
  if (!(worth < 1e5) || requests > kMostRequests) {
    return unsettled + "; a larger size or a looser limit would decide";
  }
  if (problem.requests == 0 || per_run > 0) {
    return fmt::format("{}; about {:.0f} replications would decide, {} were allowed", unsettled,
                       std::ceil(std::max(1 / (1 / worth - per_run), 1.0 + most)), most);
  }
  const std::string count = fmt::format("{:.0f}", two_digits_up(requests));
  return fmt::format(
      "{}; replicates of {} requests would decide (--set workload.replication.requests={})",
      unsettled, count, count);
}

}  // namespace spillway
