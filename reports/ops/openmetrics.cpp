#include "reports/ops/openmetrics.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <string_view>

#include "reports/ops/ops_text.hpp"

namespace spillway {

namespace {

class ScrapeWriter {
 public:
  ScrapeWriter(const MetricHistories& histories, const ScrapeLabels& labels, std::int64_t start_s,
               std::ostream& out)
      : histories_(histories), start_s_(start_s), out_(out) {
    common_ = fmt::format("model_name=\"{}\",job=\"spillway\",instance=\"{}\"",
                          label_value(labels.model), label_value(labels.scenario));
  }

  void write() {
    std::vector<std::string_view> told;
    for (const MetricHistory& first : histories_.metrics) {
      const std::string_view name = first.metric->name;
      if (std::find(told.begin(), told.end(), name) != told.end()) continue;
      told.push_back(name);
      head(*first.metric);
      // Of one name there are several that differ in labels.
      for (const MetricHistory& history : histories_.metrics) {
        if (history.metric->name != name) continue;
        history.metric->kind == MetricKind::kHistogram ? histogram(history) : samples(history);
      }
    }
    out_ << "# EOF\n";
  }

 private:
  /// OpenMetrics' counters end in _total. Those of Rust and C++ do not: of no known type there.
  void head(const EngineMetric& metric) {
    std::string_view family = metric.name;
    std::string_view type = name_of(metric.kind);
    if (metric.kind == MetricKind::kCounter) {
      constexpr std::string_view kTotal = "_total";
      if (family.ends_with(kTotal)) {
        family.remove_suffix(kTotal.size());
      } else {
        type = "unknown";
      }
    }
    fmt::print(out_, "# HELP {} Simulated: {}, in {}.\n# TYPE {} {}\n", family,
               name_of(metric.signal), metric.unit, family, type);
  }

  std::string labels_of(const EngineMetric& metric, std::string_view more = {}) const {
    std::string out = common_;
    for (const std::string_view text : {metric.matchers, more}) {
      if (!text.empty()) out += fmt::format(",{}", text);
    }
    return out;
  }

  /// `values` at the end of each interval, `sum`med up from the run's beginning where they count.
  void line(std::string_view name, const std::string& labels, const std::vector<double>& values,
            bool sum) {
    double total = 0;
    if (sum) sample(name, labels, 0, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      total = sum ? total + values[i] : values[i];
      sample(name, labels, total, i + 1);
    }
  }

  void sample(std::string_view name, const std::string& labels, double value, std::size_t at) {
    const double time =
        static_cast<double>(start_s_) + histories_.interval_s * static_cast<double>(at);
    fmt::print(out_, "{}{{{}}} {} {:.3f}\n", name, labels, value, time);
  }

  void samples(const MetricHistory& history) {
    line(history.metric->name, labels_of(*history.metric), history.values,
         history.metric->kind == MetricKind::kCounter);
  }

  /// As Prometheus' clients write a bound: "1.0".
  static std::string bound(double value) {
    std::string out = fmt::format("{}", value);
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
    return out;
  }

  void histogram(const MetricHistory& history) {
    const std::string_view name = history.metric->name;
    std::vector<double> below(history.values.size(), 0);
    for (std::size_t i = 0; i < history.buckets.size(); ++i) {
      for (std::size_t k = 0; k < below.size(); ++k) below[k] += history.buckets[i][k];
      const std::string le = i < history.bounds.size() ? bound(history.bounds[i]) : "+Inf";
      line(fmt::format("{}_bucket", name), labels_of(*history.metric, fmt::format("le=\"{}\"", le)),
           below, true);
    }
    line(fmt::format("{}_count", name), labels_of(*history.metric), history.values, true);
    line(fmt::format("{}_sum", name), labels_of(*history.metric), history.sums, true);
  }

  const MetricHistories& histories_;
  std::int64_t start_s_;
  std::ostream& out_;
  std::string common_;
};

}  // namespace

void write_openmetrics(const MetricHistories& histories, const ScrapeLabels& labels,
                       std::int64_t start_s, std::ostream& out) {
  ScrapeWriter(histories, labels, start_s, out).write();
}

}  // namespace spillway
