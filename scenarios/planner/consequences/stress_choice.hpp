// Whether a plan asks what may happen, and with which growth.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/scenario.hpp"

namespace spillway {

struct StressChoice {
  bool ask = true;
  std::optional<double> growth_per_month;  ///< none: the planner's own assumption
};

/// plan.stress and plan.growth_per_month of the scenario in `root`, which has been read and checked
/// as `scenario`: without them as plan.sensitivity says.
StressChoice stress_choice(const Scenario& scenario, const nlohmann::json& root);

}  // namespace spillway
