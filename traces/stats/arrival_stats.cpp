#include "traces/stats/arrival_stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "sim/quantile.hpp"

namespace spillway {

namespace {

using Arrivals = std::span<const std::int64_t>;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kWindowsNs[] = {kSecondNs, 10 * kSecondNs, kMinuteNs, 10 * kMinuteNs};
constexpr std::int64_t kFewestWindows = 5;
constexpr std::uint64_t kFewestForVerdict = 20;
constexpr double kTicksPerWindow = 10;
constexpr std::int64_t kMostIntervals = 1024;

double gap_cv(Arrivals arrivals) {
  const double gaps = static_cast<double>(arrivals.size()) - 1;
  const double mean = static_cast<double>(arrivals.back() - arrivals.front()) / gaps;
  double squares = 0;
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    const double off = static_cast<double>(arrivals[i] - arrivals[i - 1]) - mean;
    squares += off * off;
  }
  return std::sqrt(squares / gaps) / mean;
}

/// Calls `use(window, count)` for each window that holds an arrival.
template <class Use>
void for_each_window(Arrivals arrivals, std::int64_t width, Use use) {
  std::size_t at = 0;
  while (at < arrivals.size()) {
    const std::int64_t window = (arrivals[at] - arrivals.front()) / width;
    const std::size_t begin = at;
    while (at < arrivals.size() && (arrivals[at] - arrivals.front()) / width == window) ++at;
    use(window, at - begin);
  }
}

Dispersion dispersion(Arrivals arrivals, std::int64_t width, std::int64_t windows) {
  double sum = 0;
  double squares = 0;
  for_each_window(arrivals, width, [&](std::int64_t window, std::size_t count) {
    if (window >= windows) return;
    sum += static_cast<double>(count);
    squares += static_cast<double>(count) * static_cast<double>(count);
  });
  Dispersion out;
  const auto n = static_cast<double>(windows);
  out.window_s = static_cast<double>(width) / 1e9;
  out.windows = static_cast<std::uint64_t>(windows);
  out.mean_count = sum / n;
  out.index = std::max(0.0, squares - sum * sum / n) / (n - 1) / out.mean_count;
  // The index of n Poisson counts has variance 2 / (n - 1), whatever their mean.
  out.band = 3 * std::sqrt(2 / (n - 1));
  return out;
}

void find_ticks(Arrivals arrivals, ArrivalStats& out) {
  std::vector<std::int64_t> ticks;
  std::size_t sharing = 0;
  std::size_t at = 0;
  while (at < arrivals.size()) {
    const std::size_t begin = at;
    while (at < arrivals.size() && arrivals[at] == arrivals[begin]) ++at;
    if (at - begin > 1) sharing += at - begin;
    if (at < arrivals.size()) ticks.push_back(arrivals[at] - arrivals[begin]);
  }
  out.binned = 2 * sharing > arrivals.size();
  if (ticks.empty()) return;
  std::sort(ticks.begin(), ticks.end());
  out.tick_s = quantile(ticks, 0.5) / 1e9;
}

void judge(ArrivalStats& out) {
  const Dispersion* most = nullptr;
  const Dispersion* least = nullptr;
  const auto above = [](const Dispersion& d) { return d.index - 1 - d.band; };
  const auto below = [](const Dispersion& d) { return 1 - d.band - d.index; };
  for (const Dispersion& d : out.dispersion) {
    if (d.windows < kFewestForVerdict || d.mean_count < 1) continue;
    if (out.binned && d.window_s < kTicksPerWindow * out.tick_s) continue;
    if (most == nullptr || above(d) > above(*most)) most = &d;
    if (least == nullptr || below(d) > below(*least)) least = &d;
  }
  if (most == nullptr) {
    out.reason = fmt::format(
        "no window of 1, 10, 60 or 600 s{} fits {} times into the span with a request in each on "
        "average",
        out.binned ? " that spans ten ticks of the recording's clock" : "", kFewestForVerdict);
    return;
  }
  out.verdict = above(*most) > 0    ? Burstiness::kBursty
                : below(*least) > 0 ? Burstiness::kSmooth
                                    : Burstiness::kPoisson;
  const Dispersion& d = out.verdict == Burstiness::kSmooth ? *least : *most;
  out.reason = fmt::format(
      "counts per {:g} s vary {:.2f} times as much as Poisson arrivals' ({:.2f} to {:.2f} would "
      "pass, {} windows)",
      d.window_s, d.index, std::max(0.0, 1 - d.band), 1 + d.band, d.windows);
}

}  // namespace

ArrivalStats arrival_stats(const Workload& workload) {
  const Arrivals arrivals = workload.columns().arrival_ns;
  ArrivalStats out;
  find_ticks(arrivals, out);
  const std::int64_t span = arrivals.back() - arrivals.front();
  if (span > 0) out.gap_cv = gap_cv(arrivals);
  const std::int64_t minutes = span / kMinuteNs + 1;
  const std::int64_t interval = (minutes + kMostIntervals - 1) / kMostIntervals * kMinuteNs;
  out.series_interval_s = static_cast<double>(interval) / 1e9;
  out.series.assign(static_cast<std::size_t>(span / interval + 1), 0);
  for_each_window(arrivals, interval, [&](std::int64_t window, std::size_t count) {
    out.series[static_cast<std::size_t>(window)] = count;
  });
  for (const std::int64_t width : kWindowsNs) {
    const std::int64_t windows = span / width;
    if (windows >= kFewestWindows) out.dispersion.push_back(dispersion(arrivals, width, windows));
  }
  judge(out);
  return out;
}

}  // namespace spillway
