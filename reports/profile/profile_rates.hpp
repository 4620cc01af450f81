// How fast a profile's machine is by size, count, threads and depth. Sections without tables and
// charts where nothing of theirs was measured.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reports/report.hpp"

namespace spillway {

/// Between host and GPU: alone, at once, and beside a kernel. `results` as in profile_report.
Section copies_section(const nlohmann::json& results);
/// DRAM, what registration takes, the GPU's own.
Section memory_section(const nlohmann::json& results);
Section collectives_section(const nlohmann::json& results);
Section storage_section(const nlohmann::json& results);
Section kv_section(const nlohmann::json& results);

}  // namespace spillway
