// A request between its arrival and its end, and the pool these live in.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/requests/ttft_clock.hpp"
#include "sim/ids.hpp"
#include "sim/observer.hpp"
#include "sim/units.hpp"

namespace spillway {

/// An index into the pool; reused once the request is gone.
enum class Handle : std::uint32_t {};

enum class RequestState : std::uint8_t {
  kWaiting,    ///< not admitted, or resumed from a load; holds blocks only in the latter case
  kPreempted,  ///< back in the queue after losing its blocks
  kLoading,    ///< its blocks are being loaded; not in `running`
  kRunning,
  kFinished,  ///< kept until its last blocks were offered for storing and its stores ended
};

struct ActiveRequest {
  RequestId id{};
  Handle handle{};  ///< its place in the pool
  RequestState state = RequestState::kWaiting;
  bool load_done = false;
  bool prefilling = false;  ///< counts towards the reservation of async loads
  bool admitted_before = false;
  bool announced = false;  ///< policies that want chains know that it looks for its blocks
  bool offered = false;    ///< finished, and its last blocks were offered below
  std::uint32_t prompt = 0;
  std::uint32_t output = 0;         ///< tokens to generate
  std::uint32_t generated = 0;      ///< tokens known
  std::uint32_t placeholders = 0;   ///< tokens that steps in flight will emit
  std::uint32_t computed = 0;       ///< C; advanced when a step is scheduled
  std::uint32_t computed_peak = 0;  ///< most ever computed: below it, work is repeated
  std::uint32_t registered = 0;     ///< leading blocks that are in the prefix cache
  std::uint32_t next_store = 0;     ///< first block not yet offered to the tier below
  std::uint32_t sighted = 0;        ///< blocks before this one were offered at least once
  std::uint32_t committed = 0;      ///< blocks that admission counts for it; 0: does not count
  std::uint32_t prefill_left = 0;   ///< prompt tokens that admission counts as queued
  std::uint32_t preemptions = 0;
  std::uint32_t loads = 0;          ///< in flight: 0 or 1
  std::int32_t priority = 0;        ///< a smaller value goes first, where priorities count
  bool offload = true;              ///< off: nothing is loaded for it, nothing of it goes below
  std::uint32_t store_limit = ~0U;  ///< leading tokens that may go below
  std::uint64_t last_step = 0;      ///< number of the last step that computed for it
  std::array<std::uint32_t, kMaxTiers> cached_tokens{};  ///< HBM, below; at the first admission
  Time due{};
  Time arrival{};
  Time scheduled = kNever;
  Time first_token = kNever;
  Time last_token = kNever;
  TtftClock clock;
  std::vector<SlotId> slots;          ///< HBM blocks held, root first; with groups: places
  std::vector<std::uint32_t> stores;  ///< store jobs not yet reported complete

  std::uint32_t tokens() const { return prompt + generated; }  ///< T
  /// Every token it will ever have is known or in flight.
  bool last_token_in_flight() const {
    return placeholders > 0 && computed + 2 - placeholders >= prompt + output;
  }
  bool transfers_in_flight() const { return loads > 0 || !stores.empty(); }
};

/// Requests by handle. Block lists are lent to requests that hold blocks and taken back with their
/// memory, so that the pool's size follows the requests that run, not those that wait.
class RequestPool {
 public:
  explicit RequestPool(std::uint32_t longest_chain) : longest_chain_(longest_chain) {}

  ActiveRequest& operator[](Handle h) {
    const auto i = static_cast<std::uint32_t>(h);
    return pieces_[i / kPiece][i % kPiece];
  }
  const ActiveRequest& operator[](Handle h) const {
    const auto i = static_cast<std::uint32_t>(h);
    return pieces_[i / kPiece][i % kPiece];
  }

  Handle make() {
    if (free_.empty()) {
      if (size_ % kPiece == 0) pieces_.push_back(std::make_unique<ActiveRequest[]>(kPiece));
      const Handle h{size_++};
      (*this)[h].handle = h;
      return h;
    }
    const Handle h = free_.back();
    free_.pop_back();
    return h;
  }
  /// Gives the request a block list if it has none.
  void lend_slots(ActiveRequest& r) {
    if (r.slots.capacity() > 0) return;
    if (!spare_.empty()) {
      r.slots = std::move(spare_.back());
      spare_.pop_back();
    } else {
      r.slots.reserve(longest_chain_);  // address space; memory only as it is used
    }
  }
  /// Takes a block list that was lent back, whoever has it now.
  void take_back(std::vector<SlotId> slots) {
    slots.clear();
    spare_.push_back(std::move(slots));
  }
  void recycle(Handle h) {
    ActiveRequest& r = (*this)[h];
    if (r.slots.capacity() > 0) take_back(std::move(r.slots));
    std::vector<std::uint32_t> stores = std::move(r.stores);  // empty; its memory is used again
    r = ActiveRequest{};
    r.handle = h;
    r.stores = std::move(stores);
    free_.push_back(h);
  }
  std::size_t alive() const { return size_ - free_.size(); }

 private:
  // They stay where they are: where many wait, nothing is copied, nor there twice.
  static constexpr std::uint32_t kPiece = 1024;

  std::uint32_t longest_chain_;
  std::vector<std::unique_ptr<ActiveRequest[]>> pieces_;
  std::uint32_t size_ = 0;
  std::vector<Handle> free_;
  std::vector<std::vector<SlotId>> spare_;
};

}  // namespace spillway
