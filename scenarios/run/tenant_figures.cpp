#include "scenarios/run/tenant_figures.hpp"

#include <algorithm>

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "sim/run_metrics.hpp"
#include "sim/workload.hpp"

namespace spillway {

namespace {

/// A target on any figure of a latency bounds each request that goodput counts.
void tighten(LatencyTargets& targets, const SloTarget& slo) {
  if (slo.at_least) return;
  const auto at = [&](const char* kind, std::optional<double>& target) {
    if (slo.name.find(kind) == std::string::npos) return;
    target = target ? std::min(*target, slo.target) : slo.target;
  };
  at("ttft", targets.ttft_ms);
  at("tpot", targets.tpot_ms);
  at("e2el", targets.e2el_ms);
}

bool names_tenants(const Scenario& s) {
  return std::any_of(s.slo.begin(), s.slo.end(),
                     [](const SloTarget& target) { return !target.tenant.empty(); });
}

}  // namespace

std::uint32_t tenant_number(const SloTarget& target, const Workload& workload) {
  const std::vector<std::string>& tenants = workload.source().tenants;
  if (tenants.empty() || workload.columns().tenant.empty()) {
    throw InputError(Fault::kUsage, target.where,
                     fmt::format("tenant \"{}\": the workload names no tenants; expected targets "
                                 "of tenants only where it does",
                                 target.tenant));
  }
  const auto at = std::find(tenants.begin(), tenants.end(), target.tenant);
  if (at == tenants.end()) {
    std::vector<std::string_view> known(tenants.begin(), tenants.end());
    std::erase(known, "");  // rows that name none
    throw InputError(Fault::kUsage, target.where, unknown_name("tenant", target.tenant, known));
  }
  return static_cast<std::uint32_t>(at - tenants.begin());
}

RequestTargets request_targets(const Scenario& s, const Workload& workload) {
  RequestTargets out;
  for (const SloTarget& target : s.slo) {
    if (target.tenant.empty()) tighten(out.all, target);
  }
  if (!names_tenants(s)) return out;
  out.of_tenant.assign(workload.source().tenants.size(), out.all);
  out.tenant = workload.columns().tenant;
  for (const SloTarget& target : s.slo) {
    if (target.tenant.empty()) continue;
    tighten(out.of_tenant.at(tenant_number(target, workload)), target);
  }
  return out;
}

TenantFigures::TenantFigures(const Scenario& scenario, const Workload& workload)
    : s_(scenario), workload_(workload), tenant_(workload.columns().tenant) {
  for (const SloTarget& target : s_.slo) {
    if (target.tenant.empty()) continue;
    const std::uint32_t tenant = tenant_number(target, workload);
    if (of_tenant_.empty()) of_tenant_.resize(workload.source().tenants.size());
    if (of_tenant_[tenant] != nullptr) continue;
    of_tenant_[tenant] = std::make_unique<Recorder>(0, 0, request_targets(s_, workload));
  }
}

void TenantFigures::on_request(const RequestRecord& record) {
  const auto& recorder = of_tenant_[tenant_[raw(record.request)]];
  if (recorder != nullptr) recorder->on_request(record);
}

RunResult TenantFigures::figures(std::uint32_t tenant, double duration_s) const {
  RunResult out = of_tenant_[tenant]->result(0);
  const double share = duration_s > 0 ? out.duration_s / duration_s : 0;
  for (double* rate : {&out.request_throughput, &out.output_throughput, &out.total_token_throughput,
                       &out.goodput}) {
    *rate *= share;
  }
  return out;
}

void TenantFigures::judge(RunResult& run) const {
  const bool died = run.swap && !run.swap->fatal.empty();  // what it had answered proves nothing
  for (const SloTarget& target : s_.slo) {
    const RunMetric& metric = *find_metric(slo_metrics(), target.name);
    const auto add = [&](const RunResult& r) {
      const double value = metric.value(r);
      const bool passed = !died && r.completed > 0 &&
                          (target.at_least ? value >= target.target : value <= target.target);
      run.slo.push_back(
          {target.name, target.at_least, target.target, value, passed, target.tenant});
    };
    if (target.tenant.empty()) {
      add(run);
    } else {
      add(figures(tenant_number(target, workload_), run.duration_s));
    }
  }
}

}  // namespace spillway
