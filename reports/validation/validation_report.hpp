// The report of a validation, from the results of its document; RESULTS.md is its Markdown.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reports/report.hpp"

namespace spillway {

/// Everything, for somebody who doubts it.
Report validation_report(const nlohmann::json& results);
/// The part that a terminal shows.
Report validation_summary(const nlohmann::json& results);

}  // namespace spillway
