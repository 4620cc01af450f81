// A seeded generator of multi-turn chat traffic: the workload of a user who has no trace yet, and
// the source of every bundled sample.
//
// Each session belongs to a tenant (Zipf), opens with one of the tenant's shared system prompts
// (Zipf), then alternates user text and answers; every turn sends the conversation so far, as chat
// clients do, until `max_context`, where the session ends, its history slides on or is replaced by
// a summary. Turns of a session follow each other by think time plus the answer at
// `answer_tokens_per_s` (an open-loop stand-in for serving time); rows record the think time alone.
// Draws are keyed by (seed, purpose, session), so changing one parameter leaves the others' draws
// alone.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/workload.hpp"
#include "traces/generate/synthetic_config.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

/// Rows in order of arrival, in memory proportional to the sessions alive at once.
/// Throws InputError (exit 2) when a parameter is out of range.
std::unique_ptr<TraceReader> make_synthetic_reader(const SyntheticConfig& config,
                                                   std::uint64_t seed);

Workload generate_workload(const SyntheticConfig& config, std::uint64_t seed);

}  // namespace spillway
