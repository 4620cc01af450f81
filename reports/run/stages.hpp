// Where a run's time went: what first tokens waited for, the slowest requests, how busy each link
// was over time. Parts that the reports of runs, plans and comparisons share.
#pragma once

#include <string>
#include <vector>

#include "reports/report.hpp"
#include "sim/result.hpp"

namespace spillway {

/// The waterfall: mean stages of the time to first token, by band. No stacks where the run has no
/// bands.
Chart ttft_chart(const RunResult& run);
/// Its bars in seconds instead of milliseconds.
void to_seconds(Chart& chart);
/// One row per slow request, stage by stage; no rows where there is none.
Table slowest_table(const RunResult& run);
/// One sentence for each of them, at most `most`: what its wait was made of.
std::vector<std::string> slowest_sentences(const RunResult& run, std::size_t most);
/// Links by time, in percent of what each can carry. No cells where the run has no link.
Chart link_heatmap(const RunResult& run);

}  // namespace spillway
