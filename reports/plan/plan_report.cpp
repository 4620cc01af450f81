// What a plan's report shows: the decision, the sizes side by side, and the curves behind it.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/report.hpp"
#include "reports/sections.hpp"

namespace spillway {

namespace {

double busiest_link(const RunResult& run) {
  double most = 0;
  for (const LinkResult& link : run.links) most = std::max(most, link.busy_fraction);
  return most;
}

Chart by_size(const PlanResult& plan, const char* title, const char* y_label) {
  Chart chart;
  chart.title = title;
  chart.x_label = plan.tier + " size";
  chart.y_label = y_label;
  chart.points = true;
  for (const PlanPoint& point : plan.points) chart.x_names.push_back(point.capacity);
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

Table plan_table(const PlanResult& plan) {
  Table table;
  table.title = fmt::format("Sizes of {}", plan.tier);
  // Named only where it happens: a column of zeros says nothing.
  const bool incomplete =
      std::any_of(plan.points.begin(), plan.points.end(),
                  [](const PlanPoint& p) { return p.run.completed < p.run.requests; });
  table.header = {"size",
                  "SLO",
                  "TTFT p50",
                  "TTFT p99",
                  "TPOT p99",
                  "from HBM",
                  fmt::format("from {}", plan.tier),
                  "preemptions",
                  "busiest link"};
  if (incomplete) table.header.emplace_back("incomplete");
  for (const PlanPoint& point : plan.points) {
    const RunResult& run = point.run;
    const double lower = cached_share(run, 1);
    table.rows.push_back({point.capacity, point.feasible ? "met" : "missed",
                          format_ms(run.ttft.median_ms), format_ms(run.ttft.p99_ms),
                          format_ms(run.tpot.p99_ms), format_percent(cached_share(run) - lower),
                          format_percent(lower), format_count(run.preemptions),
                          format_percent(busiest_link(run))});
    if (incomplete) table.rows.back().push_back(format_count(run.requests - run.completed));
  }
  table.highlight = plan.recommended;
  return table;
}

Report plan_report(const PlanResult& plan, const Provenance& p) {
  Report report;
  report.title = "Plan: " + p.scenario;
  report.subtitle = plan.verdict;

  Section decision;
  decision.heading = "Decision";
  decision.paragraphs.push_back(plan.verdict);
  if (!plan.binding.empty()) decision.paragraphs.push_back("What binds: " + plan.binding);
  if (plan.knee >= 0) {
    decision.paragraphs.push_back(
        fmt::format("Knee: beyond {} a larger {} gains little.",
                    plan.points[static_cast<std::size_t>(plan.knee)].capacity, plan.tier));
  }
  for (const std::string& note : plan.notes) decision.paragraphs.push_back(note);
  if (plan.recommended >= 0) {
    decision.tables.push_back(
        slo_table(plan.points[static_cast<std::size_t>(plan.recommended)].run.slo));
  }
  decision.tables.push_back(plan_table(plan));
  report.sections.push_back(std::move(decision));

  Section curves;
  curves.heading = "Size against outcome";
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
  busy.series = {line(plan, "busy", [](const RunResult& r) { return 100 * busiest_link(r); })};
  curves.charts = {std::move(ttft), std::move(tpot), std::move(hits), std::move(busy)};
  report.sections.push_back(std::move(curves));

  report.sections.push_back(setup_section(p));
  report.sections.push_back(provenance_section(p));
  return report;
}

}  // namespace spillway
