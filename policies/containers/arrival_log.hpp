// Dense ids in order of arrival, in one log with holes: queues that keep an id's place while it is
// away (pinned), at the cost of one bit.
//
// An id holds a place in the log and is either in the queue named with it, or away. The queues
// share the log and its order; a queue is a bitmap over the places, so what is away or belongs to
// another queue is skipped 64 places a step. New places are at the end; when the log is full,
// the places held move together, which happens at most once in as many arrivals as there are ids.
// Memory: 12 bytes an id and a quarter of a byte an id and queue. No allocation but by construction
// and grow().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

template <std::uint32_t kQueues>
class ArrivalLog {
 public:
  static constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};

  explicit ArrivalLog(std::uint32_t ids) { grow(ids); }
  void grow(std::uint32_t ids) {
    const std::uint64_t places = (2 * std::uint64_t{ids} + 63) / 64 * 64 + 64;
    KV_ASSERT(places < kNoPlace, "a log of {} places", places);
    log_.reserve(places);  // exactly: whoever owns the slots grows them by doubling
    log_.resize(places);
    place_.reserve(ids);
    place_.resize(ids, kNoPlace);
    for (Queue& queue : queues_) queue.words.resize(places / 64, 0);
  }

  /// Whether `id` has a place, in a queue or away.
  bool holds(std::uint32_t id) const { return place_[id] != kNoPlace; }
  bool empty(std::uint32_t queue) const { return queues_[queue].size == 0; }

  /// Precondition: `id` has no place.
  void push_back(std::uint32_t queue, std::uint32_t id) {
    if (end_ == log_.size()) close_up();
    log_[end_] = id;
    place_[id] = end_;
    enter(queue, end_++);
  }
  /// Out of the queue, with its place kept. Precondition of this and the next: `id` is in `queue`.
  void leave(std::uint32_t queue, std::uint32_t id) {
    take_out(queue, place_[id]);
    ++away_;
  }
  void erase(std::uint32_t queue, std::uint32_t id) { drop(queue, place_[id]); }
  /// Back where it was. Precondition: `id` has a place and is away.
  void come_back(std::uint32_t queue, std::uint32_t id) {
    enter(queue, place_[id]);
    --away_;
  }
  /// The first of a queue. Precondition of this and the next two: it is not empty.
  std::uint32_t front(std::uint32_t queue) { return log_[front_place(queue)]; }
  void pop_front(std::uint32_t queue) { drop(queue, front_place(queue)); }
  /// The first of `from` to the end of `to`, as if it arrived now.
  void front_to_back(std::uint32_t from, std::uint32_t to) {
    const std::uint32_t id = front(from);
    pop_front(from);
    push_back(to, id);
  }

  /// A hand, which stays between the same two places however the log moves: to the first of a queue
  /// at or after it, or from the start where there is none. Precondition: the queue is not empty.
  std::uint32_t at_hand(std::uint32_t queue) {
    hand_ = first_from(queue, hand_);
    if (hand_ == end_) hand_ = first_from(queue, 0);
    return log_[hand_];
  }
  /// Past where at_hand() left it; to the start where nothing later is held.
  void advance_hand() {
    do {
      ++hand_;
    } while (hand_ < end_ && place_[log_[hand_]] != hand_);
    if (hand_ == end_) hand_ = 0;
  }
  /// The same, and takes out what it stood at.
  void pop_at_hand(std::uint32_t queue) {
    drop(queue, hand_);
    advance_hand();
  }

 private:
  struct Queue {
    std::vector<std::uint64_t> words;  ///< a bit for each place
    std::uint32_t first = 0;           ///< no bit is set in any word before this
    std::uint32_t size = 0;
  };

  static std::uint64_t bit_of(std::uint32_t place) { return std::uint64_t{1} << (place % 64); }

  void take_out(std::uint32_t queue, std::uint32_t place) {
    Queue& from = queues_[queue];
    --from.size;
    from.words[place / 64] &= ~bit_of(place);
  }
  void drop(std::uint32_t queue, std::uint32_t place) {
    take_out(queue, place);
    place_[log_[place]] = kNoPlace;
  }
  std::uint32_t front_place(std::uint32_t queue) {
    Queue& from = queues_[queue];
    while (from.words[from.first] == 0) ++from.first;
    return 64 * from.first + static_cast<std::uint32_t>(std::countr_zero(from.words[from.first]));
  }
  void enter(std::uint32_t queue, std::uint32_t place) {
    Queue& to = queues_[queue];
    ++to.size;
    to.words[place / 64] |= bit_of(place);
    to.first = std::min(to.first, place / 64);
  }

  /// The first place of a queue at or after `from`, else the end.
  std::uint32_t first_from(std::uint32_t queue, std::uint32_t from) const {
    const auto& words = queues_[queue].words;
    const std::uint32_t last = (end_ + 63) / 64;
    std::uint32_t word = from / 64;
    if (word >= last) return end_;
    std::uint64_t bits = words[word] & ~(bit_of(from) - 1);
    while (bits == 0 && ++word < last) bits = words[word];
    if (bits == 0) return end_;
    return 64 * word + static_cast<std::uint32_t>(std::countr_zero(bits));
  }

  /// Moves the places held together, in order. Places in a queue are held; of the others only those
  /// of ids that are away.
  void close_up() {
    std::uint32_t kept = 0;
    std::uint32_t hand = kNoPlace;
    for (std::uint32_t word = 0; 64 * word < end_; ++word) {
      std::array<std::uint64_t, kQueues> in;
      std::uint64_t held = 0;
      for (std::uint32_t q = 0; q < kQueues; ++q) {
        in[q] = std::exchange(queues_[q].words[word], 0);
        held |= in[q];
      }
      if (away_ > 0) held |= away_in(word, ~held);
      for (; held != 0; held &= held - 1) {
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(held));
        const std::uint32_t place = 64 * word + bit;
        if (place >= hand_ && hand == kNoPlace) hand = kept;
        log_[kept] = log_[place];
        place_[log_[kept]] = kept;
        for (std::uint32_t q = 0; q < kQueues; ++q) {
          queues_[q].words[kept / 64] |= (in[q] >> bit & 1) << (kept % 64);
        }
        ++kept;
      }
    }
    for (Queue& queue : queues_) queue.first = 0;
    end_ = kept;
    hand_ = hand == kNoPlace ? 0 : hand;
  }
  /// Of `places` of a word, those of ids that are in no queue.
  std::uint64_t away_in(std::uint32_t word, std::uint64_t places) const {
    std::uint64_t away = 0;
    for (; places != 0; places &= places - 1) {
      const std::uint32_t place = 64 * word + static_cast<std::uint32_t>(std::countr_zero(places));
      if (place < end_ && place_[log_[place]] == place) away |= bit_of(place);
    }
    return away;
  }

  std::vector<std::uint32_t> log_;    ///< by place; what moved on or left is still named there
  std::vector<std::uint32_t> place_;  ///< by id
  std::array<Queue, kQueues> queues_;
  std::uint32_t end_ = 0;  ///< places from here on are free
  std::uint32_t hand_ = 0;
  std::uint32_t away_ = 0;  ///< ids with a place and in no queue
};

}  // namespace spillway
