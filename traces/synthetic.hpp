// A seeded generator of multi-turn chat traffic: the workload of a user who has no trace yet, and
// the source of every bundled sample.
//
// Sessions start as a Poisson process whose rate is multiplied by `burst_factor` during bursts;
// each opens with one of `system_prompts` shared prompts (Zipf popularity), then alternates user
// text and answers; every turn sends the whole conversation so far, as chat clients do. Turns of a
// session follow each other by think time plus the answer at `answer_tokens_per_s` (an open-loop
// stand-in for serving time). Draws are keyed by (seed, purpose, session), so changing one
// parameter leaves the others' draws alone.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/workload.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

struct SyntheticConfig {
  std::uint32_t requests = 2000;      ///< how many to generate
  double sessions_per_s = 0.5;        ///< outside bursts
  double turns = 4;                   ///< mean turns per session (geometric)
  double think_s = 20;                ///< mean think time (exponential)
  std::uint32_t system_prompts = 16;  ///< distinct shared prompts
  double system_zipf = 1.0;           ///< popularity exponent
  double system_tokens = 1500;        ///< median length (lognormal, sigma 0.5)
  double user_tokens = 600;           ///< median length of a turn's text (lognormal, sigma 1.0)
  double answer_tokens = 250;         ///< median length of an answer (lognormal, sigma 0.7)
  double answer_tokens_per_s = 40;    ///< pace assumed between turns
  double burst_factor = 3;            ///< rate during a burst; 1 turns bursts off
  double burst_every_s = 300;
  double burst_length_s = 30;
  std::uint32_t max_context = 32768;  ///< a session ends before it outgrows this
  std::uint32_t block_tokens = 512;   ///< granularity of the block ids
};

/// Rows in order of arrival, in memory proportional to the sessions alive at once.
/// Throws InputError (exit 2) when a parameter is out of range.
std::unique_ptr<TraceReader> make_synthetic_reader(const SyntheticConfig& config,
                                                   std::uint64_t seed);

Workload generate_workload(const SyntheticConfig& config, std::uint64_t seed);

}  // namespace spillway
