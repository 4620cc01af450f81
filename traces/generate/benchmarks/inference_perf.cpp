// inference-perf with the data generator shared_prefix and stages of load, as llm-d-benchmark
// runs it.
//
// Upstream, kubernetes-sigs/inference-perf: inference_perf/datagen/shared_prefix_datagen.py
// (groups, prompts, order), inference_perf/loadgen/load_timer.py (gaps), load_generator.py (each
// stage starts over with the prompts, a second after the last answer of the one before).
//
// Order and gaps have no seed in these releases: each run of the tool has others. Those here follow
// the same rules, from `seed`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sim/rng.hpp"
#include "traces/generate/benchmarks/python_random.hpp"
#include "traces/generate/benchmarks/tools.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using Perf = BenchmarkConfig;

constexpr std::string_view kPerfKeys[] = {"requests",           "seconds",       "arrivals",
                                          "concurrency",        "rate_per_s",    "rates_per_s",
                                          "prefix_count",       "prefix_tokens", "prompt_tokens",
                                          "prompts_per_prefix", "output_tokens"};
constexpr std::string_view kLoadTypes[] = {"constant", "poisson", "concurrent"};

// Of the section shared_prefix.
constexpr std::uint32_t kGroups = 10;
constexpr std::uint32_t kPromptsPerGroup = 10;
constexpr std::uint32_t kSystemTokens = 100;
constexpr std::uint32_t kQuestionTokens = 50;
constexpr std::uint32_t kAnswerTokens = 50;

constexpr std::uint32_t kMostOfStage = 10'000'000;
constexpr double kMostLinks = 1e8;
constexpr double kBetweenStagesS = 1;

bool is_concurrent(const Perf& c) {
  return c.arrivals == "concurrent";
}

std::uint64_t distinct_prompts(const Perf& c) {
  return std::uint64_t{c.prefix_count.value_or(kGroups)} *
         c.prompts_per_prefix.value_or(kPromptsPerGroup);
}

std::uint32_t prompt_length(const Perf& c) {
  return c.prefix_tokens.value_or(kSystemTokens) + c.prompt_tokens.value_or(kQuestionTokens);
}

/// One after another; none with a number of clients.
std::vector<double> stage_rates(const Perf& c) {
  return c.rates_per_s ? *c.rates_per_s : std::vector<double>{*c.rate_per_s};
}

/// Requests of each stage.
std::vector<double> stage_requests(const Perf& c) {
  if (is_concurrent(c)) return {static_cast<double>(*c.requests)};
  std::vector<double> out;
  for (const double rate : stage_rates(c)) out.push_back(std::floor(rate * *c.seconds));
  return out;
}

std::optional<BenchmarkFault> stage_fault(const Perf& c) {
  const bool concurrent = is_concurrent(c);
  const auto expect = [](bool wanted, bool given, std::string_view key, std::string_view when) {
    return wanted == given
               ? std::nullopt
               : std::optional(BenchmarkFault{
                     key, fmt::format("expected with arrivals {}, and only there", when)});
  };
  constexpr std::string_view kRates = "constant or poisson";
  if (auto fault = expect(concurrent, c.requests.has_value(), "requests", "concurrent")) {
    return fault;
  }
  if (auto fault = expect(concurrent, c.concurrency.has_value(), "concurrency", "concurrent")) {
    return fault;
  }
  if (c.rate_per_s && c.rates_per_s) {
    return BenchmarkFault{"rates_per_s",
                          "expected rate_per_s of one stage, or rates_per_s of many"};
  }
  const bool rates = c.rate_per_s || c.rates_per_s;
  if (auto fault =
          expect(!concurrent, rates, c.rates_per_s ? "rates_per_s" : "rate_per_s", kRates)) {
    return fault;
  }
  return expect(!concurrent, c.seconds.has_value(), "seconds", kRates);
}

std::optional<BenchmarkFault> perf_fault(const Perf& c) {
  if (auto fault = stage_fault(c)) return fault;
  const std::vector<double> stages = stage_requests(c);
  const char* key = c.rates_per_s ? "rates_per_s" : "rate_per_s";
  if (stages.empty()) return BenchmarkFault{key, "expected at least one stage"};
  double links = 0;  // each request of a stage waits for all of the one before
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] < 1 || stages[i] > kMostOfStage) {
      return BenchmarkFault{key, fmt::format("expected from 1 to {} requests in a stage, found {}",
                                             kMostOfStage, stages[i])};
    }
    if (i > 0) links += stages[i] * stages[i - 1];
  }
  if (links > kMostLinks) {
    return BenchmarkFault{key,
                          fmt::format("expected stages of at most {:.0f} requests each, more "
                                      "than one, or fewer seconds",
                                      std::sqrt(kMostLinks / static_cast<double>(stages.size())))};
  }
  if (prompt_length(c) > kMaxTokens) {
    return BenchmarkFault{"prompt_tokens", fmt::format("expected at most {} tokens", kMaxTokens)};
  }
  if (distinct_prompts(c) > kMostOfStage) {
    return BenchmarkFault{"prompts_per_prefix",
                          fmt::format("expected at most {} prompts in all", kMostOfStage)};
  }
  return std::nullopt;
}

/// Adds the times of `count` requests in the `length_s` from `from_s` on: exponential gaps,
/// stretched so that the last request comes at the end.
void add_times(Stream& gaps, std::uint64_t count, double from_s, double length_s,
               std::vector<double>& out) {
  const std::size_t first = out.size();
  double sum_s = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum_s += gaps.exponential(1);
    out.push_back(sum_s);
  }
  for (std::size_t i = first; i < out.size(); ++i) {
    out[i] = from_s + out[i] * (sum_s > 0 ? length_s / sum_s : 0);
  }
}

/// A Poisson variate: as many exponential gaps as fit.
std::uint64_t poisson(Stream& stream, double mean) {
  std::uint64_t out = 0;
  for (double sum = stream.exponential(1); sum < mean; sum += stream.exponential(1)) ++out;
  return out;
}

double stage_length_s(const Perf& c) {
  return *c.seconds + kBetweenStagesS;
}

/// Of the requests of one stage, from its start.
std::vector<double> stage_times(const Perf& c, std::size_t stage) {
  const auto count = static_cast<std::uint64_t>(stage_requests(c)[stage]);
  if (is_concurrent(c)) return std::vector<double>(count, 0.0);
  Stream gaps(c.seed.value_or(0), "inference-perf", stage);
  std::vector<double> out;
  if (c.arrivals.value_or("constant") == "constant") {
    add_times(gaps, count, 0, *c.seconds, out);
    return out;
  }
  // Second by second, until the stage's number of requests is reached.
  double now_s = 0;
  while (out.size() < count) {
    add_times(gaps, poisson(gaps, stage_rates(c)[stage]), now_s, 1, out);
    now_s += 1;
  }
  out.resize(count);
  return out;
}

std::vector<BenchmarkRequest> perf_requests(const Perf& c) {
  std::vector<std::uint32_t> order(distinct_prompts(c));
  std::iota(order.begin(), order.end(), 0U);
  PythonRandom(c.seed.value_or(0)).shuffle(std::span(order));
  std::vector<BenchmarkRequest> out;
  const std::size_t stages = stage_requests(c).size();
  std::pair<std::uint32_t, std::uint32_t> before{0, 0};
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const auto first = static_cast<std::uint32_t>(out.size());
    for (const double due_s : stage_times(c, stage)) {
      BenchmarkRequest r;
      // As if every answer had come within its stage.
      const double stages_s = stage == 0 ? 0 : static_cast<double>(stage) * stage_length_s(c);
      r.arrival_ns = static_cast<std::int64_t>((stages_s + due_s) * 1e9);
      // A prompt that is sent again is the same text: it shares all blocks with its first time.
      const std::uint32_t prompt = order[(out.size() - first) % order.size()];
      r.conversation = prompt;
      r.prefix = prompt / c.prompts_per_prefix.value_or(kPromptsPerGroup);
      r.prefix_tokens = c.prefix_tokens.value_or(kSystemTokens);
      r.input_tokens = std::max(1U, prompt_length(c));
      r.output_tokens = c.output_tokens.value_or(kAnswerTokens);
      if (stages > 1) {
        r.conversation = static_cast<std::uint32_t>(out.size());
        r.text_of = prompt;
        r.after = before;
        r.think_ns = stage > 0 ? static_cast<std::int64_t>((due_s + kBetweenStagesS) * 1e9) : 0;
      }
      out.push_back(r);
    }
    before = {first, static_cast<std::uint32_t>(out.size())};
  }
  return out;
}

BenchmarkLoad perf_load(const Perf& c) {
  const bool stages = stage_requests(c).size() > 1;
  return {.closed_loop = is_concurrent(c), .concurrency = c.concurrency, .turns = stages};
}

std::vector<std::string> perf_notes(const Perf& c) {
  return {
      fmt::format("inference-perf {} has no seed for order and gaps: runs of the tool differ. "
                  "workload.benchmark.seed chooses one of them.",
                  *c.version)};
}

}  // namespace

constinit const BenchmarkTool kInferencePerf{
    "inference-perf", "0.2.0",    "0.4.0",   "inference-perf and llm-d-benchmark, shared_prefix",
    kPerfKeys,        kLoadTypes, {},        perf_fault,
    perf_requests,    perf_load,  perf_notes};

}  // namespace spillway
