// AIBrix's L2 as one engine sees it: the store, its own or shared, the way there, and what may be
// under way (vllm-project/aibrix, python/aibrix_kvcache/aibrix_kvcache/: cache_manager.py,
// l2/l2_cache.py).
//
// Blocks are written one in a job. Without a quota the worker waits for each; with one, a block
// that comes while as many writes are under way is dropped for good. Model: its buffer is let go;
// upstream leaks it.
// A read is one job. Whoever gives it up no longer waits, but the job runs to its end.
#pragma once

#include <span>
#include <vector>

#include "models/engine/connectors/aibrix/l1_cache.hpp"
#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "sim/ring_queue.hpp"
#include "sim/shared_things.hpp"

namespace spillway {

class L2Listener {
 public:
  virtual void on_l2_read() = 0;     ///< of a read that was not given up
  virtual void on_l2_written() = 0;  ///< where the worker waits for writes

 protected:
  ~L2Listener() = default;
};

class AibrixL2 final : private PortListener {
 public:
  struct Rules {
    Bytes block{0};           ///< there: of all ranks
    std::uint32_t quota = 0;  ///< blocks; 0: the worker waits for each
  };
  struct Place {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    Settlement& settlement;
    SharedThings& shared;
    L2Listener& listener;
  };
  /// `config` outlives it.
  AibrixL2(const ChunkTierConfig& config, const Rules& rules, L1Cache& l1, const Place& place);

  Duration lookup() const { return config_.lookup; }
  /// How many of the blocks it has, from the first on, in a row.
  std::uint32_t leading(std::span<const ChunkId> blocks) const;
  void read(std::span<const ChunkId> blocks);
  void give_up_read() { reads_[read_].given_up = true; }

  void write(ChunkId id, L1Buffer buffer);
  /// Nothing is left that the worker waits for; else it is told when to ask again.
  bool written();

  ChunkTable& table() const { return table_; }
  std::uint64_t refused() const { return refused_; }
  const StorageDevice* device() const { return port_.device(); }
  bool idle() const { return port_.idle() && pending_.empty() && writing_ == 0; }

 private:
  struct Read {
    std::vector<ChunkId> blocks;
    bool given_up = false;
  };
  struct Write {
    ChunkId id = kNoChunk;
    L1Buffer buffer{};
  };
  void begin_write(ChunkId id, L1Buffer buffer);
  void on_port_done(StorageOp op, std::uint32_t job) override;
  void end_read(const Read& read);
  void end_write(ChunkId id);

  const ChunkTierConfig& config_;
  Rules rules_;
  L1Cache& l1_;
  L2Listener& listener_;
  std::unique_ptr<ChunkTable> own_;
  ChunkTable& table_;
  TierPort port_;
  Slab<Read> reads_;
  std::uint32_t read_ = 0;  ///< the last
  Slab<Write> writes_;
  std::uint32_t writing_ = 0;
  RingQueue<ChunkId> pending_;  ///< that the worker waits for, not submitted
  std::uint64_t refused_ = 0;   ///< blocks dropped, or without room
};

}  // namespace spillway
