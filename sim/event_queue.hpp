// Simulated time and the total order of events.
//
// Events run in the order (time, phase, rank, sequence): at one instant, freed resources are
// visible before new work is placed, and ties fall to the order of scheduling, never to a pointer.
// There is no cancel: a handler recognises a stale event by its epoch. An event is a 32-byte value
// in a 4-ary heap (four children share two cache lines), so scheduling allocates nothing once the
// heap has grown to the run's peak.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

/// Order of what happens at one instant.
enum class Phase : std::uint8_t { kTransferDone, kStepDone, kArrival, kStepStart, kSample };

/// What an event says to its handler; the meaning of each field is the handler's own.
struct EventPayload {
  std::uint16_t kind = 0;
  std::uint16_t epoch = 0;
  std::uint32_t subject = 0;
};

class EventHandler {
 public:
  virtual void on_event(EventPayload payload) = 0;

 protected:
  ~EventHandler() = default;
};

class EventQueue {
 public:
  /// What schedule() is given lies behind now(). Throws ClockOverflow beyond kEndOfTime.
  Time now() const { return now_; }
  std::uint64_t executed() const { return executed_; }
  bool empty() const { return heap_.empty(); }
  void reserve(std::size_t events) { heap_.reserve(events); }

  /// Precondition: `at` is not in the past.
  void schedule(Time at, Phase phase, EventHandler& target, EventPayload payload) {
    schedule(at, phase, 0, target, payload);
  }
  /// Behind those of a smaller `rank`, at most kLastRank, in the same phase of the same instant.
  void schedule(Time at, Phase phase, std::uint32_t rank, EventHandler& target,
                EventPayload payload);
  static constexpr std::uint32_t kLastRank = (1 << 12) - 1;

  /// True when something scheduled for this very instant precedes `phase`.
  bool pending_now_before(Phase phase, std::uint32_t rank = 0) const {
    return !heap_.empty() && heap_.front().at == now_ &&
           heap_.front().order < order_of(phase, rank, 0);
  }

  /// Runs the next event; false when none is left.
  bool step();

 private:
  struct Event {
    Time at;
    std::uint64_t order;  // phase in the top byte, then 12 bits of rank, then the sequence number
    EventHandler* target;
    EventPayload payload;
  };
  static_assert(sizeof(Event) == 32);

  static constexpr std::uint64_t order_of(Phase phase, std::uint32_t rank, std::uint64_t sequence) {
    return (static_cast<std::uint64_t>(phase) << 56) | (std::uint64_t{rank} << 44) | sequence;
  }
  static bool before(const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.order < b.order;
  }
  void sift_down(std::size_t hole, const Event& event);

  std::vector<Event> heap_;
  Time now_{};
  std::uint64_t sequence_ = 0;
  std::uint64_t executed_ = 0;
};

}  // namespace spillway
