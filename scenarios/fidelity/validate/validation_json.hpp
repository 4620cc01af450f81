// Results of a validation as JSON: what the document of kind "validation" holds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/compute/compute_profile.hpp"
#include "scenarios/fidelity/validate/validation.hpp"

namespace spillway {

/// A case that was not carried out, and the file it lacks.
struct SkippedCase {
  std::string name;
  std::string file;
};

struct ValidationOutcome {
  std::vector<CaseResult> cases;
  std::vector<SkippedCase> skipped;
  std::vector<ComputeProfile> profiles;  ///< whose held-out scores belong to the report
};

/// "results" of the document. Nothing in it depends on where files lie.
nlohmann::json to_json(const ValidationOutcome& outcome);

}  // namespace spillway
