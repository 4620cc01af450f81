#include "sim/run_metrics.hpp"

namespace spillway {

namespace {

template <auto Kind, auto Figure>
double latency(const RunResult& run) {
  return run.*Kind.*Figure;
}
template <auto Member>
double figure(const RunResult& run) {
  return static_cast<double>(run.*Member);
}
double rejected_share(const RunResult& run) {
  return run.requests == 0 ? 0
                           : static_cast<double>(run.rejected) / static_cast<double>(run.requests);
}
double cached(const RunResult& run) {
  return cached_share(run);
}

using L = LatencyStats;
using R = RunResult;

constexpr RunMetric kMetrics[] = {
    {"mean_ttft_ms", true, latency<&R::ttft, &L::mean_ms>},
    {"median_ttft_ms", true, latency<&R::ttft, &L::median_ms>},
    {"p90_ttft_ms", true, latency<&R::ttft, &L::p90_ms>},
    {"p95_ttft_ms", true, latency<&R::ttft, &L::p95_ms>},
    {"p99_ttft_ms", true, latency<&R::ttft, &L::p99_ms>},
    {"mean_tpot_ms", true, latency<&R::tpot, &L::mean_ms>},
    {"median_tpot_ms", true, latency<&R::tpot, &L::median_ms>},
    {"p90_tpot_ms", true, latency<&R::tpot, &L::p90_ms>},
    {"p95_tpot_ms", true, latency<&R::tpot, &L::p95_ms>},
    {"p99_tpot_ms", true, latency<&R::tpot, &L::p99_ms>},
    {"mean_itl_ms", true, latency<&R::itl, &L::mean_ms>},
    {"median_itl_ms", true, latency<&R::itl, &L::median_ms>},
    {"p90_itl_ms", true, latency<&R::itl, &L::p90_ms>},
    {"p95_itl_ms", true, latency<&R::itl, &L::p95_ms>},
    {"p99_itl_ms", true, latency<&R::itl, &L::p99_ms>},
    {"mean_e2el_ms", true, latency<&R::e2el, &L::mean_ms>},
    {"median_e2el_ms", true, latency<&R::e2el, &L::median_ms>},
    {"p90_e2el_ms", true, latency<&R::e2el, &L::p90_ms>},
    {"p95_e2el_ms", true, latency<&R::e2el, &L::p95_ms>},
    {"p99_e2el_ms", true, latency<&R::e2el, &L::p99_ms>},
    {"request_throughput", false, figure<&R::request_throughput>},
    {"output_throughput", false, figure<&R::output_throughput>},
    {"total_token_throughput", false, figure<&R::total_token_throughput>},
    {"goodput", false, figure<&R::goodput>},
    {"mean_decode_cold_blocks_per_token", true, figure<&R::cold_blocks_per_token_mean>},
    {"p99_decode_cold_blocks_per_token", true, figure<&R::cold_blocks_per_token_p99>},
    {kRejectedShare, true, rejected_share},
    {"cached_share", false, cached},
    {"preemptions", true, figure<&R::preemptions>},
    {"rejected", true, figure<&R::rejected>}};
constexpr std::size_t kNoSlo = 3;  // the last ones

}  // namespace

std::span<const RunMetric> run_metrics() {
  return kMetrics;
}

std::span<const RunMetric> slo_metrics() {
  return run_metrics().first(run_metrics().size() - kNoSlo);
}

const RunMetric* find_metric(std::span<const RunMetric> metrics, std::string_view name) {
  for (const RunMetric& metric : metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::vector<std::string_view> metric_names(std::span<const RunMetric> metrics) {
  std::vector<std::string_view> out;
  for (const RunMetric& metric : metrics) out.push_back(metric.name);
  return out;
}

}  // namespace spillway
