#include "traces/stats/stationarity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/quantile.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kWindows = 8;
constexpr std::size_t kFewestBusyWindows = 4;  // of those that hold a request
constexpr double kFewestPerWindow = 30;
constexpr double kRelativeTolerance = 0.20;
constexpr double kRatioTolerance = 0.05;
constexpr double kTrendZ = 1.96;
constexpr double kErrors = 2;

/// A window's value is sum(y) / sum(x) over its requests.
struct Sums {
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  double yy = 0;
  void add(double x_of, double y_of) {
    n += 1;
    x += x_of;
    y += y_of;
    xx += x_of * x_of;
    xy += x_of * y_of;
    yy += y_of * y_of;
  }
  double value() const { return x > 0 ? y / x : 0; }
  /// Of the ratio, from its requests' residuals y - value * x.
  double standard_error() const {
    const double r = value();
    return x > 0 ? std::sqrt(std::max(0.0, yy - 2 * r * xy + r * r * xx)) / x : 0;
  }
};

void find_trend(DriftTest& test) {
  const std::vector<double>& v = test.windows;
  const auto n = static_cast<double>(v.size());
  double s = 0;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < v.size(); ++i) {
    for (std::size_t k = i + 1; k < v.size(); ++k) {
      s += v[k] > v[i] ? 1 : v[k] < v[i] ? -1 : 0;
      slopes.push_back((v[k] - v[i]) / static_cast<double>(k - i));
    }
  }
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  test.trend_z = s > 0 ? (s - 1) / deviation : s < 0 ? (s + 1) / deviation : 0;
  test.trend_change = median(slopes) * (n - 1);
}

/// `errors`: each window's standard error.
void judge(DriftTest& test, const std::vector<double>& errors, bool enough) {
  if (errors.size() < kFewestBusyWindows) return;
  bool beyond = false;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double off = test.windows[i] - test.overall;
    if (std::fabs(off) > std::fabs(test.largest_deviation)) test.largest_deviation = off;
    beyond = beyond || std::fabs(off) > std::max(test.tolerance, kErrors * errors[i]);
  }
  test.noise = kErrors * median(errors);
  find_trend(test);
  const bool trend =
      std::fabs(test.trend_z) > kTrendZ && std::fabs(test.trend_change) > test.tolerance / 2;
  if (!enough) return;
  test.verdict = beyond || trend               ? Drift::kDrifting
                 : test.noise > test.tolerance ? Drift::kTooShort
                                               : Drift::kStationary;
}

DriftTest rate_test(const std::vector<Sums>& requests, double window_s, bool enough) {
  DriftTest test;
  std::vector<double> errors;
  double total = 0;
  for (const Sums& window : requests) total += window.n;
  test.overall = total / static_cast<double>(requests.size()) / window_s;
  for (const Sums& window : requests) {
    test.windows.push_back(window.n / window_s);
    // Of Poisson arrivals at the overall rate, which an empty window has too.
    errors.push_back(std::sqrt(test.overall / window_s));
  }
  test.tolerance = kRelativeTolerance * test.overall;
  judge(test, errors, enough);
  return test;
}

/// `first`: windows before it are left out.
DriftTest ratio_test(DriftQuantity quantity, const std::vector<Sums>& windows, std::size_t first,
                     bool relative, bool enough) {
  DriftTest test;
  test.quantity = quantity;
  std::vector<double> errors;
  Sums all;
  for (std::size_t i = first; i < windows.size(); ++i) {
    if (windows[i].x == 0) continue;  // no request, no value
    all.x += windows[i].x;
    all.y += windows[i].y;
    test.windows.push_back(windows[i].value());
    errors.push_back(windows[i].standard_error());
  }
  test.overall = all.value();
  test.tolerance = relative ? kRelativeTolerance * test.overall : kRatioTolerance;
  judge(test, errors, enough);
  return test;
}

/// Rounded, and never "-0".
double whole(double value) {
  return std::round(value) + 0.0;
}

std::string sentence(const DriftTest& test) {
  const bool ratio = test.quantity == DriftQuantity::kHitRatio;
  const double scale = ratio ? 100 : test.overall > 0 ? 100 / test.overall : 0;
  const char* unit = ratio ? " points" : "%";
  return fmt::format(
      "{} {} (largest deviation of a window {:+.0f}{}, trend {:+.0f}{}, z {:+.1f}, "
      "noise {:.0f}{})",
      name_of(test.quantity), name_of(test.verdict), whole(scale * test.largest_deviation), unit,
      whole(scale * test.trend_change), unit, test.trend_z, scale * test.noise, unit);
}

void conclude(Stationarity& out) {
  const auto any = [&](Drift verdict) {
    return std::any_of(out.tests.begin(), out.tests.end(),
                       [&](const DriftTest& t) { return t.verdict == verdict; });
  };
  out.verdict = any(Drift::kDrifting)   ? Drift::kDrifting
                : any(Drift::kTooShort) ? Drift::kTooShort
                                        : Drift::kStationary;
  for (const DriftTest& test : out.tests) {
    out.reason += (out.reason.empty() ? "" : "; ") + sentence(test);
  }
}

}  // namespace

Stationarity stationarity(const Workload& workload) {
  const auto arrivals = workload.columns().arrival_ns;
  const std::int64_t span = arrivals.back() - arrivals.front();
  Stationarity out;
  if (span == 0) {
    out.reason = "all requests arrive at once";
    return out;
  }
  out.window_s = static_cast<double>(span) / 1e9 / kWindows;
  std::vector<Sums> input(kWindows);
  std::vector<Sums> hits(kWindows);
  std::vector<std::int64_t> last(workload.unique_blocks(), -1);  // request that named the block
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestId request{i};
    const std::int64_t since = arrivals[i] - arrivals.front();
    // The last arrival, which ends the span, belongs to the last window.
    const auto window = static_cast<std::size_t>(std::min(since * kWindows / span, kWindows - 1));
    input[window].add(1, workload.input_tokens(request));
    const auto chain = workload.chain(request);
    if (chain.empty()) continue;
    std::uint64_t recent = 0;
    for (const TraceBlockId id : chain) {
      std::int64_t& named = last[raw(id)];
      const bool before = named >= 0 && named != i;
      const std::int64_t gap = before ? arrivals[i] - arrivals[static_cast<std::size_t>(named)] : 0;
      recent += before && gap <= span / kWindows ? 1 : 0;
      named = i;
    }
    hits[window].add(static_cast<double>(chain.size()), static_cast<double>(recent));
  }
  const bool enough = static_cast<double>(workload.size()) >= kFewestPerWindow * kWindows;
  out.tests.push_back(rate_test(input, out.window_s, enough));
  out.tests.push_back(ratio_test(DriftQuantity::kMeanInput, input, 0, true, enough));
  if (workload.references() > 0) {
    out.tests.push_back(ratio_test(DriftQuantity::kHitRatio, hits, 1, false, enough));
  }
  conclude(out);
  return out;
}

}  // namespace spillway
