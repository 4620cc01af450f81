// The server of LMCache's multi-process mode: L1 in host memory, L2 tiers behind it
// (lmcache/v1/distributed/{storage_manager,l1_manager}.py, storage_controllers/). One for each
// engine; L2 tiers may be shared.
//
// What is written to L1 is reserved first, all of it or nothing: nothing is evicted on demand. A
// tick each second drops the chunks that were used longest ago, where L1 is fuller than its
// watermark. A chunk that is locked (read, prefetched for somebody, pushed to an L2) stays.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "models/engine/connectors/chunks/ticker.hpp"
#include "sim/ring_queue.hpp"
#include "sim/slab.hpp"

namespace spillway {

/// A look-up's answer, as far as it has come.
struct MpLookup {
  std::vector<ChunkId> ids;         ///< all that it asks for
  std::vector<std::uint8_t> tiers;  ///< by found chunk: 0 is L1, else one more than the L2's place
  bool settled = false;
  bool abandoned = false;  ///< nobody wants the answer any more
  std::uint32_t jobs = 0;  ///< prefetches under way
  std::uint32_t found() const { return static_cast<std::uint32_t>(tiers.size()); }
};

class MpWaiter {
 public:
  /// The look-up that was submitted under this number has its answer.
  virtual void on_answer(std::uint32_t lookup) = 0;

 protected:
  ~MpWaiter() = default;
};

/// The chunks of an L2, and what evicts them.
class MpStore final : public SharedThing, private Ticking {
 public:
  MpStore(Bytes capacity, const LmcacheMpConfig& config, Ticker& ticker)
      : table(capacity, ChunkOrder::kLru), config_(config) {
    if (capacity.count() < ChunkTable::kUnbounded) {
      ticker.join(*this, std::chrono::seconds(1));
    }
  }
  ChunkTable table;
  std::uint64_t ticks = 0;       ///< that found it above its watermark
  std::uint64_t idle_ticks = 0;  ///< of these, that found every chunk locked
  std::uint64_t evicted = 0;     ///< by ticks

 private:
  void tick() override;
  LmcacheMpConfig config_;
  std::vector<ChunkSlot> scratch_;
};

class MpServer final : private AfterSettlement {
 public:
  struct Place {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    Settlement& settlement;
    Ticker& ticker;
    SharedThings& shared;
    MpWaiter& waiter;
  };
  MpServer(const ChunkedConfig& config, const LmcacheMpConfig& rules, Bytes chunk,
           const Place& place);
  ~MpServer();

  /// Number of a look-up for these chunks, whose readable prefix in L1 is locked from now on.
  std::uint32_t look_up(std::span<const ChunkId> ids);
  MpLookup& lookup(std::uint32_t number) { return lookups_[number]; }
  /// The answer was taken; what it found is still locked.
  void forget(std::uint32_t number) { lookups_.release(number); }
  /// Whoever asked is gone: all is unlocked, once the answer is there.
  void abandon(std::uint32_t number);

  /// Room for those of the chunks that are neither there nor being written, into `out`; false where
  /// they do not all fit: they are lost.
  bool reserve(std::span<const ChunkId> ids, std::vector<ChunkId>& out);
  /// These have been written, and go to every L2.
  void written(std::span<const ChunkId> ids);
  void unlock(ChunkId id);
  void touch(std::span<const ChunkId> ids);

  const MpStore& l1() const { return l1_; }
  MpStore& l1() { return l1_; }
  const MpStore& l2(std::size_t i) const;
  MpStore& l2(std::size_t i);
  std::size_t l2_tiers() const { return l2_.size(); }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t refused(std::size_t i) const;
  const StorageDevice* device(std::size_t i) const;
  std::uint64_t vanished() const { return vanished_; }
  bool idle() const;

 private:
  class L2;
  void settle_answer(std::uint32_t number);
  void start_prefetches();
  void prefetch(std::uint32_t number);
  void end_prefetch(std::uint32_t number, std::span<const ChunkId> ids);
  void pushed(std::span<const ChunkId> ids);
  void settled() override { start_prefetches(); }
  std::uint8_t& mark(ChunkSlot slot);

  const LmcacheMpConfig& rules_;
  Bytes chunk_;
  Settlement& settlement_;
  MpWaiter& waiter_;
  MpStore l1_;
  std::vector<std::unique_ptr<L2>> l2_;
  Slab<MpLookup> lookups_;
  RingQueue<std::uint32_t> waiting_;  ///< look-ups that ask L2, behind those that do
  std::uint32_t prefetching_ = 0;
  std::vector<std::uint8_t> from_;  ///< scratch: of a run to prefetch, one more than the L2's place
  std::vector<ChunkId> part_;       ///< scratch: what one L2 has of it
  std::vector<std::uint8_t> marks_;   ///< by slot of L1: it vanishes with its last lock
  std::vector<std::uint8_t> pushes_;  ///< by slot of L1: L2 tiers that it is on its way to
  std::uint64_t refused_ = 0;
  std::uint64_t vanished_ = 0;
};

}  // namespace spillway
