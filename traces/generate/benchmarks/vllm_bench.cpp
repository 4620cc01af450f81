// `vllm bench serve` with the datasets random, prefix_repetition and sharegpt.
//
// Upstream, vllm-project/vllm: vllm/benchmarks/datasets.py (later datasets/random.py and
// datasets/prefix_repetition.py; ShareGPTDataset and is_valid_sequence) for lengths and order,
// vllm/benchmarks/serve.py (get_request) for arrivals.
//
// Model: prompts have exactly the tokens asked for; upstream cuts or fills up a text whose tokens
// the tokenizer joins, and may miss its aim by some. With prefix_repetition and a rate, gaps follow
// the same law but are other draws: upstream makes its texts from the same random numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string>

#include "sim/det_math.hpp"
#include "sim/error.hpp"
#include "traces/byte_source.hpp"
#include "traces/generate/benchmarks/numpy_random.hpp"
#include "traces/generate/benchmarks/python_random.hpp"
#include "traces/generate/benchmarks/tools.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using Settings = BenchmarkConfig;

constexpr std::string_view kVllmKeys[] = {
    "requests",    "dataset",       "lengths",      "prompt_tokens",      "output_tokens",
    "range_ratio", "prefix_tokens", "prefix_count", "special_tokens",     "rate_per_s",
    "burstiness",  "concurrency",   "ramp_up",      "ramp_up_from_per_s", "ramp_up_to_per_s"};
constexpr std::string_view kVllmDatasets[] = {"random", "prefix_repetition", "sharegpt"};

/// --num-prompts
constexpr std::uint32_t kPrompts = 1000;

/// What a dataset's flags default to.
struct DatasetDefaults {
  std::uint32_t prompt;
  std::uint32_t output;
  std::uint32_t prefix;
  std::uint32_t prefixes;
};
constexpr DatasetDefaults kRandomDefaults{1024, 128, 0, 1};
constexpr DatasetDefaults kRepetitionDefaults{256, 128, 256, 10};

bool repeats(const Settings& c) {
  return c.dataset == "prefix_repetition";
}

bool is_sharegpt(const Settings& c) {
  return c.dataset == "sharegpt";
}

const DatasetDefaults& defaults_of(const Settings& c) {
  return repeats(c) ? kRepetitionDefaults : kRandomDefaults;
}

std::uint32_t prompts_of(const Settings& c) {
  return c.requests.value_or(kPrompts);
}

struct TokenRange {
  std::uint32_t least;
  std::uint32_t most;
};

TokenRange spread(std::uint32_t tokens, double ratio) {
  return {static_cast<std::uint32_t>(std::floor(tokens * (1 - ratio))),
          static_cast<std::uint32_t>(std::ceil(tokens * (1 + ratio)))};
}

/// Without the tokens that the tokenizer adds: the server counts them again.
TokenRange random_prompts(const Settings& c) {
  const std::uint32_t special = c.special_tokens.value_or(0);
  const std::uint32_t asked = c.prompt_tokens.value_or(kRandomDefaults.prompt);
  return spread(asked - std::min(asked, special), c.range_ratio.value_or(0));
}

TokenRange random_outputs(const Settings& c) {
  const TokenRange out =
      spread(c.output_tokens.value_or(kRandomDefaults.output), c.range_ratio.value_or(0));
  return {std::max(out.least, 1U), std::max(out.most, 1U)};
}

std::optional<BenchmarkFault> rate_fault(const Settings& c) {
  if (c.ramp_up) {
    if (*c.ramp_up != "linear" && *c.ramp_up != "exponential") {
      return BenchmarkFault{
          "ramp_up", fmt::format("expected linear or exponential, found \"{}\"", *c.ramp_up)};
    }
    if (c.rate_per_s) return BenchmarkFault{"rate_per_s", "expected not with ramp_up"};
  }
  if (c.ramp_up.has_value() != c.ramp_up_from_per_s.has_value()) {
    return BenchmarkFault{"ramp_up_from_per_s", "expected with ramp_up, and only there"};
  }
  if (c.ramp_up.has_value() != c.ramp_up_to_per_s.has_value()) {
    return BenchmarkFault{"ramp_up_to_per_s", "expected with ramp_up, and only there"};
  }
  if (c.ramp_up && *c.ramp_up_from_per_s >= *c.ramp_up_to_per_s) {
    return BenchmarkFault{"ramp_up_to_per_s", "expected more than ramp_up_from_per_s"};
  }
  if (c.burstiness && !c.rate_per_s && !c.ramp_up) {
    return BenchmarkFault{"burstiness", "expected only with rate_per_s or ramp_up"};
  }
  return std::nullopt;
}

/// Lengths and nothing else are the dataset's.
std::optional<BenchmarkFault> sharegpt_fault(const Settings& c) {
  if (!c.lengths) {
    return BenchmarkFault{"lengths", "expected with dataset sharegpt: a file of token counts"};
  }
  for (const auto& [key, given] : {std::pair("prompt_tokens", c.prompt_tokens.has_value()),
                                   std::pair("range_ratio", c.range_ratio.has_value()),
                                   std::pair("prefix_tokens", c.prefix_tokens.has_value()),
                                   std::pair("prefix_count", c.prefix_count.has_value()),
                                   std::pair("special_tokens", c.special_tokens.has_value())}) {
    if (given) return BenchmarkFault{key, "expected not with dataset sharegpt"};
  }
  return std::nullopt;
}

std::optional<BenchmarkFault> vllm_fault(const Settings& c) {
  if (is_sharegpt(c)) {
    const auto fault = sharegpt_fault(c);
    return fault ? fault : rate_fault(c);
  }
  if (c.lengths) return BenchmarkFault{"lengths", "expected only with dataset sharegpt"};
  if (!repeats(c) && c.prefix_count) {
    return BenchmarkFault{"prefix_count", "expected only with dataset prefix_repetition"};
  }
  if (repeats(c)) {
    if (c.range_ratio) return BenchmarkFault{"range_ratio", "expected only with dataset random"};
    const std::uint32_t prefixes = c.prefix_count.value_or(kRepetitionDefaults.prefixes);
    if (prompts_of(c) < prefixes) {
      return BenchmarkFault{"requests",
                            fmt::format("expected at least prefix_count, {}", prefixes)};
    }
  } else if (c.prefix_tokens.value_or(0) + random_prompts(c).least < 1) {
    return BenchmarkFault{"prompt_tokens", "expected more: with range_ratio a prompt may be empty"};
  }
  const std::uint64_t longest =
      std::uint64_t{repeats(c) ? c.prompt_tokens.value_or(kRepetitionDefaults.prompt)
                               : random_prompts(c).most} +
      c.prefix_tokens.value_or(defaults_of(c).prefix) + c.special_tokens.value_or(0);
  if (longest > static_cast<std::uint64_t>(kMaxTokens) ||
      random_outputs(c).most > static_cast<std::uint64_t>(kMaxTokens)) {
    return BenchmarkFault{"prompt_tokens", fmt::format("expected at most {} tokens", kMaxTokens)};
  }
  return rate_fault(c);
}

double rate_at(const Settings& c, std::uint32_t index, std::uint32_t count) {
  if (!c.ramp_up) return *c.rate_per_s;
  const double progress = index / static_cast<double>(std::max(count - 1, 1U));
  const double from = *c.ramp_up_from_per_s;
  const double to = *c.ramp_up_to_per_s;
  if (*c.ramp_up == "linear") return from + (to - from) * progress;
  return from * det::pow(to / from, progress);
}

/// Gaps of a gamma distribution; without a ramp-up they are stretched so that the last request is
/// sent after exactly count / rate seconds.
void set_arrivals(const Settings& c, std::vector<BenchmarkRequest>& requests) {
  if (!c.rate_per_s && !c.ramp_up) return;
  const auto count = static_cast<std::uint32_t>(requests.size());
  const double shape = c.burstiness.value_or(1);
  NumpyLegacyGamma gaps(c.seed.value_or(0));
  std::vector<double> due_s;
  double now_s = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    now_s += gaps.draw(shape) * (1 / (rate_at(c, i, count) * shape));
    due_s.push_back(now_s);
  }
  const double stretch = c.ramp_up || now_s == 0 ? 1 : count / *c.rate_per_s / now_s;
  for (std::uint32_t i = 0; i < count; ++i) {
    requests[i].arrival_ns = static_cast<std::int64_t>(due_s[i] * stretch * 1e9);
  }
}

std::vector<BenchmarkRequest> random_requests(const Settings& c) {
  const std::uint32_t count = prompts_of(c);
  const TokenRange prompts = random_prompts(c);
  const TokenRange outputs = random_outputs(c);
  NumpyGenerator random(c.seed.value_or(0));
  std::vector<BenchmarkRequest> out(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i].conversation = i;
    out[i].prefix_tokens = c.prefix_tokens.value_or(0);
    out[i].input_tokens = out[i].prefix_tokens + c.special_tokens.value_or(0) +
                          random.between(prompts.least, prompts.most);
  }
  for (BenchmarkRequest& r : out) r.output_tokens = random.between(outputs.least, outputs.most);
  return out;
}

/// Prefix by prefix, as many prompts of each, then shuffled.
std::vector<BenchmarkRequest> repetition_requests(const Settings& c) {
  const std::uint32_t prefixes = c.prefix_count.value_or(kRepetitionDefaults.prefixes);
  const std::uint32_t each = prompts_of(c) / prefixes;
  std::vector<BenchmarkRequest> out;
  for (std::uint32_t i = 0; i < prefixes * each; ++i) {
    BenchmarkRequest r;
    r.conversation = i;
    r.prefix = i / each;
    r.prefix_tokens = c.prefix_tokens.value_or(kRepetitionDefaults.prefix);
    r.input_tokens = r.prefix_tokens + c.prompt_tokens.value_or(kRepetitionDefaults.prompt) +
                     c.special_tokens.value_or(0);
    r.output_tokens = c.output_tokens.value_or(kRepetitionDefaults.output);
    out.push_back(r);
  }
  PythonRandom(c.seed.value_or(0)).shuffle(std::span(out));
  return out;
}

struct ChatLengths {
  std::uint32_t prompt;
  std::uint32_t answer;
};

std::vector<ChatLengths> read_chat_lengths(const std::string& path) {
  LineReader lines(path, open_bytes(path));
  std::vector<ChatLengths> out;
  std::string_view line;
  while (lines.next(line)) {
    ChatLengths next{};
    const char* end = line.data() + line.size();
    const auto prompt = std::from_chars(line.data(), end, next.prompt);
    const bool comma = prompt.ec == std::errc() && prompt.ptr != end && *prompt.ptr == ',';
    const auto answer = comma ? std::from_chars(prompt.ptr + 1, end, next.answer) : prompt;
    if (!comma || answer.ec != std::errc() || answer.ptr != end || next.prompt > kMaxTokens ||
        next.answer > kMaxTokens) {
      throw InputError(Fault::kTrace, {path, lines.line(), ""},
                       fmt::format("expected prompt,answer in tokens, up to {}, found \"{}\"",
                                   kMaxTokens, line.substr(0, 40)));
    }
    out.push_back(next);
  }
  return out;
}

/// is_valid_sequence
bool is_kept(const ChatLengths& e, bool any_answer) {
  constexpr std::uint32_t kLeast = 4;
  constexpr std::uint32_t kMostPrompt = 1024;
  constexpr std::uint32_t kMostInAll = 2048;
  return e.prompt >= kLeast && (any_answer || e.answer >= kLeast) && e.prompt <= kMostPrompt &&
         e.prompt + e.answer <= kMostInAll;
}

/// The first exchanges of a shuffled dataset that are neither too short nor too long.
std::vector<BenchmarkRequest> sharegpt_requests(const Settings& c) {
  std::vector<ChatLengths> exchanges = read_chat_lengths(*c.lengths);
  PythonRandom(c.seed.value_or(0)).shuffle(std::span(exchanges));
  const std::uint32_t count = prompts_of(c);
  std::vector<BenchmarkRequest> out;
  for (ChatLengths e : exchanges) {
    if (out.size() == count) break;
    e.answer = c.output_tokens.value_or(e.answer);
    if (!is_kept(e, c.output_tokens.has_value())) continue;
    BenchmarkRequest r;
    r.conversation = static_cast<std::uint32_t>(out.size());
    r.input_tokens = e.prompt;
    r.output_tokens = e.answer;
    out.push_back(r);
  }
  // Upstream fills up with copies, which releases choose differently.
  if (out.size() < count) {
    throw InputError(Fault::kTrace, {*c.lengths, 0, ""},
                     fmt::format("expected at least {} exchanges of 4 to 1,024 prompt tokens and "
                                 "2,048 in all, found {}; set requests lower",
                                 count, out.size()));
  }
  return out;
}

std::vector<BenchmarkRequest> vllm_requests(const Settings& c) {
  std::vector<BenchmarkRequest> out = is_sharegpt(c) ? sharegpt_requests(c)
                                      : repeats(c)   ? repetition_requests(c)
                                                     : random_requests(c);
  set_arrivals(c, out);
  return out;
}

/// At an infinite rate a limit on the requests in flight is a closed loop.
BenchmarkLoad vllm_load(const Settings& c) {
  return {.closed_loop = c.concurrency && !c.rate_per_s && !c.ramp_up,
          .concurrency = c.concurrency};
}

std::vector<std::string> vllm_notes(const Settings& c) {
  const std::uint32_t rest =
      repeats(c) ? prompts_of(c) % c.prefix_count.value_or(kRepetitionDefaults.prefixes) : 0;
  if (rest == 0) return {};
  return {fmt::format("vllm bench serve sends {} requests, the same number for each prefix.",
                      prompts_of(c) - rest)};
}

}  // namespace

constinit const BenchmarkTool kVllmBench{
    "vllm-bench",  "0.10.1",
    "0.23.0",      "vllm bench serve, datasets random, prefix_repetition and sharegpt",
    kVllmKeys,     {},
    kVllmDatasets, vllm_fault,
    vllm_requests, vllm_load,
    vllm_notes};

}  // namespace spillway
