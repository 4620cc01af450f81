// The transfers of a connector from their planning to their end: numbered jobs, submitted whole or
// layer by layer, and the fences of steps that wait for stores.
//
// Per step: begin_plan(), then plan_load(), plan_store() and fence() in any order, then end_plan().
// A planned store is submitted when the next step starts (or as its own ends); one that is fenced,
// in its own step, which waits for it. What has ended waits in ended() for the connector's poll.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/compute/copy_interference.hpp"
#include "models/link/copy_path.hpp"
#include "models/releases/offload_config.hpp"
#include "models/requests/step_plan.hpp"
#include "sim/ring_queue.hpp"
#include "sim/slab.hpp"

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

struct TransferJob {
  Handle request{};
  std::uint32_t blocks = 0;   ///< HBM blocks that it copies
  std::vector<SlotId> below;  ///< slots of the tier
  std::vector<SlotId> hbm;    ///< stores only: what fences watch
  /// Steps that wait for it: those in flight, and empty ones that were scheduled in between.
  std::vector<StepTransfers*> fencing;
  std::uint32_t pieces = 0;  ///< layered loads only: not yet arrived
  std::uint32_t served = 0;  ///< other loads: stations that serve parts of it
};

class TransferJobs {
 public:
  TransferJobs(const OffloadConfig& config, TransferWaiter& waiter)
      : config_(config), waiter_(waiter) {}
  /// The path must outlive the last transfer.
  void attach(TransferPath& path) { path_ = &path; }

  std::uint32_t make(Handle h);
  void release(std::uint32_t job);
  TransferJob& operator[](std::uint32_t job) { return jobs_[job]; }
  const TransferJob& operator[](std::uint32_t job) const { return jobs_[job]; }
  Bytes bytes_of(std::uint32_t job) const {
    return config_.block_bytes * static_cast<std::int64_t>(jobs_[job].blocks);
  }

  /// `transfers` must stay where it is until the step has ended.
  void begin_plan(StepTransfers& transfers);
  void plan_load(std::uint32_t job) { planned_loads_.push_back(job); }
  void plan_store(std::uint32_t job) { planned_.push_back(job); }
  /// The step being planned waits for this store.
  void fence(std::uint32_t job);
  void end_plan();

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

  void on_load_service(std::uint32_t job, bool begins);
  void on_transfer_done(Direction direction, std::uint32_t job);
  /// Jobs that have ended and that nobody has taken note of, in order.
  RingQueue<std::uint32_t>& ended(Direction direction) { return ended_[index_of(direction)]; }
  /// Takes note of all of them, stores first; whether there was any.
  template <class Store, class Load>
  bool take_ended(Store store, Load load) {
    auto& stores = ended(Direction::kDown);
    auto& loads = ended(Direction::kUp);
    const bool any = !stores.empty() || !loads.empty();
    for (; !stores.empty(); stores.pop_front()) store(stores.front());
    for (; !loads.empty(); loads.pop_front()) load(loads.front());
    return any;
  }

  /// Planned and not submitted.
  bool any_deferred() const { return !deferred_.empty(); }
  /// Made and not released.
  std::uint32_t in_flight() const { return in_flight_; }

 private:
  bool fenced_now(std::uint32_t job) const;
  void submit(Direction direction, std::uint32_t job);
  bool ends_load(std::uint32_t& job);

  const OffloadConfig& config_;
  TransferWaiter& waiter_;
  TransferPath* path_ = nullptr;
  Slab<TransferJob> jobs_;
  std::uint32_t in_flight_ = 0;
  std::vector<std::uint32_t> planned_;        ///< stores of this step, in order
  std::vector<std::uint32_t> planned_loads_;  ///< loads of this step, in order
  StepTransfers* transfers_ = nullptr;        ///< of the step being planned
  std::vector<std::uint32_t> deferred_;       ///< stores planned earlier, not submitted
  std::array<RingQueue<std::uint32_t>, 2> ended_;
  std::uint32_t stores_under_way_ = 0;
  std::uint32_t loads_under_way_ = 0;
  std::vector<std::uint32_t> layered_;         ///< loads under way in pieces
  std::vector<std::uint32_t> pieces_pending_;  ///< by layer
};

}  // namespace spillway
