#include "scenarios/fidelity/validate/step_buckets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>

namespace spillway {

namespace {

constexpr double kLeastBatch = 0.5;
constexpr double kLeastTokens = 20;  // fewer are few steps, which a sample may cut
// Windows of batches as near as this are alike: a share, and requests.
constexpr double kNearShare = 0.15;
constexpr double kNearBatch = 0.5;

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

/// What a window tells.
struct Sample {
  double batch;       ///< requests that decode, on average
  double decoding_s;  ///< the same times the window
  double tokens;      ///< after the first of each request
  bool prompts;
};

std::vector<Sample> samples_of(const MeasuredRun& run, double offset) {
  std::vector<Sample> out;
  for (const Window& window : windows_of(run.counters, offset)) {
    Sample sample{0, 0, window.tokens, false};
    for (const MeasuredRequest& r : run.requests) {
      if (!r.completed) continue;
      sample.decoding_s += overlap(r.first_token_s, r.last_token_s, window);
      if (r.first_token_s > window.begin_s && r.first_token_s <= window.end_s) --sample.tokens;
      sample.prompts |= overlap(r.scheduled_s, r.first_token_s, window) > 0;
    }
    sample.batch = sample.decoding_s / (window.end_s - window.begin_s);
    if (sample.batch >= kLeastBatch && sample.tokens >= kLeastTokens) out.push_back(sample);
  }
  return out;
}

struct BucketSum {
  double decoding_s = 0;
  double tokens = 0;
  double simulated_tokens = 0;  ///< in as much decoding
  std::uint32_t windows = 0;
};

/// Tokens in a second of one decoding request, of simulated windows like this one; 0: none is.
double simulated_rate(const Sample& like, const std::vector<Sample>& simulated) {
  double decoding_s = 0;
  double tokens = 0;
  for (const Sample& s : simulated) {
    const double apart = std::max(kNearBatch, kNearShare * like.batch);
    if (s.prompts != like.prompts || std::abs(s.batch - like.batch) > apart) continue;
    decoding_s += s.decoding_s;
    tokens += s.tokens;
  }
  return decoding_s > 0 ? tokens / decoding_s : 0;
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
  // By the logarithm of the batch, and whether prompts were computed.
  std::map<std::pair<std::uint32_t, bool>, BucketSum> sums;
  const std::vector<Sample> ours = samples_of(simulated, 0);
  for (const Sample& sample : samples_of(measured, offset)) {
    const double rate = simulated_rate(sample, ours);
    if (rate <= 0) continue;
    const auto batch = static_cast<std::uint32_t>(std::round(sample.batch));
    const auto log = static_cast<std::uint32_t>(std::bit_width(batch - 1));  // 1: 0, 2: 1, 3: 2
    BucketSum& sum = sums[{log, sample.prompts}];
    sum.decoding_s += sample.decoding_s;
    sum.tokens += sample.tokens;
    sum.simulated_tokens += sample.decoding_s * rate;
    ++sum.windows;
  }
  for (const auto& [key, sum] : sums) {
    const std::uint32_t most = 1U << key.first;
    out.push_back({most / 2 + 1, most, key.second, sum.windows, 1e3 * sum.decoding_s / sum.tokens,
                   1e3 * sum.decoding_s / sum.simulated_tokens});
    if (key.first == 0) out.back().least = 1;
  }
  return out;
}

}  // namespace spillway
