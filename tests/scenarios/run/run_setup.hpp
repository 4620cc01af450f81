// Small runs of the reference scenario on workloads written row by row.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "reports/run/run_json.hpp"
#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {

/// The reference scenario with some values set, as by --set.
inline Scenario reference_with(const std::vector<std::string>& assignments = {}) {
  return scenario_of(joined(reference_lines()), assignments);
}

/// The tier that the scenario has, at another capacity.
inline Scenario with_capacity(Scenario scenario, const std::string& capacity) {
  scenario.tier->capacity = parse_capacity(capacity, {});
  return scenario;
}

/// `count` requests of `input_tokens` (at most 512), one every `gap_ms`, that repeat `documents`
/// prompts in turn.
inline Workload repeating(std::uint32_t count, std::uint64_t documents, std::int64_t gap_ms,
                          std::uint32_t output_tokens, std::uint32_t input_tokens = 512) {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < count; ++i) {
    rows.push_back({gap_ms * i, input_tokens, output_tokens, {i % documents}});
  }
  return workload_of(rows, 512);
}

inline std::string digest_of_run(const Scenario& scenario, const Workload& workload) {
  return digest_of(to_json(simulate(scenario, workload).result));
}

}  // namespace spillway::test
