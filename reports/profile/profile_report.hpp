// The report of a hardware profile.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reports/report.hpp"

namespace spillway {

struct Provenance;

/// From the results of a `hardware-profile` document.
Report profile_report(const nlohmann::json& results, const Provenance& provenance);

}  // namespace spillway
