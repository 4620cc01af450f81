// What it would take to decide about a cell that its runs leave open, in a sentence.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/planner/selection/fresh_verdicts.hpp"

namespace spillway {

/// "1.2% of requests miss p99_ttft_ms at 64GiB, where 1.0% may, which these runs do not settle;
/// replicates of 8000 requests would decide (--set ...)", of the target nearest to its limit. It
/// advises longer recordings or replicates, more replications, or another question where no number
/// of them would do. Precondition: the cell was run.
std::string what_settles(const SelectionProblem& problem, const CellRecords& records,
                         std::uint32_t cell);

}  // namespace spillway
