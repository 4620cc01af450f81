// Wires a scenario into an engine on an event queue, runs it, and gathers the result.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "models/compute/step_cost.hpp"
#include "sim/note.hpp"
#include "sim/observer.hpp"
#include "sim/result.hpp"
#include "sim/stage_watch.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;
struct WorkloadChoice;

struct SimulationOptions {
  /// Further observers, told after the recorder.
  std::vector<Observer*> observers;
  /// Told when the stages of each first token came, if given.
  StageWatch* stages = nullptr;
  /// In place of the scenario's own step cost, where a fit tries parameters.
  std::function<std::unique_ptr<StepCost>()> cost;
  /// Called now and then with (requests ended, requests in all).
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  /// Asked after every event, if given: true ends the run there.
  std::function<bool()> stop;
};

/// Asks `stop` once in so many events: a clock or a signal costs as much as an event does. Empty
/// stays empty.
std::function<bool()> asked_seldom(std::function<bool()> stop);

struct SimulationOutcome {
  RunResult result;
  Notes warnings;
  bool stopped = false;  ///< by SimulationOptions::stop: `result` is of what had happened by then
  std::string standstill{};  ///< how the server ceased to serve for ever; empty: it did not
};

/// Over how many seconds the measured requests fall due (on average, where arrivals are drawn),
/// whatever the system does. 0 where that depends on the system: clients of a closed loop and
/// sessions wait for answers.
double offered_span_s(const WorkloadChoice& choice, const Workload& workload);

/// Runs `scenario` on `workload`, with the tier below HBM holding `scenario.tier->capacity`.
/// Throws InputError (exit 2) when the pool cannot hold a single request of the workload, and
/// InternalError, with simulated time, event number and seed, when an invariant breaks.
SimulationOutcome simulate(const Scenario& scenario, const Workload& workload,
                           const SimulationOptions& options = {});

}  // namespace spillway
