#include "reports/ops/ops_formats.hpp"

#include "reports/ops/alerts.hpp"
#include "reports/ops/dashboard.hpp"
#include "reports/ops/figures.hpp"
#include "reports/ops/metrics_text.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

OpsFigures figures_of(const ResultView& result) {
  KV_ASSERT(result.provenance != nullptr && (result.run != nullptr || result.plan != nullptr),
            "operations' formats are made of a run or a plan");
  OpsFigures out = result.plan != nullptr ? figures_of(*result.plan, *result.provenance)
                                          : figures_of(*result.run, *result.provenance);
  use_engines(result.engines, "--engine", out);
  out.alerts = result.alerts;
  return out;
}

}  // namespace

std::string without_alerts(const PlanResult* plan) {
  if (plan == nullptr || plan->recommended >= 0) return {};
  return std::string(plan->undecided ? "the plan is not decided" : "no size meets the SLO") +
         ": no run shows what is healthy, so there are no alert rules";
}

void write_prometheus_format(const ResultView& result, std::ostream& out) {
  write_metrics(figures_of(result), out);
}

void write_alerts_format(const ResultView& result, std::ostream& out) {
  write_alerts(figures_of(result), out);
}

void write_grafana_format(const ResultView& result, std::ostream& out) {
  write_dashboard(figures_of(result), out);
}

}  // namespace spillway
