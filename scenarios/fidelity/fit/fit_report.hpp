// A fit for people and as the results of a document of kind "fit".
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reports/report.hpp"
#include "scenarios/fidelity/fit/fit_result.hpp"

namespace spillway {

/// `profile_digest`: of the compute profile that the fit makes. `explain` adds the worst points.
nlohmann::json fit_results(const FitResult& fit, const std::string& profile_digest, bool explain);

/// `path`: where the profile went; empty: nowhere.
Report fit_report(const FitResult& fit, const std::string& path, bool explain);

}  // namespace spillway
