// A plan's cells side by side: all of them, or the few around the answer.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/plan/standing.hpp"
#include "sim/busiest_link.hpp"

namespace spillway {

namespace {

const std::set<std::string> kOnlyInReport = {"TTFT p50", "from HBM", "preemptions"};

}  // namespace

std::vector<int> cells_around_answer(const PlanResult& plan, std::size_t most) {
  const auto nearer = [&](int a, int b) {
    return stands_worse(cell_at(plan, a), cell_at(plan, b));
  };
  const std::vector<std::vector<int>> lines = size_lines(plan);
  std::vector<int> best;  // of each line
  for (const std::vector<int>& line : lines) {
    best.push_back(*std::max_element(line.begin(), line.end(), nearer));
  }
  std::stable_sort(best.begin(), best.end(), [&](int a, int b) { return nearer(b, a); });
  const int answer = plan.recommended >= 0 ? plan.recommended : best.front();
  const std::vector<int>& line = line_of(lines, answer);
  const auto place = std::find(line.begin(), line.end(), answer) - line.begin();

  std::set<int> out;
  const auto show = [&](int cell) {
    if (cell >= 0 && out.size() < most) out.insert(cell);
  };
  const auto show_neighbours = [&](std::ptrdiff_t first, std::ptrdiff_t last) {
    const auto size = static_cast<std::ptrdiff_t>(line.size());
    for (std::ptrdiff_t away = first; away <= last; ++away) {
      for (const std::ptrdiff_t i : {place - away, place + away}) {
        if (i >= 0 && i < size) show(line[static_cast<std::size_t>(i)]);
      }
    }
  };
  for (const int cell :
       {answer, plan.runner_up, plan.infeasible_max, plan.feasible_min, plan.knee}) {
    show(cell);
  }
  show_neighbours(1, 2);
  for (const int cell : best) show(cell);
  show_neighbours(3, static_cast<std::ptrdiff_t>(line.size()));
  return {out.begin(), out.end()};
}

Table plan_table(const PlanResult& plan) {
  Table table;
  const bool replicated = plan.confidence.has_value();
  // The verdict's figures are others than those of the cells: it is said whose these are.
  const bool searched = !plan.points.empty() && !plan.points.front().values.empty();
  table.title = fmt::format("{}, each run once on the workload itself{}",
                            searched ? "Configurations" : "Sizes of " + kind_of_tier(plan),
                            replicated ? " (SLO and within SLO: over replicates)" : "");
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
  if (replicated) table.header.insert(table.header.begin() + 2, {"within SLO", "replicates"});
  if (incomplete) table.header.emplace_back("incomplete");
  for (const PlanPoint& point : plan.points) {
    const RunResult& run = point.run;
    const double lower = cached_share(run, 1);
    const LinkResult* link = busiest_link(run);
    std::vector<std::string> row = {spaced(name_of_cell(point)),
                                    standing(plan, point),
                                    format_ms(run.ttft.median_ms),
                                    format_ms(run.ttft.p99_ms),
                                    format_ms(run.tpot.p99_ms),
                                    format_percent(cached_share(run) - lower),
                                    format_percent(lower),
                                    format_count(run.preemptions),
                                    format_percent(link == nullptr ? 0 : link->busy_fraction)};
    if (replicated) {
      row.insert(row.begin() + 2, {attainment_text(point), format_count(point.replications)});
    }
    if (incomplete) row.push_back(format_count(run.requests - run.completed));
    table.rows.push_back(std::move(row));
  }
  table.highlight = plan.recommended;
  return table;
}

Table brief_plan_table(const PlanResult& plan, std::size_t most) {
  const Table whole = plan_table(plan);
  Table out;
  out.title = whole.title;
  if (plan.points.empty()) return out;
  const auto shortened = [&](const std::vector<std::string>& cells) {
    std::vector<std::string> row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!kOnlyInReport.contains(whole.header[i])) row.push_back(cells[i]);
    }
    return row;
  };
  out.header = shortened(whole.header);
  for (const int cell : cells_around_answer(plan, most)) {
    if (cell == plan.recommended) out.highlight = static_cast<int>(out.rows.size());
    out.rows.push_back(shortened(whole.rows[static_cast<std::size_t>(cell)]));
  }
  return out;
}

Table targets_table(const PlanPoint& point, double confidence) {
  Table table;
  table.title = fmt::format("Targets at {}, over {} replicate{}", spaced(point.name),
                            point.replications, point.replications == 1 ? "" : "s");
  const std::string bound = fmt::format("with {:.4g}% confidence", 100 * confidence);
  table.header = {"target", "figure", "limit", "requests that miss", bound, "allowed", "met"};
  for (const TargetEstimate& t : point.targets) {
    // Three of one kind that are compared: what was seen, what is not ruled out, what may be.
    const std::initializer_list<double> compared = {t.x, t.bound.value_or(t.x), t.limit};
    const std::vector<std::string> judged =
        t.share ? format_percents(compared) : format_reals(compared);
    const auto [value, target] = told_apart(t.name, t.value, t.target);
    const char* side = t.at_least ? "at least " : "at most ";
    table.rows.push_back({metric_words(t.name, t.tenant), value, side + target,
                          judged[0] + (t.share ? "" : " (figure)"),
                          !t.bound                   ? "no bound"
                          : t.share && *t.bound >= 1 ? "no bound"
                                                     : side + judged[1],
                          side + judged[2],
                          t.backed ? "yes"
                          : t.met  ? "uncertain"
                                   : "no"});
  }
  return table;
}

}  // namespace spillway
