// Parts that several reports share.
#pragma once

#include <vector>

#include "reports/report.hpp"
#include "sim/result.hpp"

namespace spillway {

struct Provenance;

Table latency_table(const RunResult& run);
Table slo_table(const std::vector<SloResult>& slo);
/// Model, GPU, engine limits, pool and workload, from the document's inputs.
Section setup_section(const Provenance& provenance);
Section provenance_section(const Provenance& provenance);

}  // namespace spillway
