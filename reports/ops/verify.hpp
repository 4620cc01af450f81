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
/// The trace itself, replayed by AIPerf.
CodeBlock replay_command(const OpsFigures& figures);

}  // namespace spillway
