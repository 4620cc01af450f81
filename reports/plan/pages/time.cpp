// Page 5: what a first token waits for, and on which link.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/standing.hpp"
#include "reports/run/stages.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostExplained = 3;  // of the slowest requests, in words
constexpr double kFewPoints = 0.01;        // of prompt blocks: as good as none

/// Whether the run kept what its waits were made of, or how its links fared.
bool tells_time(const PlanPoint& point) {
  return has_run(point) && (!point.run.ttft_bands.empty() || !point.run.slowest.empty());
}

/// A cell that shows by contrast what the size is for: of the same line the largest below that
/// does not meet the SLO; where the cell itself does not, the next other size. -1: none.
int contrast_of(const PlanResult& plan, int cell) {
  const std::vector<std::vector<int>> lines = size_lines(plan);
  const std::vector<int>& line = line_of(lines, cell);
  const auto place = std::find(line.begin(), line.end(), cell);
  for (auto at = place; at != line.begin();) {
    const PlanPoint& below = cell_at(plan, *--at);
    if (tells_time(below) && (!below.looks_met() || !cell_at(plan, cell).looks_met())) return *at;
  }
  for (auto at = std::next(place); at != line.end(); ++at) {
    const PlanPoint& above = cell_at(plan, *at);
    if (tells_time(above) && !above.looks_met()) return *at;
  }
  return -1;
}

/// Why a slow prompt was not cached is not kept of each; of the whole workload it is known what
/// room and policy cost.
std::string why_not_cached(const PlanResult& plan, const PlanPoint& point) {
  std::string out = "Why a prompt was not cached is not recorded request by request";
  const auto& bound = plan.judgement.policy_bound;
  if (!bound || bound->cell != name_of_cell(point)) return out + ".";
  const double lost = std::max(0.0, bound->content - bound->share);
  if (lost < kFewPoints) {
    return out + fmt::format(
                     "; over the whole workload next to nothing had left the caches for want of "
                     "room ({:.1f} points of prompt blocks): nearly all of what was computed had "
                     "not been "
                     "seen before.",
                     100 * lost);
  }
  return out + fmt::format(
                   "; over the whole workload up to {:.1f} points of prompt blocks had been seen "
                   "and had left the caches; {} were not seen before.",
                   100 * lost, format_percent(1 - bound->content));
}

void add_waterfall(const PlanPoint& point, Section& section) {
  Chart chart = ttft_chart(point.run);
  if (chart.stacks.empty()) return;
  chart.title += ", at " + spaced(name_of_cell(point));
  section.charts.push_back(std::move(chart));
}

/// In one unit and on one axis: the lengths of bars are compared from drawing to drawing.
void same_scale(std::vector<Chart>& charts) {
  const bool seconds = std::any_of(charts.begin(), charts.end(),
                                   [](const Chart& chart) { return chart.unit == "s"; });
  double most = 0;
  for (Chart& chart : charts) {
    if (seconds && chart.unit == "ms") to_seconds(chart);
    for (const ChartStack& stack : chart.stacks) {
      most = std::max(most, std::accumulate(stack.parts.begin(), stack.parts.end(), 0.0));
    }
  }
  for (Chart& chart : charts) chart.most = most;
}

}  // namespace

Section time_page(const PlanResult& plan) {
  Section page;
  page.id = "time";
  page.heading = "Where time goes";
  const int cell = spoken_of(plan);
  if (cell < 0 || !has_run(cell_at(plan, cell))) {
    page.paragraphs.emplace_back(
        "There is no run to look into: the size that the plan speaks of was not run.");
    return page;
  }
  const PlanPoint& point = cell_at(plan, cell);
  const std::string name = spaced(name_of_cell(point));
  add_waterfall(point, page);
  const int other = contrast_of(plan, cell);
  if (other >= 0) {
    add_waterfall(cell_at(plan, other), page);
    same_scale(page.charts);
    page.paragraphs.push_back(fmt::format(
        "Compare {}, which {}. What its first tokens wait for longer is what {}.",
        spaced(name_of_cell(cell_at(plan, other))), shortfall(plan, cell_at(plan, other)),
        other < cell ? "the size is for" : "a larger size costs"));
  }
  page.paragraphs.push_back(
      "One run of the workload itself. Five stages add up to the time to a first token: queue, "
      "busy link, load, work again after a preemption, prefill steps.");
  if (Chart links = link_heatmap(point.run); !links.cells.empty()) {
    links.title += ", at " + name;
    page.charts.push_back(std::move(links));
  }
  if (Table slowest = slowest_table(point.run); !slowest.rows.empty()) {
    Section part;
    part.heading = "The slowest requests";
    part.folded = true;
    part.paragraphs = slowest_sentences(point.run, kMostExplained);
    part.paragraphs.push_back(why_not_cached(plan, point));
    slowest.title += ", at " + name;
    part.tables.push_back(std::move(slowest));
    page.parts.push_back(std::move(part));
  }
  if (page.charts.empty() && page.parts.empty()) {
    page.paragraphs = {
        "The result does not hold the stages of first tokens: nothing completed, or "
        "it was written by an earlier version."};
  }
  return page;
}

}  // namespace spillway
