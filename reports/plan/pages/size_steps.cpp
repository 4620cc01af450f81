// What each step in size buys.
#include <fmt/format.h>

#include <optional>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/pages/size_grid.hpp"

namespace spillway {

namespace {

/// None where the step leads to no bound.
std::optional<double> gib_more(const PlanPoint& from, const PlanPoint& to) {
  if (from.unbounded || to.unbounded || to.capacity_bytes <= from.capacity_bytes) {
    return std::nullopt;
  }
  return static_cast<double>(to.capacity_bytes - from.capacity_bytes) / kGiB;
}

std::string change(const std::string& from, const std::string& to) {
  return from == to ? to : fmt::format("{} to {}", from, to);
}

std::vector<std::string> step(const PlanPoint& from, const PlanPoint& to) {
  const std::optional<double> gib = gib_more(from, to);
  const double less = from.run.ttft.p99_ms - to.run.ttft.p99_ms;
  return {spaced(from.capacity),
          spaced(to.capacity),
          gib ? format_real(*gib) : "-",
          change(format_ms(from.run.ttft.p99_ms), format_ms(to.run.ttft.p99_ms)),
          gib ? format_real(less / *gib) : "-",
          change(format_percent(cached_share(from.run)), format_percent(cached_share(to.run))),
          change(format_real(from.run.goodput), format_real(to.run.goodput))};
}

}  // namespace

Table size_steps_table(const PlanResult& plan, const GridLine& line) {
  Table table;
  table.title = "What each step in size buys";
  table.header = {"from",        "to",       "GiB more", "TTFT p99", "ms less for each GiB",
                  "from caches", "goodput/s"};
  const PlanPoint* before = nullptr;
  for (const int cell : line.cells) {
    if (cell < 0 || !has_run(cell_at(plan, cell))) continue;
    const PlanPoint& point = cell_at(plan, cell);
    if (before != nullptr) table.rows.push_back(step(*before, point));
    if (before != nullptr && cell == plan.recommended) {
      table.highlight = static_cast<int>(table.rows.size()) - 1;
    }
    before = &point;
  }
  return table;
}

}  // namespace spillway
