// Schedules requests that run with any part of their chains below HBM (engine.residency:
// streaming).
//
// A request is admitted, first come first served, when the blocks of its whole sequence fit beside
// those that running requests claim: HBM and the tier below together, shared blocks counted once.
// So growth always finds a block, and nothing is ever preempted. Running requests come first, then
// the queue, under vLLM's token budget with chunked prefill. A step fills at most all HBM slots but
// one, which is left to read through: a longer chunk is cut, a request without room waits a step.
//
// In its step each request first gets slots for what it computes, then all of them, in plan order,
// read the full blocks of their chains, root to tail (dense attention, prefill chunks as well as
// decodes). What a step reads from below moves at once; new full blocks enter the cache at the end
// of the step, those beyond a session's budget (EvictionPolicy::excess_of, of the prompt) below.
//
// A decode that selects a share s < 1 of its cold tokens (sparse attention) leaves them where they
// are; a share h of what it reads is found in a page cache on the GPU (hardware model of ArkVale
// and kin), which is not counted in HBM's slots.
//
// With a token budget (H2O: Zhang et al., NeurIPS 2023, arXiv 2306.14048) a sequence that will
// exceed it keeps that many tokens' KV, always in HBM and never shared. Model: within a step
// tokens are evicted before others are written.
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/connectors/cold_link.hpp"
#include "models/engine/schedulers/chain_listeners.hpp"
#include "models/engine/schedulers/queue_scheduler.hpp"
#include "models/engine/stores/streaming_store.hpp"

namespace spillway {

class StreamingScheduler final : public QueueScheduler {
 public:
  struct Environment {
    std::uint32_t block_tokens;
    const StreamingConfig& streaming;
    StepRules step;
    const LocalChains& chains;
    RequestPool& requests;
    StreamingStore& store;
    ColdLink& link;
    Observer& observer;
    Time measure_from;  ///< what requests that came earlier read is not told
  };
  explicit StreamingScheduler(const Environment& environment);

  std::uint64_t blocks_of(const ActiveRequest& r) const override;
  Reason refuses(const ActiveRequest& r) const override;
  void schedule(Time now, StepPlan& plan) override;
  void on_step_end(StepPlan& plan, Time now) override;
  bool finish(Handle h, Time now) override;
  void withdraw(Handle h) override;
  /// HBM, and the tier below where there is one.
  std::uint32_t tiers() const override {
    return env_.store.capacity() > env_.store.usable() ? 2 : 1;
  }
  TierLevel level(std::uint32_t tier) const override {
    return tier == 0 ? env_.store.hbm_level() : env_.store.lower_level();
  }
  void tell_needed(Time now, Observer& observer) const override;
  void report(EngineStats& stats) const override;
  void check_drained() const override { env_.store.check_drained(); }

 private:
  /// What a request's whole sequence takes.
  struct Extent {
    std::uint32_t named = 0;     ///< blocks with ids, from the chain's root
    std::uint32_t nameless = 0;  ///< slots of its own
    std::uint32_t pinned = 0;    ///< HBM slots that it may pin between steps
    std::uint32_t blocks() const { return named + nameless; }
  };
  struct Hits {
    std::uint32_t hbm = 0;
    std::uint32_t below = 0;
    std::uint32_t all() const { return hbm + below; }
  };

  bool lossy(const ActiveRequest& r) const;
  Extent extent_of(const ActiveRequest& r) const;
  void schedule_running(Time now, StepPlan& plan);
  void schedule_waiting(Time now, StepPlan& plan);
  bool fits(const ActiveRequest& r, const Extent& extent) const;
  Hits look_up(const ActiveRequest& r, const Extent& extent) const;
  void count_admission(ActiveRequest& r, const Hits& hits);
  std::uint32_t blocks_for(const ActiveRequest& r, std::uint32_t tokens) const;
  std::uint32_t fitting(const ActiveRequest& r, std::uint32_t tokens) const;
  void grow(ActiveRequest& r, std::uint32_t tokens, const Access& access);
  void read_chains(Time now, StepPlan& plan);
  void end_fill(ActiveRequest& r, const Access& access);
  void tell_reads(const StepPlan& plan) const;
  BlockSpan chain_of(const ActiveRequest& r, std::uint32_t blocks);

  Environment env_;
  bool head_blocked_ = false;   ///< nothing has ended since the first in the queue did not fit
  std::uint32_t pinned_ = 0;    ///< HBM slots that running requests may pin between steps
  std::uint64_t nameless_ = 0;  ///< slots promised to them, taken or not
  std::uint64_t nameless_taken_ = 0;
  std::uint32_t budget_ = 0;
  ChainListeners listeners_;
  std::vector<BlockId> chain_;  ///< scratch
  PrefixCacheCounters counters_;
  OffloadCounters below_;  ///< look-ups of the blocks that HBM did not have, and hits
};

}  // namespace spillway
