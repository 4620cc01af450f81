// New traces from a TraceFit: a smoothed bootstrap.
//
// The trace is made in periods as long as the original, so a longer one repeats its course and a
// shorter one is its beginning. Within a period every session of the fit is played once, at a start
// exchanged with one nearby; the steps between its turns, its texts, its answers and its pauses are
// exchanged with others of about the same size, and the gaps between arrivals with stretches
// nearby. A turn that continues its session takes over what the earlier prompt offers; one that
// shares a prefix across sessions looks for a request about as long ago, whose prefix is as deep
// and about as often used. Draws are keyed by (seed, purpose, period).
#pragma once

#include <cstdint>
#include <memory>

#include "traces/generate/trace_fit.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

/// Rows in order of arrival. Keeps the prompts it has made, as later ones refer to them; `fit` must
/// outlive it. Throws InputError (exit 2) where so many requests last longer than a trace may.
std::unique_ptr<TraceReader> make_fitted_reader(const TraceFit& fit, std::uint32_t requests,
                                                std::uint64_t seed);

Workload generate_like(const TraceFit& fit, std::uint32_t requests, std::uint64_t seed);

}  // namespace spillway
