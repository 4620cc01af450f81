#include "models/engine/connectors/llmd/evictor.hpp"

#include <algorithm>

namespace spillway {

void Evictor::add(ChunkSlot slot, std::uint64_t name, Time accessed) {
  const auto i = static_cast<std::uint32_t>(slot);
  if (known_.size() <= i) known_.resize(std::size_t{i} + 1);
  if (known_[i].state != State::kGone) return access(slot, accessed);
  known_[i].name = name;
  known_[i].accessed = accessed;
  append(i);
}

/// Who stands in line stays there.
void Evictor::access(ChunkSlot slot, Time now) {
  const auto i = static_cast<std::uint32_t>(slot);
  File& file = known_[i];
  file.accessed = now;
  if (file.state == State::kInLine) return;
  if (file.state == State::kYoung) unlink(i);
  append(i);
}

void Evictor::append(std::uint32_t slot) {
  File& file = known_[slot];
  file.state = State::kYoung;
  file.previous = newest_;
  file.next = kNobody;
  (newest_ == kNobody ? oldest_ : known_[newest_].next) = slot;
  newest_ = slot;
}

void Evictor::unlink(std::uint32_t slot) {
  const File& file = known_[slot];
  (file.previous == kNobody ? oldest_ : known_[file.previous].next) = file.next;
  (file.next == kNobody ? newest_ : known_[file.next].previous) = file.previous;
}

void Evictor::ripen(Time now) {
  while (oldest_ != kNobody && now - known_[oldest_].accessed >= config_.access) {
    const std::uint32_t slot = oldest_;
    unlink(slot);
    File& file = known_[slot];
    file.state = State::kRipe;
    if (file.in_heap) continue;
    file.in_heap = true;
    ripe_.push_back({file.name, slot});
    std::push_heap(ripe_.begin(), ripe_.end());
  }
}

/// The first by name; false where there is none.
bool Evictor::take_ripe(std::uint32_t& slot) {
  while (!ripe_.empty()) {
    std::pop_heap(ripe_.begin(), ripe_.end());
    slot = ripe_.back().slot;
    ripe_.pop_back();
    known_[slot].in_heap = false;
    if (known_[slot].state == State::kRipe) return true;
  }
  return false;
}

/// Whether as much is in use as that share of the capacity, or at most as much.
bool Evictor::over(std::int64_t ppm, bool at_least) const {
  constexpr std::int64_t kAll = 1'000'000;
  const WideInt used = WideInt{files_.used().count()} * kAll;
  const WideInt share = WideInt{files_.capacity().count()} * ppm;
  return at_least ? used >= share : used <= share;
}

void Evictor::tick(Time now) {
  if (over(config_.cleanup_ppm, true)) {
    deletes_ = true;
  } else if (over(config_.target_ppm, false)) {
    deletes_ = false;
  }
  ripen(now);
  const std::uint64_t room = deletes_ ? config_.queue_max : config_.queue_min;
  std::uint32_t slot = 0;
  while (in_line_.size() * ranks_ < room && take_ripe(slot)) {
    known_[slot].state = State::kInLine;
    in_line_.push_back(slot);
  }
  if (!deletes_) return;
  ++ticks_;
  if (in_line_.empty() && files_.entries() > 0) ++idle_ticks_;
  for (std::uint64_t done = 0; done < config_.batch && !in_line_.empty(); done += ranks_) {
    slot = in_line_.front();
    in_line_.pop_front();
    known_[slot].state = State::kGone;
    files_.drop(ChunkSlot{slot});
  }
}

}  // namespace spillway
