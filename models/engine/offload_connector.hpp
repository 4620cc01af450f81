// vLLM's OffloadingConnector with one tier below HBM: what to look up, load and store, when
// (vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py and worker.py).
//
// Stores are eager and asynchronous: blocks computed in step s are offered when s is scheduled and
// submitted when step s+1 starts. Loads are submitted in the step that planned them. Both complete
// at step boundaries only (poll()). A pending store whose HBM blocks are handed out again, or whose
// request was preempted, is flushed: the step waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/active_request.hpp"
#include "models/engine/chain_map.hpp"
#include "models/engine/copy_interference.hpp"
#include "models/engine/engine_config.hpp"
#include "models/engine/kv_pool.hpp"
#include "models/engine/offload_tier.hpp"
#include "models/engine/step_plan.hpp"
#include "models/engine/transfer_waiter.hpp"
#include "models/link/copy_path.hpp"
#include "policies/write_admission_policy.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

/// What one step has to transfer, and what it has to wait for.
struct StepTransfers {
  std::vector<std::uint32_t>
      stores;                        ///< submitted when the step starts: planned earlier, or fenced
  std::vector<std::uint32_t> loads;  ///< submitted once the fences are down
  std::vector<std::uint32_t> behind;  ///< stores submitted when the step ends
  std::uint32_t fences_pending = 0;   ///< flushed stores that have not ended

  void clear() {
    stores.clear();
    loads.clear();
    behind.clear();
    fences_pending = 0;
  }
};

struct OffloadCounters {
  std::uint64_t queries = 0;       ///< full blocks asked for beyond HBM's hits, at first admissions
  std::uint64_t hits = 0;          ///< of these, loaded
  std::uint64_t hits_resumed = 0;  ///< loaded by requests that had been preempted
  std::uint64_t store_failures = 0;  ///< batches refused for want of evictable blocks
  std::uint64_t store_jobs = 0;
  std::uint64_t load_jobs = 0;
  std::uint64_t flushes = 0;  ///< steps that waited for a store
  /// Blocks that write admission kept out, by why; an offer counts once it is settled.
  std::array<std::uint64_t, kWriteVerdicts> refused{};
};

class OffloadConnector final : public TransferListener {
 public:
  struct Environment {
    const EngineConfig& config;
    const ChainMap& chains;
    ResidencyTable& residency;
    RequestPool& requests;
    KvPool& pool;
    TransferWaiter& waiter;
  };
  /// `admission` is null where every block is written.
  OffloadConnector(const Environment& environment, std::unique_ptr<OffloadTier> tier,
                   std::unique_ptr<WriteAdmissionPolicy> admission);
  /// The path must outlive the connector's last transfer.
  void attach(TransferPath& path) { path_ = &path; }

  struct Lookup {
    bool known;            ///< false: ask again at the next step
    std::uint32_t blocks;  ///< that can be loaded behind the local hit
  };
  /// How much of the request lies below, beyond its first `local` blocks. Touches what it finds.
  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access);

  /// The request is to be admitted with `local` hits: write admission may count what it looked for.
  void note_lookup(const ActiveRequest& r, std::uint32_t local);

  /// Pins `blocks` blocks behind the local hit and queues their load for this step. The request
  /// holds HBM slots for them already.
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks);
  /// Offers what this step computes, then what just finished, and decides the step's transfers and
  /// fences. `transfers` must stay where it is until the step has ended.
  void plan_stores(const StepPlan& plan, Time now, StepTransfers& transfers);
  /// The request has emitted its last token; `held` tells whether it held its blocks until then.
  void on_finished(Handle h, bool held);

  void submit_stores(const std::vector<std::uint32_t>& jobs);
  void submit_loads(const std::vector<std::uint32_t>& jobs);
  /// The same in `layers` pieces each, all first layers first, as SGLang's cache controller merges
  /// the loads of a batch layer by layer. The previous such loads have ended.
  void submit_layered_loads(const std::vector<std::uint32_t>& jobs, std::uint32_t layers);
  /// Loads submitted that have not ended.
  std::uint32_t loads_under_way() const { return loads_under_way_; }
  /// Directions in which something that was submitted has not ended.
  BusyLanes busy() const { return {stores_under_way_ > 0, loads_under_way_ > 0}; }
  /// Pieces of a layer that have not arrived.
  std::uint32_t pieces_pending(std::uint32_t layer) const { return pieces_pending_[layer]; }
  /// Takes note of ended transfers, stores first; true when there was one.
  bool poll(Time now);
  /// Something waits for a step even if nothing can run.
  bool wants_step() const { return !deferred_.empty() || !unoffered_.empty(); }
  bool idle() const { return jobs_in_flight_ == 0 && !wants_step(); }

  const OffloadTier& tier() const { return *tier_; }
  EvictionPolicy& policy() { return tier_->policy(); }
  const OffloadCounters& counters() const { return counters_; }
  void count_admission(const ActiveRequest& r, std::uint32_t local, std::uint32_t external);

  void on_transfer_done(Direction direction, std::uint32_t job) override;

 private:
  struct Job {
    Handle request{};
    std::array<StepTransfers*, 2> fencing{};  ///< steps that wait for it
    std::vector<SlotId> below;
    std::vector<SlotId> hbm;   ///< stores only: what a fence watches once the request is finished
    std::uint32_t pieces = 0;  ///< layered loads only: not yet arrived
  };

  std::uint32_t make_job(Handle h);
  void offer(Handle h, std::uint32_t tokens, const Access& access, bool finished);
  void ask_admission(const ActiveRequest& r, Time now);
  void settle(ActiveRequest& r, std::uint32_t storable);
  Bytes bytes_of(std::uint32_t job) const;
  void touch_chain(const ActiveRequest& r, const Access& access);
  void collect_below(RequestId id, std::uint32_t from, std::uint32_t to, std::vector<SlotId>& out);
  void fence(std::uint32_t job);
  void fence_given_blocks();
  bool fenced_now(std::uint32_t job) const;
  void submit(Direction direction, std::uint32_t job);
  bool ends_load(std::uint32_t& job);
  void complete_store(std::uint32_t job, Time now);
  void complete_load(std::uint32_t job, Time now);
  void recycle_if_gone(Handle h);

  Environment env_;
  std::unique_ptr<OffloadTier> tier_;
  std::unique_ptr<WriteAdmissionPolicy> admission_;
  bool counts_lookups_;
  TransferPath* path_ = nullptr;
  OffloadCounters counters_;

  std::vector<Job> jobs_;
  std::vector<std::uint32_t> free_jobs_;
  std::vector<std::uint32_t> planned_;        ///< stores of this step, in order
  std::vector<std::uint32_t> planned_loads_;  ///< loads of this step, in order
  StepTransfers* transfers_ = nullptr;        ///< of the step being planned
  std::vector<std::uint32_t> deferred_;       ///< stores planned earlier, not submitted
  std::vector<std::uint32_t> finished_jobs_;  ///< pending stores of finished requests
  std::vector<Handle> unoffered_;             ///< finished, not offered yet, in order
  std::array<RingQueue<std::uint32_t>, 2> ended_;
  std::uint32_t jobs_in_flight_ = 0;
  std::uint32_t stores_in_flight_ = 0;  ///< of these
  std::uint32_t stores_under_way_ = 0;
  std::uint32_t loads_under_way_ = 0;
  std::vector<std::uint32_t> layered_;         ///< loads under way in pieces
  std::vector<std::uint32_t> pieces_pending_;  ///< by layer
  Bytes stored_bytes_in_flight_{0};

  std::vector<SlotId> offered_;          ///< scratch: offered blocks that are present
  std::vector<BlockId> fresh_;           ///< scratch: offered blocks that are absent
  std::vector<std::uint32_t> fresh_at_;  ///< where these stand in the request
  std::vector<WriteVerdict> verdicts_;   ///< scratch: on these
  std::vector<SlotId> touched_;          ///< scratch
  struct Run {
    std::uint32_t first;
    std::uint32_t count;
  };
  std::vector<Run> runs_;  ///< scratch
};

}  // namespace spillway
