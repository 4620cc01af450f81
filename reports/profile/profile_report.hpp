// The report of a hardware profile.
#pragma once

#include "reports/provenance.hpp"
#include "reports/report.hpp"

namespace spillway {

/// From the results of a `hardware-profile` document.
Report profile_report(const nlohmann::json& results, const Provenance& provenance);

}  // namespace spillway
