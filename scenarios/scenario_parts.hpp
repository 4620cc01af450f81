// The parts of load_scenario(), one per group of keys; each reads its keys and fills in defaults.
#pragma once

#include "scenarios/scenario.hpp"

namespace spillway {

ModelChoice read_model(const ObjectReader& top);
void read_engine(const ObjectReader& top, Scenario& s);
void read_compute(const ObjectReader& top, Scenario& s);
void read_tiers(const ObjectReader& top, Scenario& s);
void read_links(const ObjectReader& top, Scenario& s);
void read_workload(const ObjectReader& top, Scenario& s);
void read_slo(const ObjectReader& top, Scenario& s);
void read_plan(const ObjectReader& top, Scenario& s);

/// Overwrites `target` where the scenario gave a value.
template <class T>
void assign(T& target, const std::optional<std::int64_t>& value) {
  if (value) target = static_cast<T>(*value);
}

}  // namespace spillway
