// A fit for people, and what of it results show.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "scenarios/fidelity/fit/fit_result.hpp"

namespace spillway {

struct FitParameter {
  FittedParameter of;
};

struct FitPart {
  FitScore score;
  std::map<std::string, FitParameter> parameters;  ///< of the score
};

/// The results of a document of kind "fit".
struct FitSummary {
  ComputeProfile profile;
  std::string digest;  ///< of the profile's results
  std::vector<FitPart> parts;
  std::optional<std::vector<FitPoint>> worst;
};

/// `explain` adds the worst points.
FitSummary summary_of(const FitResult& fit, const std::string& profile_digest, bool explain);

/// `path`: where the profile went; empty: nowhere. `explain` adds the worst points.
Report fit_report(const FitResult& fit, const std::string& path, bool explain);

}  // namespace spillway
