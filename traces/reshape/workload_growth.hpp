// The same service with another demand: more sessions, longer ones, less reuse, new tenants.
//
// Rate. Whole sessions come or go; pauses within one stay what they are. Below 1 each session stays
// with that probability. Above 1 all stay, and as many more join as the rate asks for on average:
// further copies of the process of starts, of which each start is taken with the probability that
// is left. A copy is the recorded process moved around each stretch (a stratum's, or an hour) by a
// random offset, so that days and bursts keep their shape and do not come together with the
// recorded ones; what starts there is a session drawn from the same stratum
// (workload_sessions.hpp), as in a resample. Blocks of one session alone are fresh in each copy,
// shared ones keep their ids.
//
// Tenants. Each population beyond the first is a draw of the whole workload as above, whose shared
// blocks are its own too; 2.5 are two whole populations and one of half the traffic. Its tenants
// are called as their originals with "+1", "+2" behind, where the workload names tenants. So this
// multiplies traffic and prefixes; with rate 1/tenants the same traffic comes from more.
//
// Context. Prompts and answers get `context` times as many tokens, whole tokens, at least one.
// Token t of a prompt becomes the tokens from context * t on, so that two prompts with p tokens in
// common have context * p: a block of the new prompt is what the last old block that it touches
// says, and its place, and prefixes stay prefixes.
//
// Reuse. A request may lose its reuse: its prompt, and its session from there on as far as it
// begins alike, consist of fresh blocks. As many of those that find anything do, at random, as it
// takes for a cache without bound to hit `reuse` times what it hit (within half a percent of that,
// where single requests are not larger).
//
// Draws are keyed by (seed, purpose, session or request), so that factors nest: rate 1.2 has the
// sessions of rate 1.1, those of 1 and others; reuse 0.5 spares no request that 0.7 takes.
#pragma once

#include <cstdint>

#include "sim/workload.hpp"

namespace spillway {

struct WorkloadGrowth {
  double rate = 1;     ///< of session starts, > 0
  double context = 1;  ///< of tokens in prompts and answers, > 0
  double reuse = 1;    ///< share that is left of the blocks that a cache without bound hits, 0 to 1
  double tenants = 1;  ///< populations, >= 1

  bool any() const { return rate != 1 || context != 1 || reuse != 1 || tenants != 1; }
};

/// The same for equal arguments, and a copy where nothing grows. Notes of the source say what
/// became of it. Throws InputError (exit 2) where no session is left, or a prompt grows beyond the
/// limit of traces.
Workload grow_workload(const Workload& workload, const WorkloadGrowth& growth, std::uint64_t seed);

}  // namespace spillway
