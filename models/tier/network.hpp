// What all engines of a simulation share: one fabric, the media laid out in it, and the drives and
// servers of storage tiers. Each is laid once, for every place that has it; who is at which place,
// only whoever wires the simulation knows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/link/lane.hpp"
#include "models/link/link_model.hpp"
#include "models/tier/storage_server.hpp"

namespace spillway {

/// One way between host memory and a tier behind it, for all its clients: latency + bytes / rate.
struct TierLaneSpec {
  Duration latency{0};
  std::int64_t bytes_per_second = 0;
  std::uint32_t slots = 1;  ///< jobs at once, each at the full rate
};

struct NetworkSpec {
  std::vector<MediumSpec> media;
  std::vector<StorageServerSpec> servers;
  std::vector<TierLaneSpec> lanes{};
};

class Network {
 public:
  explicit Network(EventQueue& queue) : fabric_(queue) {}
  /// `observer` is told of the media, by the numbers that they have in all the simulation.
  Network(EventQueue& queue, const NetworkSpec& spec, Observer& observer)
      : fabric_(queue), media_(fabric_, spec.media, observer) {
    for (const StorageServerSpec& server : spec.servers) {
      servers_.push_back(std::make_unique<StorageServer>(queue, fabric_, media_, server));
    }
    for (const TierLaneSpec& lane : spec.lanes) lanes_.push_back(lay(lane));
  }

  // Servers refer to fabric and media.
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  Fabric& fabric() { return fabric_; }
  const Fabric& fabric() const { return fabric_; }
  const LaidMedia& media() const { return media_; }
  StorageServer& server(std::uint32_t i) { return *servers_[i]; }
  const StorageServer& server(std::uint32_t i) const { return *servers_[i]; }
  RouteId lane(std::uint32_t i) const { return lanes_[i]; }

 private:
  RouteId lay(const TierLaneSpec& lane) {
    const Hop hop{fabric_.add_station(
        {make_link_service(make_affine_link(lane.latency, lane.bytes_per_second)), lane.slots})};
    return fabric_.add_route({&hop, 1});
  }

  Fabric fabric_;
  LaidMedia media_;
  std::vector<std::unique_ptr<StorageServer>> servers_;
  std::vector<RouteId> lanes_;
};

}  // namespace spillway
