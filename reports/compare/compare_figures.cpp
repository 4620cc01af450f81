#include "reports/compare/compare_figures.hpp"
#include "reports/metric_words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reports/format.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostSeries = 6;  // that can be told apart in one chart

}  // namespace

std::string metric_text(const std::string& name, double value) {
  if (name.ends_with("_ms")) return format_ms(value);
  if (name == "cached_share") return format_percent(value);
  return format_real(value);
}

std::string signed_text(double value, const std::string& size) {
  return (value < 0 ? "-" : value > 0 ? "+" : "") + size;
}

std::string signed_metric(const std::string& name, double value) {
  return signed_text(value, metric_text(name, std::fabs(value)));
}

std::string change_text(const ComparedMetric& metric) {
  const double before = metric.mean - metric.difference.mean;
  if (before == 0) return "-";
  const double share = metric.difference.mean / std::fabs(before);
  return signed_text(share, format_percent(std::fabs(share)));
}

std::string interval_text(const ComparedMetric& metric) {
  const auto& interval = metric.difference.interval;
  if (metric.verdict == Verdict::kBaseline) return "-";
  if (!interval) return "no interval";
  return fmt::format("{} to {}", signed_metric(metric.name, interval->low),
                     signed_metric(metric.name, interval->high));
}

const ComparedMetric* metric_of(const ComparedVariant& variant, std::string_view name) {
  for (const ComparedMetric& metric : variant.metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

namespace {

std::string verdict_words(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better, and not by chance";
    case Verdict::kWorse:
      return "worse, and not by chance";
    case Verdict::kEqual:
      return "the same in every replicate";
    case Verdict::kUndecided:
      return "not told from chance";
    case Verdict::kNotTested:
      return "not tested: too few replications";
    case Verdict::kBaseline:
      break;
  }
  return "the baseline";
}

/// A variant beside the baseline: "-12.3%", "p99 TTFT 800 ms against 912 ms; ...".
Fact difference_fact(const CompareResult& result, std::size_t at, const char* label) {
  const ComparedMetric& metric = *metric_of(result.variants[at], result.metric);
  const std::string change = change_text(metric);
  std::string detail = fmt::format("{} {} against {}", metric_words(result.metric),
                                   metric_text(metric.name, metric.mean),
                                   metric_text(metric.name, metric.mean - metric.difference.mean));
  if (metric.difference.interval) {
    const std::string interval = interval_text(metric);
    detail += metric.verdict == Verdict::kUndecided
                  ? "; its 95% interval by itself: " + interval
                  : "; the difference is " + interval + " with 95% confidence";
  }
  return {label,
          change == "-" ? signed_metric(metric.name, metric.difference.mean)
                        : change + " " + metric_words(result.metric),
          detail};
}

/// Of the first two of whom one is the baseline the other one, which carries the verdict. There is
/// a ranking.
std::size_t judged(const CompareResult& result) {
  const std::size_t first = result.ranking.front();
  return first == result.baseline && result.ranking.size() > 1 ? result.ranking[1] : first;
}

/// Neither is best: how far apart the means are, and what would tell.
void add_undecided(const CompareResult& result, std::size_t other, std::vector<Fact>& out) {
  const ComparedMetric& metric = *metric_of(result.variants[other], result.metric);
  out.push_back(
      {"Best", "Undecided",
       fmt::format("{} has the better mean {}, but {} and {} are not told apart: the "
                   "difference may be chance",
                   result.variants[result.ranking.front()].name, metric_words(result.metric),
                   result.variants[other].name, result.variants[result.baseline].name)});
  out.push_back(difference_fact(result, other, "Difference so far, not shown"));
  out.push_back({"Confidence", "Below 95%",
                 fmt::format("p {} over {} replications, {} test{} corrected for together; more "
                             "replications may tell",
                             format_real(metric.adjusted_p), result.replications, result.tests,
                             result.tests == 1 ? "" : "s")});
}

}  // namespace

Chart difference_chart(const CompareResult& result) {
  Chart chart;
  chart.kind = ChartKind::kScatter;
  chart.title = fmt::format("Difference of {} to {}", metric_words(result.metric),
                            result.variants[result.baseline].name);
  chart.x_label = "variant";
  chart.y_label = metric_words(result.metric);
  chart.points = true;
  ChartSeries series;
  series.name = "mean paired difference";
  bool any = false;
  for (const std::size_t at : result.ranking) {
    if (at == result.baseline) continue;
    const ComparedMetric& metric = *metric_of(result.variants[at], result.metric);
    const auto& interval = metric.difference.interval;
    any = any || interval;
    series.x.push_back(static_cast<double>(chart.x_names.size()));
    chart.x_names.push_back(result.variants[at].name);
    series.y.push_back(metric.difference.mean);
    series.low.push_back(interval ? interval->low : kNoPoint);
    series.high.push_back(interval ? interval->high : kNoPoint);
  }
  if (!any) {
    series.low.clear();
    series.high.clear();
  }
  chart.limits = {{"no difference", 0}};
  const bool lower = metric_of(result.variants[result.baseline], result.metric)->lower_is_better;
  chart.note = fmt::format("{} 0 is better than {}{}.", lower ? "Below" : "Above",
                           result.variants[result.baseline].name,
                           any ? "; whiskers are 95% intervals, each by itself, and one that holds "
                                 "0 tells nothing apart"
                               : "; single differences, without intervals");
  chart.series = {std::move(series)};
  return chart;
}

Chart metrics_chart(const CompareResult& result) {
  Chart chart;
  chart.kind = ChartKind::kScatter;
  chart.title = fmt::format("Every metric against {}", result.variants[result.baseline].name);
  chart.x_label = "metric";
  chart.y_label = "% of the baseline's mean";
  chart.points = true;
  chart.limits = {{"no difference", 0}};
  for (const ComparedMetric& metric : result.variants.front().metrics) {
    chart.x_names.push_back(metric.name);
  }
  for (const std::size_t at : result.ranking) {
    if (at == result.baseline || chart.series.size() == kMostSeries) continue;
    ChartSeries& series = chart.series.emplace_back();
    series.name = result.variants[at].name;
    for (const ComparedMetric& metric : result.variants[at].metrics) {
      const double before = std::fabs(metric.mean - metric.difference.mean);
      const auto share = [&](double value) { return before > 0 ? 100 * value / before : kNoPoint; };
      const auto& interval = metric.difference.interval;
      series.x.push_back(static_cast<double>(series.x.size()));
      series.y.push_back(share(metric.difference.mean));
      series.low.push_back(interval ? share(interval->low) : kNoPoint);
      series.high.push_back(interval ? share(interval->high) : kNoPoint);
    }
  }
  chart.note = fmt::format(
      "Times and counts are better below 0, rates and shares above; the tables have each with its "
      "verdict{}.",
      result.ranking.size() > kMostSeries + 1 ? ". The first six of the ranking are drawn" : "");
  return chart;
}

bool has_best(const CompareResult& result) {
  if (result.ranking.empty()) return false;
  const Verdict verdict = metric_of(result.variants[judged(result)], result.metric)->verdict;
  return verdict != Verdict::kUndecided && verdict != Verdict::kEqual;
}

std::vector<Fact> answer_facts(const CompareResult& result) {
  if (result.ranking.empty()) return {};
  const std::size_t first = result.ranking.front();
  const ComparedVariant& best = result.variants[first];
  const bool alone = result.ranking.size() < 2;
  const std::size_t other = judged(result);
  const ComparedMetric& metric = *metric_of(result.variants[other], result.metric);
  std::vector<Fact> out;
  if (!alone && metric.verdict == Verdict::kUndecided) {
    add_undecided(result, other, out);
    return out;
  }
  if (!alone && metric.verdict == Verdict::kEqual) {
    out.push_back(
        {"Best", "No difference",
         fmt::format("{} is the same in every replicate of {} and {}", metric_words(result.metric),
                     result.variants[other].name, result.variants[result.baseline].name)});
  } else if (first == result.baseline) {
    out.push_back({"Best", best.name,
                   "the baseline: no variant has a better " + metric_words(result.metric)});
    if (!alone) {
      out.push_back({"Next", result.variants[other].name, verdict_words(metric.verdict)});
      out.push_back(difference_fact(result, other, "By"));
    }
  } else {
    out.push_back({"Best", best.name,
                   fmt::format("against {}: {}", result.variants[result.baseline].name,
                               verdict_words(metric.verdict))});
    out.push_back(difference_fact(result, first, "By"));
  }
  if (result.tests == 0) {
    out.push_back({"Confidence",
                   fmt::format("None: {} replication{}", result.replications,
                               result.replications == 1 ? "" : "s"),
                   fmt::format("intervals take {} or more (--replications)", kLeastReplications)});
  } else {
    out.push_back({"Confidence", fmt::format("95% over {} replications", result.replications),
                   fmt::format("{} tests corrected for together", result.tests)});
  }
  return out;
}

}  // namespace spillway
