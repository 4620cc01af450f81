// The report of one run.
#pragma once

#include <string>

#include "reports/report.hpp"
#include "sim/result.hpp"

namespace spillway {

struct Provenance;

Report run_report(const RunResult& run, const Provenance& provenance);
/// The part of it that a terminal shows when asked for details. `tool`: the benchmark tool of the
/// workload, whose names for the figures stand beside them.
Report run_summary(const RunResult& run, const std::string& scenario, const std::string& tool = "");
/// The part that fits one screen: targets, latencies, where prompts came from.
Report run_glance(const RunResult& run, const std::string& scenario);

}  // namespace spillway
