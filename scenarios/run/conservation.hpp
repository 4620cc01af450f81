// The observer that runs in every simulation and fails it when something appears or vanishes:
// blocks in a tier, requests, tokens, or transfers that end before they could.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/error.hpp"
#include "sim/observer.hpp"

namespace spillway {

class Conservation final : public Observer {
 public:
  /// `pipelined`: steps of one engine overlap, in order.
  Conservation(std::uint32_t requests, std::vector<std::uint64_t> capacity_blocks,
               bool pipelined = false)
      : pipelined_(pipelined),
        ended_(requests, 0),
        capacity_blocks_(std::move(capacity_blocks)),
        tiers_(capacity_blocks_.size()) {}

  void on_step(const StepRecord& r) override {
    if (r.engine >= last_steps_.size()) last_steps_.resize(r.engine + 1);
    LastStep& last = last_steps_[r.engine];
    KV_ASSERT(r.start <= r.end && r.start >= (pipelined_ ? last.start : last.end), "steps overlap");
    KV_ASSERT(r.end >= last.end, "a step overtakes the one before it");
    KV_ASSERT(r.scheduled_tokens > 0 && r.recomputed_tokens <= r.scheduled_tokens,
              "a step of {} tokens, {} of them repeated", r.scheduled_tokens, r.recomputed_tokens);
    last = {r.start, r.end};
  }
  void on_request(const RequestRecord& r) override {
    KV_ASSERT(raw(r.request) < ended_.size(), "request {} was never sent", raw(r.request));
    KV_ASSERT(ended_[raw(r.request)]++ == 0, "request {} ended twice", raw(r.request));
    ++ended_requests_;
    if (r.status != RequestStatus::kCompleted) return;
    KV_ASSERT(r.due != kNever && r.due <= r.arrival, "request {} arrived before it was due",
              raw(r.request));
    KV_ASSERT(r.arrival <= r.scheduled && r.scheduled <= r.first_token && r.first_token <= r.finish,
              "request {}: effect before cause", raw(r.request));
    std::uint64_t cached = 0;
    for (const std::uint32_t tokens : r.cached_tokens) cached += tokens;
    KV_ASSERT(cached <= r.input_tokens, "request {}: {} of {} prompt tokens cached", raw(r.request),
              cached, r.input_tokens);
  }
  void on_transfer(const TransferRecord& r) override {
    KV_ASSERT(r.submitted <= r.started && r.started < r.ended,
              "a transfer ended before it started");
  }
  /// The last copy of a block that running requests need never goes, and HBM and the tier below
  /// hold each such block once between them.
  void on_needed_blocks(const NeededBlocks& n) override {
    KV_ASSERT(n.in_hbm + n.below_only == n.blocks,
              "running requests need {} blocks; {} are in HBM, {} only below", n.blocks, n.in_hbm,
              n.below_only);
    KV_ASSERT(n.in_hbm == tiers_[0].used, "{} needed blocks in HBM, {} of its blocks in use",
              n.in_hbm, tiers_[0].used);
    KV_ASSERT(n.below_only == 0 || n.below_only <= tiers_[1].used,
              "{} needed blocks below, which holds {}", n.below_only,
              tiers_.size() > 1 ? tiers_[1].used : 0);
  }
  void on_tier_change(const TierChange& c) override {
    KV_ASSERT(c.tier < tiers_.size(), "no tier {}", c.tier);
    Tier& tier = tiers_[c.tier];
    tier.used = c.used;
    tier.in += c.stored;
    tier.out += c.evicted;
    KV_ASSERT(tier.in - tier.out == c.resident, "tier {}: {} blocks in, {} out, {} held", c.tier,
              tier.in, tier.out, c.resident);
    KV_ASSERT(c.resident <= capacity_blocks_[c.tier] && c.used <= capacity_blocks_[c.tier],
              "tier {} holds {} blocks, capacity {}", c.tier, c.resident, capacity_blocks_[c.tier]);
  }

  /// After the run: every request ended, and none of them still holds HBM. `stuck` requests may.
  void on_end(std::uint32_t stuck) const {
    KV_ASSERT(ended_requests_ == ended_.size(), "{} requests went in, {} came out", ended_.size(),
              ended_requests_);
    KV_ASSERT(stuck > 0 || tiers_[0].used == 0, "{} HBM blocks in use after the last request",
              tiers_[0].used);
  }

  std::uint64_t ended_requests() const { return ended_requests_; }

 private:
  struct Tier {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    std::uint64_t used = 0;
  };
  struct LastStep {
    Time start{};
    Time end{};
  };
  bool pipelined_;
  std::vector<std::uint8_t> ended_;
  std::vector<std::uint64_t> capacity_blocks_;
  std::vector<Tier> tiers_;
  std::uint64_t ended_requests_ = 0;
  std::vector<LastStep> last_steps_;  ///< by engine
};

}  // namespace spillway
