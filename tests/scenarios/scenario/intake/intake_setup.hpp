// What tests of configurations that are read in share.
#pragma once

#include <string>
#include <utility>

#include "scenarios/scenario/intake/intake.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/sim/input_error.hpp"

namespace spillway::test {

inline Intake intake_of(const std::string& text, const IntakeOptions& options = {}) {
  return make_scenario({{"f", text}}, options);
}

inline Scenario loaded(const Intake& intake) {
  return load_scenario(JsonSource::from_text("f.json", intake.draft.text()));
}

inline std::string refusal(const std::string& text, const IntakeOptions& options = {}) {
  return error_of([&] { intake_of(text, options); }).what();
}

inline bool says(const Intake& intake, Standing standing, const std::string& part) {
  for (const Remark& remark : intake.draft.remarks()) {
    if (remark.standing == standing &&
        (remark.what + ": " + remark.why).find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace spillway::test
