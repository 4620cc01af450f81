// GuideLLM's synthetic data and its profiles.
//
// Upstream, vllm-project/guidellm: src/guidellm/data/deserializers/synthetic.py (the order of
// draws), src/guidellm/utils/random.py (lengths), src/guidellm/scheduler/strategies.py (profiles)
// and src/guidellm/scheduler/worker.py (turns of a conversation).
//
// Model: prompts have exactly the tokens asked for; the tokenizer may split a joined text
// otherwise, which adds or removes a few tokens. The chat template's tokens ahead of the prefix
// are counted behind it: up to one block more may be shared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "traces/generate/benchmarks/python_random.hpp"
#include "traces/generate/benchmarks/tools.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using Config = BenchmarkConfig;

constexpr std::string_view kGuideKeys[] = {"requests",
                                           "seconds",
                                           "arrivals",
                                           "concurrency",
                                           "rate_per_s",
                                           "prompt_tokens",
                                           "prompt_tokens_stdev",
                                           "prompt_tokens_min",
                                           "prompt_tokens_max",
                                           "output_tokens",
                                           "output_tokens_stdev",
                                           "output_tokens_min",
                                           "output_tokens_max",
                                           "prefix_tokens",
                                           "prefix_count",
                                           "turns",
                                           "template_tokens"};
constexpr std::string_view kProfiles[] = {"concurrent", "synchronous", "throughput", "constant",
                                          "poisson"};
/// --random-seed
constexpr std::uint32_t kGuideSeed = 42;
/// Before it, synthetic data knows no turns, and ignores the setting.
constexpr std::string_view kFirstWithTurns = "0.6.0";
/// Only time ends a closed loop: as many requests are made as clients could ask for if a token took
/// this long, and as memory holds. A run that would need more says so.
constexpr double kLeastTokenS = 0.002;
constexpr double kMostReferences = 5e7;

std::string profile_of(const Config& c) {
  return c.arrivals.value_or("concurrent");
}

bool has_rate(const Config& c) {
  return profile_of(c) == "constant" || profile_of(c) == "poisson";
}

std::uint32_t turns_of(const Config& c) {
  return is_from(*c.version, kFirstWithTurns) ? c.turns.value_or(1) : 1;
}

std::uint32_t clients_of(const Config& c) {
  return profile_of(c) == "synchronous" ? 1 : c.concurrency.value_or(1);
}

/// One number of tokens after another: upstream's IntegerRangeSampler.
class TokenCounts {
 public:
  TokenCounts(std::uint32_t mean, std::optional<std::uint32_t> stdev,
              std::optional<std::uint32_t> least, std::optional<std::uint32_t> most,
              std::uint64_t seed)
      : mean_(mean), stdev_(stdev.value_or(0)), random_(seed) {
    const std::int64_t reach = std::int64_t{5} * stdev_;
    least_ = least ? std::int64_t{*least} : std::max<std::int64_t>(1, mean - reach);
    most_ = most ? std::int64_t{*most} : mean + reach;
  }
  bool possible() const { return least_ <= most_; }
  std::int64_t most() const { return most_; }

  std::uint32_t next() {
    if (least_ == most_) return static_cast<std::uint32_t>(least_);
    if (stdev_ == 0) {
      return random_.between(static_cast<std::uint32_t>(least_), static_cast<std::uint32_t>(most_));
    }
    const double drawn = random_.gauss(mean_, stdev_);
    const double kept =
        std::max(static_cast<double>(least_), std::min(static_cast<double>(most_), drawn));
    return static_cast<std::uint32_t>(python_round(kept));
  }

 private:
  std::uint32_t mean_;
  std::uint32_t stdev_;
  std::int64_t least_ = 0;
  std::int64_t most_ = 0;
  PythonRandom random_;
};

TokenCounts prompt_counts(const Config& c) {
  return {*c.prompt_tokens, c.prompt_tokens_stdev, c.prompt_tokens_min, c.prompt_tokens_max,
          c.seed.value_or(kGuideSeed)};
}

TokenCounts output_counts(const Config& c) {
  return {*c.output_tokens, c.output_tokens_stdev, c.output_tokens_min, c.output_tokens_max,
          std::uint64_t{c.seed.value_or(kGuideSeed)} + 1};
}

std::uint32_t template_tokens(const Config& c, std::uint32_t turn) {
  if (!c.template_tokens) return 0;
  return static_cast<std::uint32_t>((*c.template_tokens)[turn == 0 ? 0 : 1]);
}

/// Arrival times of a rate; of the other profiles all are 0.
class GuideClock {
 public:
  explicit GuideClock(const Config& c)
      : profile_(profile_of(c)),
        rate_(c.rate_per_s.value_or(1)),
        random_(c.seed.value_or(kGuideSeed)) {}

  double next_s() {
    ++count_;
    if (profile_ == "constant") return static_cast<double>(count_) / rate_;
    // Model: one worker process. Each of several has its own generator of the same seed.
    if (profile_ == "poisson") return poisson_s_ += random_.exponential(rate_);
    return 0;
  }

 private:
  std::string profile_;
  double rate_;
  PythonRandom random_;
  std::uint64_t count_ = 0;
  double poisson_s_ = 0;
};

std::optional<BenchmarkFault> guide_load_fault(const Config& c) {
  const std::string profile = profile_of(c);
  if (profile == "concurrent" && !c.concurrency) {
    return BenchmarkFault{"concurrency", "expected with arrivals concurrent: the clients"};
  }
  if (profile == "synchronous" && c.concurrency) {
    return BenchmarkFault{"concurrency", "expected not with arrivals synchronous: one client"};
  }
  if (has_rate(c) != c.rate_per_s.has_value()) {
    return BenchmarkFault{"rate_per_s",
                          "expected with arrivals constant or poisson, and only there"};
  }
  if (turns_of(c) > 1 && profile != "concurrent" && profile != "synchronous") {
    return BenchmarkFault{"turns", "expected only with arrivals concurrent or synchronous"};
  }
  if (!c.requests && (!c.seconds || profile == "throughput")) {
    return BenchmarkFault{"requests", c.seconds ? "expected with arrivals throughput"
                                                : "expected requests, seconds or both"};
  }
  return std::nullopt;
}

std::optional<BenchmarkFault> guide_fault(const Config& c) {
  if (!c.prompt_tokens) return BenchmarkFault{"prompt_tokens", "expected the tokens of a prompt"};
  if (!c.output_tokens) return BenchmarkFault{"output_tokens", "expected the tokens of an answer"};
  if (c.prefix_count && c.prefix_tokens.value_or(0) == 0) {
    return BenchmarkFault{"prefix_count", "expected only with prefix_tokens"};
  }
  if (c.template_tokens && c.template_tokens->size() != 2) {
    return BenchmarkFault{"template_tokens", "expected two numbers: first turn, each later turn"};
  }
  const TokenCounts prompts = prompt_counts(c);
  const TokenCounts outputs = output_counts(c);
  for (const auto& [key, counts] :
       {std::pair("prompt_tokens_max", &prompts), std::pair("output_tokens_max", &outputs)}) {
    if (!counts->possible()) return BenchmarkFault{key, "expected at least the fewest tokens"};
  }
  const std::int64_t longest =
      c.prefix_tokens.value_or(0) + template_tokens(c, 0) +
      turns_of(c) * (prompts.most() + outputs.most() + template_tokens(c, 1));
  if (longest > kMaxTokens) {
    return BenchmarkFault{
        "prompt_tokens",
        fmt::format("expected at most {} tokens in a conversation, found {}", kMaxTokens, longest)};
  }
  return guide_load_fault(c);
}

/// Conversations end when this many requests are made.
std::uint64_t guide_requests_wanted(const Config& c) {
  if (c.requests) return *c.requests;
  const double turn_s = *c.output_tokens * kLeastTokenS;
  const double possible = std::ceil(clients_of(c) * *c.seconds / turn_s) + clients_of(c);
  const double turns = turns_of(c);
  const double prompt =
      c.prefix_tokens.value_or(0) + (turns + 1) / 2 * (*c.prompt_tokens + *c.output_tokens);
  const double blocks = 1 + prompt / c.block_tokens.value_or(kBenchmarkBlock);
  return static_cast<std::uint64_t>(std::min(possible, std::ceil(kMostReferences / blocks)));
}

std::vector<BenchmarkRequest> guide_requests(const Config& c) {
  TokenCounts prompts = prompt_counts(c);
  TokenCounts outputs = output_counts(c);
  PythonRandom prefixes(std::uint64_t{c.seed.value_or(kGuideSeed)} + 3);
  GuideClock clock(c);
  const std::uint32_t prefix_count = c.prefix_count.value_or(1);
  const bool by_time = has_rate(c) && !c.requests;
  const std::uint64_t wanted = by_time ? 0 : guide_requests_wanted(c);
  std::vector<BenchmarkRequest> out;
  for (std::uint32_t conversation = 0; by_time || out.size() < wanted; ++conversation) {
    const double start_s = clock.next_s();
    if (c.seconds && start_s > *c.seconds) break;
    BenchmarkRequest next;
    next.arrival_ns = static_cast<std::int64_t>(start_s * 1e9);
    next.conversation = conversation;
    next.prefix_tokens = c.prefix_tokens.value_or(0);
    // One draw of each length for all turns of a conversation.
    const std::uint32_t prompt = prompts.next();
    next.output_tokens = outputs.next();
    if (next.prefix_tokens > 0) next.prefix = prefixes.below(prefix_count);
    next.input_tokens = next.prefix_tokens;
    for (; next.turn < turns_of(c); ++next.turn) {
      next.input_tokens += prompt + template_tokens(c, next.turn);
      out.push_back(next);
      next.input_tokens += next.output_tokens;
    }
  }
  return out;
}

BenchmarkLoad guide_load(const Config& c) {
  BenchmarkLoad out;
  out.closed_loop = profile_of(c) == "concurrent" || profile_of(c) == "synchronous";
  if (out.closed_loop) {
    out.concurrency = clients_of(c);
  } else {
    out.concurrency = c.concurrency;
  }
  out.end_s = c.seconds;
  out.turns = turns_of(c) > 1;
  return out;
}

std::vector<std::string> guide_notes(const Config& c) {
  if (c.turns.value_or(1) == turns_of(c)) return {};
  return {fmt::format("GuideLLM {} ignores turns: a conversation has one turn. Turns came with {}.",
                      *c.version, kFirstWithTurns)};
}

}  // namespace

constinit const BenchmarkTool kGuideLlm{
    "guidellm",     "0.5.0",    "0.6.0",    "GuideLLM, synthetic data",
    kGuideKeys,     kProfiles,  {},         guide_fault,
    guide_requests, guide_load, guide_notes};

}  // namespace spillway
