// 64-bit block hashes to dense ids, numbered by first appearance. The only hash map on the data
// path: after interning, residency is an array read.
//
// The hashes lie in order of id, in pieces that never move; the table holds four bytes a slot: an
// id and, in the bits that ids of its size leave free, a part of the hash, so that another hash's
// slot is nearly always told apart without looking that hash up. 13 to 19 bytes an id, at the peak
// too, for growing needs the hashes and the new table alone.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "sim/error.hpp"
#include "sim/growing_column.hpp"
#include "sim/ids.hpp"
#include "sim/rng.hpp"

namespace spillway {

class Interner {
 public:
  Interner() : slots_(kInitialSlots, kFree) {}

  std::uint32_t intern(std::uint64_t hash) {
    // What followed last time mostly follows again: a chain's blocks got their ids in a row.
    if (next_ < count_ && hash_of(next_) == hash) return next_++;
    const std::uint32_t id = look_up(hash);
    next_ = id + 1;
    return id;
  }
  /// Hands the ids of `hashes` to use(), in order. Slots are asked for ahead of their use: in a
  /// large table each is a miss of every cache.
  template <class Use>
  void intern_all(std::span<const std::uint64_t> hashes, Use use) {
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (i + kAhead < hashes.size()) ask_for(hashes[i + kAhead]);
      use(intern(hashes[i]));
    }
  }
  /// The id of a hash that has one.
  std::optional<std::uint32_t> find(std::uint64_t hash) const {
    const Place place = probe(hash);
    if (place.id == kFree) return std::nullopt;
    return place.id;
  }
  std::uint32_t size() const { return count_; }
  /// Precondition: id < size().
  std::uint64_t hash_of(std::uint32_t id) const {
    return hashes_[id >> kPieceBits][id & (kPiece - 1)];
  }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  static constexpr std::size_t kInitialSlots = std::size_t{1} << 12;  // a power of two
  static constexpr std::uint32_t kAhead = 16;
  static constexpr std::uint32_t kPieceBits = 16;
  static constexpr std::uint32_t kPiece = std::uint32_t{1} << kPieceBits;

  struct Place {
    std::size_t slot;
    std::uint32_t id;   ///< kFree where the hash has none
    std::uint32_t tag;  ///< what its slot holds beside the id
  };

  void ask_for(std::uint64_t hash) const { __builtin_prefetch(&slots_[mix64(hash) & mask()], 1); }
  std::size_t mask() const { return slots_.size() - 1; }

  Place probe(std::uint64_t hash) const {
    const std::uint64_t mixed = mix64(hash);
    const auto low = static_cast<std::uint32_t>(mask());
    const auto tag = static_cast<std::uint32_t>(mixed >> 32) & ~low;
    for (std::size_t at = mixed & mask();; at = (at + 1) & mask()) {
      const std::uint32_t slot = slots_[at];
      if (slot == kFree) return {at, kFree, tag};
      // No id has all of its bits set, for a quarter of the slots stays free.
      if ((slot & ~low) == tag && hash_of(slot & low) == hash) return {at, slot & low, tag};
    }
  }

  std::uint32_t look_up(std::uint64_t hash) {
    Place place = probe(hash);
    if (place.id != kFree) return place.id;
    KV_ASSERT(count_ < kFree / 4 * 3, "more than 3 * 2^30 distinct blocks");
    if (4 * (std::size_t{count_} + 1) > 3 * slots_.size()) {
      grow();
      place = probe(hash);
    }
    if ((count_ & (kPiece - 1)) == 0) {
      hashes_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(kPiece));
    }
    hashes_.back()[count_ & (kPiece - 1)] = hash;
    slots_[place.slot] = place.tag | count_;
    return count_++;
  }

  void grow() {
    const std::size_t size = 2 * slots_.size();
    std::vector<std::uint32_t>().swap(slots_);  // gives the old table back first
    slots_.resize(size, kFree);
    const auto low = static_cast<std::uint32_t>(mask());
    for (std::uint32_t id = 0; id < count_; ++id) {
      if (id + kAhead < count_) ask_for(hash_of(id + kAhead));
      const std::uint64_t mixed = mix64(hash_of(id));
      std::size_t at = mixed & mask();
      while (slots_[at] != kFree) at = (at + 1) & mask();
      slots_[at] = (static_cast<std::uint32_t>(mixed >> 32) & ~low) | id;
    }
  }

  std::vector<std::uint32_t> slots_;
  std::vector<std::unique_ptr<std::uint64_t[]>> hashes_;
  std::uint32_t count_ = 0;
  std::uint32_t next_ = 0;  ///< the id behind the last one
};

/// The chains of a trace's rows as one column. Names are interned many at a time; blocks without
/// one get the next numbers, and cost four bytes each.
class ChainColumn {
 public:
  void add(std::span<const std::uint64_t> hashes, std::uint32_t own_blocks = 0) {
    pending_.insert(pending_.end(), hashes.begin(), hashes.end());
    if (pending_.size() >= kPending) settle();
    if (own_blocks > 0) add_own(own_blocks);
  }
  std::size_t size() const { return ids_.size() + pending_.size(); }
  /// The ids of all that was added since the last clear().
  GrowingColumn<TraceBlockId>& ids() {
    settle();
    return ids_;
  }
  /// Forgets the chains, not the names.
  void clear() {
    settle();
    ids_.clear();
  }
  /// How many ids there are once ids() has been called.
  std::uint32_t unique_blocks() const { return names_.size() + own_; }
  bool all_named() const { return own_ == 0; }
  /// By id, where every block has a name.
  const Interner& names() const {
    KV_ASSERT(own_ == 0, "names are asked for, and {} blocks have none", own_);
    return names_;
  }

 private:
  static constexpr std::size_t kPending = 4096;

  void settle() {
    if (own_ == 0) {
      names_.intern_all(pending_, [this](std::uint32_t id) { ids_.push_back(TraceBlockId{id}); });
    } else {
      names_.intern_all(pending_, [this](std::uint32_t name) {
        if (name == id_of_name_.size()) id_of_name_.push_back(name + own_);
        ids_.push_back(TraceBlockId{id_of_name_[name]});
      });
    }
    pending_.clear();
  }

  void add_own(std::uint32_t count) {
    settle();
    if (own_ == 0) {
      id_of_name_.resize(names_.size());
      std::iota(id_of_name_.begin(), id_of_name_.end(), std::uint32_t{0});
    }
    KV_ASSERT(std::uint64_t{unique_blocks()} + count < kNoIndex, "more than 2^32 distinct blocks");
    std::uint32_t next = unique_blocks();
    for (TraceBlockId& id : ids_.append(count)) id = TraceBlockId{next++};
    own_ += count;
  }

  Interner names_;
  std::uint32_t own_ = 0;                  ///< blocks without a name
  std::vector<std::uint32_t> id_of_name_;  ///< once there are such
  std::vector<std::uint64_t> pending_;
  GrowingColumn<TraceBlockId> ids_;
};

}  // namespace spillway
