// LMBenchmark's synthetic multi-round QA: users that come and go, each with a conversation behind a
// shared system prompt and a text of its own.
//
// Upstream, LMCache/LMBenchmark: synthetic-multi-round-qa/multi-round-qa.py; read in a fork
// (yuezhu1/LMBenchmark at e2da444e) and in LMCache/LMCache at 2ae1f352,
// benchmarks/multi-round-qa/multi-round-qa.py, which follow the same rules.
//
// Nothing is random. A loop looks every 0.1 s who is due: a user whose last request is longer ago
// than the gap, and a new user. At the start the users stand as if the tool had run for long.
//
// Model: the loop looks at exact times; upstream is late by what its own work takes. A user whose
// answer takes longer than the gap asks on at its answer, and does not move its later requests.
// The ten warm-up requests of 100 tokens are not sent.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "traces/generate/benchmarks/tools.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using Chat = BenchmarkConfig;

constexpr std::string_view kChatKeys[] = {"users",         "turns",          "rate_per_s",
                                          "seconds",       "prefix_tokens",  "history_tokens",
                                          "output_tokens", "template_tokens"};

/// Tokens of the tool's own sentences, by the tokenizer of Llama 3: ahead of the system prompt's
/// words, in all sentences of a first question, and in a later question.
constexpr std::uint32_t kLeadTokens = 8;
constexpr std::uint32_t kFirstSentences = 38;
constexpr std::uint32_t kQuestion = 19;

constexpr std::int64_t kLookNs = 100'000'000;
constexpr double kLooksPerS = 10;
constexpr double kMostChatRequests = 1e7;

std::int64_t ns_of(double seconds) {
  return static_cast<std::int64_t>(std::floor(seconds * 1e9));
}

/// When the loop first finds that it is later than this.
std::int64_t look_after(std::int64_t ns) {
  return ns < 0 ? 0 : (ns / kLookNs + 1) * kLookNs;
}

std::uint32_t chat_template(const Chat& c, std::uint32_t turn) {
  if (!c.template_tokens) return 0;
  return static_cast<std::uint32_t>((*c.template_tokens)[turn == 0 ? 0 : 1]);
}

/// The prompt of a user's turn, with all before it.
std::uint64_t chat_prompt(const Chat& c, std::uint32_t turn) {
  const std::uint64_t first =
      std::uint64_t{*c.prefix_tokens} + *c.history_tokens + kFirstSentences + chat_template(c, 0);
  return first + std::uint64_t{turn} * (*c.output_tokens + kQuestion + chat_template(c, 1));
}

std::optional<BenchmarkFault> chat_fault(const Chat& c) {
  for (const auto& [key, given] :
       {std::pair("users", c.users.has_value()), std::pair("turns", c.turns.has_value()),
        std::pair("rate_per_s", c.rate_per_s.has_value()),
        std::pair("prefix_tokens", c.prefix_tokens.has_value()),
        std::pair("history_tokens", c.history_tokens.has_value()),
        std::pair("output_tokens", c.output_tokens.has_value()),
        std::pair("seconds", c.seconds.has_value())}) {
    if (!given) return BenchmarkFault{key, "expected a value: lmbenchmark has no default for it"};
  }
  if (c.template_tokens && c.template_tokens->size() != 2) {
    return BenchmarkFault{"template_tokens", "expected two numbers: first turn, each later turn"};
  }
  if (chat_prompt(c, *c.turns) > static_cast<std::uint64_t>(kMaxTokens)) {
    return BenchmarkFault{"turns", fmt::format("expected at most {} tokens in a conversation, "
                                               "found {}",
                                               kMaxTokens, chat_prompt(c, *c.turns))};
  }
  const double most = *c.users + *c.seconds * (*c.rate_per_s + kLooksPerS);
  if (most > kMostChatRequests) {
    return BenchmarkFault{"seconds", fmt::format("expected at most {} requests, found up to {}",
                                                 kMostChatRequests, std::ceil(most))};
  }
  return std::nullopt;
}

/// Requests of one user at its first look and whenever the gap is over.
void add_user(const Chat& c, std::uint32_t user, std::uint32_t asked, std::int64_t first_ns,
              std::int64_t gap_ns, std::vector<BenchmarkRequest>& out) {
  BenchmarkRequest r;
  r.conversation = user;
  r.prefix_tokens = *c.prefix_tokens + kLeadTokens;
  r.output_tokens = *c.output_tokens;
  r.think_ns = kThinkUnknown;
  r.arrival_ns = first_ns;
  for (; asked < *c.turns && r.arrival_ns <= ns_of(*c.seconds); ++asked, ++r.turn) {
    r.input_tokens = static_cast<std::uint32_t>(chat_prompt(c, r.turn));
    out.push_back(r);
    r.arrival_ns = look_after(r.arrival_ns + gap_ns);
  }
}

std::vector<BenchmarkRequest> chat_requests(const Chat& c) {
  const std::uint32_t users = *c.users;
  // In this order of operations: a question more or less is a matter of the last bit.
  const double gap_s = users / *c.rate_per_s;
  const double join_s = gap_s * (*c.turns - 1) / users;
  const double ramp_s = users * join_s;
  std::vector<BenchmarkRequest> out;
  for (std::uint32_t user = 0; user < users; ++user) {
    const double since_s = ramp_s - user * join_s;
    if (since_s < 0) break;
    const auto asked = gap_s > 0 ? static_cast<std::uint32_t>(since_s / gap_s) + 1 : 1;
    const double last_s = (asked - 1) * gap_s - since_s;
    add_user(c, user, asked, look_after(ns_of(last_s + gap_s)), ns_of(gap_s), out);
  }
  std::uint32_t user = users;
  for (std::int64_t at = 0; at <= ns_of(*c.seconds); at = look_after(at + ns_of(join_s))) {
    add_user(c, user++, 0, at, ns_of(gap_s), out);
  }
  std::ranges::stable_sort(out, {}, &BenchmarkRequest::arrival_ns);
  return out;
}

BenchmarkLoad chat_load(const Chat& c) {
  return {.sent_until_s = c.seconds, .turns = *c.turns > 1};
}

std::vector<std::string> chat_notes(const Chat& c) {
  if (!c.seed) return {};
  return {"LMBenchmark draws nothing at random: workload.benchmark.seed changes nothing."};
}

}  // namespace

constinit const BenchmarkTool kLmBenchmark{
    "lmbenchmark", "2025.2",  "2026.6",  "LMBenchmark, synthetic multi-round QA",
    kChatKeys,     {},        {},        chat_fault,
    chat_requests, chat_load, chat_notes};

}  // namespace spillway
