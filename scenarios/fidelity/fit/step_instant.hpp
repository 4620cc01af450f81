// A time of a simulation on its steps, so that it can be told again where these last longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

struct StepInstant {
  std::size_t steps = 0;  ///< that had ended
  double share = 0;       ///< of the next one that had passed
};

/// `steps`: each with its start and end, in the order of their ends.
template <class Step>
StepInstant instant_on(const std::vector<Step>& steps, Time at) {
  const auto next = std::upper_bound(steps.begin(), steps.end(), at,
                                     [](Time t, const Step& step) { return t < step.end; });
  StepInstant out{static_cast<std::size_t>(next - steps.begin()), 0};
  if (next != steps.end() && next->start < at) {
    out.share = seconds_of(at - next->start) / seconds_of(next->end - next->start);
  }
  return out;
}

/// `shifts[i]`: by how much the first i steps last longer.
inline double shift_at(const std::vector<double>& shifts, const StepInstant& at) {
  if (at.share == 0) return shifts[at.steps];
  return shifts[at.steps] + at.share * (shifts[at.steps + 1] - shifts[at.steps]);
}

}  // namespace spillway
