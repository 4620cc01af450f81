// AIBrix's L1: blocks in the host memory of one engine, their order of eviction, and the buffers
// that they lie in (vllm-project/aibrix, python/aibrix_kvcache/aibrix_kvcache/: l1/l1_cache.py,
// l1/eviction_policy/{s3fifo,lru,fifo}.py, memory/allocator.py).
//
// A buffer holds one block. It is in use while an entry, a copy or a write to L2 has it, and free
// when the last of these lets it go: an evicted block may still be copied. Model: no slabs, no
// fragments.
//
// S3-FIFO: new blocks enter a small queue. When it is over its share its oldest goes to the main
// queue if it was used, else it leaves and its key is remembered as a ghost, which enters main when
// it comes again. Main gives a used block another round. Ghosts are never forgotten.
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/connectors/chunks/chunk_rules.hpp"
#include "models/engine/connectors/chunks/chunk_table.hpp"
#include "models/releases/aibrix_config.hpp"
#include "policies/containers/index_list.hpp"
#include "sim/growing_column.hpp"
#include "sim/slab.hpp"
#include "sim/units.hpp"

namespace spillway {

enum class L1Buffer : std::uint32_t {};

/// Told when a block comes new (kAll), is used again (kHot) or is about to leave (kEvicted).
class L1Watch {
 public:
  virtual void on_block(Ingestion what, ChunkId id, L1Buffer buffer) = 0;

 protected:
  ~L1Watch() = default;
};

class L1Cache {
 public:
  struct Size {
    Bytes capacity{0};  ///< of entries; not rounded to blocks
    Bytes block{0};
    std::uint64_t buffers = 0;
    Bytes small{0};  ///< share of S3-FIFO's small queue; the rest is main's
    std::uint32_t promo_threshold = 1;
    ChunkOrder order = ChunkOrder::kS3Fifo;  ///< or kLru, kFifo
  };
  L1Cache(const Size& size, L1Watch& watch) : size_(size), watch_(watch) {}

  bool has(ChunkId id) const { return place(id) >= kFirstEntry; }
  /// A use of the entry; its buffer, which is the caller's too until let_go(). Precondition: has().
  L1Buffer get(ChunkId id);
  /// The block in `buffer`, which stays the caller's too. A buffer that it was in is let go.
  void put(ChunkId id, L1Buffer buffer);
  /// Buffers for `wanted` blocks, behind those in `out`: evicts only while none is free, and gives
  /// what is free then. How many it gives.
  std::uint32_t take(std::uint32_t wanted, std::vector<L1Buffer>& out);
  void hold(L1Buffer buffer) { ++buffers_[static_cast<std::uint32_t>(buffer)]; }
  void let_go(L1Buffer buffer);

  std::uint32_t entries() const { return entries_; }
  std::uint64_t stored() const { return stored_; }  ///< blocks that entered
  std::uint64_t evicted() const { return evicted_; }
  Bytes peak() const { return peak_; }
  /// At the end of a run: entries alone have buffers.
  void check_drained() const;

 private:
  static constexpr std::uint32_t kAbsent = 0;
  static constexpr std::uint32_t kGhost = 1;
  static constexpr std::uint32_t kFirstEntry = 2;
  static constexpr std::uint8_t kHottest = 3;

  struct Entry {
    ChunkId id = kNoChunk;
    L1Buffer buffer{};
    std::uint8_t hotness = 0;
    bool main = false;
  };
  struct Queue {
    IndexList list{0};
    std::int64_t size = 0;
  };

  bool s3() const { return size_.order == ChunkOrder::kS3Fifo; }
  std::uint32_t place(ChunkId id) const {
    const auto i = static_cast<std::uint32_t>(id);
    return i < places_.size() ? places_[i] : kAbsent;
  }
  Queue& queue_of(const Entry& entry) { return entry.main ? main_ : small_; }
  void tell(Ingestion what, const Entry& entry) { watch_.on_block(what, entry.id, entry.buffer); }
  void push(std::uint32_t number);
  void unlink(std::uint32_t number);
  void enter(ChunkId id, L1Buffer buffer);
  void renew(std::uint32_t number, L1Buffer buffer);
  void evict(Bytes bytes);
  void evict_one();
  void give_small();
  void give_main();
  void leave(std::uint32_t number, std::uint32_t place);
  Bytes used() const { return size_.block * std::int64_t{entries_}; }

  Size size_;
  L1Watch& watch_;
  GrowingColumn<std::uint32_t> places_;  ///< by chunk: kAbsent, kGhost, or kFirstEntry + its entry
  Slab<Entry> entries_at_;
  Slab<std::uint32_t> buffers_;  ///< who has each: an entry, copies, writes
  std::uint64_t in_use_ = 0;     ///< buffers
  Queue small_;                  ///< LRU and FIFO: the only one
  Queue main_;
  std::uint32_t entries_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t evicted_ = 0;
  Bytes peak_{0};
};

}  // namespace spillway
