// Page 3: size against outcome, and where more stops paying.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reports/format.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/limits.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/pages/size_grid.hpp"
#include "reports/plan/plan_workload.hpp"
#include "sim/busiest_link.hpp"

namespace spillway {

namespace {

constexpr double kBusy = 0.8;       // a link beyond it makes others wait
constexpr double kHalfMark = 0.04;  // of a step: a mark, no range
constexpr double kDecides = 95;     // % of requests: what falls below is far from any SLO

double busiest(const PlanPoint& point) {
  const LinkResult* link = busiest_link(point.run);
  return link == nullptr ? 0 : link->busy_fraction;
}

/// First and last figure along a line: "4.88 s at 0GiB, 738 ms at 256GiB".
std::string ends_of(const SizeGrid& grid, const ChartSeries& series,
                    const std::function<std::string(double)>& text) {
  std::vector<std::string> said;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!std::isfinite(series.y[i])) continue;
    if (said.size() == 2) said.pop_back();
    said.push_back(fmt::format("{} at {}", text(series.y[i]), grid.x_names[i]));
  }
  return fmt::format("{}", fmt::join(said, ", "));
}

class KneePage {
 public:
  explicit KneePage(const PlanResult& plan) : plan_(plan), grid_(size_grid(plan)) {}

  Section page() {
    page_.id = "knee";
    page_.heading = grid_.over_values ? "Searched values against outcome" : "Size against outcome";
    say_what_it_is();
    if (grid_.x_names.size() < 2) return std::move(page_);
    find_regions();
    add_latency("Time to first token", "_ttft_ms", [](const RunResult& r) { return r.ttft; });
    add_latency("Time per output token", "_tpot_ms", [](const RunResult& r) { return r.tpot; });
    add_attainment();
    add_hits();
    add_goodput();
    add_links();
    if (Table steps = size_steps_table(plan_, line()); !grid_.over_values && !steps.rows.empty()) {
      steps.title += of_line();
      Section part;
      part.heading = steps.title;
      part.folded = true;
      part.tables.push_back(std::move(steps));
      page_.parts.push_back(std::move(part));
    }
    return std::move(page_);
  }

 private:
  bool several() const { return grid_.lines.size() > 1; }
  const GridLine& line() const { return grid_.answer_line(); }

  /// "with arc", where several lines stand beside each other.
  std::string of_line() const {
    return several() && !line().name.empty() ? " with " + line().name : "";
  }

  void say(std::string text) { page_.paragraphs.push_back(std::move(text)); }

  void say_what_it_is() {
    if (plan_.points.empty()) return say("No size was tried.");
    if (grid_.x_names.size() < 2) {
      return say(fmt::format("One size alone was tried, {}: there is nothing to compare it with.",
                             spaced(name_of_cell(plan_.points.front()))));
    }
    const std::string kind = kind_of_tier(plan_);
    const std::string runs = plan_.confidence ? "one run of the workload itself for each size; "
                                                "shares within SLO are means of the replicates"
                                              : "one run of the workload itself for each size";
    if (plan_.knee >= 0) {
      say(fmt::format("Sweet spot (knee): beyond {} more {} gains little. Figures: {}.",
                      spaced(name_of_cell(cell_at(plan_, plan_.knee))), kind, runs));
    } else if (!grid_.over_values) {
      say(fmt::format("No size is a sweet spot, beyond which more {} gains little. Figures: {}.",
                      kind, runs));
    } else {
      say(fmt::format("Figures: {}.", runs));
    }
    if (plan_.confidence && plan_.confidence->boundary == "non_monotone") {
      say("Larger is not always better here: a larger size does worse than a smaller one.");
    }
    if (grid_.left_out > 0) {
      say(fmt::format("{} more configurations were tried: page Provenance has them.",
                      format_count(grid_.left_out)));
    }
  }

  // ---- what is shaded and marked in every chart

  void shade(const std::string& name, double from, double to) {
    if (!regions_.empty() && regions_.back().name == name && regions_.back().to == from) {
      regions_.back().to = to;
    } else {
      regions_.push_back({name, from, to});
    }
  }

  void find_regions() {
    const auto each_ran = [&](const auto& visit) {
      for (std::size_t i = 0; i < line().cells.size(); ++i) {
        if (line().cells[i] < 0) continue;
        const PlanPoint& point = cell_at(plan_, line().cells[i]);
        if (has_run(point)) visit(static_cast<double>(i), point);
      }
    };
    each_ran([&](double x, const PlanPoint& point) {
      const LinkResult* link = busiest_link(point.run);
      if (link == nullptr || link->busy_fraction <= kBusy) return;
      shade(fmt::format("link {} busy over {:.0f}%{}", link->name, 100 * kBusy, of_line()), x - 0.5,
            x + 0.5);
    });
    if (plan_.confidence && plan_.confidence->boundary == "non_monotone") {
      bool met = false;
      each_ran([&](double x, const PlanPoint& point) {
        if (met && !point.looks_met() && busiest(point) <= kBusy) {
          shade("larger, and misses" + of_line(), x - 0.5, x + 0.5);
        }
        met = met || point.looks_met();
      });
    }
    mark(plan_.recommended, plan_.recommended == plan_.knee ? "recommended, knee" : "recommended");
    if (plan_.knee != plan_.recommended) mark(plan_.knee, "knee");
    if (plan_.recommended < 0) mark(plan_.provisional, "best so far");
  }

  void mark(int cell, const char* name) {
    const auto at = std::find(line().cells.begin(), line().cells.end(), cell);
    if (cell < 0 || at == line().cells.end()) return;
    const auto x = static_cast<double>(at - line().cells.begin());
    regions_.push_back({name, x - kHalfMark, x + kHalfMark});
  }

  // ---- charts

  Chart chart(const char* title, const char* y_label) const {
    Chart out = chart_over(grid_, title, y_label);
    out.regions = regions_;
    return out;
  }

  void add_latency(const char* title, std::string_view ends_in,
                   const std::function<LatencyStats(const RunResult&)>& stats) {
    const auto p99 = [&](const PlanPoint& p) { return stats(p.run).p99_ms; };
    const std::string full = several() ? fmt::format("{}, p99", title) : title;
    Chart out = chart(full.c_str(), "ms");
    out.log_y = ends_in == "_ttft_ms";
    const ChartSeries here = series_along(plan_, line(), "p99", p99);
    if (several()) {
      out.series = series_of_lines(plan_, grid_, p99);
    } else {
      out.series = {series_along(plan_, line(), "p50",
                                 [&](const PlanPoint& p) { return stats(p.run).median_ms; }),
                    here};
    }
    out.note = fmt::format("p99{}: {}", of_line(), ends_of(grid_, here, format_ms));
    const auto ran = std::find_if(plan_.points.begin(), plan_.points.end(), has_run);
    if (ran != plan_.points.end()) {
      for (const SloResult& slo : ran->run.slo) {
        if (!slo.name.ends_with(ends_in)) continue;
        const std::string name = metric_words(slo.name, slo.tenant);
        out.limits.emplace_back("limit of " + name, slo.target);
        out.note += fmt::format("; limit of {} {}", name, figure_words(slo.name, slo.target));
      }
    }
    out.note += ".";
    page_.charts.push_back(std::move(out));
  }

  std::string level() const { return fmt::format("{:.4g}%", 100 * plan_.confidence->level); }

  void add_attainment() {
    Chart out = chart("Requests within SLO", "% of requests");
    const auto share = [](const PlanPoint& p) { return 100 * p.attainment; };
    out.series = several() ? series_of_lines(plan_, grid_, share)
                           : std::vector{series_along(plan_, line(), "within SLO", share)};
    ChartSeries& here = out.series[static_cast<std::size_t>(grid_.answer)];
    out.note = fmt::format("Within SLO{}: {}", of_line(),
                           ends_of(grid_, here, [](double y) { return format_percent(y / 100); }));
    if (plan_.confidence) {
      here.low = series_along(plan_, line(), "", [](const PlanPoint& p) {
                   const std::optional<double> low = attainment_bound(p);
                   return low ? 100 * *low : kNoPoint;
                 }).y;
      here.high = here.y;
      out.note +=
          fmt::format("; the band reaches down to the lower bound with {} confidence", level());
    }
    out.note += ".";
    // Where it decides: a few tenths of a percent are lost on an axis from 0.
    double highest = 0;
    for (const double y : here.y) highest = std::isfinite(y) ? std::max(highest, y) : highest;
    if (highest > kDecides) {
      out.y_to = 100;
      out.y_from = kDecides;
    }
    page_.charts.push_back(std::move(out));
  }

  void add_hits() {
    Chart out = chart("Prompt tokens from caches", "% of prompt tokens");
    const auto all = [](const PlanPoint& p) { return 100 * cached_share(p.run); };
    const ChartSeries here = series_along(plan_, line(), "all caches", all);
    out.note = fmt::format("All caches{}: {}.", of_line(),
                           ends_of(grid_, here, [](double y) { return format_percent(y / 100); }));
    if (several()) {
      out.series = series_of_lines(plan_, grid_, all);
    } else {
      out.series = {here};
      for (const std::string& source : sources()) {
        out.series.push_back(series_along(plan_, line(), source, [&](const PlanPoint& p) {
          for (const auto& [name, tokens] : p.run.prompt_tokens_by_source) {
            if (name != source || p.run.input_tokens == 0) continue;
            return 100 * static_cast<double>(tokens) / static_cast<double>(p.run.input_tokens);
          }
          return 0.0;
        }));
      }
    }
    add_one_pass(out);
    page_.charts.push_back(std::move(out));
  }

  /// What the trace alone would give at these sizes: a check on the simulation.
  void add_one_pass(Chart& out) const {
    const std::optional<ChartSeries> curve = reuse_over_bytes(plan_);
    if (!curve || grid_.over_values) return;
    out.series.push_back(
        series_along(plan_, line(), "LRU in one pass (check)",
                     [&](const PlanPoint& point) { return value_at(*curve, cache_bytes(point)); }));
    out.note += " The check, LRU in one pass over the trace, should lie near all caches.";
  }

  /// Between two of its points, or at its end.
  static double value_at(const ChartSeries& curve, double x) {
    double before_x = 0;
    double before_y = 0;
    for (std::size_t i = 0; i < curve.x.size() && i < curve.y.size(); ++i) {
      if (curve.x[i] >= x && curve.x[i] > before_x) {
        return before_y + (curve.y[i] - before_y) * (x - before_x) / (curve.x[i] - before_x);
      }
      before_x = curve.x[i];
      before_y = curve.y[i];
    }
    return before_y;
  }

  /// Tiers in the order that they are asked; what is computed comes first and is none.
  std::vector<std::string> sources() const {
    std::vector<std::string> out;
    for (const PlanPoint& point : plan_.points) {
      const auto& from = point.run.prompt_tokens_by_source;
      for (std::size_t i = 1; i < from.size(); ++i) {
        if (std::find(out.begin(), out.end(), from[i].first) == out.end()) {
          out.push_back(from[i].first);
        }
      }
    }
    return out;
  }

  void add_goodput() {
    const auto goodput = [](const PlanPoint& p) { return p.run.goodput; };
    const bool any = std::any_of(plan_.points.begin(), plan_.points.end(),
                                 [&](const PlanPoint& p) { return goodput(p) > 0; });
    if (!any) return;
    Chart out = chart("Goodput: requests within SLO", "requests/s");
    const ChartSeries here = series_along(plan_, line(), "goodput", goodput);
    out.series = several() ? series_of_lines(plan_, grid_, goodput) : std::vector{here};
    out.note = fmt::format("Goodput{}: {}.", of_line(),
                           ends_of(grid_, here, [](double y) { return format_real(y) + "/s"; }));
    page_.charts.push_back(std::move(out));
  }

  void add_links() {
    const bool any = std::any_of(plan_.points.begin(), plan_.points.end(),
                                 [](const PlanPoint& p) { return busiest(p) > 0; });
    if (!any) return;
    Chart out = chart("Busiest link", "% of the time");
    const auto busy = [](const PlanPoint& p) { return 100 * busiest(p); };
    const ChartSeries here = series_along(plan_, line(), "busy", busy);
    out.series = several() ? series_of_lines(plan_, grid_, busy) : std::vector{here};
    out.limits = {{"others wait", 100 * kBusy}};
    out.note = fmt::format("Busy{}: {}. Beyond {:.0f}% loads wait for each other.", of_line(),
                           ends_of(grid_, here, [](double y) { return format_percent(y / 100); }),
                           100 * kBusy);
    page_.charts.push_back(std::move(out));
  }

  const PlanResult& plan_;
  SizeGrid grid_;
  std::vector<ChartRegion> regions_;
  Section page_;
};

}  // namespace

Section knee_page(const PlanResult& plan) {
  return KneePage(plan).page();
}

}  // namespace spillway
