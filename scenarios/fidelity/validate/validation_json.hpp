// Results of a validation as JSON: what the document of kind "validation" holds.
#pragma once

#include <nlohmann/json_fwd.hpp>
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

/// A part of a compute profile without its parameters.
struct PartScore {
  FitScore score;
};

/// A compute profile's scores, over what it was and was not fitted on.
struct ProfileScores {
  std::string name;
  std::string gpu;
  std::string model;
  std::string source;
  std::vector<PartScore> scores;
};
ProfileScores scores_of(const ComputeProfile& profile);

struct ValidationOutcome {
  std::vector<CaseResult> cases;
  std::vector<SkippedCase> skipped;
  std::vector<ProfileScores> profiles;
};

/// "results" of the document, figures rounded. Nothing in it depends on where files lie.
nlohmann::json to_json(const ValidationOutcome& outcome);

}  // namespace spillway
