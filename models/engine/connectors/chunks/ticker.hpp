// What happens by the clock: at multiples of a period, behind the transfers that end at that
// instant, while a request of the simulation is unfinished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/connectors/chunks/settlement.hpp"
#include "sim/workload.hpp"

namespace spillway {

class Ticking {
 public:
  virtual void tick() = 0;

 protected:
  ~Ticking() = default;
};

/// One for all of a simulation. Those that tick at the same instant do so in order of joining.
class Ticker final : public SharedThing, public EventHandler {
 public:
  Ticker(EventQueue& queue, std::uint32_t requests) : queue_(queue), unfinished_(requests) {}

  void join(Ticking& whom, Duration period) {
    tickers_.push_back({&whom, period, queue_.now() + period});
    arm();
  }
  /// A request has ended, one way or another.
  void on_request_end() { --unfinished_; }

  void on_event(EventPayload payload) override {
    if (payload.subject != epoch_) return;  // an earlier one was found since
    armed_ = false;
    if (unfinished_ == 0 || queue_.empty()) return;  // else what is left is stuck
    for (Entry& e : tickers_) {
      if (e.next > queue_.now()) continue;
      e.whom->tick();
      e.next += e.period;
    }
    arm();
  }

 private:
  struct Entry {
    Ticking* whom;
    Duration period;
    Time next;
  };
  void arm() {
    const auto first =
        std::min_element(tickers_.begin(), tickers_.end(),
                         [](const Entry& a, const Entry& b) { return a.next < b.next; });
    if (armed_ && first->next >= at_) return;
    armed_ = true;
    at_ = first->next;
    queue_.schedule(at_, kAmongSteps.phase, kAmongSteps.ticks, *this, {0, 0, ++epoch_});
  }

  EventQueue& queue_;
  std::uint32_t unfinished_;
  std::vector<Entry> tickers_;
  bool armed_ = false;
  Time at_{};
  std::uint32_t epoch_ = 0;
};

inline Ticker& ticker_of(EventQueue& queue, const Workload& workload, SharedThings& things) {
  return things.at<Ticker>(0, [&] { return std::make_unique<Ticker>(queue, workload.size()); });
}

}  // namespace spillway
