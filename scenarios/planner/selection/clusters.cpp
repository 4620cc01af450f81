#include "scenarios/planner/selection/clusters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "scenarios/experiment/miss_ladder.hpp"

namespace spillway {

namespace {

// The fewest queues that tell how large they are: within a third, if sizes are exponential.
constexpr double kFewest = 8;
constexpr double kMostBeyond = 0.9;  // of requests: above it a level says when nobody waits
constexpr double kGrowth = 5;        // see the header
// Runs that are this many times as long as a queue is large show its size but for a few percent;
// in shorter ones it is more and more hidden: in runs of one such length, three quarters of it.
constexpr double kLeastLength = 16;
// What a run from an empty start lacks of slow requests, in queues: on M/M/1 the time to the first
// wait beyond the p99 and half of the way to the steady state.
constexpr double kStart = 1.5;
constexpr std::size_t kShortParts = kLadderParts / 8;  // in one observation
constexpr std::size_t kLongParts = kLadderParts / 4;

struct Level {
  double share = 0;
  double dispersion = 0;
  double queues = 0;
};

/// Runs that have a ladder.
std::vector<const CellSample*> with_ladder(std::span<const CellSample> runs, std::size_t index) {
  std::vector<const CellSample*> out;
  for (const CellSample& run : runs) {
    const bool known = index < run.ladder.size() && !run.ladder[index].empty();
    if (known && !run.cut && index < run.weight.size() && run.weight[index] >= kLadderParts) {
      out.push_back(&run);
    }
  }
  return out;
}

std::uint64_t requests_of(const CellSample& run, std::size_t index) {
  return static_cast<std::uint64_t>(run.weight[index]);
}

/// The index of dispersion of counts in stretches of `parts` parts, around a share of `share`.
double dispersion_of(const std::vector<const CellSample*>& runs, std::size_t index,
                     std::size_t level, double share, std::size_t parts) {
  double squares = 0;
  double requests = 0;
  double stretches = 0;
  for (const CellSample* run : runs) {
    const std::uint64_t all = requests_of(*run, index);
    for (std::size_t first = 0; first < kLadderParts; first += parts) {
      double beyond = 0;
      for (std::size_t i = first; i < first + parts; ++i) {
        beyond += run->ladder[index][level * kLadderParts + i];
      }
      const auto length =
          static_cast<double>(ladder_part(all, first + parts) - ladder_part(all, first));
      squares += (beyond - share * length) * (beyond - share * length);
      requests += length;
      stretches += 1;
    }
  }
  return squares / requests / (share * (1 - share)) * stretches / (stretches - 1);
}

Level level_of(const std::vector<const CellSample*>& runs, std::size_t index, std::size_t level) {
  double requests = 0;
  double beyond = 0;
  for (const CellSample* run : runs) {
    requests += static_cast<double>(requests_of(*run, index));
    for (std::size_t i = 0; i < kLadderParts; ++i) {
      beyond += run->ladder[index][level * kLadderParts + i];
    }
  }
  Level out;
  out.share = beyond / requests;
  if (out.share <= 0 || out.share >= 1) return out;
  const double in_eighths = dispersion_of(runs, index, level, out.share, kShortParts);
  const double in_quarters = dispersion_of(runs, index, level, out.share, kLongParts);
  out.dispersion =
      std::max({1.0, in_eighths, in_quarters, in_quarters + (in_quarters - in_eighths)});
  out.queues = requests * out.share * (1 - out.share) / out.dispersion;
  return out;
}

}  // namespace

std::optional<Clusters> clusters_of(std::span<const CellSample> runs, std::size_t index,
                                    double limit) {
  const std::vector<const CellSample*> known = with_ladder(runs, index);
  if (known.empty()) return std::nullopt;
  double requests = 0;
  for (const CellSample* run : known) requests += static_cast<double>(requests_of(*run, index));
  Clusters out;
  double best_known = 0;  // queues at the level that tells, or would
  double told = 0;        // what it says of the limit
  for (std::size_t k = 0; k < kLadderLevels && best_known < kFewest; ++k) {
    const Level level = level_of(known, index, k);
    if (level.share <= 0) continue;
    if (level.share >= kMostBeyond) break;
    out.size = std::max(out.size, level.dispersion);
    if (level.queues <= best_known) continue;
    const double way = (1 + kGrowth * level.share) / (1 + kGrowth * std::min(level.share, limit));
    const double error = std::sqrt(1 / level.queues + 0.5 / static_cast<double>(known.size()));
    best_known = level.queues;
    told = level.dispersion * way * (1 + error);
  }
  if (best_known == 0) return std::nullopt;
  out.size = std::max(out.size, told);
  const double length = requests / static_cast<double>(known.size());
  const double short_by = std::max(1.0, kLeastLength * out.size / length);
  out.penalty = short_by * short_by;
  out.start = 1 + kStart * out.size * out.penalty / length;
  return out;
}

}  // namespace spillway
