// Retention priorities as TensorRT-LLM keeps them (cpp/tensorrt_llm/batch_manager/
// evictionPolicy.cpp, KvCacheRetentionConfig): each block has one from 0 to 100, 35 unless a
// request says otherwise; the lowest leaves first, among equals the least recently used, and of a
// chain its tail before its head. A priority may carry a duration, counted from the block's last
// release or use; when it is over, the block falls back to 35, as the newest of that priority.
//
// No trace carries retention configurations, so the parameters stand for one that every request
// brings: a priority and its duration for the blocks whose first token is among the first
// `prefix_tokens`, another priority for the rest.
//
// Model: only leaves leave, where chains are known. Upstream's queues have held leaves only, or any
// unused block whose descendants die with it, depending on the release.
//
// Memory: 44 bytes a slot, 16 more where one was put aside, 16 a block.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "policies/catalogue.hpp"
#include "policies/containers/block_depths.hpp"
#include "policies/containers/index_list.hpp"
#include "policies/containers/leaf_queue.hpp"
#include "policies/durations.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kDefaultPriority = 35;

struct Retention {
  std::uint64_t prefix_blocks = 0;
  std::uint64_t prefix_priority = kDefaultPriority;
  Duration prefix_duration{};  ///< zero: for ever
  std::uint64_t other_priority = kDefaultPriority;
};

class Priority final : public EvictionPolicy {
 public:
  Priority(const EvictionContext& context, const Retention& retention)
      : contents_(*context.contents),
        retention_(retention),
        queue_(kLevels, context.slots, context.blocks),
        depths_(context.blocks),
        expiring_(context.slots),
        expiry_(context.slots) {
    std::array<std::uint64_t, 3> values = {retention.prefix_priority, retention.other_priority,
                                           kDefaultPriority};
    std::sort(values.begin(), values.end());
    const auto level = [&](std::uint64_t priority) {
      return 1 + static_cast<std::uint32_t>(std::find(values.begin(), values.end(), priority) -
                                            values.begin());
    };
    prefix_level_ = level(retention.prefix_priority);
    other_level_ = level(retention.other_priority);
    default_level_ = level(kDefaultPriority);
    timed_ = retention.prefix_duration > Duration{} && prefix_level_ != default_level_;
  }

  bool wants_chains() const override { return true; }
  void on_lookup(BlockSpan chain, const Access&) override { learn(chain); }
  void on_release(BlockSpan chain, const Access&) override { learn(chain); }

  void add(SlotSpan slots, const Access& access) override {
    advance(access.now);
    for (const SlotId slot : slots) {
      const std::uint32_t level = level_of(contents_[slot]);
      queue_.push(slot, contents_[slot], level);
      if (timed_ && level == prefix_level_) start_clock(slot);
    }
  }
  void touch(SlotSpan slots, const Access& access) override {
    advance(access.now);
    for (const SlotId slot : slots) {
      const std::uint32_t level = level_of(contents_[slot]);
      queue_.renew(slot, level);
      stop_clock(slot);
      if (timed_ && level == prefix_level_) start_clock(slot);
    }
  }
  void remove(SlotSpan slots, RemoveCause cause) override {
    for (const SlotId slot : slots) {
      queue_.withdraw(slot);
      if (cause == RemoveCause::kInvalidated) queue_.forget(slot);
      stop_clock(slot);
    }
  }
  void pop_victims(std::span<SlotId> out, BlockSpan, const Access& access) override {
    advance(access.now);
    for (SlotId& victim : out) {
      victim = queue_.pop();
      stop_clock(victim);
    }
  }
  void grow(std::uint32_t slots, std::uint32_t blocks) override {
    queue_.grow(slots, blocks);
    depths_.grow(blocks);
    expiring_.grow(slots);
    expiry_.resize(slots);
  }

 private:
  /// One for each of the three priorities there are, above a block without a name.
  static constexpr std::uint32_t kLevels = 4;
  static constexpr std::uint32_t kUnnamed = 0;

  void learn(BlockSpan chain) {
    queue_.learn(chain);
    depths_.learn(chain);
  }
  std::uint32_t level_of(BlockId block) const {
    if (block == kNoBlock) return kUnnamed;
    return depths_[block] < retention_.prefix_blocks ? prefix_level_ : other_level_;
  }

  /// All durations are equal, so the list of those that wait is in order of their ends.
  void start_clock(SlotId slot) {
    expiry_[raw(slot)] = now_ + retention_.prefix_duration;
    expiring_.push_back(raw(slot));
  }
  void stop_clock(SlotId slot) {
    if (expiring_.contains(raw(slot))) expiring_.erase(raw(slot));
  }
  void advance(Time now) {
    now_ = std::max(now_, now);
    while (!expiring_.empty() && expiry_[expiring_.front()] <= now_) {
      const SlotId slot{expiring_.front()};
      expiring_.erase(raw(slot));
      queue_.renew(slot, default_level_);
    }
  }

  const SlotContents& contents_;
  Retention retention_;
  LeafQueue queue_;
  BlockDepths depths_;
  IndexList expiring_;
  std::vector<Time> expiry_;
  std::uint32_t prefix_level_ = 0;
  std::uint32_t other_level_ = 0;
  std::uint32_t default_level_ = 0;
  bool timed_ = false;
  Time now_{};
};

}  // namespace

extern const ParamSpec kPriorityParams[4];
const ParamSpec kPriorityParams[4] = {
    {"prefix_tokens", "blocks that begin within a chain's first so many tokens are its prefix", 0,
     0, 1e9, ParamSpec::Kind::kWhole},
    {"prefix_priority", "of a prefix, from 0 (leaves first) to 100", 35, 0, 100,
     ParamSpec::Kind::kWhole},
    {"prefix_duration_s", "how long that lasts after a use, then 35 holds; 0: for ever", 0, 0, 1e9},
    {"other_priority", "of all other blocks", 35, 0, 100, ParamSpec::Kind::kWhole},
};

std::unique_ptr<EvictionPolicy> make_priority(const EvictionContext& context, const Params& params,
                                              const SourceRef&) {
  Retention retention;
  const std::uint64_t tokens = context.block_tokens;
  retention.prefix_blocks = (params.whole("prefix_tokens") + tokens - 1) / tokens;
  retention.prefix_priority = params.whole("prefix_priority");
  retention.prefix_duration = duration_of(params, "prefix_duration_s");
  retention.other_priority = params.whole("other_priority");
  return std::make_unique<Priority>(context, retention);
}

}  // namespace spillway
