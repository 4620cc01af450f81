// The other clients of shared media: further GPUs under one root port, replicas on one NIC.
//
// Model: each does what this engine does, later by a delay of its own, drawn uniformly from one
// second: same sizes, same gaps, on copy engines of its own, through the same media. So the load is
// as bursty as the engine's and not in step with it. Their queues never hold this engine up other
// than at the media, and what they wait there does not slow their own requests down.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/link/fabric.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

class Neighbours final : public EventHandler, private RouteListener {
 public:
  Neighbours(EventQueue& queue, Fabric& fabric, std::uint64_t seed)
      : queue_(queue), fabric_(fabric), seed_(seed) {}

  /// One more client that repeats what goes in the direction `lane` (0 or 1).
  void add(std::size_t lane, RouteId route);
  /// This engine submits now; they will.
  void repeat(std::size_t lane, Bytes payload, std::uint32_t copies);

  void on_event(EventPayload payload) override;

 private:
  struct Transfer {
    Bytes payload;
    std::uint32_t copies = 0;
  };
  struct Client {
    std::size_t lane = 0;
    RouteId route{};
    Duration delay{};
    RingQueue<Transfer> coming;  ///< equal delays: they are due in order
  };
  void on_route_done(RouteId, std::uint32_t) override {}

  EventQueue& queue_;
  Fabric& fabric_;
  std::uint64_t seed_;
  std::vector<Client> clients_;
};

}  // namespace spillway
