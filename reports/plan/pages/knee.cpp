// Page 3: size against outcome, on the workload itself.
#include "reports/plan/pages/pages.hpp"
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

Section knee_page(const PlanResult& plan) {
  Section page;
  page.id = "knee";
  page.heading = "Size against outcome, on the workload itself";
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
  page.charts = {std::move(ttft), std::move(tpot), std::move(hits), std::move(busy)};
  return page;
}

}  // namespace spillway
