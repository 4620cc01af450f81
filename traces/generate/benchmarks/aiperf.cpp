// AIPerf with synthetic prompts, one turn each, and a concurrency or a request rate.
//
// Upstream, ai-dynamo/aiperf: src/aiperf/common/random_generator.py (a generator for each use, by
// SHA-256 of seed and name), src/aiperf/dataset/composer/base.py and synthetic.py (what is drawn
// for a prompt), src/aiperf/dataset/dataset_samplers.py (order), src/aiperf/timing/intervals.py
// (gaps); base.py as of 67217425, which is 0.5.0. Later ones draw lengths otherwise.
//
// Model: a prefix and a prompt have their tokens one behind the other. AIPerf that falls behind its
// rate because --concurrency is reached goes on from then; here what is due waits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sim/sha256.hpp"
#include "traces/generate/benchmarks/numpy_random.hpp"
#include "traces/generate/benchmarks/python_random.hpp"
#include "traces/generate/benchmarks/tools.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using AiPerf = BenchmarkConfig;

constexpr std::string_view kAiPerfKeys[] = {
    "requests",      "concurrency",         "rate_per_s",    "arrivals",
    "burstiness",    "dataset_entries",     "prompt_tokens", "prompt_tokens_stdev",
    "output_tokens", "output_tokens_stdev", "prefix_tokens", "prefix_count"};
constexpr std::string_view kAiPerfArrivals[] = {"poisson", "constant", "gamma"};

// InputTokensDefaults, InputDefaults
constexpr std::uint32_t kInputTokens = 550;
constexpr std::uint32_t kEntries = 100;
/// A draw this many deviations from its mean is impossible: how long an answer may get.
constexpr std::int64_t kMostDeviations = 9;

/// The seed of the generator of that name.
std::uint64_t derived_seed(const AiPerf& c, std::string_view name) {
  const Sha256 bytes = sha256_bytes(fmt::format("{}:{}", c.seed.value_or(0), name));
  return std::accumulate(bytes.begin(), bytes.begin() + 8, std::uint64_t{0},
                         [](std::uint64_t sum, std::uint8_t byte) { return sum << 8 | byte; });
}

/// sample_positive_normal_integer
std::uint32_t normal_tokens(PythonRandom& random, std::uint32_t mean,
                            std::optional<std::uint32_t> stdev) {
  if (!stdev) return mean;
  double drawn = random.gauss(mean, *stdev);
  while (drawn < 0) drawn = random.gauss(mean, *stdev);
  return std::max(1U, static_cast<std::uint32_t>(std::ceil(drawn)));
}

std::optional<BenchmarkFault> aiperf_fault(const AiPerf& c) {
  if (!c.requests) return BenchmarkFault{"requests", "expected the number of requests"};
  if (!c.output_tokens) {
    return BenchmarkFault{"output_tokens", "expected --osl: without it answers have any length"};
  }
  if (c.arrivals && !c.rate_per_s) {
    return BenchmarkFault{"arrivals", "expected only with rate_per_s"};
  }
  if (c.burstiness && c.arrivals != "gamma") {
    return BenchmarkFault{"burstiness", "expected only with arrivals gamma"};
  }
  if ((c.prefix_tokens.value_or(0) > 0) != c.prefix_count.has_value()) {
    return BenchmarkFault{"prefix_count", "expected with prefix_tokens, and only there"};
  }
  const auto most = [](std::uint32_t mean, const std::optional<std::uint32_t>& stdev) {
    return mean + kMostDeviations * stdev.value_or(0);
  };
  if (c.prefix_tokens.value_or(0) +
          most(c.prompt_tokens.value_or(kInputTokens), c.prompt_tokens_stdev) >
      kMaxTokens) {
    return BenchmarkFault{"prompt_tokens", fmt::format("expected at most {} tokens", kMaxTokens)};
  }
  if (most(*c.output_tokens, c.output_tokens_stdev) > kMaxTokens) {
    return BenchmarkFault{"output_tokens", fmt::format("expected at most {} tokens", kMaxTokens)};
  }
  return std::nullopt;
}

/// The dataset, each entry in its own words.
std::vector<BenchmarkRequest> entries_of(const AiPerf& c) {
  PythonRandom prompts(derived_seed(c, "dataset.prompt.length"));
  PythonRandom answers(derived_seed(c, "composer.turn.max_tokens"));
  PythonRandom prefixes(derived_seed(c, "dataset.prompt.prefix"));
  std::vector<BenchmarkRequest> out(c.dataset_entries.value_or(kEntries));
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    BenchmarkRequest& r = out[i];
    r.conversation = i;
    r.prefix_tokens = c.prefix_tokens.value_or(0);
    r.input_tokens =
        r.prefix_tokens +
        normal_tokens(prompts, c.prompt_tokens.value_or(kInputTokens), c.prompt_tokens_stdev);
    if (r.prefix_tokens > 0) r.prefix = prefixes.below(*c.prefix_count);
    r.output_tokens = normal_tokens(answers, *c.output_tokens, c.output_tokens_stdev);
  }
  return out;
}

/// Seconds between requests at 1 a second.
class AiPerfGaps {
 public:
  explicit AiPerfGaps(const AiPerf& c)
      : kind_(c.arrivals.value_or("poisson")),
        shape_(c.burstiness.value_or(1)),
        random_(derived_seed(c, kind_ == "gamma" ? "timing.request.gamma_interval"
                                                 : "timing.request.poisson_interval")) {}
  double next() {
    if (kind_ == "constant") return 1;
    return kind_ == "gamma" ? random_.gamma(shape_) / shape_ : random_.exponential(1);
  }

 private:
  std::string kind_;
  double shape_;
  PythonRandom random_;
};

/// The dataset in a shuffled order, and shuffled again each time it is through.
std::vector<BenchmarkRequest> aiperf_requests(const AiPerf& c) {
  const std::vector<BenchmarkRequest> entries = entries_of(c);
  std::vector<std::uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0U);
  NumpyGenerator shuffles(derived_seed(c, "dataset.sampler.shuffle"));
  AiPerfGaps gaps(c);
  double due_s = 0;
  std::vector<BenchmarkRequest> out;
  for (std::uint32_t i = 0; i < *c.requests; ++i) {
    if (i % order.size() == 0) shuffles.shuffle(std::span(order));
    out.push_back(entries[order[i % order.size()]]);
    if (!c.rate_per_s) continue;
    due_s += gaps.next() / *c.rate_per_s;
    out.back().arrival_ns = static_cast<std::int64_t>(due_s * 1e9);
  }
  return out;
}

BenchmarkLoad aiperf_load(const AiPerf& c) {
  if (c.rate_per_s) return {.concurrency = c.concurrency};
  return {.closed_loop = true, .concurrency = c.concurrency.value_or(1)};
}

std::vector<std::string> aiperf_notes(const AiPerf& c) {
  if (c.seed) return {};
  return {
      "AIPerf without --random-seed draws other lengths and gaps each time. "
      "workload.benchmark.seed is that seed; without it 0 is taken."};
}

}  // namespace

constinit const BenchmarkTool kAiPerf{
    "aiperf",        "0.5.0",         "0.5.0",     "AIPerf, synthetic prompts",
    kAiPerfKeys,     kAiPerfArrivals, {},          aiperf_fault,
    aiperf_requests, aiperf_load,     aiperf_notes};

}  // namespace spillway
