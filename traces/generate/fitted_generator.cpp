#include "traces/generate/fitted_generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "sim/error.hpp"
#include "traces/generate/exchange.hpp"
#include "traces/generate/interleaving.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

using Prefix = FittedTurn::Prefix;

constexpr double kStartsMove = 0.02;    ///< share of all sessions, or of all stretches
constexpr std::uint32_t kStretch = 32;  ///< gaps between arrivals that stay together
constexpr std::uint32_t kProbes = 512;  ///< requests looked at for a shared prefix

/// Tokens behind the prefix; 0 or less for a prompt that is (a beginning of) an earlier one.
std::int64_t added_tokens(const FittedTurn& turn, std::uint32_t block_tokens) {
  return std::int64_t{turn.added} * block_tokens + turn.slack;
}

/// Prompts made so far, and who used each of their blocks last.
class Prompts {
 public:
  explicit Prompts(std::uint32_t block_tokens) : block_tokens_(block_tokens) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(input_tokens_.size()); }
  std::span<const std::uint32_t> chain(std::uint32_t request) const {
    return std::span(chain_).subspan(begin_[request], begin_[request + 1] - begin_[request]);
  }
  std::uint32_t input_tokens(std::uint32_t request) const { return input_tokens_[request]; }
  std::uint32_t full_blocks(std::uint32_t request) const {
    const auto blocks = static_cast<std::uint32_t>(chain(request).size());
    return std::min(blocks, input_tokens_[request] / block_tokens_);
  }
  std::uint32_t uses(std::uint32_t block) const { return uses_[block]; }
  std::uint32_t last_user(std::uint32_t block) const { return last_user_[block]; }

  /// Adds a prompt of `depth` blocks of `parent` and `added` new ones.
  void add(std::uint32_t parent, std::uint32_t depth, std::uint32_t added, std::uint32_t tokens) {
    const std::uint32_t request = size();
    for (std::uint32_t i = 0; i < depth; ++i) chain_.push_back(chain_[begin_[parent] + i]);
    for (std::uint32_t i = 0; i < added; ++i) {
      chain_.push_back(static_cast<std::uint32_t>(uses_.size()));
      uses_.push_back(0);
      last_user_.push_back(kNoIndex);
    }
    begin_.push_back(chain_.size());
    input_tokens_.push_back(tokens);
    for (const std::uint32_t block : chain(request)) {
      ++uses_[block];
      last_user_[block] = request;
    }
  }

 private:
  std::uint32_t block_tokens_;
  std::vector<std::uint64_t> begin_{0};
  std::vector<std::uint32_t> chain_;
  std::vector<std::uint32_t> input_tokens_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint32_t> last_user_;
};

struct Source {
  std::uint32_t parent = kNoIndex;
  std::uint32_t depth = 0;
};

/// How far a request's prefix is from what `turn` describes; 0 is perfect.
double mismatch(const Prompts& prompts, const FittedTurn& turn, std::uint32_t request) {
  const auto apart = [](double a, double b) { return std::max(a, b) / std::min(a, b) - 1; };
  const auto chain = prompts.chain(request);
  // The further up, the more recently used: the first block whose last user is this request.
  const auto fresher = static_cast<std::uint32_t>(
      std::partition_point(chain.begin(), chain.begin() + turn.depth,
                           [&](std::uint32_t b) { return prompts.last_user(b) != request; }) -
      chain.begin());
  const double left = static_cast<double>(prompts.full_blocks(request)) - turn.depth;
  const double depth = turn.depth;
  // Whether a shared text ends here, or is left in its middle.
  const std::uint32_t beyond = chain.size() > turn.depth ? prompts.uses(chain[turn.depth]) : 0;
  // The weights are rough and the same for every trace: reuse distance first, then popularity.
  return apart(prompts.size() - request, turn.gap) +
         2 * (std::max(fresher, turn.fresher) / depth - std::min(fresher, turn.fresher) / depth) +
         0.5 * apart(prompts.uses(chain[turn.depth - 1]), turn.uses) +
         0.5 * apart(beyond + 1.0, turn.beyond + 1.0) +
         0.1 * apart(std::max(left + 2, 1.0), std::max(turn.left + 2.0, 1.0));
}

/// The request whose prefix a turn takes over that shares it across sessions: the best match among
/// those about as long ago, else the deepest.
Source find_shared(const Prompts& prompts, const FittedTurn& turn) {
  Source best;
  Source deepest;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
    const std::uint32_t off = (probe + 1) / 2;
    const bool nearer = probe % 2 == 1;
    if (static_cast<double>(off) / turn.gap > least) break;
    if (nearer && off >= turn.gap) continue;
    const std::uint32_t gap = nearer ? turn.gap - off : turn.gap + off;
    if (gap > prompts.size()) continue;
    const std::uint32_t request = prompts.size() - gap;
    const auto chain = prompts.chain(request);
    const auto common = std::min(static_cast<std::uint32_t>(chain.size()), turn.depth);
    if (common > deepest.depth) deepest = {request, common};
    if (common < turn.depth || prompts.last_user(chain[turn.depth - 1]) != request) continue;
    const double is = mismatch(prompts, turn, request);
    if (is >= least) continue;
    least = is;
    best = {request, turn.depth};
  }
  return best.parent != kNoIndex ? best : deepest;
}

class Generator final : public TraceReader {
 public:
  Generator(const TraceFit& fit, std::uint32_t requests, std::uint64_t seed)
      : fit_(fit),
        requests_(requests),
        seed_(seed),
        added_{by_added(Prefix::kNone), by_added(Prefix::kSession), by_added(Prefix::kShared)},
        output_(fit.turns.size(), [&](std::uint32_t i) { return fit.turns[i].output_tokens; }),
        step_(fit.turns.size(), [&](std::uint32_t i) { return fit.turns[i].rows_since; }),
        think_(fit.turns.size(), [&](std::uint32_t i) { return fit.turns[i].think_ns; }),
        arrival_ns_(fit.first_ns),
        prompts_(fit.block_tokens) {}

  std::uint32_t block_tokens() const override { return fit_.block_tokens; }

  bool next(TraceRow& row) override {
    if (prompts_.size() == requests_) return false;
    if (prompts_.size() % fit_.turns.size() == 0) begin_period();
    if (arrival_ns_ > kMaxArrivalNs) {
      throw InputError(Fault::kUsage, {"", 0, "requests"},
                       fmt::format("the trace would last longer than {} days, the most a trace "
                                   "may; expected fewer requests",
                                   kMaxArrivalMs / 86'400'000));
    }
    row.clear();
    row.arrival_ns = arrival_ns_;
    fill(row, order_[prompts_.size() % fit_.turns.size()]);
    row.line = prompts_.size();
    arrival_ns_ += next_gap();
    return true;
  }

 private:
  Exchange by_added(Prefix prefix) const {
    return {fit_.turns.size(), [this, prefix](std::uint32_t i) {
              const FittedTurn& turn = fit_.turns[i];
              return turn.prefix == prefix ? added_tokens(turn, fit_.block_tokens) : 0;
            }};
  }

  void begin_period() {
    const std::uint64_t period = prompts_.size() / fit_.turns.size();
    Stream order(seed_, "like-order", period);
    Stream sizes(seed_, "like-sizes", period);
    for (Exchange& added : added_) added.shuffle(sizes);
    output_.shuffle(sizes);
    step_.shuffle(sizes);
    think_.shuffle(sizes);
    std::vector<InterleavedSession> sessions;
    for (const std::uint32_t s : shuffled_nearby(fit_.by_start.size(), kStartsMove, order)) {
      InterleavedSession session{s, fit_.by_start[sessions.size()].row, {}};
      for (std::uint32_t i = fit_.by_start[s].begin + 1; i < fit_.by_start[s].end; ++i) {
        session.steps.push_back(fit_.turns[step_.stand_in(i)].rows_since);
      }
      sessions.push_back(std::move(session));
    }
    order_ = interleave(sessions);
    request_of_turn_.assign(fit_.turns.size(), kNoIndex);
    const std::size_t stretches = (fit_.gaps_ns.size() + kStretch - 1) / kStretch;
    gaps_ns_.clear();
    for (const std::uint32_t s : shuffled_nearby(stretches, kStartsMove, order)) {
      const std::size_t begin = std::size_t{s} * kStretch;
      const std::size_t end = std::min(begin + kStretch, fit_.gaps_ns.size());
      for (std::size_t i = begin; i < end; ++i) gaps_ns_.push_back(fit_.gaps_ns[i]);
    }
    const std::int64_t span = std::accumulate(gaps_ns_.begin(), gaps_ns_.end(), std::int64_t{0});
    // To the next period: as long as from any request to the next.
    gaps_ns_.push_back(span /
                       std::max(std::int64_t{1}, static_cast<std::int64_t>(gaps_ns_.size())));
  }

  /// From the request just made to the next.
  std::int64_t next_gap() const { return gaps_ns_[(prompts_.size() - 1) % gaps_ns_.size()]; }

  Source source_of(const FittedTurn& turn, std::uint32_t index) const {
    if (turn.prefix == Prefix::kNone) return {};
    if (turn.prefix == Prefix::kShared) return find_shared(prompts_, turn);
    const std::uint32_t parent = request_of_turn_[index - turn.back];
    // Near its end a prefix follows the earlier prompt's length; near the root it is a fixed text.
    const std::int64_t wanted = turn.left < std::int64_t{turn.depth}
                                    ? std::int64_t{prompts_.full_blocks(parent)} - turn.left
                                    : std::int64_t{turn.depth};
    const auto offered = static_cast<std::int64_t>(prompts_.chain(parent).size());
    return {parent, static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 0, offered))};
  }

  /// A partial block is shared by equal prompts only; `slack` follows.
  void fit_into(Source& source, const FittedTurn& turn, bool adds, std::int64_t& slack) const {
    const bool equal = !adds && source.depth == prompts_.chain(source.parent).size();
    if (equal) {
      slack = std::int64_t{prompts_.input_tokens(source.parent)} -
              std::int64_t{source.depth} * fit_.block_tokens;
      return;
    }
    if (adds || turn.left >= 0) {
      source.depth = std::min(source.depth, prompts_.full_blocks(source.parent));
    }
    if (!adds) slack = std::max<std::int64_t>(slack, 0);
  }

  void fill(TraceRow& row, const InterleavedTurn& at) {
    const FittedSession& session = fit_.by_start[at.session];
    const std::uint32_t index = session.begin + at.turn;
    const FittedTurn& turn = fit_.turns[index];
    Source source = source_of(turn, index);
    std::uint32_t added = turn.added;
    std::int64_t slack = turn.slack;
    const bool adds = added_tokens(turn, fit_.block_tokens) > 0;
    if (adds) {
      const Exchange& same = added_[static_cast<std::size_t>(turn.prefix)];
      const FittedTurn& other = fit_.turns[same.stand_in(index)];
      added = other.added;
      slack = other.slack;
    }
    const bool shared = turn.prefix == Prefix::kShared;
    const bool lacks = shared && source.depth < turn.depth;
    if (source.parent != kNoIndex) fit_into(source, turn, adds || lacks, slack);
    // Where no prompt is as deep, the length is kept and the rest is new.
    if (shared) added += turn.depth - source.depth;
    if (source.depth + added == 0 && turn.depth + turn.added > 0) {
      added = 1;  // a prompt of no full block, where the trace names such
      slack = 0;
    }
    const std::uint32_t most = static_cast<std::uint32_t>(kMaxTokens) / fit_.block_tokens;
    if (source.depth + added > most) {
      added = most - std::min(source.depth, most);
      slack = 0;
    }
    const std::int64_t blocks = std::int64_t{source.depth} + added;
    row.input_tokens = std::clamp<std::int64_t>(blocks * fit_.block_tokens + slack, 1, kMaxTokens);
    row.output_tokens = fit_.turns[output_.stand_in(index)].output_tokens;
    row.think_ns = turn.think_ns > 0 ? fit_.turns[think_.stand_in(index)].think_ns : turn.think_ns;
    row.identified = fit_.identified;
    const std::uint64_t period = prompts_.size() / fit_.turns.size();
    if (fit_.sessions) row.session = period * fit_.by_start.size() + at.session;
    if (fit_.tenants > 0) row.tenant = fmt::format("tenant-{}", session.tenant + 1);
    request_of_turn_[index] = prompts_.size();
    prompts_.add(source.parent, source.depth, added, static_cast<std::uint32_t>(row.input_tokens));
    for (const std::uint32_t block : prompts_.chain(prompts_.size() - 1)) {
      row.blocks.push_back(mix64(block + std::uint64_t{1}));
    }
  }

  const TraceFit& fit_;
  std::uint32_t requests_;
  std::uint64_t seed_;
  Exchange added_[3];  ///< by Prefix
  Exchange output_;
  Exchange step_;
  Exchange think_;
  std::int64_t arrival_ns_;
  Prompts prompts_;
  std::vector<InterleavedTurn> order_;  ///< of the period, as what follows
  std::vector<std::int64_t> gaps_ns_;
  std::vector<std::uint32_t> request_of_turn_;
};

}  // namespace

std::unique_ptr<TraceReader> make_fitted_reader(const TraceFit& fit, std::uint32_t requests,
                                                std::uint64_t seed) {
  return std::make_unique<Generator>(fit, requests, seed);
}

Workload generate_like(const TraceFit& fit, std::uint32_t requests, std::uint64_t seed) {
  const auto reader = make_fitted_reader(fit, requests, seed);
  WorkloadBuilder builder("generated", fit.block_tokens);
  TraceRow row;
  while (reader->next(row)) builder.add(row);
  return builder.build({"generated", "synthetic"});
}

}  // namespace spillway
