// What a plan's report and its summary on the terminal both say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

/// How much of it: what a terminal has room for, or all.
enum class Detail { kBrief, kFull };

/// Everything but the verdict, one sentence or two each.
std::vector<std::string> decision_sentences(const PlanResult& plan, Detail detail);

/// The recommended cell's targets: figure, share of requests that miss and its bound.
Table targets_table(const PlanPoint& point, double confidence);

/// Indexes of at most `most` cells, ascending: the answer and those that it names, its neighbours
/// in size, the best of every other line, then more of its own line. Precondition: the plan has
/// cells.
std::vector<int> cells_around_answer(const PlanResult& plan, std::size_t most);

/// Of plan_table() the columns and, around the answer, at most `most` rows that a terminal has room
/// for.
Table brief_plan_table(const PlanResult& plan, std::size_t most);

}  // namespace spillway
