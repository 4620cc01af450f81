#include "reports/plan/glance_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reports/charts/text_chart.hpp"
#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/plan_parts.hpp"
#include "reports/renderers/table_layout.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostTargets = 3;
constexpr std::size_t kWidestBar = 36;
constexpr std::size_t kNarrowestBar = 10;
constexpr std::size_t kKeptColumns = 3;  // whatever the width

struct Figure {
  double value = 0;
  double limit = 0;
  bool at_least = false;

  /// How much of the target it uses up; above 1 it misses.
  double use() const {
    if (at_least) return value > 0 ? limit / value : 1e9;
    return limit > 0 ? value / limit : 0;
  }
};

std::size_t targets_of(const PlanResult& plan) {
  std::size_t out = kMostTargets;
  for (const PlanPoint& point : plan.points) {
    if (point.verdict == CellVerdict::kExcluded) continue;
    out = std::min(out, std::max(point.run.slo.size(), point.targets.size()));
  }
  return out;
}

/// Over its replicates, as the verdict; of the single run where there are none.
std::optional<Figure> figure_at(const PlanPoint& point, std::size_t target) {
  if (point.replications > 0 && target < point.targets.size()) {
    const TargetEstimate& t = point.targets[target];
    return Figure{t.value, t.target, t.at_least};
  }
  if (target >= point.run.slo.size()) return std::nullopt;
  const SloResult& slo = point.run.slo[target];
  return Figure{slo.value, slo.target, slo.at_least};
}

std::pair<std::string, std::string> name_of_target(const PlanPoint& point, std::size_t target) {
  if (point.replications > 0 && target < point.targets.size()) {
    return {point.targets[target].name, point.targets[target].tenant};
  }
  if (target < point.run.slo.size()) {
    return {point.run.slo[target].name, point.run.slo[target].tenant};
  }
  return {};
}

/// The target that some shown cell misses by most, or comes nearest to missing.
std::size_t tightest_target(const PlanResult& plan, const std::vector<int>& cells,
                            std::size_t targets) {
  std::size_t out = 0;
  double most = -1;
  for (const int cell : cells) {
    for (std::size_t t = 0; t < targets; ++t) {
      const auto figure = figure_at(cell_at(plan, cell), t);
      if (!figure || figure->use() <= most) continue;
      most = figure->use();
      out = t;
    }
  }
  return out;
}

std::string display_name(const PlanPoint& point) {
  const std::string& name = name_of_cell(point);
  if (!name.starts_with(point.capacity) || point.capacity.empty()) return spaced(name);
  return spaced(point.capacity) + name.substr(point.capacity.size());
}

TextMark mark_of(const std::string& standing) {
  if (standing.starts_with("met")) return TextMark::kMet;
  return standing.starts_with("missed") ? TextMark::kMissed : TextMark::kOpen;
}

void add_bars(const PlanResult& plan, const std::vector<int>& cells, std::size_t target,
              std::size_t columns, bool unicode, Table& table) {
  const std::optional<Figure> any = figure_at(cell_at(plan, cells.front()), target);
  if (!any) return;
  double most = 0;
  for (const int cell : cells) {
    if (const auto figure = figure_at(cell_at(plan, cell), target)) {
      most = std::max(most, figure->value);
    }
  }
  const auto [name, tenant] = name_of_target(cell_at(plan, cells.front()), target);
  const std::string limit = figure_words(name, any->limit);
  const std::string words = fmt::format("limit {} ({})", limit, metric_words(name));
  table.header.push_back(text_limit(words.size() + 2 <= columns ? words : limit, unicode));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const PlanPoint& point = cell_at(plan, cells[i]);
    const auto figure = figure_at(point, target);
    const bool drawn = figure && point.verdict != CellVerdict::kExcluded;
    table.rows[i].push_back(drawn ? text_bar({figure->value, figure->limit, most,
                                              mark_of(glance_standing(plan, point))},
                                             columns, unicode)
                                  : "");
  }
}

}  // namespace

bool searched(const PlanResult& plan) {
  return !plan.points.empty() && !plan.points.front().values.empty();
}

std::string glance_standing(const PlanResult& plan, const PlanPoint& point) {
  if (point.verdict == CellVerdict::kExcluded) {
    return point.cold_limited ? "uncertain (trace too short)" : point.reason;
  }
  const bool met = point.verdict == CellVerdict::kMet || point.verdict == CellVerdict::kLooksMet;
  if (point.replications == 0) return met ? "met (one run)" : "missed (one run)";
  if (point.verdict == CellVerdict::kMissed) return "missed";
  if (point.verdict == CellVerdict::kMet && !plan.undecided) return "met";
  // Screened on a few replicates, and then nothing hung on it.
  const bool bounded =
      std::any_of(point.targets.begin(), point.targets.end(),
                  [](const TargetEstimate& target) { return target.bound.has_value(); });
  const bool missed =
      point.verdict == CellVerdict::kLooksMissed && !bounded && point.reason != "budget";
  if (!not_needed(point) && !missed) return "uncertain";
  return fmt::format("{} ({} replicate{})", met ? "met" : "missed", point.replications,
                     point.replications == 1 ? "" : "s");
}

Table glance_table(const PlanResult& plan, std::size_t rows, std::size_t width, bool unicode) {
  const std::vector<int> cells = cells_around_answer(plan, rows);
  const std::size_t targets = targets_of(plan);
  const bool incomplete =
      std::any_of(plan.points.begin(), plan.points.end(),
                  [](const PlanPoint& p) { return p.run.completed < p.run.requests; });
  Table out;
  out.header = {searched(plan) ? "configuration" : "size", "SLO"};
  if (plan.confidence) out.header.emplace_back("within SLO");
  for (std::size_t t = 0; t < targets; ++t) {
    const auto [name, tenant] = name_of_target(cell_at(plan, cells.front()), t);
    out.header.push_back(metric_words(name, tenant));
  }
  if (incomplete) out.header.emplace_back("incomplete");
  for (const int cell : cells) {
    const PlanPoint& point = cell_at(plan, cell);
    if (cell == plan.recommended) out.highlight = static_cast<int>(out.rows.size());
    std::vector<std::string>& row = out.rows.emplace_back();
    row = {display_name(point), glance_standing(plan, point)};
    if (plan.confidence) row.push_back(attainment_text(point));
    for (std::size_t t = 0; t < targets; ++t) {
      const auto figure = figure_at(point, t);
      const auto [name, tenant] = name_of_target(point, t);
      row.push_back(figure ? figure_words(name, figure->value) : "-");
    }
    if (incomplete) row.push_back(format_count(point.run.requests - point.run.completed));
  }
  while (out.header.size() > kKeptColumns && TableLayout(out).total() > width) {
    out.header.pop_back();
    for (auto& row : out.rows) row.pop_back();
  }
  const std::size_t used = TableLayout(out).total() + 2;
  if (targets > 0 && used + kNarrowestBar <= width) {
    add_bars(plan, cells, tightest_target(plan, cells, targets), std::min(kWidestBar, width - used),
             unicode, out);
  }
  return out;
}

}  // namespace spillway
