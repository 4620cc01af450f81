#include "traces/generate/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "sim/det_math.hpp"
#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "traces/generate/distributions.hpp"
#include "traces/generate/session_starts.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

constexpr double kHorizonS = static_cast<double>(kMaxArrivalNs) / 1e9 + 1;

struct Turn {
  std::int64_t arrival_ns;
  std::int64_t think_ns;  ///< before it
  std::uint32_t session;
  std::uint32_t tenant;
  std::uint32_t turn;
  std::uint32_t epoch;   ///< the turn at which the history began, as far as it is still sent
  std::uint64_t system;  ///< which shared prompt opens the session
  std::uint32_t system_tokens;
  std::uint32_t input_tokens;  ///< the conversation so far plus this turn's text
  std::uint32_t output_tokens;
};

std::uint32_t whole_tokens(double drawn, std::uint32_t most) {
  return static_cast<std::uint32_t>(std::clamp(std::floor(drawn), 1.0, static_cast<double>(most)));
}

/// Tokens of a text: a lognormal, or what a table of quantiles says.
struct Lengths {
  double median;
  double sigma;
  QuantileTable quantiles;

  std::uint32_t draw(Stream& stream, std::uint32_t most) const {
    return whole_tokens(
        quantiles.empty() ? stream.lognormal(median, sigma) : quantiles.draw(stream), most);
  }
};

/// Turns in order of arrival: those still to come wait in a heap until the next session starts
/// later than the earliest of them, so memory holds the live sessions only.
class SyntheticGenerator final : public TraceReader {
 public:
  SyntheticGenerator(const SyntheticConfig& config, std::uint64_t seed)
      : config_(config),
        seed_(seed),
        starts_(make_session_starts(config, seed)),
        tenants_(config.tenants, config.tenant_zipf),
        popularity_(config.system_prompts, config.system_zipf),
        user_{config.user_tokens, config.user_sigma, QuantileTable(config.user_quantiles)},
        answer_{config.answer_tokens, config.answer_sigma, QuantileTable(config.answer_quantiles)},
        start_(starts_->next()) {
    if (config.turn_counts == "heavy-tail") heavy_tail_.emplace(config.turns, config.turn_tail);
  }

  std::uint32_t block_tokens() const override { return config_.block_tokens; }

  bool next(TraceRow& row) override {
    if (made_ == config_.requests) return false;
    while (start_.at_s < kHorizonS &&
           (pending_.empty() || to_ns(start_.at_s) <= pending_.front().arrival_ns)) {
      add_session(sessions_++, start_);
      start_ = starts_->next();
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

  std::uint64_t turn_count(Stream& stream) const {
    if (heavy_tail_) return heavy_tail_->draw(stream);
    const std::uint64_t geometric = stream.geometric(1 / config_.turns);
    return config_.turn_counts == "fixed" ? static_cast<std::uint64_t>(config_.turns + 0.5)
                                          : geometric;
  }
  double think_s(Stream& stream, Stream& lognormal) const {
    const double exponential = stream.exponential(config_.think_s);
    if (config_.think_times == "fixed") return config_.think_s;
    if (config_.think_times == "exponential") return exponential;
    const double sigma = config_.think_sigma;
    return lognormal.lognormal(config_.think_s * det::exp(-sigma * sigma / 2), sigma);
  }
  std::uint32_t system_tokens(std::uint64_t system) const {
    Stream stream(seed_, "system-length", system);
    return whole_tokens(stream.lognormal(config_.system_tokens, config_.system_sigma),
                        config_.max_context / 4);
  }
  std::uint32_t tenant_of(std::uint32_t session, const SessionStart& start) const {
    if (config_.arrivals == "rates" || config_.tenants == 1) return start.client;
    Stream stream(seed_, "tenant", session);
    return tenants_.draw(stream);
  }

  void add_session(std::uint32_t session, const SessionStart& start) {
    Stream stream(seed_, "session", session);
    Stream thinking(seed_, "think", session);
    Turn next{
        to_ns(start.at_s), kThinkUnknown, session, tenant_of(session, start), 0, 0, 0, 0, 0, 0};
    next.system = std::uint64_t{next.tenant} * config_.system_prompts + popularity_.draw(stream);
    next.system_tokens = system_tokens(next.system);
    const std::uint64_t turns = turn_count(stream);
    std::uint32_t context = next.system_tokens;
    for (; next.turn < turns; ++next.turn) {
      std::uint32_t text = user_.draw(stream, config_.max_context);
      const std::uint32_t answer = answer_.draw(stream, config_.max_context);
      const double think = think_s(stream, thinking);
      if (text + answer > config_.max_context - context && next.turn > 0) {
        if (config_.context == "accumulate") return;
        context = shortened(next, text, answer);
        next.epoch = next.turn;
      }
      const std::uint32_t room = config_.max_context - context;
      next.output_tokens = std::min(answer, room / 2);
      context += std::min(text, room - next.output_tokens);
      next.input_tokens = context;
      pending_.push_back(next);
      std::push_heap(pending_.begin(), pending_.end(), later);
      context += next.output_tokens;
      next.think_ns = to_ns(think);
      const double pause = think + answer / config_.answer_tokens_per_s;
      next.arrival_ns = std::min(next.arrival_ns + to_ns(pause), to_ns(kHorizonS));
    }
  }

  /// What is left of a conversation in which a turn finds no room.
  std::uint32_t shortened(const Turn& turn, std::uint32_t text, std::uint32_t answer) const {
    if (config_.context == "compact") return turn.system_tokens + config_.summary_tokens;
    const std::uint32_t room = config_.max_context - turn.system_tokens;
    return config_.max_context - std::min(text + answer, room);
  }

  void fill(TraceRow& row, const Turn& turn) const;

  SyntheticConfig config_;
  std::uint64_t seed_;
  std::unique_ptr<SessionStarts> starts_;
  Zipf tenants_;
  Zipf popularity_;
  Lengths user_;
  Lengths answer_;
  std::optional<HeavyTailCount> heavy_tail_;
  SessionStart start_;
  std::uint32_t sessions_ = 0;
  std::uint32_t made_ = 0;
  std::vector<Turn> pending_;
};

/// Prefix identity: a block inside the system prompt is shared by all its sessions, a full block
/// beyond it by all later turns of its session, a partial last block by nobody.
std::uint64_t block_hash(const Turn& turn, std::uint32_t index, std::uint32_t block_tokens) {
  const std::uint64_t end = (std::uint64_t{index} + 1) * block_tokens;
  if (end <= turn.system_tokens) {
    return mix64(mix64(0x73797374656d0000ULL + turn.system) + index);
  }
  std::uint64_t history = mix64(0x73657373696f6e00ULL + turn.session);
  if (turn.epoch > 0) history = mix64(history + (std::uint64_t{turn.epoch} << 32));
  const std::uint64_t own = mix64(history + index);
  return end <= turn.input_tokens ? own : mix64(own + 1 + turn.turn);
}

void SyntheticGenerator::fill(TraceRow& row, const Turn& turn) const {
  row.clear();
  row.arrival_ns = turn.arrival_ns / 1'000'000 * 1'000'000;  // whole milliseconds, as traces have
  row.input_tokens = turn.input_tokens;
  row.output_tokens = turn.output_tokens;
  row.session = turn.session;
  row.think_ns = turn.think_ns;
  if (config_.tenants > 1 || config_.arrivals == "rates") {
    fmt::format_to(std::back_inserter(row.tenant), "tenant-{}", turn.tenant);
  }
  const std::uint64_t block = config_.block_tokens;
  for (std::uint32_t i = 0; i * block < turn.input_tokens; ++i) {
    row.blocks.push_back(block_hash(turn, i, config_.block_tokens));
  }
}

}  // namespace

std::unique_ptr<TraceReader> make_synthetic_reader(const SyntheticConfig& config,
                                                   std::uint64_t seed) {
  if (const auto fault = fault_of(config)) {
    throw InputError(Fault::kUsage, {"", 0, std::string(fault->key)}, fault->message);
  }
  return std::make_unique<SyntheticGenerator>(config, seed);
}

Workload generate_workload(const SyntheticConfig& config, std::uint64_t seed) {
  const auto reader = make_synthetic_reader(config, seed);
  WorkloadBuilder builder("synthetic", config.block_tokens);
  TraceRow row;
  while (reader->next(row)) builder.add(row);
  return builder.build({"synthetic", "synthetic"});
}

}  // namespace spillway
