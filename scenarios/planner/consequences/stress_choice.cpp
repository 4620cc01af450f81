#include "scenarios/planner/consequences/stress_choice.hpp"

namespace spillway {

StressChoice stress_choice(const Scenario& scenario, const nlohmann::json& root) {
  StressChoice out;
  out.ask = scenario.plan->sensitivity;
  const auto plan = root.find("plan");
  if (plan == root.end() || !plan->is_object()) return out;
  if (const auto ask = plan->find("stress"); ask != plan->end()) out.ask = ask->get<bool>();
  if (const auto growth = plan->find("growth_per_month"); growth != plan->end()) {
    out.growth_per_month = growth->get<double>();
  }
  return out;
}

}  // namespace spillway
