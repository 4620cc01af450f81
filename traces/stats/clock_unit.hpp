// Times in seconds where a format means milliseconds: the trace then runs a thousand times too
// fast.
#pragma once

#include <optional>
#include <string>

#include "sim/workload.hpp"

namespace spillway {

/// The figures that give such a clock away.
struct FastClock {
  std::uint32_t requests = 0;
  double span_s = 0;
  double prompt_tokens_per_s = 0;
};

/// Set where the recorded times of a format in milliseconds look like seconds: prompts arrive
/// faster than any service computes them, and turns of a session follow each other faster than
/// answers can be made. Generated workloads are never doubted.
std::optional<FastClock> seconds_read_as_ms(const Workload& workload);

/// One sentence with these figures.
std::string describe(const FastClock& clock);

}  // namespace spillway
