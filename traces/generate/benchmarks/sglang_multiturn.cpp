// SGLang's bench_multiturn: clients that chat in rounds, one sender, a queue of clients that have
// their answer.
//
// Upstream, sgl-project/sglang at 028e262d: benchmark/hicache/bench_multiturn.py (queue, gaps,
// rounds); lengths from python/sglang/benchmark/datasets/random.py. The pause of a barrier came
// later (the same file with --min-rounds).
//
// Queue and gaps draw from one generator. Upstream shuffles a dataset with it before, except with
// --disable-random-sample: those are the draws here.
//
// Model: who is in the queue depends on how fast the server is. The order here is that of a server
// that has answered before the next request is sent; a client whose answer comes later sends then.
// While --max-parallel requests are in flight, upstream looks every 50 ms whether one has ended.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "traces/generate/benchmarks/python_random.hpp"
#include "traces/generate/benchmarks/tools.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using Multiturn = BenchmarkConfig;

constexpr std::string_view kMultiturnKeys[] = {
    "users",      "turns",    "prompt_tokens", "next_prompt_tokens", "output_tokens", "concurrency",
    "rate_per_s", "arrivals", "queue",         "round_barrier_s"};
constexpr std::string_view kMultiturnGaps[] = {"poisson", "uniform"};

// Of the flags.
constexpr std::uint32_t kClients = 256;
constexpr std::uint32_t kRounds = 5;
constexpr std::uint32_t kRequestLength = 512;
constexpr std::uint32_t kOutputLength = 64;
constexpr std::uint32_t kMaxParallel = 128;
constexpr std::uint32_t kMultiturnSeed = 1;

constexpr double kMostTurnsInAll = 1e6;
constexpr double kMostBarrierLinks = 5e7;

std::uint32_t clients_in(const Multiturn& c) {
  return c.users.value_or(kClients);
}

std::uint32_t rounds_in(const Multiturn& c) {
  return c.turns.value_or(kRounds);
}

std::uint32_t first_length(const Multiturn& c) {
  return c.prompt_tokens.value_or(kRequestLength);
}

/// What a round adds to the prompt: the answer before it and the next question.
std::uint32_t round_growth(const Multiturn& c) {
  return c.output_tokens.value_or(kOutputLength) + c.next_prompt_tokens.value_or(first_length(c));
}

std::optional<BenchmarkFault> multiturn_fault(const Multiturn& c) {
  if (!c.rate_per_s) {
    return BenchmarkFault{
        "rate_per_s",
        "expected a value, of --request-rate or one of the series that the tool runs without it"};
  }
  if (c.queue && *c.queue != "random" && *c.queue != "fifo") {
    return BenchmarkFault{"queue", fmt::format("expected random or fifo, found \"{}\"", *c.queue)};
  }
  const double requests = static_cast<double>(clients_in(c)) * rounds_in(c);
  if (requests > kMostTurnsInAll) {
    return BenchmarkFault{"users",
                          fmt::format("expected at most {} requests in all rounds, found {}",
                                      kMostTurnsInAll, requests)};
  }
  if (c.round_barrier_s && requests * clients_in(c) > kMostBarrierLinks) {
    return BenchmarkFault{"users", "expected fewer with round_barrier_s"};
  }
  const std::int64_t longest = first_length(c) + std::int64_t{round_growth(c)} * (rounds_in(c) - 1);
  if (longest > kMaxTokens) {
    return BenchmarkFault{"prompt_tokens", fmt::format("expected at most {} tokens in the last "
                                                       "round, found {}",
                                                       kMaxTokens, longest)};
  }
  return std::nullopt;
}

/// Upstream's sender: takes a client from the queue, sends, sleeps.
class RoundSender {
 public:
  explicit RoundSender(const Multiturn& c)
      : c_(c), random_(c.seed.value_or(kMultiturnSeed)), ready_(clients_in(c)) {
    std::iota(ready_.begin(), ready_.end(), 0U);
    rounds_.resize(ready_.size());
  }

  std::vector<BenchmarkRequest> all() {
    while (!ready_.empty()) {
      send(take());
      const double gap_s = draw_gap_s();
      now_s_ += gap_s;
      in_round_s_ += gap_s;
      if (ready_.empty() && !next_round_.empty()) {
        ready_.swap(next_round_);
        in_round_s_ = gap_s;
        round_ = {round_.second, static_cast<std::uint32_t>(out_.size())};
      }
    }
    return std::move(out_);
  }

 private:
  std::uint32_t take() {
    const bool fifo = c_.queue == "fifo";
    const auto at =
        ready_.begin() + (fifo ? 0 : random_.below(static_cast<std::uint32_t>(ready_.size())));
    const std::uint32_t client = *at;
    ready_.erase(at);
    return client;
  }

  double draw_gap_s() {
    if (c_.arrivals == "uniform") return 2 * (1 / *c_.rate_per_s) * random_.uniform();
    return random_.exponential(*c_.rate_per_s);
  }

  void send(std::uint32_t client) {
    BenchmarkRequest r;
    r.conversation = client;
    r.turn = rounds_[client]++;
    r.arrival_ns = static_cast<std::int64_t>(now_s_ * 1e9);
    r.input_tokens = first_length(c_) + r.turn * round_growth(c_);
    r.output_tokens = c_.output_tokens.value_or(kOutputLength);
    r.think_ns = kThinkUnknown;
    if (c_.round_barrier_s && r.turn > 0) {
      r.after = round_;
      r.think_ns = static_cast<std::int64_t>((*c_.round_barrier_s + in_round_s_) * 1e9);
    }
    out_.push_back(r);
    if (rounds_[client] == rounds_in(c_)) return;
    (c_.round_barrier_s ? next_round_ : ready_).push_back(client);
  }

  const Multiturn& c_;
  PythonRandom random_;
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> next_round_;                ///< with a barrier only
  std::vector<std::uint32_t> rounds_;                    ///< that each client has sent
  std::pair<std::uint32_t, std::uint32_t> round_{0, 0};  ///< the requests of the round before
  double now_s_ = 0;
  double in_round_s_ = 0;  ///< since the last answer of the round before
  std::vector<BenchmarkRequest> out_;
};

std::vector<BenchmarkRequest> multiturn_requests(const Multiturn& c) {
  return RoundSender(c).all();
}

BenchmarkLoad multiturn_load(const Multiturn& c) {
  return {.concurrency = c.concurrency.value_or(kMaxParallel), .turns = rounds_in(c) > 1};
}

std::vector<std::string> multiturn_notes(const Multiturn&) {
  return {};
}

}  // namespace

constinit const BenchmarkTool kSglangMultiturn{
    "sglang-multiturn", "0.5.2", "0.5.10",        "SGLang's bench_multiturn", kMultiturnKeys,
    kMultiturnGaps,     {},      multiturn_fault, multiturn_requests,         multiturn_load,
    multiturn_notes};

}  // namespace spillway
