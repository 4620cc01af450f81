#include "scenarios/fidelity/validate/step_buckets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace spillway {

namespace {

constexpr std::uint32_t kLeastWindows = 2;
constexpr double kLeastTokens = 20;  // fewer are one or two steps that a sample cuts

struct Window {
  double begin_s;
  double end_s;
  double tokens;  ///< that requests emitted in it
};

std::vector<Window> windows_of(const std::vector<MeasuredCounters>& counters, double offset) {
  std::vector<Window> out;
  for (std::size_t i = 1; i < counters.size(); ++i) {
    const double seconds = counters[i].at_s - counters[i - 1].at_s;
    if (seconds <= 0) continue;
    out.push_back({counters[i - 1].at_s + offset, counters[i].at_s + offset,
                   counters[i].output_tokens_per_s * seconds});
  }
  return out;
}

double overlap(double begin, double end, const Window& window) {
  return std::max(0.0, std::min(end, window.end_s) - std::max(begin, window.begin_s));
}

struct BucketSum {
  double decoding_s = 0;  ///< requests x seconds
  double tokens = 0;
  std::uint32_t windows = 0;
};
/// By the logarithm of the batch, and whether prompts were computed.
using BucketSums = std::map<std::pair<std::uint32_t, bool>, BucketSum>;

BucketSums sums_of(const MeasuredRun& run, double offset) {
  BucketSums out;
  for (const Window& window : windows_of(run.counters, offset)) {
    double decoding = 0;
    double firsts = 0;
    bool prompts = false;
    for (const MeasuredRequest& r : run.requests) {
      if (!r.completed) continue;
      decoding += overlap(r.first_token_s, r.last_token_s, window);
      if (r.first_token_s > window.begin_s && r.first_token_s <= window.end_s) ++firsts;
      prompts |= overlap(r.scheduled_s, r.first_token_s, window) > 0;
    }
    const double batch = std::round(decoding / (window.end_s - window.begin_s));
    if (batch < 1 || window.tokens - firsts < kLeastTokens) continue;
    const auto log = static_cast<std::uint32_t>(
        std::bit_width(static_cast<std::uint32_t>(batch) - 1));  // 1: 0, 2: 1, 3 and 4: 2
    BucketSum& sum = out[{log, prompts}];
    sum.decoding_s += decoding;
    sum.tokens += window.tokens - firsts;
    ++sum.windows;
  }
  return out;
}

double step_ms(const BucketSum& sum) {
  return 1e3 * sum.decoding_s / sum.tokens;
}

}  // namespace

std::string StepBucket::name() const {
  return fmt::format("step_ms_{}_{}{}", least, most, prompts ? "_prompts" : "");
}

std::vector<StepBucket> step_buckets(const MeasuredRun& measured, const MeasuredRun& simulated,
                                     double offset) {
  const bool told =
      std::any_of(measured.counters.begin(), measured.counters.end(),
                  [](const MeasuredCounters& c) { return c.output_tokens_per_s > 0; });
  std::vector<StepBucket> out;
  if (!told || measured.requests.empty()) return out;
  const BucketSums theirs = sums_of(measured, offset);
  const BucketSums ours = sums_of(simulated, 0);
  for (const auto& [key, sum] : theirs) {
    const auto twin = ours.find(key);
    if (twin == ours.end()) continue;
    if (std::min(sum.windows, twin->second.windows) < kLeastWindows) continue;
    const std::uint32_t most = 1U << key.first;
    out.push_back(
        {most / 2 + 1, most, key.second, sum.windows, step_ms(sum), step_ms(twin->second)});
    if (key.first == 0) out.back().least = 1;
  }
  return out;
}

}  // namespace spillway
