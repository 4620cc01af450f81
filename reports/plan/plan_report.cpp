// What a plan's report shows: the decision, the sizes side by side, and the curves behind it.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/plan/cost_report.hpp"
#include "reports/plan/judgement_json.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/point_json.hpp"
#include "reports/plan/sensitivity_report.hpp"
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

/// How a cell stands, with a word on how sure that is.
std::string standing(const PlanPoint& point) {
  switch (point.verdict) {
    case CellVerdict::kMet:
    case CellVerdict::kMissed:
      return std::string(name_of(point.verdict));
    case CellVerdict::kExcluded:
      return point.reason;
    case CellVerdict::kLooksMet:
    case CellVerdict::kLooksMissed:
      break;
  }
  const char* seen = point.verdict == CellVerdict::kLooksMet ? "met" : "missed";
  return point.replications == 0 ? seen : fmt::format("looks {}", seen);
}

}  // namespace

std::vector<std::string> decision_sentences(const PlanResult& plan) {
  std::vector<std::string> out;
  const auto at = [&](int index) -> const PlanPoint& {
    return plan.points[static_cast<std::size_t>(index)];
  };
  if (plan.confidence && plan.recommended >= 0) {
    const PlanPoint& point = at(plan.recommended);
    out.push_back(
        fmt::format("{} of requests meet every latency target, {} or more with {} "
                    "confidence ({} replicates, {} runs in all; {})",
                    format_percent(point.attainment), format_percent(point.attainment_low),
                    format_percent(plan.confidence->level), point.replications,
                    plan.confidence->runs, plan.confidence->method));
  }
  if (!plan.binding.empty()) out.push_back("What binds: " + plan.binding);
  if (plan.knee >= 0) {
    out.push_back(
        fmt::format("Knee: beyond {} a larger {} gains little.", at(plan.knee).name, plan.tier));
  }
  if (plan.runner_up >= 0) {
    out.push_back(fmt::format("Runner-up: {}{}{}", at(plan.runner_up).name,
                              plan.runner_up_reason.empty() ? "" : ": ", plan.runner_up_reason));
  }
  if (plan.infeasible_max >= 0) {
    out.push_back(fmt::format("Largest size that misses: {}{}{}", at(plan.infeasible_max).name,
                              plan.first_breach.empty() ? "" : ", first by ", plan.first_breach));
  }
  out.insert(out.end(), plan.notes.begin(), plan.notes.end());
  for (std::string& sentence : judgement_sentences(plan)) out.push_back(std::move(sentence));
  return out;
}

Table targets_table(const PlanPoint& point, double confidence) {
  Table table;
  table.title = "Targets at " + point.name;
  const std::string bound = fmt::format("with {} confidence", format_percent(confidence));
  table.header = {"target", "figure", "limit", "judged by", bound, "may be", "met"};
  for (const TargetEstimate& t : point.targets) {
    const auto show = [&](double x) { return t.share ? format_percent(x) : format_real(x); };
    const std::string name = t.tenant.empty() ? t.name : t.name + " of " + t.tenant;
    const char* side = t.at_least ? "at least " : "at most ";
    table.rows.push_back({name, format_real(t.value), side + format_real(t.target),
                          t.share ? show(t.x) + " of requests miss" : show(t.x),
                          t.bound ? side + show(*t.bound) : "not known", side + show(t.limit),
                          t.backed ? "yes"
                          : t.met  ? "looks so"
                                   : "no"});
  }
  return table;
}

Table plan_table(const PlanResult& plan) {
  Table table;
  table.title = fmt::format("Sizes of {}", plan.tier);
  // Named only where it happens: a column of zeros says nothing.
  const bool incomplete =
      std::any_of(plan.points.begin(), plan.points.end(),
                  [](const PlanPoint& p) { return p.run.completed < p.run.requests; });
  const bool replicated = plan.confidence.has_value();
  table.header = {"size",
                  "SLO",
                  "TTFT p50",
                  "TTFT p99",
                  "TPOT p99",
                  "from HBM",
                  fmt::format("from {}", plan.tier),
                  "preemptions",
                  "busiest link"};
  if (replicated) table.header.insert(table.header.begin() + 2, {"attainment", "replicates"});
  if (incomplete) table.header.emplace_back("incomplete");
  for (const PlanPoint& point : plan.points) {
    const RunResult& run = point.run;
    const double lower = cached_share(run, 1);
    const std::string& name = point.name.empty() ? point.capacity : point.name;
    std::vector<std::string> row = {name,
                                    standing(point),
                                    format_ms(run.ttft.median_ms),
                                    format_ms(run.ttft.p99_ms),
                                    format_ms(run.tpot.p99_ms),
                                    format_percent(cached_share(run) - lower),
                                    format_percent(lower),
                                    format_count(run.preemptions),
                                    format_percent(busiest_link(run))};
    if (replicated) {
      row.insert(row.begin() + 2,
                 {format_percent(point.attainment), format_count(point.replications)});
    }
    if (incomplete) row.push_back(format_count(run.requests - run.completed));
    table.rows.push_back(std::move(row));
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
  for (std::string& sentence : decision_sentences(plan)) {
    decision.paragraphs.push_back(std::move(sentence));
  }
  if (plan.recommended >= 0) {
    const PlanPoint& point = plan.points[static_cast<std::size_t>(plan.recommended)];
    decision.tables.push_back(slo_table(point.run.slo));
    if (plan.confidence) {
      decision.tables.push_back(targets_table(point, plan.confidence->level));
    }
  }
  decision.tables.push_back(plan_table(plan));
  for (Table& table : judgement_tables(plan)) decision.tables.push_back(std::move(table));
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

  if (plan.sensitivity) report.sections.push_back(sensitivity_section(plan));
  if (plan.regret) report.sections.push_back(regret_section(plan));
  if (plan.cost) report.sections.push_back(cost_section(plan));
  report.sections.push_back(setup_section(p));
  report.sections.push_back(provenance_section(p));
  return report;
}

}  // namespace spillway
