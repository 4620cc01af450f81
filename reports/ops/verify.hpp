// Commands that put the planned load on a deployed engine, and what they should show.
#pragma once

#include <optional>
#include <string>

#include "reports/ops/figures.hpp"
#include "reports/report.hpp"

namespace spillway {

/// `vllm bench serve` with the planned rate, lengths and share of reused prompt; nothing for
/// releases without it.
std::optional<CodeBlock> bench_command(const OpsFigures& figures, const Provenance& provenance);
/// The run's latency targets as AIPerf's --goodput takes them; empty: none.
std::string aiperf_goodput(const RunResult& run);

}  // namespace spillway
