#include "models/engine/connectors/chunks/chunk_table.hpp"

#include <algorithm>

#include "sim/rng.hpp"

namespace spillway {

ChunkSlot ChunkTable::take(Bytes bytes) {
  KV_ASSERT(fits(bytes), "{} bytes taken, {} of {} are used", bytes.count(), used_.count(),
            capacity_.count());
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  const std::uint32_t slot = entries_at_.take();
  entries_at_[slot] = {};
  entries_at_[slot].bytes = bytes;
  entries_at_[slot].uses = 1;
  return ChunkSlot{slot};
}

ChunkSlot ChunkTable::take_evicting(Bytes bytes) {
  while (!fits(bytes)) {
    if (!evict()) return kNoChunkSlot;
  }
  return take(bytes);
}

void ChunkTable::name(ChunkSlot slot, ChunkId id, bool writing) {
  const auto i = static_cast<std::uint32_t>(id);
  slot_of_.grow(std::size_t{i} + 1, 0);
  KV_ASSERT(slot_of_[i] == 0, "chunk {} is there twice", i);
  slot_of_[i] = static_cast<std::uint32_t>(slot) + 1;
  at(slot).id = id;
  at(slot).writing = writing;
  at(slot).count = order_ == ChunkOrder::kLfu ? 1 : 0;
  append(static_cast<std::uint32_t>(slot));
  if (writing) {
    ++writing_;
    return;
  }
  ++entries_;
  ++stored_;
}

void ChunkTable::written(ChunkSlot slot) {
  at(slot).writing = false;
  --writing_;
  ++entries_;
  ++stored_;
  const auto i = static_cast<std::uint32_t>(slot);
  unlink(i);
  append(i);
}

void ChunkTable::touch(ChunkSlot slot) {
  if (order_ != ChunkOrder::kLru && order_ != ChunkOrder::kLfu && order_ != ChunkOrder::kMru)
    return;
  const auto i = static_cast<std::uint32_t>(slot);
  unlink(i);
  if (order_ == ChunkOrder::kLfu) ++at(slot).count;
  append(i);
}

void ChunkTable::done(ChunkSlot slot) {
  Entry& e = at(slot);
  KV_ASSERT(e.uses > 0, "a buffer given back twice");
  --e.uses;
  if (e.uses == 0 && e.id == kNoChunk) free(static_cast<std::uint32_t>(slot));
}

void ChunkTable::unpin(ChunkSlot slot) {
  KV_ASSERT(at(slot).pins > 0, "a pin let go twice");
  --at(slot).pins;
}

ChunkSlot ChunkTable::first() const {
  if (order_ == ChunkOrder::kMru) return ChunkSlot{lists_[0].tail};
  for (const List& list : lists_) {
    if (list.head != kEnd) return ChunkSlot{list.head};
  }
  return kNoChunkSlot;
}

bool ChunkTable::evict() {
  if (order_ == ChunkOrder::kNone) return false;
  if (order_ == ChunkOrder::kRandom) return evict_any();
  const bool back = order_ == ChunkOrder::kMru;
  for (const List& list : lists_) {
    std::uint32_t slot = back ? list.tail : list.head;
    while (slot != kEnd && !idle(ChunkSlot{slot})) {
      slot = back ? entries_at_[slot].previous : entries_at_[slot].next;
    }
    if (slot == kEnd) continue;
    drop(ChunkSlot{slot});
    return true;
  }
  return false;
}

/// Chosen by a stream of its own, from one chosen on to the first that may leave.
bool ChunkTable::evict_any() {
  const std::size_t size = by_chance_.size();
  chance_ += 0x9e3779b97f4a7c15ULL;
  for (std::size_t i = 0; i < size; ++i) {
    const ChunkSlot slot{by_chance_[(mix64(chance_) + i) % size]};
    if (!idle(slot)) continue;
    drop(slot);
    return true;
  }
  return false;
}

void ChunkTable::drop(ChunkSlot slot) {
  const Entry& e = entry(slot);
  KV_ASSERT(e.id != kNoChunk && !e.writing && e.pins == 0, "a chunk in use leaves");
  --entries_;
  ++evicted_;
  const auto i = static_cast<std::uint32_t>(slot);
  slot_of_[static_cast<std::uint32_t>(e.id)] = 0;
  unlink(i);
  at(slot).id = kNoChunk;
  if (at(slot).uses == 0) free(i);
}

// ---- lists

void ChunkTable::append(std::uint32_t slot) {
  Entry& e = entries_at_[slot];
  if (e.count >= lists_.size()) lists_.resize(std::size_t{e.count} + 1);
  List& list = list_of(e);
  e.previous = list.tail;
  e.next = kEnd;
  (list.tail == kEnd ? list.head : entries_at_[list.tail].next) = slot;
  list.tail = slot;
  if (order_ != ChunkOrder::kRandom) return;
  e.place = static_cast<std::uint32_t>(by_chance_.size());
  by_chance_.push_back(slot);
}

void ChunkTable::unlink(std::uint32_t slot) {
  const Entry& e = entries_at_[slot];
  List& list = list_of(e);
  (e.previous == kEnd ? list.head : entries_at_[e.previous].next) = e.next;
  (e.next == kEnd ? list.tail : entries_at_[e.next].previous) = e.previous;
  if (order_ != ChunkOrder::kRandom) return;
  by_chance_[e.place] = by_chance_.back();
  entries_at_[by_chance_[e.place]].place = e.place;
  by_chance_.pop_back();
}

void ChunkTable::free(std::uint32_t slot) {
  used_ -= entries_at_[slot].bytes;
  entries_at_.release(slot);
}

}  // namespace spillway
