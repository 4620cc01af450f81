// What one tier holds in chunks of bytes, and which chunk leaves next: LMCache's local CPU and disk
// backends, a remote store, an L1 or L2 of its multi-process mode. How chunks travel is their
// owner's business.
//
// A chunk has a slot: a buffer, taken and without a name, or an entry, which is found by its name
// and has a place in the order of eviction. Pins (look-ups) and uses (transfers) keep either from
// leaving. Room is bytes, without alignment or fragmentation.
// Orders: lmcache/v1/storage_backend/cache_policy/{lru,lfu,fifo,mru}.py.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/engine/connectors/chunks/chunk_rules.hpp"
#include "sim/error.hpp"
#include "sim/growing_column.hpp"
#include "sim/slab.hpp"
#include "sim/units.hpp"

namespace spillway {

/// A chunk of some request's tokens, and its whole prefix (chunk_names.hpp).
enum class ChunkId : std::uint32_t {};
inline constexpr ChunkId kNoChunk{~std::uint32_t{0}};

/// A place in one ChunkTable.
enum class ChunkSlot : std::uint32_t {};
inline constexpr ChunkSlot kNoChunkSlot{~std::uint32_t{0}};

class ChunkTable {
 public:
  static constexpr std::int64_t kUnbounded = std::int64_t{1} << 62;

  ChunkTable(Bytes capacity, ChunkOrder order) : capacity_(capacity), order_(order) {}

  /// Readable by this name.
  bool has(ChunkId id) const {
    const ChunkSlot slot = find(id);
    return slot != kNoChunkSlot && !entry(slot).writing;
  }
  /// Readable, or being written; kNoChunkSlot: neither.
  ChunkSlot find(ChunkId id) const {
    const auto i = static_cast<std::uint32_t>(id);
    return i < slot_of_.size() ? ChunkSlot{slot_of_[i] - 1} : kNoChunkSlot;
  }
  bool fits(Bytes bytes) const { return used_ + bytes <= capacity_; }

  /// A buffer, used once. Precondition: it fits.
  ChunkSlot take(Bytes bytes);
  /// Makes room by evictions, one after another, and takes it; kNoChunkSlot where nothing more may
  /// leave: what has left stays away.
  ChunkSlot take_evicting(Bytes bytes);
  /// The buffer becomes the entry of `id`, last in the order; `writing`: not readable yet.
  /// Precondition: there is none.
  void name(ChunkSlot slot, ChunkId id, bool writing = false);
  /// The entry has been written: readable, and last in the order.
  void written(ChunkSlot slot);
  /// A use of a readable entry.
  void touch(ChunkSlot slot);

  void use(ChunkSlot slot) { ++at(slot).uses; }
  /// A buffer that nothing uses any more is given back.
  void done(ChunkSlot slot);
  void pin(ChunkSlot slot) { ++at(slot).pins; }
  void unpin(ChunkSlot slot);
  bool pinned(ChunkSlot slot) const { return entry(slot).pins > 0; }
  bool idle(ChunkSlot slot) const { return entry(slot).pins == 0 && entry(slot).uses == 0; }

  /// The next victim leaves; false where each entry is pinned or used, or nothing ever leaves.
  bool evict();
  /// The entry leaves by its owner's will; it counts as evicted.
  void drop(ChunkSlot slot);

  ChunkId id_of(ChunkSlot slot) const { return entry(slot).id; }
  Bytes bytes_of(ChunkSlot slot) const { return entry(slot).bytes; }
  /// Entries in order of leaving; kNoChunkSlot behind the last. LFU: within the lowest count only.
  ChunkSlot first() const;
  ChunkSlot after(ChunkSlot slot) const { return ChunkSlot{entry(slot).next}; }

  Bytes used() const { return used_; }
  Bytes peak() const { return peak_; }
  Bytes capacity() const { return capacity_; }
  std::uint32_t entries() const { return entries_; }
  /// Readable ones, and those being written.
  std::uint32_t named() const { return entries_ + writing_; }
  bool writing(ChunkSlot slot) const { return entry(slot).writing; }
  std::uint64_t stored() const { return stored_; }    ///< entries that became readable
  std::uint64_t evicted() const { return evicted_; }  ///< and that left again
  /// Entries gained and lost since whoever asked last.
  struct Flow {
    std::uint64_t stored = 0;
    std::uint64_t evicted = 0;
  };
  Flow take_flow() {
    const Flow out{stored_ - taken_.stored, evicted_ - taken_.evicted};
    taken_ = {stored_, evicted_};
    return out;
  }
  /// Changes with what is readable.
  std::uint64_t version() const { return stored_ + evicted_; }

 private:
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};
  struct Entry {
    Bytes bytes{0};
    ChunkId id = kNoChunk;
    std::uint32_t next = kEnd;
    std::uint32_t previous = kEnd;
    std::uint32_t count = 0;  ///< LFU: uses; the list that it is in
    std::uint32_t place = 0;  ///< random: in by_chance_
    std::uint16_t pins = 0;
    std::uint16_t uses = 0;
    bool writing = false;
  };
  struct List {
    std::uint32_t head = kEnd;
    std::uint32_t tail = kEnd;
  };
  Entry& at(ChunkSlot slot) { return entries_at_[static_cast<std::uint32_t>(slot)]; }
  const Entry& entry(ChunkSlot slot) const { return entries_at_[static_cast<std::uint32_t>(slot)]; }
  List& list_of(const Entry& entry) { return lists_[entry.count]; }
  bool evict_any();
  void append(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void free(std::uint32_t slot);

  Bytes capacity_;
  ChunkOrder order_;
  Bytes used_{0};
  Bytes peak_{0};
  GrowingColumn<std::uint32_t> slot_of_;  ///< by chunk, 1 + slot; 0: not here
  Slab<Entry> entries_at_;
  std::vector<std::uint32_t> by_chance_;  ///< kRandom: slots of entries, in no order
  std::uint64_t chance_ = 1;              ///< of the next choice among them
  std::vector<List> lists_{1};            ///< LFU: by count; else the only one
  std::uint32_t entries_ = 0;             ///< readable
  std::uint32_t writing_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t evicted_ = 0;
  Flow taken_;
};

}  // namespace spillway
