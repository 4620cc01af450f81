#include "traces/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "traces/trace_reader.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

constexpr double kSystemSigma = 0.5;
constexpr double kUserSigma = 1.0;
constexpr double kAnswerSigma = 0.7;
constexpr double kHorizonS = static_cast<double>(kMaxArrivalNs) / 1e9 + 1;

struct Turn {
  std::int64_t arrival_ns;
  std::uint32_t session;
  std::uint32_t turn;
  std::uint32_t system;  ///< which shared prompt opens the session
  std::uint32_t system_tokens;
  std::uint32_t input_tokens;  ///< the conversation so far plus this turn's text
  std::uint32_t output_tokens;
};

void require(bool good, const char* field, const char* expected) {
  if (!good) throw InputError(Fault::kUsage, {"", 0, field}, expected);
}

void check(const SyntheticConfig& c) {
  const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
  require(c.requests > 0, "requests", "expected at least 1");
  require(positive(c.sessions_per_s), "sessions_per_s", "expected a rate above 0");
  require(c.turns >= 1 && c.turns <= 1e6, "turns", "expected a mean of 1 to 1000000");
  require(std::isfinite(c.think_s) && c.think_s >= 0, "think_s", "expected seconds, 0 or more");
  require(c.system_prompts > 0, "system_prompts", "expected at least 1");
  require(std::isfinite(c.system_zipf) && c.system_zipf >= 0, "system_zipf", "expected 0 or more");
  require(positive(c.system_tokens), "system_tokens", "expected tokens above 0");
  require(positive(c.user_tokens), "user_tokens", "expected tokens above 0");
  require(positive(c.answer_tokens), "answer_tokens", "expected tokens above 0");
  require(positive(c.answer_tokens_per_s), "answer_tokens_per_s", "expected a rate above 0");
  require(std::isfinite(c.burst_factor) && c.burst_factor >= 1, "burst_factor",
          "expected 1 or more");
  require(positive(c.burst_every_s), "burst_every_s", "expected seconds above 0");
  require(std::isfinite(c.burst_length_s) && c.burst_length_s >= 0 &&
              c.burst_length_s <= c.burst_every_s,
          "burst_length_s", "expected seconds from 0 to burst_every_s");
  require(c.max_context >= 64 && c.max_context <= kMaxTokens, "max_context",
          "expected 64 to 16777216 tokens");
  require(c.block_tokens > 0 && c.block_tokens <= 65536, "block_tokens", "expected 1 to 65536");
}

std::uint32_t tokens(Stream& stream, double median, double sigma, std::uint32_t most) {
  const double drawn = stream.lognormal(median, sigma);
  return static_cast<std::uint32_t>(std::clamp(std::floor(drawn), 1.0, static_cast<double>(most)));
}

/// Time of the next session start after `t`, thinning a Poisson process at the burst rate.
double next_start(Stream& stream, const SyntheticConfig& c, double t) {
  const double peak = c.sessions_per_s * c.burst_factor;
  for (;;) {
    t += stream.exponential(1 / peak);
    const bool burst = std::fmod(t, c.burst_every_s) < c.burst_length_s;
    if (burst || stream.chance(1 / c.burst_factor)) return t;
  }
}

/// Turns in order of arrival: those still to come wait in a heap until the next session starts
/// later than the earliest of them, so memory holds the live sessions only.
class Generator final : public TraceReader {
 public:
  Generator(const SyntheticConfig& config, std::uint64_t seed)
      : config_(config),
        seed_(seed),
        popularity_(config.system_prompts, config.system_zipf),
        starts_(seed, "session-start") {
    for (std::uint32_t i = 0; i < config.system_prompts; ++i) {
      Stream stream(seed, "system-length", i);
      system_tokens_.push_back(
          tokens(stream, config.system_tokens, kSystemSigma, config.max_context / 4));
    }
    start_s_ = next_start(starts_, config_, 0);
  }

  std::uint32_t block_tokens() const override { return config_.block_tokens; }

  bool next(TraceRow& row) override {
    if (made_ == config_.requests) return false;
    while (start_s_ < kHorizonS &&
           (pending_.empty() || to_ns(start_s_) <= pending_.front().arrival_ns)) {
      add_session(sessions_++, to_ns(start_s_));
      start_s_ = next_start(starts_, config_, start_s_);
    }
    if (pending_.empty() || pending_.front().arrival_ns > kMaxArrivalNs) {
      throw InputError(
          Fault::kUsage, {"", 0, "requests"},
          fmt::format("the trace would last longer than {} days, the most a trace may; "
                      "ask for fewer requests, more sessions_per_s or less think_s",
                      kMaxArrivalMs / 86'400'000));
    }
    std::pop_heap(pending_.begin(), pending_.end(), later);
    fill(row, pending_.back());
    pending_.pop_back();
    row.line = ++made_;
    return true;
  }

 private:
  /// Times beyond the horizon are all alike: too late for a trace.
  static std::int64_t to_ns(double seconds) {
    return static_cast<std::int64_t>(std::min(seconds, kHorizonS) * 1e9);
  }
  static bool later(const Turn& a, const Turn& b) {
    if (a.arrival_ns != b.arrival_ns) return a.arrival_ns > b.arrival_ns;
    return a.session != b.session ? a.session > b.session : a.turn > b.turn;
  }

  void add_session(std::uint32_t session, std::int64_t start_ns) {
    Stream stream(seed_, "session", session);
    const std::uint32_t system = popularity_.draw(stream);
    const std::uint64_t turns = stream.geometric(1 / config_.turns);
    std::uint32_t context = system_tokens_[system];
    std::int64_t at = start_ns;
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      const std::uint32_t room = config_.max_context - context;
      const std::uint32_t text =
          tokens(stream, config_.user_tokens, kUserSigma, config_.max_context);
      const std::uint32_t answer =
          tokens(stream, config_.answer_tokens, kAnswerSigma, config_.max_context);
      const double pause =
          stream.exponential(config_.think_s) + answer / config_.answer_tokens_per_s;
      if (turn > 0 && text + answer > room) return;
      const std::uint32_t fitting_answer = std::min(answer, room / 2);
      context += std::min(text, room - fitting_answer);
      pending_.push_back(
          {at, session, turn, system, system_tokens_[system], context, fitting_answer});
      std::push_heap(pending_.begin(), pending_.end(), later);
      context += fitting_answer;
      at = std::min(at + to_ns(pause), to_ns(kHorizonS));
    }
  }

  void fill(TraceRow& row, const Turn& turn) const;

  SyntheticConfig config_;
  std::uint64_t seed_;
  Zipf popularity_;
  Stream starts_;
  double start_s_ = 0;
  std::uint32_t sessions_ = 0;
  std::uint32_t made_ = 0;
  std::vector<std::uint32_t> system_tokens_;
  std::vector<Turn> pending_;
};

/// Prefix identity: a block inside the system prompt is shared by all its sessions, a full block
/// beyond it by all later turns of its session, a partial last block by nobody.
std::uint64_t block_hash(const Turn& turn, std::uint32_t index, std::uint32_t block_tokens) {
  const std::uint64_t end = (std::uint64_t{index} + 1) * block_tokens;
  if (end <= turn.system_tokens) {
    return mix64(mix64(0x73797374656d0000ULL + turn.system) + index);
  }
  const std::uint64_t own = mix64(mix64(0x73657373696f6e00ULL + turn.session) + index);
  return end <= turn.input_tokens ? own : mix64(own + 1 + turn.turn);
}

void Generator::fill(TraceRow& row, const Turn& turn) const {
  row.clear();
  row.arrival_ns = turn.arrival_ns / 1'000'000 * 1'000'000;  // whole milliseconds, as traces have
  row.input_tokens = turn.input_tokens;
  row.output_tokens = turn.output_tokens;
  row.session = turn.session;
  const std::uint64_t block = config_.block_tokens;
  for (std::uint32_t i = 0; i * block < turn.input_tokens; ++i) {
    row.blocks.push_back(block_hash(turn, i, config_.block_tokens));
  }
}

}  // namespace

std::unique_ptr<TraceReader> make_synthetic_reader(const SyntheticConfig& config,
                                                   std::uint64_t seed) {
  check(config);
  return std::make_unique<Generator>(config, seed);
}

Workload generate_workload(const SyntheticConfig& config, std::uint64_t seed) {
  const auto reader = make_synthetic_reader(config, seed);
  WorkloadBuilder builder("synthetic", config.block_tokens);
  TraceRow row;
  while (reader->next(row)) builder.add(row);
  return builder.build({"synthetic", "synthetic"});
}

}  // namespace spillway
