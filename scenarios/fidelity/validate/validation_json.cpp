#include "scenarios/fidelity/validate/validation_json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reports/fields/write.hpp"
#include "scenarios/fidelity/validate/validation_fields.hpp"

namespace spillway {

namespace {

using nlohmann::json;

/// Six significant digits: beyond them lies noise of the last bits, which nobody reads.
void round_figures(json& value) {
  if (value.is_structured()) {
    for (json& item : value) round_figures(item);
  } else if (value.is_number_float() && std::isfinite(value.get<double>())) {
    value = std::strtod(fmt::format("{:.6g}", value.get<double>()).c_str(), nullptr);
  }
}

}  // namespace

ProfileScores scores_of(const ComputeProfile& profile) {
  ProfileScores out{profile.name, profile.gpu, profile.model, profile.source, {}};
  for (const FitScore& score : profile.scores) out.scores.push_back({score});
  return out;
}

json to_json(const ValidationOutcome& outcome) {
  json out = to_document(outcome);
  round_figures(out);
  return out;
}

}  // namespace spillway
