#include "scenarios/fidelity/fit/placed_spans.hpp"

#include <algorithm>

namespace spillway {

std::vector<std::size_t> steps_of(const std::vector<PlacedSpan>& spans) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const PlacedSpan& p : spans) ranges.emplace_back(p.from.steps, p.end());
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::size_t> out;
  for (const auto& [from, to] : ranges) {
    for (std::size_t i = out.empty() ? from : std::max(from, out.back() + 1); i < to; ++i) {
      out.push_back(i);
    }
  }
  return out;
}

std::vector<std::vector<StepShare>> class_shares(const StepTrail& trail,
                                                 const std::vector<PlacedSpan>& spans,
                                                 StepClasses& classes) {
  std::vector<std::size_t> of(trail.steps(), 0);
  for (const std::size_t i : steps_of(spans)) of[i] = classes.of(trail.shape(i));
  std::vector<std::vector<StepShare>> out;
  std::vector<double> sums(classes.size(), 0);
  for (const PlacedSpan& p : spans) {
    std::fill(sums.begin(), sums.end(), 0.0);
    double all = 0;
    for (std::size_t i = p.from.steps; i < p.end(); ++i) {
      sums[of[i]] += trail.seconds(i);
      all += trail.seconds(i);
    }
    out.emplace_back();
    for (std::size_t c = 0; c < sums.size(); ++c) {
      if (sums[c] > 0) out.back().push_back({c, sums[c] / all});
    }
  }
  return out;
}

std::optional<AnswersInOrder> answers_in_order(const StepTrail& trail, std::vector<double> measured,
                                               std::vector<Time> simulated,
                                               const TimeSpan& within) {
  std::sort(measured.begin(), measured.end());
  std::sort(simulated.begin(), simulated.end());
  if (measured.empty() || measured.front() < 0) return std::nullopt;
  const auto first = std::lower_bound(measured.begin(), measured.end(), within.first);
  const auto last = std::upper_bound(first, measured.end(), within.second);
  const auto before = static_cast<std::size_t>(first - measured.begin());
  const auto count = static_cast<std::size_t>(last - first);
  AnswersInOrder out;
  for (std::size_t k = 0; k < count; ++k) {
    const double weight = static_cast<double>(k) - static_cast<double>(count - 1) / 2;
    const Time end = simulated[before + k];
    out.measured_s += weight * measured[before + k];
    out.simulated_s += weight * seconds_of(end);
    out.ends.emplace_back(weight, trail.instant(end));
  }
  if (out.measured_s <= 0 || out.simulated_s <= 0) return std::nullopt;
  return out;
}

}  // namespace spillway
