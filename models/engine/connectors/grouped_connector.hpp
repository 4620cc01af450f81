// vLLM's OffloadingConnector where a model has several KV cache groups, over one tier
// (vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py; #39403, #41228, #41445).
//
// What the tier keeps is a page: a chunk of blocks of one group, named by its last block x groups +
// group. A prefix counts as far as every full group has all its pages and every sliding group those
// of the last window; a load brings no more than that. Stores offer the pages that a request has,
// those of sliding groups before they leave the window: of a chunk that is longer than the window,
// the first blocks are gone when it is full, and it is not stored. Such blocks may be handed out
// again while their request still runs: their store is watched from the start, that of a full
// group's only once its request has finished. Model: every page offered is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/engine/connectors/tier_connector.hpp"

namespace spillway {

class GroupedConnector final : public TierConnector {
 public:
  /// `requests`: of the workload.
  GroupedConnector(const Environment& environment, FirstStore first,
                   std::unique_ptr<TierStack> stack, std::uint32_t requests);

  Lookup look_up(const ActiveRequest& r, std::uint32_t local, const Access& access) override;
  void plan_load(Handle h, std::uint32_t local, std::uint32_t blocks) override;

 private:
  /// What one group has below of a range of chunks.
  struct Hits {
    std::uint32_t chunks = 0;
    bool pending = false;  ///< some page looked at is being written: ask again
  };
  struct Asking {
    const ActiveRequest& r;
    const Access& access;
  };
  bool sliding(std::uint32_t group) const { return group < groups_.sliding; }
  BlockPlace page(std::uint32_t chunk, std::uint32_t group) const {
    return tier_->place(BlockId{names_[chunk] * count_ + group});
  }
  /// Of a full group: it has the page of every block.
  std::uint32_t position_of(std::uint32_t block) const override {
    return block / per_chunk_ * count_ + count_ - 1;
  }
  std::uint32_t chunks_up_to(std::uint32_t tokens) const {
    return (tokens + chunk_tokens_ - 1) / chunk_tokens_;
  }
  LookupState state_at(std::uint32_t chunk, std::uint32_t group, const Asking& who);
  void name_chunks(const ActiveRequest& r);
  Hits prefix_below(std::uint32_t group, std::uint32_t from, std::uint32_t to, const Asking& who);
  Hits window_below(std::uint32_t group, std::uint32_t from, std::uint32_t to, const Asking& who);
  std::optional<std::uint32_t> reach(const Asking& who, std::uint32_t local);
  bool convoy(std::uint32_t from, std::uint32_t to) const;
  void touch(const ActiveRequest& r, const Access& access);
  void offer(Handle h, std::uint32_t tokens, const Access& access, bool finished) override;
  void watch_to_end(std::uint32_t job) override;
  void collect_offers(const ActiveRequest& r, std::uint32_t storable, bool finished);
  bool collect_slots(const ActiveRequest& r, std::uint32_t chunk, std::uint32_t group,
                     bool finished);
  void make_job(Handle h, bool finished);
  SlotSpan watched(std::uint32_t job) const;
  SlotSpan unwatched(std::uint32_t job) const;
  void fence_given() override;
  void complete_store(std::uint32_t job, Time now) override;

  KvGroups groups_;
  std::uint32_t count_;
  std::uint32_t window_;              ///< chunks that a look-up wants in a row of a sliding group
  std::vector<std::uint32_t> order_;  ///< of look-ups: full groups first
  IdVector<RequestId, std::uint32_t> hit_chunks_;  ///< of each request's last look-up, above too

  std::vector<std::uint32_t> pending_;        ///< store jobs under way, in order
  std::vector<std::uint32_t> sliding_slots_;  ///< by job: the first of those it reads

  std::vector<std::uint32_t> names_;  ///< scratch: last blocks of a request's full chunks
  std::vector<SlotId> offered_;       ///< scratch: offered pages that are below
  std::vector<BlockId> fresh_;        ///< scratch: offered pages that are not
  std::vector<SlotId> fresh_at_;      ///< scratch: where their blocks are in HBM
  std::uint32_t fresh_sliding_ = 0;   ///< scratch: how many of these, the first, slide
  std::vector<SlotId> chunk_slots_;   ///< scratch
  std::vector<SlotId> touched_;       ///< scratch
};

}  // namespace spillway
