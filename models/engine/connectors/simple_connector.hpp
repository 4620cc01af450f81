// vLLM's SimpleCPUOffloadConnector: host memory as a second block pool
// (vllm/v1/simple_kv_offload/manager.py @ 0268d82715, worker.py @ 02f250b03f,
// vllm/distributed/kv_transfer/kv_connector/v1/simple_cpu_offload_connector.py).
//
// The pool below is the same class as HBM's (vllm/v1/core/block_pool.py): a free queue that keeps
// the blocks it still caches, least recently used first, and one block that is never used, so that
// of n blocks n - 1 are usable. All its rules follow from reference counts:
//
// Look-up (get_num_new_matched_tokens): from the local hit to the first block that is not cached
//   below, at most floor((T - 1) / B) blocks in all, so an aligned prompt computes its last block
//   again. It always knows: a block that is being written is a miss, one that others load is a hit.
//   What it finds is pinned until the request is admitted, looks again, or leaves the queue, also
//   while the request waits for HBM.
// Loads (update_state_after_alloc): one job a step for all requests, submitted as the step starts.
//   All of its requests wait for all of it.
// Eager stores (_prepare_eager_store_specs): of each request that gets tokens, those that run for
//   the first time first, the blocks filled by earlier steps (computed less tokens in flight,
//   answers included) that HBM has hashed and that are neither cached below nor on their way down.
//   As many as find a place below, the rest at the next step. A block is looked at once each time
//   its request is admitted. What the last step of a request fills is never stored (#41704; the
//   flush at the finish came with #53532, later than every preset here).
// Lazy stores (_prepare_lazy_store_specs): a cursor walks HBM's free queue, at each step over the
//   next 2 x ceil(max_num_batched_tokens / B) slots, and copies what is cached there and not below.
//   The cursor starts at the head and returns to it when the slot it stands on is in use. Because
//   it moves on at every step it is not bound to the head: once it has passed the slots that were
//   free from the start it stands at the tail, and copies what is released one step later. A copied
//   block goes behind those released while it was copied (open PR #40332 would put it first).
// Stores: one job a step, submitted behind the step's compute. Their HBM blocks have one user more
//   until they end, so nothing is fenced: blocks in copy cannot be handed out, and return to the
//   free queue's tail in the job's order, the head of a sequence first (_process_store_completion).
// Preemption: a step that preempts waits for every transfer under way before it computes
//   (need_flush, handle_preemptions). A resumed request is scanned from its first block.
// Finish: nothing waits for it; the request is gone while its stores go on.
//
// Issue #53498 says that blocks stored eagerly are never found. The source cited here enters them
// into the map that look-ups ask as their job ends, and the fix (#53532) adds to that the further
// hashes of models whose prefixes hit finer than a block, which do not occur here. So look-ups find
// what was stored; a release that finds nothing is not modelled. The other half, blocks
// that are never stored, is (see eager stores). The disk mode is not modelled.
//
// Readings, where upstream follows host timing or sets: a transfer that ends during a step is seen
// at its end, loads before stores (update_connector_output). Requests of a load continue in the
// order in which they were admitted. Model: a step without tokens stores nothing when lazy
// (upstream goes on while the engine is polled; with a small pool below it would never come to
// rest). Copies run at lowest stream priority (worker.py); here they take from steps what
// `interference` says. Loads keep a reference on their HBM blocks too; as nothing can take blocks
// from a request that loads, it changes nothing and is left out.
#pragma once

#include <cstdint>
#include <vector>

#include "models/chains/local_chains.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/stores/kv_pool.hpp"
#include "models/releases/offload_config.hpp"

namespace spillway {

class SimpleConnector final : public KvConnector {
 public:
  /// `capacity_blocks` without the one that is never used.
  SimpleConnector(const Environment& environment, std::uint64_t capacity_blocks);

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  std::uint64_t version() const override { return cpu_.registered() + cpu_.evictions(); }
  void count_admission(const ActiveRequest& r, std::uint32_t local,
                       std::uint32_t external) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers) override;
  void on_finished(Handle h, bool held) override;
  void on_withdrawn(const ActiveRequest& r, Time now) override { unpin(r.id, {now, r.id}); }
  bool poll(Time now) override;
  bool wants_step() const override { return false; }

  TierLevel level(std::uint32_t tier) const override;
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void grow_blocks(std::uint32_t blocks) override { cpu_.grow_blocks(blocks); }
  void tell(StoreWatch& watch) override { cpu_.tell(watch); }
  void check_drained() const override;
  void tell_clocks(std::uint32_t job, LoadEvent event, Time now) override;
  void on_transfer_done(Direction direction, std::uint32_t job) override;

 private:
  static constexpr std::uint32_t kNoJob = ~std::uint32_t{0};
  /// How far a request's blocks have been looked at for eager storing.
  struct Scan {
    std::uint32_t next = 0;
    bool started = false;  ///< it has been given tokens before
  };
  /// What a look-up holds below for a request that is not admitted yet.
  struct Pin {
    RequestId request{};
    std::vector<SlotId> slots;
  };
  /// The blocks of one request in a job.
  struct Part {
    Handle handle{};
    RequestId request{};
    std::uint32_t blocks = 0;
  };

  bool cached_below(BlockId block) { return cpu_.places(raw(block))->here(); }
  Scan& scan_of(Handle h);
  Pin* find_pin(RequestId request);
  void drop_pin(Pin& pin);
  void unpin(RequestId request, const Access& access);
  void store_computed(const StepPlan& plan, Time now);
  void scan(const ScheduledTokens& item, Time now);
  void store_next_victims(Time now);
  void store(SlotSpan slots, const Part& part, const Access& access);
  std::uint32_t open_job(std::uint32_t& job);
  void release_in_order(KvPool& pool, SlotSpan slots, const Access& access);
  void complete_load(std::uint32_t job, Time now);
  void complete_store(std::uint32_t job, Time now);

  Environment env_;
  KvPool cpu_;
  std::uint32_t lazy_target_;
  SlotId cursor_ = kNoSlot;  ///< the last slot that the lazy walk looked at
  OffloadCounters counters_;

  std::vector<Scan> scans_;            ///< by handle
  std::vector<std::uint8_t> storing_;  ///< by HBM slot: its block is on its way down
  std::vector<Pin> pins_;              ///< the first pinned_ are in use
  std::size_t pinned_ = 0;
  std::uint32_t load_job_ = kNoJob;  ///< of the step being planned
  std::uint32_t store_job_ = kNoJob;
  std::vector<std::vector<Part>> parts_;  ///< by job
  std::vector<std::uint32_t> under_way_;  ///< jobs that have not ended
  std::vector<SlotId> fresh_;             ///< scratch: HBM slots to store
  std::vector<SlotId> scratch_;
};

}  // namespace spillway
