// The planned traffic, request by request, on a deployed engine: the trace as the plan played it,
// in a file that AIPerf takes, and what differs all the same.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/ops/figures.hpp"
#include "reports/report.hpp"

namespace spillway {

struct TraceReplay {
  CodeBlock code;
  std::vector<std::string> differs;  ///< "what: why"
};

/// The workload of the configuration, with the values that the plan's cell was searched with.
nlohmann::json planned_workload(const OpsFigures& figures, const Provenance& provenance);

/// `goodput` in AIPerf's words; empty: without.
TraceReplay trace_replay(const OpsFigures& figures, const Provenance& provenance,
                         const std::string& goodput);

}  // namespace spillway
