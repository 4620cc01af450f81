#include "scenarios/planner/selection/longer_runs.hpp"

#include <algorithm>
#include <cmath>

namespace spillway {

namespace {

// Standard errors from the limit at which a stage decides nine times in ten: about 2.5 for the
// bound, at half of half of 5% for several cells, and 1.28 for the chance.
constexpr double kDeciding = 3.8;
constexpr double kFarDistance = 1.5;  // few queues are counted, however far their share is
constexpr std::uint32_t kMostStages = 4;
// From one stage to the next, in length: less would hardly tell more, more would trust a guess.
constexpr double kLeastStep = 4;
constexpr double kMostStep = 64;

}  // namespace

double needed_length(const TargetJudge& judge, const SelectionTarget& target, const Evidence& e,
                     std::optional<double> usual, double least_distance, std::uint32_t runs) {
  if (e.x.runs == 0) return kMostStep;
  const double distance =
      std::clamp(std::fabs(judge.distance(e.x)), std::max(least_distance, 1e-9), kFarDistance);
  const double deciding = kDeciding / distance;
  const double have = e.x.requests * e.x.runs;
  double times = 0;
  double too_short = 0;
  if (judge.kind() == FigureKind::kShare && target.limit > 0) {
    const double size =
        e.clusters ? e.clusters->size
                   : std::max(usual.value_or(0), dispersion(e.x, judge.kind()).value_or(20));
    times = size * deciding * deciding / target.limit / have;
    if (e.clusters) too_short = kLongEnough * e.clusters->size / e.x.requests;
  } else {
    const double error = relative_error(e.x, judge.kind(), usual);
    times = error * error * deciding * deciding;
  }
  return std::max(times * e.x.runs / runs, too_short);
}

LongerStage next_longer(std::uint32_t stage, std::uint32_t length, double needed, double work,
                        double work_left, std::uint32_t longest) {
  if (stage >= kMostStages || work <= 0) return {};
  const double most = std::min(static_cast<double>(longest), length * work_left / work);
  const double wanted = std::ceil(length * std::clamp(needed, kLeastStep, kMostStep));
  const double next = std::floor(std::min(wanted, most));
  if (next < 2.0 * length) return {};
  // What is left behind it does not do for twice its length.
  const double after = work_left - work * next / length;
  LongerStage out;
  out.length = static_cast<std::uint32_t>(next);
  out.last = stage + 1 == kMostStages || 2 * next > longest || after < 2 * work * next / length;
  return out;
}

}  // namespace spillway
