// vLLM v1's scheduler: which requests compute how many tokens in the next step
// (vllm/v1/core/sched/scheduler.py, kv_cache_manager.py).
//
// schedule() walks the running requests in order of admission, preempting from the back when blocks
// run out; then, if nothing was preempted, the waiting ones, first those set aside earlier. The
// first that cannot be allocated stops the walk (head-of-line blocking). Preempted requests return
// to the front of the queue and compute everything again, less what the caches still hold. By
// priority, the least important request is preempted, and of the two queues the one goes first
// whose front does.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/schedulers/chain_listeners.hpp"
#include "models/engine/schedulers/load_choice.hpp"
#include "models/engine/schedulers/queue_scheduler.hpp"
#include "models/engine/stores/grouped_blocks.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

class VllmScheduler final : public QueueScheduler {
 public:
  struct Environment {
    const SchedulerConfig& config;
    SchedulerRules rules;
    StepRules step;
    const LocalChains& chains;
    RequestPool& requests;
    KvPool& pool;
    KvConnector& connector;
    LoadChoice& load_choice;
    Observer& observer;
  };
  explicit VllmScheduler(const Environment& environment);

  std::uint64_t blocks_of(const ActiveRequest& r) const override;
  Reason refuses(const ActiveRequest& r) const override {
    return blocks_of(r) <= env_.pool.usable() ? Reason::kNone : Reason::kExceedsPool;
  }
  void enqueue(Handle h) override {
    QueueScheduler::enqueue(h);
    env_.connector.on_enqueue(h);
  }
  void schedule(Time now, StepPlan& plan) override;
  void apply(StepPlan& plan) override;
  void on_step_end(StepPlan& plan, Time now) override;
  void collect(ActiveRequest& r) override;
  bool finish(Handle h, Time now) override;

  TierLevel level(std::uint32_t) const override {
    return {env_.pool.registered(), env_.pool.evictions(), env_.pool.cached(), env_.pool.used()};
  }
  void report(EngineStats& stats) const override;
  void check_drained() const override { env_.pool.check_drained(); }
  const PrefixCacheCounters& counters() const { return counters_; }
  void let_go(Handle h, Time now) override;
  void roll_back(Handle h, std::uint32_t computed, bool sampled) override;
  void withdraw(Handle h) override;
  Standstill standstill() const override;

 private:
  /// What a look-up found for a request about to be admitted.
  struct Found {
    std::vector<SlotId> hits;  ///< its leading blocks that HBM holds; with groups: places
    std::uint32_t hit_blocks = 0;
    std::uint32_t idle = 0;      ///< of these, without users: taking them uses up free blocks
    BlockId missed = kNoBlock;   ///< the block that ended the walk
    std::uint32_t external = 0;  ///< blocks to load from below, behind the hits
    std::uint32_t declined = 0;  ///< blocks that could be loaded, and are computed sooner
    bool known = true;           ///< false: the tier below cannot tell yet
    std::uint32_t local() const { return hit_blocks; }
  };
  /// The head that could not be allocated. Its look-up holds until something it depends on changes,
  /// so that a queue that waits for many steps costs one comparison a step, not one walk.
  struct BlockedHead {
    bool valid = false;
    Handle request{};
    std::uint64_t below_version = 0;
  };
  /// What the request that stopped the walk lacked.
  struct Refusal {
    bool valid = false;
    Handle request{};
    bool budget = false;         ///< tokens of the step; else blocks:
    std::uint32_t needed = 0;    ///< free blocks asked for, the watermark included
    std::uint32_t reserved = 0;  ///< kept from it
  };
  /// Blocks of a preempted request that a step in flight may still write.
  struct HeldBack {
    std::uint64_t step = 0;  ///< they become free when it ends
    RequestId request{};
    std::vector<SlotId> slots;
  };
  enum class Verdict : std::uint8_t { kAdmitted, kSetAside, kStop };

  void schedule_running(Time now, StepPlan& plan);
  void schedule_waiting(Time now, StepPlan& plan);
  Verdict consider(Handle h, Time now, StepPlan& plan);
  bool grow(ActiveRequest& r, std::uint32_t tokens, const Access& access);
  /// What a step is to hold of a waiting request.
  struct Admission {
    std::uint32_t known;   ///< tokens it starts from: resumed, hit or loaded
    std::uint32_t tokens;  ///< to compute behind these
    bool parks;            ///< it waits for its load and computes nothing yet
  };
  bool admit(ActiveRequest& r, const Admission& a, const Access& access);
  void preempt(std::size_t at, Time now, StepPlan& plan);
  void free_blocks(ActiveRequest& r, Time now);
  void take_from(StepPlan& plan, Handle h);
  RequestQueue& next_queue();
  void promote(ActiveRequest& r, const Access& access);
  void give_up_load(ActiveRequest& r, const Access& access);
  void look_up(Handle h, const Access& access);
  void find_local(const ActiveRequest& r);
  void forget_found();
  void remember_blocked(Handle h);
  void choose(const ActiveRequest& r, Time now);
  void count_admission(ActiveRequest& r, Time now);
  std::uint32_t blocks_for(std::uint32_t tokens) const;
  std::uint32_t reserved_blocks() const;
  std::uint32_t watermark() const { return running_.empty() ? 0 : watermark_blocks_; }
  bool admit_grouped(ActiveRequest& r, const Admission& a, const Access& access);
  void register_full(ActiveRequest& r, std::uint32_t tokens);
  void release(const std::vector<SlotId>& slots, const Access& access);
  void set_prefilling(Handle h, bool on);

  Environment env_;
  std::unique_ptr<GroupedBlocks> groups_;  ///< null with one KV group: the code here then
  std::uint32_t watermark_blocks_;
  std::vector<Handle> set_aside_;      ///< scratch of one walk
  std::vector<Handle> prefilling_;     ///< prefills and loads under way, in no order
  Found found_;                        ///< of the request being considered
  BlockedHead blocked_;                ///< when valid, found_ is its look-up
  Refusal refusal_;                    ///< of the last walk
  std::uint32_t budget_ = 0;           ///< tokens left of the step
  std::uint64_t steps_scheduled_ = 0;  ///< that compute
  std::uint64_t steps_ended_ = 0;
  RingQueue<HeldBack> held_back_;  ///< in the order of their steps
  ChainListeners listeners_;
  PrefixCacheCounters counters_;
};

}  // namespace spillway
