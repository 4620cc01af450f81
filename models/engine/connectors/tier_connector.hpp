// What connectors over tiers below HBM have in common: how much of a request may be stored, its
// admission's counts, what becomes of transfers that have ended, and what the tiers behind the
// first make of a look-up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/tier_stack.hpp"
#include "models/engine/stores/kv_pool.hpp"

namespace spillway {

/// The tier below HBM: an engine's own, or one that it shares with others.
struct FirstStore {
  std::unique_ptr<BlockStore> own;  ///< null where it is shared
  BlockStore& store;
};

/// Where the tier is shared, what others write is not there yet, and what they read is ready: their
/// transfers are nothing to wait for.
class TierConnector : public KvConnector {
 public:
  std::uint64_t version() const override { return tier_->version() + stack_->version(); }
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  bool poll(Time now) override;
  void on_withdrawn(const ActiveRequest& r, Time) override { forget(r.id); }
  bool wants_step() const override {
    return jobs_.any_deferred() || !unoffered_.empty() || stack_->any_ended();
  }
  bool idle() const override { return KvConnector::idle() && stack_->idle(); }
  void attribute(ActiveRequest& r, std::uint32_t local, std::uint32_t external) override;
  void report(EngineStats& stats) const override;
  std::uint32_t tiers() const override { return 1 + static_cast<std::uint32_t>(stack_->size()); }
  TierLevel level(std::uint32_t tier) const override;
  void tell_clocks(std::uint32_t job, LoadEvent event, Time now) override {
    env_.requests[jobs_[job].request].clock.on_load(event, now);
  }
  EvictionPolicy* policy() override { return &tier_->policy(); }
  const OffloadCounters& counters() const override { return counters_; }
  void grow_blocks(std::uint32_t blocks) override {
    if (!shared_) tier_->grow_blocks(blocks);
    stack_->grow_blocks(blocks);
  }
  void tell(StoreWatch& watch) override { tier_->tell(watch); }
  void check_drained() const override {
    if (!shared_) tier_->check_drained();
    stack_->check_drained();
  }

 protected:
  TierConnector(const Environment& environment, FirstStore first, std::unique_ptr<TierStack> stack)
      : KvConnector(environment.config, environment.waiter),
        env_(environment),
        per_chunk_(environment.config.blocks_per_chunk),
        chunk_tokens_(environment.config.block_tokens * per_chunk_),
        own_tier_(std::move(first.own)),
        tier_(&first.store),
        shared_(own_tier_ == nullptr),
        stack_(std::move(stack)),
        has_levels_(stack_->size() > 0) {}

  /// A request's blocks by the names that the first tier has for them.
  template <class Run>
  void for_runs(RequestId id, std::uint32_t from, std::uint32_t to, Run run) const {
    env_.chains.for_runs(id, from, to, run, !shared_);
  }
  // Reads and writes of this engine.
  void begin_write(BlockSpan chunks, std::vector<SlotId>& out);
  void end_write(SlotSpan slots, const Access& access);
  void begin_read(SlotSpan slots);
  void end_read(SlotSpan slots, const Access& access);

  /// What of the request may go below, in tokens.
  std::uint32_t storable_tokens(const ActiveRequest& r) const {
    return std::min(env_.config.offload_prompt_only ? r.prompt : r.tokens(), r.store_limit);
  }
  /// What a look-up finds of a chunk that is at `place` in the first tier, with the tiers behind.
  LookupState state_of(BlockPlace place, const ChunkAt& chunk, const ActiveRequest& r,
                       const Access& access) {
    if (has_levels_) return state_behind(place, chunk, r, access);
    return shared_ ? state_among_others(place) : tier_->state(place);
  }
  /// Which of the request's chunks says where its block `block` came from.
  virtual std::uint32_t position_of(std::uint32_t block) const = 0;
  /// The request is about to be let go.
  void forget(RequestId request) {
    if (has_levels_) stack_->forget(request);
  }
  /// The request's chunks that `tokens` tokens fill and that were not offered yet go below, as far
  /// as they are not there. `finished`: for the last time.
  virtual void offer(Handle h, std::uint32_t tokens, const Access& access, bool finished) = 0;
  /// Some slot handed out in this step is still read by a store: fences those that read one.
  virtual void fence_given() = 0;
  /// The request of this store has finished: fences watch all that the store reads.
  virtual void watch_to_end(std::uint32_t job) = 0;
  virtual bool threshold_counts_lookups() const { return false; }
  /// Before the step's promotions are submitted: those for requests that wait.
  virtual void look_ahead(Time /*now*/) {}
  /// Pins what the job loads; the request has its blocks before `end` then.
  void start_load(ActiveRequest& r, std::uint32_t job, std::uint32_t end);
  virtual void complete_store(std::uint32_t job, Time now) = 0;
  /// A finished request is let go once its last blocks were offered and its transfers ended.
  void recycle_if_gone(Handle h);

  Environment env_;
  std::uint32_t per_chunk_;     ///< HBM blocks that the tier keeps and moves as one
  std::uint32_t chunk_tokens_;  ///< of such a chunk
  std::unique_ptr<BlockStore> own_tier_;
  BlockStore* tier_;                  ///< the first below HBM
  bool shared_;                       ///< by other engines, too
  std::unique_ptr<TierStack> stack_;  ///< it and those behind it
  bool has_levels_;                   ///< there are some
  OffloadCounters counters_;
  std::vector<Handle> unoffered_;  ///< finished, not offered yet, in order

 private:
  LookupState state_behind(BlockPlace place, const ChunkAt& chunk, const ActiveRequest& r,
                           const Access& access);
  LookupState state_among_others(BlockPlace place) const;
  void complete_load(std::uint32_t job, Time now);

  static constexpr std::int16_t kOwnWrite = -1;
  std::int16_t& own_at(SlotId slot) {
    if (own_.size() <= raw(slot)) own_.resize(std::size_t{raw(slot)} * 2 + 1);
    return own_[raw(slot)];
  }
  std::vector<std::int16_t> own_;  ///< by slot of a shared tier: reads, or kOwnWrite
  mutable BlockStore::Flow flow_;  ///< of a shared tier, as far as this engine told it
};

}  // namespace spillway
