#include "scenarios/planner/selection/longer_runs.hpp"

#include <algorithm>
#include <cmath>

namespace spillway {

namespace {

// Standard errors from the limit at which a stage decides nine times in ten: about 2.5 for the
// bound, at half of half of 5% for several cells, and 1.28 for the chance.
constexpr double kDeciding = 3.8;
constexpr double kNoDistance = 1e-6;
constexpr double kFarDistance = 1.5;  // few queues are counted, however far their share is
constexpr std::uint32_t kMostStages = 4;
// From one stage to the next, in length: less would hardly tell more, more would trust a guess.
constexpr double kLeastStep = 4;
constexpr double kMostStep = 64;

}  // namespace

double needed_length(const TargetJudge& judge, const SelectionTarget& target, const Evidence& e,
                     std::optional<double> usual, Aim aim, std::uint32_t runs) {
  if (e.x.runs == 0) return kMostStep;
  const bool queues = judge.kind() == FigureKind::kShare && target.limit > 0;
  double error = relative_error(e.x, judge.kind(), usual);
  double too_short = 0;
  if (queues) {
    const double own = dispersion(e.x, judge.kind()).value_or(kUnseenCluster);
    const double size = e.clusters ? e.clusters->size : std::max(usual.value_or(0), own);
    error = std::sqrt(size / (e.x.requests * e.x.runs * std::max(target.limit, e.x.mean)));
    // What looks missed does so in spite of the empty start.
    if (e.clusters && judge.within(e.x.mean)) too_short = kLongEnough * size / e.x.requests;
  }
  const double far = std::fabs(judge.distance(e.x)) + aim.errors * error;
  const double distance = std::clamp(far, std::max(aim.least, kNoDistance), kFarDistance);
  const double times = error * error * (kDeciding / distance) * (kDeciding / distance);
  return std::max(times * e.x.runs / runs, too_short);
}

LongerStage next_longer(std::uint32_t stage, std::uint32_t length, double wanted, double affordable,
                        std::uint32_t longest) {
  if (stage >= kMostStages) return {};
  const double most = std::min(static_cast<double>(longest), affordable);
  const double next = std::floor(
      std::min(std::ceil(std::clamp(wanted, kLeastStep * length, kMostStep * length)), most));
  if (next < 2.0 * length) return {};
  // Nothing of at least twice its length can follow.
  const bool last = 2 * next > longest || 3 * next > affordable;
  return {static_cast<std::uint32_t>(next), stage + 1 == kMostStages || last};
}

}  // namespace spillway
