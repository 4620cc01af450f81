#include "reports/plan/pages/deciding_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "reports/plan/answer_words.hpp"
#include "reports/plan/cells.hpp"
#include "reports/plan/pages/size_grid.hpp"
#include "reports/plan/standing.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostFigures = 12;  // beside each other
constexpr double kBudgets = 5;            // error budgets in sight below the limit
constexpr double kMostUse = 3;            // limits in sight
constexpr double kLogarithmic = 20;       // times from the least figure to the largest

/// The target of a size that is nearest to its limit, or beyond it by most.
struct Tightest {
  std::string label;
  std::string metric;
  bool share = false;
  double value = 0;  // of the target, or the share of requests that miss it
  double limit = 0;
  std::optional<double> bound;
  double use = 0;  // of the limit; above 1 it is missed
  double bound_use = kNoPoint;
};

double limit_use(double value, double limit, bool at_least) {
  const double part = at_least ? limit : value;
  const double whole = at_least ? value : limit;
  if (whole > 0) return part / whole;
  return part > 0 ? 1e9 : 0;
}

std::optional<Tightest> tightest_target(const PlanPoint& point) {
  std::optional<Tightest> out;
  const auto take = [&](Tightest one) {
    if (!out || one.use > out->use) out = std::move(one);
  };
  for (const TargetEstimate& t : point.targets) {
    Tightest one{metric_words(t.name, t.tenant),     t.name, t.share, t.x, t.limit, t.bound,
                 limit_use(t.x, t.limit, t.at_least)};
    if (t.bound) one.bound_use = limit_use(*t.bound, t.limit, t.at_least);
    take(std::move(one));
  }
  if (!point.targets.empty()) return out;
  for (const SloResult& s : point.run.slo) {
    take({metric_words(s.name, s.tenant), s.name, false, s.value, s.target, std::nullopt,
          limit_use(s.value, s.target, s.at_least)});
  }
  return out;
}

class DecidingChart {
 public:
  explicit DecidingChart(const PlanResult& plan) : plan_(plan), grid_(size_grid(plan)) {}

  Chart chart() {
    if (plan_.points.empty() || grid_.answer < 0) return {};
    const GridLine& line = grid_.answer_line();
    for (const int cell : line.cells) {
      const bool ran = cell >= 0 && cell_at(plan_, cell).verdict != CellVerdict::kExcluded;
      judged_.push_back(ran ? tightest_target(cell_at(plan_, cell)) : std::nullopt);
    }
    const auto first = std::find_if(judged_.begin(), judged_.end(),
                                    [](const auto& one) { return one.has_value(); });
    if (first == judged_.end()) return {};
    const std::string of_line =
        grid_.lines.size() > 1 && !line.name.empty() ? " with " + line.name : "";
    out_ = chart_over(grid_,
                      "SLO against " +
                          (grid_.over_values ? grid_.x_label : kind_of_tier(plan_) + " size") +
                          of_line,
                      "");
    if (!grid_.over_values) out_.x_label = kind_of_tier(plan_) + " size";
    out_.figures = out_.x_names.size() <= kMostFigures;
    if (alike([](const Tightest& t) { return t.share; }, true) &&
        alike([](const Tightest& t) { return t.limit; }, (*first)->limit)) {
      by_share((*first)->limit);
    } else if (alike([](const Tightest& t) { return t.label; }, (*first)->label)) {
      by_figure(**first);
    } else {
      by_use();
    }
    mark(line);
    say();
    return std::move(out_);
  }

 private:
  template <class Member, class Value>
  bool alike(const Member& member, const Value& value) const {
    return std::all_of(judged_.begin(), judged_.end(),
                       [&](const auto& one) { return !one || member(*one) == value; });
  }

  template <class Value, class Bound>
  void draw(std::string name, const Value& value, const Bound& bound) {
    ChartSeries series;
    series.name = std::move(name);
    const GridLine& line = grid_.answer_line();
    for (std::size_t i = 0; i < judged_.size(); ++i) {
      series.x.push_back(static_cast<double>(i));
      series.y.push_back(judged_[i] ? value(*judged_[i]) : kNoPoint);
      const double far = judged_[i] ? bound(*judged_[i]) : kNoPoint;
      any_bound_ = any_bound_ || std::isfinite(far);
      series.low.push_back(std::isfinite(far) ? std::min(far, series.y.back()) : kNoPoint);
      series.high.push_back(std::isfinite(far) ? std::max(far, series.y.back()) : kNoPoint);
      series.status.push_back(line.cells[i] < 0
                                  ? Status::kNone
                                  : standing_status(plan_, cell_at(plan_, line.cells[i])));
    }
    if (!any_bound_) {
      series.low.clear();
      series.high.clear();
    }
    out_.series = {std::move(series)};
  }

  /// What decides is in sight: the axis ends a few error budgets below the limit.
  void by_share(double limit) {
    const auto within = [](double miss) { return 100 * (1 - std::clamp(miss, 0.0, 1.0)); };
    out_.y_label = "% of requests within limit";
    out_.unit = "%";
    draw(
        "within the tightest limit", [&](const Tightest& t) { return within(t.value); },
        [&](const Tightest& t) { return t.bound ? within(*t.bound) : kNoPoint; });
    out_.limits = {
        {fmt::format("SLO: at least {:.4g}% of requests", within(limit)), within(limit)}};
    out_.y_to = 100;
    const double from = std::max(0.0, 100 - 100 * kBudgets * limit);
    const auto& y = out_.series.front().y;
    const bool seen = std::any_of(y.begin(), y.end(), [&](double v) { return v >= from; });
    out_.y_from = seen ? from : 0;
  }

  void by_figure(const Tightest& first) {
    const bool ms = first.metric.ends_with("_ms");
    const double scale = ms && first.limit >= 1000 ? 1e-3 : 1;
    const char* unit = ms ? scale < 1 ? " s" : " ms" : "";
    out_.y_label = fmt::format("{}{}", first.label, ms ? scale < 1 ? " (s)" : " (ms)" : "");
    out_.unit = unit;
    draw(
        first.label, [&](const Tightest& t) { return scale * t.value; },
        [&](const Tightest& t) { return t.bound ? scale * *t.bound : kNoPoint; });
    out_.limits = {
        {fmt::format("SLO: {}", figure_words(first.metric, first.limit)), scale * first.limit}};
    double least = scale * first.limit;
    double most = least;
    for (const double y : out_.series.front().y) {
      if (!std::isfinite(y)) continue;
      least = std::min(least, y);
      most = std::max(most, y);
    }
    out_.log_y = least > 0 && most > kLogarithmic * least;
  }

  void by_use() {
    out_.y_label = "% of the limit used";
    out_.unit = "%";
    draw(
        "tightest target", [](const Tightest& t) { return 100 * std::min(t.use, 1e9); },
        [](const Tightest& t) { return 100 * t.bound_use; });
    out_.limits = {{"SLO: 100% of the limit", 100}};
    double most = 100;
    for (const double y : out_.series.front().y) most = std::max(most, std::isfinite(y) ? y : 0);
    out_.y_from = 0;
    out_.y_to = std::min(most, 100 * kMostUse);
  }

  void mark(const GridLine& line) {
    const int cell = spoken_of(plan_);
    const auto at = std::find(line.cells.begin(), line.cells.end(), cell);
    if (cell < 0 || at == line.cells.end()) return;
    const auto x = static_cast<double>(at - line.cells.begin());
    out_.regions = {{plan_.recommended >= 0 ? "recommended"
                     : plan_.undecided      ? "best so far"
                                            : "nearest",
                     x - 0.5, x + 0.5}};
  }

  void say() {
    const auto& status = out_.series.front().status;
    const auto count = [&](Status s) { return std::count(status.begin(), status.end(), s); };
    out_.note = fmt::format("{} met, {} uncertain, {} missed.", count(Status::kMet),
                            count(Status::kUncertain), count(Status::kMissed));
    if (any_bound_) {
      out_.note += fmt::format(
          " Bars end at the {:.4g}% confidence bound: a size is uncertain where its bar crosses "
          "the "
          "line. Sizes judged by few replicates have no interval.",
          100 * plan_.confidence->level);
    } else {
      out_.note += plan_.confidence ? " Too few replicates ran for a confidence interval."
                                    : " Each point is one run: it has no confidence interval.";
    }
  }

  const PlanResult& plan_;
  SizeGrid grid_;
  std::vector<std::optional<Tightest>> judged_;
  bool any_bound_ = false;
  Chart out_;
};

}  // namespace

Chart deciding_chart(const PlanResult& plan) {
  return DecidingChart(plan).chart();
}

}  // namespace spillway
