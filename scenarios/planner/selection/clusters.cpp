#include "scenarios/planner/selection/clusters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "scenarios/experiment/miss_ladder.hpp"

namespace spillway {

namespace {

// Queues by which their size is known well: 25 of exponential size tell their mean within a fifth,
// the dispersion within about 0.4 of it.
constexpr double kPlenty = 25;
constexpr double kMostBeyond = 0.9;  // of requests: above it a level says when nobody waits
constexpr double kGrowth = 5;        // see the header
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
  bool found = false;
  double most_queues = 0;
  for (std::size_t k = 0; k < kLadderLevels; ++k) {
    const Level level = level_of(known, index, k);
    if (level.share <= 0) continue;
    if (level.share >= kMostBeyond) break;
    const double way = (1 + kGrowth * level.share) / (1 + kGrowth * std::min(level.share, limit));
    out.size = std::max(out.size, level.dispersion * way);
    most_queues = std::max(most_queues, level.queues);
    found = true;
    if (level.queues >= kPlenty) break;
  }
  if (!found) return std::nullopt;
  const double length = requests / static_cast<double>(known.size());
  out.penalty = std::max(1.0, kLongEnough * out.size / length);
  return out;
}

}  // namespace spillway
