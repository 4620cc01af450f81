// Parts that several reports share.
#pragma once

#include <vector>

#include "reports/report.hpp"

namespace spillway {

Table latency_table(const RunResult& run);
Table slo_table(const std::vector<SloResult>& slo);
Section provenance_section(const Provenance& provenance);

}  // namespace spillway
