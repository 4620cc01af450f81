// A committed page on a published claim, and runs of its scenario.
#pragma once

#include <string>
#include <vector>

#include "sim/input_file.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {

using Sets = std::vector<std::string>;

inline Scenario claim_scenario(const std::string& name, const Sets& sets) {
  JsonSource source =
      JsonSource::from_file(SPILLWAY_SOURCE_DIR "/scenarios/claims/" + name + ".json");
  for (const std::string& set : sets) source.set(set);
  return load_scenario(source);
}

inline RunResult run_claim(const std::string& name, const Sets& sets) {
  const Scenario scenario = claim_scenario(name, sets);
  return simulate(scenario, open_workload(scenario, {})).result;
}

inline void check_line(const std::string& name, const std::string& line) {
  INFO(line);
  const std::string page = read_text_file(SPILLWAY_SOURCE_DIR "/scenarios/claims/" + name + ".md");
  CHECK(page.find(line) != std::string::npos);
}

}  // namespace spillway::test
