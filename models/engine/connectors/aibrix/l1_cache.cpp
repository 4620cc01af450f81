#include "models/engine/connectors/aibrix/l1_cache.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

// ---- buffers
// -------------------------------------------------------------------------------------

std::uint32_t L1Cache::take(std::uint32_t wanted, std::vector<L1Buffer>& out) {
  while (in_use_ == size_.buffers && entries_ > 0) evict(size_.block * std::int64_t{wanted});
  const std::uint64_t free = size_.buffers - in_use_;
  const auto given = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, free));
  for (std::uint32_t i = 0; i < given; ++i) {
    const std::uint32_t number = buffers_.take();
    buffers_[number] = 1;
    out.push_back(L1Buffer{number});
  }
  in_use_ += given;
  return given;
}

void L1Cache::let_go(L1Buffer buffer) {
  const auto number = static_cast<std::uint32_t>(buffer);
  KV_ASSERT(buffers_[number] > 0, "a buffer of L1 is let go twice");
  if (--buffers_[number] > 0) return;
  buffers_.release(number);
  --in_use_;
}

void L1Cache::check_drained() const {
  KV_ASSERT(in_use_ == entries_, "{} buffers of L1 in use by {} entries", in_use_, entries_);
  KV_ASSERT(stored_ - evicted_ == entries_, "L1 lost an entry");
  KV_ASSERT(small_.size + main_.size == entries_, "an entry of L1 is in no queue");
}

// ---- uses and new blocks
// -------------------------------------------------------------------------

L1Buffer L1Cache::get(ChunkId id) {
  const std::uint32_t number = place(id) - kFirstEntry;
  Entry& e = entries_at_[number];
  if (s3()) {
    if (!e.main && e.hotness + 1U == size_.promo_threshold) tell(Ingestion::kHot, e);
    e.hotness = std::min<std::uint8_t>(kHottest, e.hotness + 1);
  } else {
    if (e.hotness == 0) tell(Ingestion::kHot, e);
    e.hotness = 1;
    if (size_.order == ChunkOrder::kLru) {
      unlink(number);
      push(number);
    }
  }
  hold(e.buffer);
  return e.buffer;
}

void L1Cache::put(ChunkId id, L1Buffer buffer) {
  hold(buffer);
  const std::uint32_t at = place(id);
  if (at >= kFirstEntry) {
    renew(at - kFirstEntry, buffer);
  } else {
    enter(id, buffer);
  }
  peak_ = std::max(peak_, used());
  if (used() > size_.capacity) evict(Bytes(1));
}

/// The entry lies in another buffer from now on. LRU and FIFO forget that it was used.
void L1Cache::renew(std::uint32_t number, L1Buffer buffer) {
  Entry& e = entries_at_[number];
  let_go(e.buffer);
  e.buffer = buffer;
  if (!s3()) e.hotness = 0;
  if (size_.order == ChunkOrder::kFifo) return;
  unlink(number);
  push(number);
}

void L1Cache::enter(ChunkId id, L1Buffer buffer) {
  const bool ghost = place(id) == kGhost;
  const std::uint32_t number = entries_at_.take();
  entries_at_[number] = {id, buffer, 0, ghost};
  places_.grow(std::size_t{static_cast<std::uint32_t>(id)} + 1, kAbsent);
  places_[static_cast<std::uint32_t>(id)] = kFirstEntry + number;
  ++entries_;
  ++stored_;
  push(number);
  tell(ghost ? Ingestion::kHot : Ingestion::kAll, entries_at_[number]);
}

// ---- eviction
// ------------------------------------------------------------------------------------

/// Until so many bytes less are used, of at most the capacity.
void L1Cache::evict(Bytes bytes) {
  const Bytes goal = std::max(Bytes(0), std::min(used(), size_.capacity) - bytes);
  while (used() > goal) evict_one();
}

void L1Cache::evict_one() {
  if (!s3()) return leave(small_.list.front(), kAbsent);
  const bool over = size_.block * small_.size > size_.small;
  over || main_.list.empty() ? give_small() : give_main();
}

/// S3-FIFO's small queue gives its oldest, to main or away.
void L1Cache::give_small() {
  const std::uint32_t number = small_.list.front();
  Entry& e = entries_at_[number];
  if (e.hotness < size_.promo_threshold) return leave(number, kGhost);
  unlink(number);
  e.main = true;
  e.hotness = 0;
  push(number);
  while (size_.block * main_.size > size_.capacity - size_.small) give_main();
}

/// Main's oldest leaves, or has another round.
void L1Cache::give_main() {
  const std::uint32_t number = main_.list.front();
  Entry& e = entries_at_[number];
  if (e.hotness == 0) return leave(number, kAbsent);
  --e.hotness;
  unlink(number);
  push(number);
}

void L1Cache::leave(std::uint32_t number, std::uint32_t place) {
  tell(Ingestion::kEvicted, entries_at_[number]);
  const Entry& e = entries_at_[number];
  unlink(number);
  places_[static_cast<std::uint32_t>(e.id)] = place;
  --entries_;
  ++evicted_;
  let_go(e.buffer);
  entries_at_.release(number);
}

void L1Cache::push(std::uint32_t number) {
  Queue& queue = queue_of(entries_at_[number]);
  queue.list.grow(number + 1);
  queue.list.push_back(number);
  ++queue.size;
}

void L1Cache::unlink(std::uint32_t number) {
  Queue& queue = queue_of(entries_at_[number]);
  queue.list.erase(number);
  --queue.size;
}

}  // namespace spillway
