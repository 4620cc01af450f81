// A simulated run as a fit of a connector's costs sees it: its steps with what the connector did in
// each, and its requests in the order in which they came.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "models/releases/connector_costs.hpp"
#include "scenarios/fidelity/fit/step_instant.hpp"
#include "sim/observer.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

/// A parameter of such a fit. It is 0 where the connector costs nothing.
struct CostRow {
  std::string_view name;
  double most;
  double prior;                    ///< standard deviation
  double ConnectorCosts::*member;  ///< null: time_scale, of the compute
  double least;                    ///< of the member, where the parameter is 0
};

// Priors: a connector in Python takes milliseconds a step at most where it does not wait; copies
// of one launch each take 5 to 7 us (vllm-project/vllm pull request 38460).
inline constexpr CostRow kCostRows[] = {
    {"time_scale", 3, 0.3, nullptr, 0},
    {"step_us", 200'000, 5'000, &ConnectorCosts::step_us, 0},
    {"lookup_us", 50'000, 1'000, &ConnectorCosts::lookup_us, 0},
    {"job_us", 100'000, 1'000, &ConnectorCosts::job_us, 0},
    {"copy_us", 1'000, 10, &ConnectorCosts::copy_us, 0},
    {"step_factor", 3, 0.3, &ConnectorCosts::step_factor, 1},
};
inline constexpr std::size_t kCosts = std::size(kCostRows);

/// Of these, the keys of engine.connector_costs.
inline std::span<const CostRow> cost_rows() {
  return std::span(kCostRows).subspan(1);
}

using CostValues = std::array<double, kCosts>;  ///< by row; of step_factor what is above 1

inline constexpr CostValues kFreeConnector = {1, 0, 0, 0, 0, 0};

ConnectorCosts costs_of(const CostValues& values);

/// One simulated run: its steps with what the connector did in each, and its requests in the order
/// in which they came.
class ConnectorTrail final : public Observer {
 public:
  /// `tier`: there is one below HBM, so that its connector takes time.
  ConnectorTrail(Scenario scenario, const Workload& workload, const CostValues& values, bool tier);

  void on_step(const StepRecord& r) override { steps_.push_back(r); }
  void on_request(const RequestRecord& r) override { requests_[raw(r.request)] = r; }

  const std::vector<StepRecord>& steps() const { return steps_; }
  const std::vector<RequestRecord>& requests() const { return requests_; }

  StepInstant instant(Time at) const { return instant_on(steps_, at); }
  /// Seconds by which the first i steps would last longer under other values.
  std::vector<double> shifts(const CostValues& other) const;

 private:
  CostValues values_;
  bool tier_;
  std::vector<StepRecord> steps_;
  std::vector<RequestRecord> requests_;
};

}  // namespace spillway
