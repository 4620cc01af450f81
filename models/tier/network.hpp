// What all engines of a simulation share: one fabric, the media laid out in it, and the drives and
// servers of storage tiers. Each is laid once, for every place that has it; who is at which place,
// only whoever wires the simulation knows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/link/lane.hpp"
#include "models/tier/storage_server.hpp"

namespace spillway {

struct NetworkSpec {
  std::vector<MediumSpec> media;
  std::vector<StorageServerSpec> servers;
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
  }

  // Servers refer to fabric and media.
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  Fabric& fabric() { return fabric_; }
  const Fabric& fabric() const { return fabric_; }
  const LaidMedia& media() const { return media_; }
  StorageServer& server(std::uint32_t i) { return *servers_[i]; }
  const StorageServer& server(std::uint32_t i) const { return *servers_[i]; }

 private:
  Fabric fabric_;
  LaidMedia media_;
  std::vector<std::unique_ptr<StorageServer>> servers_;
};

}  // namespace spillway
