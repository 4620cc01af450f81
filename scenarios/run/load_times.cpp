#include "scenarios/run/load_times.hpp"

#include <algorithm>

#include "models/engine/schedulers/load_choice.hpp"
#include "models/tier/storage_link.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/result.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kShortest = 256;  // tokens; then twice as many, and so on
constexpr std::uint32_t kLongest = 131'072;

class LoadTimes {
 public:
  LoadTimes(const Scenario& s, RunResult& r)
      : s_(s),
        r_(r),
        cost_(s.make_cost()),
        up_(s.up->make()),
        estimate_(s.engine, *cost_, *up_),
        step_(s.engine.block_tokens * s.engine.blocks_per_chunk) {}

  void add() {
    add_tier(*s_.tier);
    for (const TierChoice& tier : s_.behind) add_tier(tier);
  }

 private:
  void add_tier(const TierChoice& tier) {
    const bool pooled = s_.engine.family != EngineFamily::kMooncake;
    const std::uint32_t pool =
        pooled ? s_.engine.usable_blocks() * s_.engine.block_tokens : kLongest;
    const std::uint32_t model = s_.engine.max_model_len;
    const std::uint32_t most = std::min(kLongest, model > 0 ? std::min(model, pool) : pool);
    for (std::uint32_t tokens = std::max(kShortest, step_); tokens <= most; tokens *= 2) {
      r_.load_times.push_back({tier.name, tokens, milliseconds_of(load(tier, tokens)),
                               milliseconds_of(estimate_.compute(0, tokens))});
    }
    r_.break_even.push_back({tier.name, break_even(tier, most)});
  }

  /// By bisection: once loading wins it is taken to win for all longer prefixes.
  std::uint64_t break_even(const TierChoice& tier, std::uint32_t most) {
    const auto pays = [&](std::uint32_t pieces) {
      return load(tier, pieces * step_) <= estimate_.compute(0, pieces * step_);
    };
    std::uint32_t high = most / step_;
    if (high == 0 || !pays(high)) return 0;
    std::uint32_t low = 0;  // does not pay
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (pays(middle) ? high : low) = middle;
    }
    return std::uint64_t{high} * step_;
  }

  Duration load(const TierChoice& tier, std::uint32_t tokens) {
    const std::uint32_t blocks = tokens / s_.engine.block_tokens;
    const Duration climb = estimate_.load(blocks);
    if (!tier.storage) return climb;
    const Bytes plain = s_.tier_block_bytes() * std::int64_t{blocks};
    const Bytes bytes(
        static_cast<std::int64_t>(static_cast<double>(plain.count()) / tier.serde.ratio));
    const Duration unpacking = time_at_rate(plain, tier.serde.decode_rate);
    const std::int64_t chunks = (tokens + step_ - 1) / step_;
    if (s_.engine.connector == ConnectorKind::kLlmdFs) {
      return files(tier, bytes, chunks) + (tier.by_links ? Duration(0) : climb);
    }
    if (s_.engine.is_kvbm()) return read(tier, bytes);
    if (s_.engine.family == EngineFamily::kTrtllm) {  // straight to the GPU, block by block
      return read(tier, Bytes(bytes.count() / chunks)) * chunks;
    }
    // One job, straight to the GPU from either tier.
    if (s_.engine.store_first()) return tier.up ? read(tier, bytes) : climb;
    // LMCache reads a disk chunk by chunk.
    const bool each = s_.engine.connector == ConnectorKind::kLmcache && tier.kind() == "nvme";
    const std::int64_t jobs = each ? chunks : 1;
    return read(tier, Bytes(bytes.count() / jobs)) * jobs + unpacking + climb;
  }
  /// As many at once as there are threads, each at the rate that one gets.
  Duration files(const TierChoice& tier, Bytes bytes, std::int64_t count) {
    const std::int64_t threads = s_.engine.llmd.threads;
    const std::int64_t rounds = (count + threads - 1) / threads;
    const Duration alone = read(tier, Bytes(bytes.count() / count)) * rounds;
    if (tier.by_links) return alone;
    // Side by side they share what this client gets.
    const StorageLane& lane = tier.storage->spec.read;
    const std::int64_t rate = lowest_rate({lane.total_rate, lane.client_rate});
    return std::max(alone, lane.latency.p50 + time_at_rate(bytes, rate));
  }
  Duration read(const TierChoice& tier, Bytes bytes) {
    if (tier.by_links) {
      const Duration latency = tier.up ? tier.up->latency : s_.up->latency;
      const std::int64_t rate = tier.up ? tier.up->bytes_per_second : s_.up->bytes_per_second;
      return make_affine_link(latency, rate)->service_time(bytes, 1);
    }
    StorageSpec one = tier.storage->spec;
    one.slots = 1;  // a thread does all of a job
    return make_storage_read_link(one, tier.storage->clients, nullptr, 1)->service_time(bytes, 1);
  }

  const Scenario& s_;
  RunResult& r_;
  std::unique_ptr<StepCost> cost_;
  std::unique_ptr<LinkModel> up_;
  LoadEstimate estimate_;
  std::uint32_t step_;
};

}  // namespace

void add_load_times(const Scenario& s, RunResult& r) {
  LoadTimes(s, r).add();
}

}  // namespace spillway
