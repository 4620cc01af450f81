// What stores of instances gain and lose, on its way to a router that wants to know: consecutive
// blocks as one event, later by the lag with which such news travel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/cluster/router.hpp"
#include "models/engine/engine.hpp"
#include "sim/event_queue.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

class ResidencyFeed final : private EventHandler {
 public:
  /// News of one instant arrive before its requests do. `lag` is positive.
  ResidencyFeed(EventQueue& queue, Router& router, Duration lag);
  ~ResidencyFeed();

  /// Before the first request. Engines of one instance have stores of their own, and speak for it.
  void watch(Engine& engine, InstanceId instance);

 private:
  class Store;

  void tell(const ResidencyEvent& event);
  void on_event(EventPayload payload) override;

  EventQueue& queue_;
  Router& router_;
  Duration lag_;
  std::vector<std::unique_ptr<Store>> stores_;
  RingQueue<ResidencyEvent> under_way_;
  Time woken_ = Time::min();  ///< of the last event asked for
};

}  // namespace spillway
