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

#include "models/engine/active_request.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/engine_config.hpp"
#include "models/engine/local_chains.hpp"
#include "models/engine/schedulers/load_choice.hpp"
#include "models/engine/schedulers/request_queue.hpp"
#include "models/engine/schedulers/scheduler.hpp"
#include "models/engine/step_plan.hpp"
#include "models/engine/stores/grouped_blocks.hpp"
#include "models/engine/stores/kv_pool.hpp"
#include "sim/observer.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

class VllmScheduler final : public Scheduler {
 public:
  struct Environment {
    const EngineConfig& config;
    const LocalChains& chains;
    RequestPool& requests;
    KvPool& pool;
    KvConnector& connector;
    LoadChoice& load_choice;
    Observer& observer;
  };
  explicit VllmScheduler(const Environment& environment);

  std::uint64_t blocks_of(const ActiveRequest& r) const override;
  bool can_hold(const ActiveRequest& r) const override {
    return blocks_of(r) <= env_.pool.usable();
  }
  void enqueue(Handle h) override {
    waiting_.push_back(h);
    env_.connector.on_enqueue(h);
  }
  void schedule(Time now, StepPlan& plan) override;
  void apply(StepPlan& plan) override;
  void on_step_end(const StepPlan& plan, Time now) override;
  void collect(ActiveRequest& r) override;
  bool finish(Handle h, Time now) override;

  std::uint32_t running() const override { return static_cast<std::uint32_t>(running_.size()); }
  std::uint32_t waiting() const override {
    return static_cast<std::uint32_t>(waiting_.size() + skipped_.size());
  }
  TierLevel level(std::uint32_t) const override {
    return {env_.pool.registered(), env_.pool.evictions(), env_.pool.cached(), env_.pool.used()};
  }
  void report(EngineStats& stats) const override;
  void check_drained() const override { env_.pool.check_drained(); }
  const PrefixCacheCounters& counters() const { return counters_; }
  void withdraw(Handle h) override;
  std::vector<Handle> queued() const override;
  Standstill standstill() const override;
  std::vector<Handle> served() const override { return running_; }

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

  /// A policy that wants chains, and how many blocks its tier keeps as one.
  struct Listener {
    EvictionPolicy* policy;
    std::uint32_t blocks_per_key;
  };

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
  std::size_t victim() const;
  void preempt(std::size_t at, Time now, StepPlan& plan);
  void free_blocks(ActiveRequest& r, Time now);
  void take_from(StepPlan& plan, Handle h);
  RequestQueue& next_queue();
  void promote(ActiveRequest& r);
  void look_up(Handle h, const Access& access);
  void find_local(const ActiveRequest& r);
  void forget_found();
  void remember_blocked(Handle h);
  void choose(const ActiveRequest& r, Time now);
  void count_admission(ActiveRequest& r, Time now);
  std::uint32_t capped(std::uint32_t tokens) const;
  std::uint32_t blocks_for(std::uint32_t tokens) const;
  std::uint32_t reserved_blocks() const;
  bool admit_grouped(ActiveRequest& r, const Admission& a, const Access& access);
  void register_full(ActiveRequest& r, std::uint32_t tokens);
  void release(const std::vector<SlotId>& slots, const Access& access);
  void collect_chain(const ActiveRequest& r, std::uint32_t blocks);
  BlockSpan keys_of(const Listener& listener);
  void tell_lookup(ActiveRequest& r, const Access& access);
  void tell_release(const ActiveRequest& r, Time now);
  void set_prefilling(Handle h, bool on);

  Environment env_;
  std::unique_ptr<GroupedBlocks> groups_;  ///< null with one KV group: the code here then
  std::uint32_t watermark_blocks_;
  RequestQueue waiting_;
  RequestQueue skipped_;
  std::vector<Handle> running_;
  std::vector<Handle> set_aside_;      ///< scratch of one walk
  std::vector<Handle> prefilling_;     ///< prefills and loads under way, in no order
  Found found_;                        ///< of the request being considered
  BlockedHead blocked_;                ///< when valid, found_ is its look-up
  Refusal refusal_;                    ///< of the last walk
  std::uint32_t step_budget_;          ///< tokens of a step
  std::uint32_t budget_ = 0;           ///< what is left of them
  std::uint64_t steps_scheduled_ = 0;  ///< that compute
  std::uint64_t steps_ended_ = 0;
  RingQueue<HeldBack> held_back_;  ///< in the order of their steps
  std::vector<Listener> listeners_;
  std::vector<BlockId> chain_;  ///< scratch: what they are told
  std::vector<BlockId> keys_;   ///< scratch: the same of a tier of chunks
  PrefixCacheCounters counters_;
};

}  // namespace spillway
