// The answer of a plan, its floor, ceiling and margin as members of a result document.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/plan_result.hpp"

namespace spillway {

void add_answer(const PlanResult& plan, nlohmann::json& results);
/// Documents that were written before there was an answer have none.
void read_answer(const nlohmann::json& results, PlanResult& plan);

}  // namespace spillway
