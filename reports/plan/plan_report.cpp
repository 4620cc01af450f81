// What a plan's report shows: the decision, the sizes side by side, and the curves behind it.
#include <fmt/format.h>

#include "reports/plan/cost_report.hpp"
#include "reports/plan/judgement_json.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/sensitivity_report.hpp"
#include "reports/report.hpp"
#include "reports/sections.hpp"
#include "sim/busiest_link.hpp"

namespace spillway {

namespace {

double busiest(const RunResult& run) {
  const LinkResult* link = busiest_link(run);
  return link == nullptr ? 0 : link->busy_fraction;
}

Chart by_size(const PlanResult& plan, const char* title, const char* y_label) {
  Chart chart;
  chart.title = title;
  chart.x_label = plan.tier + " size";
  chart.y_label = y_label;
  chart.points = true;
  for (const PlanPoint& point : plan.points)
    chart.x_names.push_back(point.name.empty() ? point.capacity : point.name);
  return chart;
}

template <class Value>
ChartSeries line(const PlanResult& plan, const char* name, Value value) {
  ChartSeries out;
  out.name = name;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    out.x.push_back(static_cast<double>(i));
    out.y.push_back(value(plan.points[i].run));
  }
  return out;
}

}  // namespace

Report plan_report(const PlanResult& plan, const Provenance& p) {
  Report report;
  report.title = "Plan: " + p.scenario;
  report.subtitle = plan.verdict;

  Section decision;
  decision.heading = "Decision";
  decision.paragraphs.push_back(plan.verdict);
  for (std::string& sentence : decision_sentences(plan, Detail::kFull)) {
    decision.paragraphs.push_back(std::move(sentence));
  }
  if (plan.recommended >= 0) {
    const PlanPoint& point = plan.points[static_cast<std::size_t>(plan.recommended)];
    if (plan.confidence) {
      decision.tables.push_back(targets_table(point, plan.confidence->level));
    }
    Table& once = decision.tables.emplace_back(slo_table(point.run.slo));
    once.title = fmt::format("Targets at {}, in one run of the workload itself", point.name);
  }
  decision.tables.push_back(plan_table(plan));
  for (Table& table : judgement_tables(plan)) decision.tables.push_back(std::move(table));
  report.sections.push_back(std::move(decision));

  Section curves;
  curves.heading = "Size against outcome, on the workload itself";
  Chart ttft = by_size(plan, "Time to first token", "ms");
  ttft.log_y = true;
  ttft.series = {line(plan, "p50", [](const RunResult& r) { return r.ttft.median_ms; }),
                 line(plan, "p99", [](const RunResult& r) { return r.ttft.p99_ms; })};
  Chart tpot = by_size(plan, "Time per output token", "ms");
  tpot.series = {line(plan, "p50", [](const RunResult& r) { return r.tpot.median_ms; }),
                 line(plan, "p99", [](const RunResult& r) { return r.tpot.p99_ms; })};
  if (!plan.points.empty()) {
    for (const SloResult& slo : plan.points.front().run.slo) {
      if (slo.name.find("_ttft_ms") != std::string::npos)
        ttft.limits.emplace_back(slo.name, slo.target);
      if (slo.name.find("_tpot_ms") != std::string::npos)
        tpot.limits.emplace_back(slo.name, slo.target);
    }
  }
  Chart hits = by_size(plan, "Prompt tokens from caches", "% of prompt tokens");
  hits.series = {
      line(plan, "all caches", [](const RunResult& r) { return 100 * cached_share(r); }),
      line(plan, plan.tier.c_str(), [](const RunResult& r) { return 100 * cached_share(r, 1); })};
  Chart busy = by_size(plan, "Busiest link", "% of the time");
  busy.series = {line(plan, "busy", [](const RunResult& r) { return 100 * busiest(r); })};
  curves.charts = {std::move(ttft), std::move(tpot), std::move(hits), std::move(busy)};
  report.sections.push_back(std::move(curves));

  if (plan.sensitivity) report.sections.push_back(sensitivity_section(plan));
  if (plan.regret) report.sections.push_back(regret_section(plan));
  if (plan.cost) report.sections.push_back(cost_section(plan));
  report.sections.push_back(setup_section(p));
  report.sections.push_back(provenance_section(p));
  return report;
}

}  // namespace spillway
