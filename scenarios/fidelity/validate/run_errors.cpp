#include "scenarios/fidelity/validate/run_errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/error.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

constexpr double kMostOffset = 2;     // seconds
constexpr double kOffsetStep = 0.05;  // seconds

double e2el_ms(const MeasuredRequest& r) {
  return 1e3 * (r.last_token_s - r.arrival_s);
}

bool timed(const MeasuredRequest& r) {
  return r.completed && r.first_token_s != kUnknownTime && r.last_token_s != kUnknownTime;
}

struct Pairs {
  std::vector<double> measured;
  std::vector<double> simulated;
};

RequestErrors errors_of(std::string latency, const Pairs& pairs) {
  RequestErrors out;
  out.latency = std::move(latency);
  out.requests = static_cast<std::uint32_t>(pairs.measured.size());
  std::vector<double> relative;
  std::vector<double> absolute;
  for (std::size_t i = 0; i < pairs.measured.size(); ++i) {
    const double error = pairs.simulated[i] - pairs.measured[i];
    absolute.push_back(std::fabs(error));
    if (pairs.measured[i] > 0) relative.push_back(100 * error / pairs.measured[i]);
  }
  if (absolute.empty() || relative.empty()) return out;
  out.mean_absolute_ms =
      std::accumulate(absolute.begin(), absolute.end(), 0.0) / static_cast<double>(absolute.size());
  std::sort(relative.begin(), relative.end());
  std::sort(absolute.begin(), absolute.end());
  out.p5_percent = quantile(relative, 0.05);
  out.p50_percent = quantile(relative, 0.5);
  out.p95_percent = quantile(relative, 0.95);
  out.p95_absolute_ms = quantile(absolute, 0.95);
  out.rank_correlation = rank_correlation(pairs.measured, pairs.simulated);
  return out;
}

/// 1-based ranks, ties sharing their mean.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a < b;
  });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double rank = (static_cast<double>(i + 1) + static_cast<double>(end)) / 2;
    for (; i < end; ++i) out[order[i]] = rank;
  }
  return out;
}

CounterError counter_error(std::string name, const std::vector<MeasuredCounters>& measured,
                           const std::vector<MeasuredCounters>& simulated,
                           double MeasuredCounters::*counter) {
  CounterError out;
  out.counter = std::move(name);
  double signed_sum = 0;
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double error = simulated[i].*counter - measured[i].*counter;
    signed_sum += error;
    sum += std::fabs(error);
    out.peak = std::max(out.peak, measured[i].*counter);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, measured.size()));
  out.mean_absolute = sum / count;
  if (out.peak > 0) {
    out.percent_of_peak = 100 * out.mean_absolute / out.peak;
    out.bias_percent_of_peak = 100 * signed_sum / count / out.peak;
  }
  return out;
}

}  // namespace

double MetricError::error_percent() const {
  if (measured == simulated) return 0;
  return measured == 0 ? 100 : 100 * (simulated - measured) / std::fabs(measured);
}

const std::vector<std::string>& comparable_metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const char* latency : {"ttft", "tpot", "e2el", "queue_time"}) {
      for (const char* statistic : {"mean", "median", "p90", "p95", "p99"}) {
        out.push_back(std::string(statistic) + "_" + latency + "_ms");
      }
    }
    for (const char* rate : {"duration_s", "request_throughput", "output_throughput"}) {
      out.emplace_back(rate);
    }
    return out;
  }();
  return names;
}

std::vector<MetricError> metric_errors(const std::map<std::string, double>& measured,
                                       const std::map<std::string, double>& simulated,
                                       const std::vector<std::string>& names) {
  std::vector<MetricError> out;
  for (const std::string& name : names.empty() ? comparable_metrics() : names) {
    const auto was = measured.find(name);
    const auto is = simulated.find(name);
    if (was == measured.end() || is == simulated.end()) continue;
    out.push_back({name, was->second, is->second});
  }
  return out;
}

std::vector<RequestErrors> request_errors(const std::vector<MeasuredRequest>& measured,
                                          const std::vector<MeasuredRequest>& simulated) {
  KV_ASSERT(measured.size() == simulated.size(), "{} measured requests, {} simulated",
            measured.size(), simulated.size());
  Pairs ttft;
  Pairs tpot;
  Pairs e2el;
  const auto add = [](Pairs& pairs, double m, double s) {
    pairs.measured.push_back(m);
    pairs.simulated.push_back(s);
  };
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const MeasuredRequest& m = measured[i];
    const MeasuredRequest& s = simulated[i];
    if (!timed(m) || !timed(s)) continue;
    add(ttft, ttft_ms(m), ttft_ms(s));
    add(e2el, e2el_ms(m), e2el_ms(s));
    if (m.output_tokens > 1 && s.output_tokens > 1) add(tpot, tpot_ms(m), tpot_ms(s));
  }
  return {errors_of("ttft", ttft), errors_of("tpot", tpot), errors_of("e2el", e2el)};
}

std::vector<WorstRequest> worst_requests(const std::vector<MeasuredRequest>& measured,
                                         const std::vector<MeasuredRequest>& simulated,
                                         std::uint32_t count) {
  std::vector<WorstRequest> out;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const MeasuredRequest& m = measured[i];
    const MeasuredRequest& s = simulated[i];
    if (!timed(m) || !timed(s)) continue;
    out.push_back({static_cast<std::uint32_t>(i), m.line, m.input_tokens, m.output_tokens,
                   ttft_ms(m), ttft_ms(s), e2el_ms(m), e2el_ms(s)});
  }
  const auto error = [](const WorstRequest& w) {
    return std::fabs(w.simulated_e2el_ms - w.measured_e2el_ms);
  };
  std::stable_sort(out.begin(), out.end(), [&](const WorstRequest& a, const WorstRequest& b) {
    return error(a) > error(b);
  });
  out.resize(std::min<std::size_t>(out.size(), count));
  return out;
}

double clock_offset(const MeasuredRun& measured) {
  if (measured.counters.empty() || measured.requests.empty()) return 0;
  const auto steps = static_cast<int>(kMostOffset / kOffsetStep);
  double best = 0;
  double least = -1;
  for (int step = 0; step <= 2 * steps; ++step) {
    // From 0 outwards, so that of equal ones the nearest to 0 is taken.
    const int signed_step = step % 2 == 0 ? step / 2 : -(step + 1) / 2;
    const double offset = signed_step * kOffsetStep;
    double sum = 0;
    for (const MeasuredCounters& c : measured.counters) {
      double inside = 0;
      for (const MeasuredRequest& r : measured.requests) {
        const double since = r.queued_s != kUnknownTime ? r.queued_s : r.arrival_s;
        if (since <= c.at_s + offset && r.last_token_s > c.at_s + offset) ++inside;
      }
      sum += std::fabs(inside - c.running - c.waiting);
    }
    if (least < 0 || sum < least) {
      least = sum;
      best = offset;
    }
  }
  return best;
}

CounterErrors counter_errors(const std::vector<MeasuredCounters>& measured,
                             const std::vector<MeasuredCounters>& simulated) {
  KV_ASSERT(measured.size() == simulated.size(), "{} measured samples, {} simulated",
            measured.size(), simulated.size());
  CounterErrors out;
  out.samples = static_cast<std::uint32_t>(measured.size());
  out.counters = {
      counter_error("running", measured, simulated, &MeasuredCounters::running),
      counter_error("waiting", measured, simulated, &MeasuredCounters::waiting),
  };
  const bool pool = std::any_of(measured.begin(), measured.end(),
                                [](const MeasuredCounters& c) { return c.kv_usage > 0; });
  if (pool) {
    out.counters.push_back(
        counter_error("kv_usage", measured, simulated, &MeasuredCounters::kv_usage));
  }
  return out;
}

std::optional<double> rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  KV_ASSERT(x.size() == y.size(), "{} values beside {}", x.size(), y.size());
  if (x.size() < 3) return {};
  const std::vector<double> rx = ranks_of(x);
  const std::vector<double> ry = ranks_of(y);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (rx[i] - mean) * (ry[i] - mean);
    xx += (rx[i] - mean) * (rx[i] - mean);
    yy += (ry[i] - mean) * (ry[i] - mean);
  }
  if (xx == 0 || yy == 0) return {};
  return xy / std::sqrt(xx * yy);
}

}  // namespace spillway
