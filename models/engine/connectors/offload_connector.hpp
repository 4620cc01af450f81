// vLLM's OffloadingConnector with one tier below HBM: what to look up, load and store, when
// (vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py and worker.py).
//
// Stores are eager and asynchronous: blocks computed in step s are offered when s is scheduled and
// submitted when step s+1 starts. Loads are submitted in the step that planned them. Both complete
// at step boundaries only (poll()). A pending store whose HBM blocks are handed out again, or whose
// request was preempted, is flushed: the step waits for it.
//
// The tier keeps and moves chunks of blocks_per_chunk HBM blocks, known by their last block; a
// request's chunks start at its root. A load brings only the blocks that HBM lacks, so of its first
// chunk perhaps a part.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/connectors/tier_connector.hpp"
#include "policies/write_admission/store_threshold.hpp"
#include "policies/write_admission_policy.hpp"

namespace spillway {

class OffloadConnector final : public TierConnector {
 public:
  /// `admission` is null where every block is written.
  OffloadConnector(const Environment& environment, FirstStore first,
                   std::unique_ptr<TierStack> stack,
                   std::unique_ptr<WriteAdmissionPolicy> admission);

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  void on_enqueue(Handle h) override {
    if (stack_->looks_ahead()) ahead_.push_back({h, env_.requests[h].id, 0});
  }
  void note_lookup(const ActiveRequest& r, std::uint32_t local) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;
  void grow_blocks(std::uint32_t blocks) override;

 private:
  std::uint32_t position_of(std::uint32_t block) const override { return block / per_chunk_; }
  void look_ahead(Time now) override;
  void offer(Handle h, std::uint32_t tokens, const Access& access, bool finished) override;
  void watch_to_end(std::uint32_t job) override;
  void ask_admission(const ActiveRequest& r, Time now);
  void drop_unseen();
  void settle(ActiveRequest& r, std::uint32_t storable);
  template <class Visit>
  void for_keys(RequestId id, std::uint32_t from, std::uint32_t to, Visit visit) const;
  bool threshold_counts_lookups() const override {
    return threshold_ != nullptr && !threshold_->counts_offers();
  }
  void collect_keys(RequestId id, std::uint32_t from, std::uint32_t to);
  void touch_chain(const ActiveRequest& r, const Access& access);
  void touch_all();
  void collect_below(RequestId id, std::uint32_t from, std::uint32_t to, std::vector<SlotId>& out);
  void fence_given() override;
  void complete_store(std::uint32_t job, Time now) override;

  std::unique_ptr<WriteAdmissionPolicy> admission_;
  std::unique_ptr<StoreThreshold> threshold_;  ///< null: chunks are stored at first sight
  bool counts_lookups_;                        ///< write admission does

  /// A request that waits, of which levels behind may be read already.
  struct Ahead {
    Handle handle;
    RequestId request;
    std::uint32_t from;  ///< chunks before this one are in the nearest tier, or were
  };
  std::vector<Ahead> ahead_;

  std::vector<std::uint32_t> finished_jobs_;  ///< pending stores of finished requests
  std::uint32_t stores_in_flight_ = 0;
  Bytes stored_bytes_in_flight_{0};

  std::vector<SlotId> offered_;          ///< scratch: offered chunks that are present
  std::vector<BlockId> fresh_;           ///< scratch: offered chunks that are absent
  std::vector<std::uint32_t> fresh_at_;  ///< where these stand in the request, in chunks
  std::vector<WriteVerdict> verdicts_;   ///< scratch: on these
  std::vector<SlotId> touched_;          ///< scratch
  std::vector<BlockId> keys_;            ///< scratch
  struct Run {
    std::uint32_t first;
    std::uint32_t count;
  };
  std::vector<Run> runs_;  ///< scratch
};

}  // namespace spillway
