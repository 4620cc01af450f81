// Page 4: what each policy, or whatever else was searched, came to, and what the best conceivable
// one would leave on the table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/judgement_report.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/pages/page_facts.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/pages/size_grid.hpp"
#include "reports/plan/standing.hpp"
#include "sim/paired_difference.hpp"

namespace spillway {

namespace {

bool is_policy(const std::string& key) {
  for (const char* word : {"eviction", "admission", "polic", "sched", "prefetch", "load_or"}) {
    if (key.find(word) != std::string::npos) return true;
  }
  return false;
}

/// Blocks that left the tiers below HBM for want of room.
std::uint64_t evictions(const RunResult& run) {
  std::uint64_t out = 0;
  for (std::size_t i = 1; i < run.tiers.size(); ++i) out += run.tiers[i].evictions;
  return out;
}

/// What links moved; what passes a shared medium was counted with its links.
double moved_bytes(const RunResult& run) {
  double out = 0;
  for (const LinkResult& link : run.links) {
    if (!link.medium) out += static_cast<double>(link.bytes);
  }
  return out;
}

/// Seconds that steps stood still for copies.
double stalled_s(const RunResult& run) {
  return run.flush_stall_s + (run.load_wait ? run.load_wait->stall_s : 0) +
         (run.swap ? run.swap->stall_s : 0) + run.copy_harm_s.value_or(0) +
         run.connector_s.value_or(0);
}

class PoliciesPage {
 public:
  PoliciesPage(const PlanResult& plan, const Provenance& provenance)
      : plan_(plan), provenance_(provenance), lines_(size_lines(plan)), answer_(spoken_of(plan)) {}

  Section page() {
    page_.id = "policies";
    page_.heading = "Policies";
    if (answer_ < 0) {
      page_.paragraphs.emplace_back("No size was tried, so there is nothing to compare.");
      return std::move(page_);
    }
    const auto& values = cell_at(plan_, answer_).values;
    const bool policies = std::any_of(values.begin(), values.end(),
                                      [](const auto& value) { return is_policy(value.first); });
    if (lines_.size() > 1) compare_lines();
    if (!policies) say_one_policy();
    add_bound();
    add_rules();
    return std::move(page_);
  }

 private:
  const PlanPoint& answer() const { return cell_at(plan_, answer_); }

  /// Of each line the cell of the answer's size; where that was not tried, the one that stands
  /// best.
  int cell_beside(const std::vector<int>& line) const {
    for (const int cell : line) {
      const PlanPoint& point = cell_at(plan_, cell);
      if (point.capacity_bytes == answer().capacity_bytes &&
          point.unbounded == answer().unbounded) {
        return cell;
      }
    }
    return *std::max_element(line.begin(), line.end(), [&](int a, int b) {
      return stands_worse(cell_at(plan_, a), cell_at(plan_, b));
    });
  }

  std::string smallest_met(const std::vector<int>& line) const {
    for (const int cell : line) {
      const PlanPoint& point = cell_at(plan_, cell);
      if (point.looks_met()) return spaced(point.capacity) + (point.feasible ? "" : " (uncertain)");
    }
    return "none";
  }

  void compare_lines() {
    std::vector<int> cells;
    Table table;
    table.title = fmt::format("Each of them at {}, on the workload itself run once{}",
                              spaced(answer().capacity),
                              plan_.confidence ? "; SLO and share within SLO over replicates" : "");
    table.header = {"values",
                    "smallest size that meets",
                    "SLO",
                    "within SLO",
                    "TTFT p99",
                    "TPOT p99",
                    "hits",
                    "moved by links",
                    "evicted blocks",
                    "stalled",
                    "goodput/s"};
    for (const std::vector<int>& line : lines_) {
      const int cell = cell_beside(line);
      const PlanPoint& point = cell_at(plan_, cell);
      if (cell == answer_) table.highlight = static_cast<int>(table.rows.size());
      const bool same = point.capacity_bytes == answer().capacity_bytes;
      table.rows.push_back(
          {line_name(point) + (same ? "" : " at " + spaced(point.capacity)), smallest_met(line),
           standing(plan_, point), attainment_text(point), format_ms(point.run.ttft.p99_ms),
           format_ms(point.run.tpot.p99_ms), format_percent(cached_share(point.run)),
           format_bytes(moved_bytes(point.run)), format_count(evictions(point.run)),
           format_ms(1000 * stalled_s(point.run)), format_real(point.run.goodput)});
      cells.push_back(cell);
    }
    add_differences(cells);
    page_.tables.push_back(std::move(table));
  }

  /// Paired: both cells saw the same replicates, so what these have in common cancels.
  void add_differences(const std::vector<int>& cells) {
    Chart chart;
    chart.kind = ChartKind::kScatter;
    chart.title = "Gain or loss against " + spaced(name_of_cell(answer()));
    chart.x_label = cell_at(plan_, cells.front()).values.size() == 1
                        ? cell_at(plan_, cells.front()).values.front().first
                        : "values";
    chart.y_label = "percentage points";
    chart.points = true;
    chart.limits = {{"no difference", 0}};
    ChartSeries series;
    series.name = "difference";
    bool any = false;
    bool all = true;
    std::size_t fewest = 0;
    for (const int cell : cells) {
      if (cell == answer_) continue;
      const auto& d = cell_at(plan_, cell).difference;
      const bool paired = d && static_cast<int>(d->to) == answer_;
      any = any || paired;
      all = all && paired;
      if (paired && (fewest == 0 || d->replicates < fewest)) fewest = d->replicates;
      const double mean =
          paired ? 100 * d->mean : 100 * (cell_at(plan_, cell).attainment - answer().attainment);
      series.x.push_back(static_cast<double>(chart.x_names.size()));
      chart.x_names.push_back(line_name(cell_at(plan_, cell)));
      series.y.push_back(mean);
      series.low.push_back(paired ? mean - 100 * d->noise : kNoPoint);
      series.high.push_back(paired ? mean + 100 * d->noise : kNoPoint);
    }
    if (series.x.empty()) return;
    if (!any) {
      series.low.clear();
      series.high.clear();
    }
    if (any) {
      chart.note = fmt::format(
          "Differences on the replicates that both ran, with 95% intervals; one that holds 0 tells "
          "nothing apart{}.{}",
          fewest < kLeastReplications ? ", and of fewer than five replicates it is a rough guess"
                                      : "",
          all ? ""
              : " Without an interval it is a difference of means: no two replicates ran of "
                "both.");
    } else {
      chart.note =
          "Differences of means alone: no two replicates ran of both, so nothing is known of the "
          "noise.";
    }
    chart.series = {std::move(series)};
    page_.charts.push_back(std::move(chart));
  }

  void say_one_policy() {
    page_.paragraphs.push_back(fmt::format(
        "One set of policies was tried, the scenario's own. Whether another would do with less "
        "{} or meet more of the SLO is a question of its own:",
        plan_.tier));
    page_.code.push_back(
        {"Compare eviction policies",
         fmt::format("spillway plan {} --recipe compare-policies", scenario_word(provenance_))});
  }

  // ---- the best that any policy could do

  void add_bound() {
    if (!plan_.judgement.policy_bound) {
      page_.paragraphs.emplace_back(
          "How far the policy is from the best conceivable one is not known: without a tier of "
          "bounded size, or with a very long trace, no bound is computed.");
      return;
    }
    const PolicyBound& bound = *plan_.judgement.policy_bound;
    page_.facts.push_back(
        {"Room for a better policy",
         fmt::format("{:.1f} points", 100 * std::max(0.0, bound.optimum - bound.share)),
         fmt::format("{} hits {} of prompt blocks at {}, the offline optimum {}", bound.policy,
                     format_percent(bound.share), spaced(bound.cell),
                     format_percent(bound.optimum))});
    page_.facts.push_back(
        {"Room for more capacity",
         fmt::format("{:.1f} points", 100 * std::max(0.0, bound.content - bound.optimum)),
         fmt::format("beyond the optimum a cache without bound hits {} of prompt blocks; the rest "
                     "is never seen twice",
                     format_percent(bound.content))});
    Chart chart;
    chart.kind = ChartKind::kStacks;
    chart.title = "Prompt blocks that caches can hit at " + spaced(bound.cell);
    chart.x_label = "% of prompt blocks";
    chart.unit = "%";
    chart.part_names = {"hit"};
    chart.stacks = {{bound.policy + " (this policy)", {100 * bound.share}},
                    {"offline optimum", {100 * bound.optimum}},
                    {"cache without bound", {100 * bound.content}}};
    chart.note = fmt::format(
        "A replay without clock: {} {}, offline optimum {}, cache without bound {}.", bound.policy,
        format_percent(bound.share), format_percent(bound.optimum), format_percent(bound.content));
    page_.charts.push_back(std::move(chart));
  }

  void add_rules() {
    Section rules;
    rules.heading = "Rules of the field";
    rules.folded = true;
    if (!plan_.judgement.decision_table.empty()) {
      rules.tables.push_back(decision_rows_table(plan_.judgement));
    }
    if (!plan_.judgement.rules_of_thumb.empty()) {
      rules.tables.push_back(rules_table(plan_.judgement));
    }
    if (!rules.tables.empty()) page_.parts.push_back(std::move(rules));
  }

  const PlanResult& plan_;
  const Provenance& provenance_;
  std::vector<std::vector<int>> lines_;
  int answer_;
  Section page_;
};

}  // namespace

Section policies_page(const PlanResult& plan, const Provenance& provenance) {
  return PoliciesPage(plan, provenance).page();
}

}  // namespace spillway
