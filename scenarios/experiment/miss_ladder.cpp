#include "scenarios/experiment/miss_ladder.hpp"

#include <algorithm>
#include <tuple>

namespace spillway {

MissLadder miss_ladder(std::vector<LadderStep>& steps, double target) {
  if (steps.empty() || target <= 0) return {};
  const auto earlier = [](const LadderStep& a, const LadderStep& b) {
    return std::tie(a.arrival, a.request) < std::tie(b.arrival, b.request);
  };
  if (!std::is_sorted(steps.begin(), steps.end(), earlier)) {
    std::sort(steps.begin(), steps.end(), earlier);
  }
  double levels[kLadderLevels];
  for (std::size_t k = 0; k < kLadderLevels; ++k) {
    levels[k] =
        target * (static_cast<double>(kLadderLevels - k) / static_cast<double>(kLadderLevels));
  }
  MissLadder out(kLadderLevels * kLadderParts, 0);
  for (std::size_t part = 0; part < kLadderParts; ++part) {
    const std::uint64_t end = ladder_part(steps.size(), part + 1);
    for (std::uint64_t i = ladder_part(steps.size(), part); i < end; ++i) {
      for (std::size_t k = kLadderLevels; k-- > 0;) {
        if (steps[i].value <= levels[k]) break;
        ++out[k * kLadderParts + part];
      }
    }
  }
  return out;
}

}  // namespace spillway
