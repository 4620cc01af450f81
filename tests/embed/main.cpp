// Runs a scenario and prints its p99 TTFT:  embed scenarios/library/quickstart.json
#include <cstdio>

#include "scenarios/run/simulation.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/scenario.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const spillway::Scenario scenario =
        spillway::load_scenario(spillway::JsonSource::from_file(argv[1]));
    const spillway::Workload workload = spillway::open_workload(scenario, {});
    const spillway::RunResult result = spillway::simulate(scenario, workload).result;
    std::printf("completed %llu, p99_ttft_ms %.6f\n",
                static_cast<unsigned long long>(result.completed), result.ttft.p99_ms);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
