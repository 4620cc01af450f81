// When transfers that end at one instant are taken note of: in the order of their submission,
// before anything of that instant reads what they change.
//
// Turns: engines whose connectors go by this do what they do at an instant one after another, by
// number, each until it must wait: their events come in phase kStepStart, ranked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/shared_things.hpp"

namespace spillway {

/// When, of an instant: what has ended, then what happens by the clock.
struct InstantOrder {
  Phase phase;
  std::uint32_t ends;  ///< ranks in the phase
  std::uint32_t ticks;
};
inline constexpr InstantOrder kAmongSteps{Phase::kStepDone, 0, 1};
/// Steps that end at the instant come behind both.
inline constexpr InstantOrder kBeforeSteps{Phase::kTransferDone, 1, EventQueue::kLastRank};

class Settled {
 public:
  /// A transfer has ended, `job` by the owner's own number.
  virtual void settle(std::uint32_t job) = 0;

 protected:
  ~Settled() = default;
};

/// Told when all that ended at an instant has been settled.
class AfterSettlement {
 public:
  virtual void settled() = 0;

 protected:
  ~AfterSettlement() = default;
};

class Settlement final : public SharedThing, public EventHandler {
 public:
  explicit Settlement(EventQueue& queue, const InstantOrder& order = kAmongSteps)
      : queue_(queue), order_(order) {}

  /// The number of a transfer that is submitted now.
  std::uint64_t next_number() { return next_++; }
  /// It has ended.
  void add(std::uint64_t number, Settled& owner, std::uint32_t job) {
    if (ended_.empty()) queue_.schedule(queue_.now(), order_.phase, order_.ends, *this, {});
    ended_.push_back({number, &owner, job});
  }
  /// `whom` is told once all that ends at this instant has been settled; asked while that goes on.
  void tell_after(AfterSettlement& whom) {
    if (std::find(after_.begin(), after_.end(), &whom) == after_.end()) after_.push_back(&whom);
  }
  void on_event(EventPayload) override {
    std::sort(ended_.begin(), ended_.end(),
              [](const Ended& a, const Ended& b) { return a.number < b.number; });
    for (const Ended& e : ended_) e.owner->settle(e.job);
    ended_.clear();
    for (AfterSettlement* whom : after_) whom->settled();
    after_.clear();
  }

 private:
  struct Ended {
    std::uint64_t number;
    Settled* owner;
    std::uint32_t job;
  };
  EventQueue& queue_;
  InstantOrder order_;
  std::uint64_t next_ = 0;
  std::vector<Ended> ended_;
  std::vector<AfterSettlement*> after_;
};

}  // namespace spillway
