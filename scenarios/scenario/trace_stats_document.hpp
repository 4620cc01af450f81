// The results of a `trace-stats` document.
#pragma once

#include <nlohmann/json.hpp>

#include "traces/stats/trace_stats.hpp"

namespace spillway {

/// Keys end in their units; figures that a trace has nothing for (gaps of one request, reuse
/// without blocks, turns without sessions) are left out.
nlohmann::json to_json(const TraceStats& stats);

}  // namespace spillway
