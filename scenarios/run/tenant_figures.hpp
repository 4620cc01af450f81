// Whom the targets of an SLO are about: everyone's requests, or those of one tenant.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/recorder.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;
struct SloTarget;

/// The tenant that `target` names, as the workload numbers it. Throws InputError (exit 2) where the
/// workload does not have it. Precondition: it names one.
std::uint32_t tenant_number(const SloTarget& target, const Workload& workload);

/// What each request may take: the strictest latency targets of each kind, whatever percentile or
/// mean they bound. A tenant's targets are for its requests only.
RequestTargets request_targets(const Scenario& scenario, const Workload& workload);

/// Judges a run by the scenario's SLO; records the requests of the tenants that it names.
class TenantFigures final : public Observer {
 public:
  TenantFigures(const Scenario& scenario, const Workload& workload);

  /// Whether any target names a tenant: if none does, it need not observe.
  bool any() const { return !of_tenant_.empty(); }
  void on_request(const RequestRecord& record) override;

  /// Fills `run.slo`, the rest of which is complete. Rates of a tenant are over the whole run's
  /// time, so that those of all tenants add up to the run's.
  void judge(RunResult& run) const;

 private:
  RunResult figures(std::uint32_t tenant, double duration_s) const;

  const Scenario& s_;
  const Workload& workload_;
  std::span<const std::uint32_t> tenant_;             ///< of each request
  std::vector<std::unique_ptr<Recorder>> of_tenant_;  ///< null where no target names it
};

}  // namespace spillway
