// The way between host memory and a tier behind it, as one client sees it: bytes go there and come
// back in jobs, by lanes of the scenario (affine, first come first served, both ways apart) or
// through a client of a drive or server. The end of a job is settled with all others of its
// instant.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "models/engine/connectors/chunks/settlement.hpp"
#include "models/tier/network.hpp"
#include "models/tier/storage_device.hpp"
#include "sim/observer.hpp"
#include "sim/slab.hpp"

namespace spillway {

class PortListener {
 public:
  virtual void on_port_done(StorageOp op, std::uint32_t job) = 0;

 protected:
  ~PortListener() = default;
};

/// How an engine reaches a tier.
struct PortConfig {
  /// Its client of a drive or server, and the numbers of its links in either case.
  StorageClientConfig client;
  bool lanes = false;                   ///< instead by lanes of the network:
  std::array<std::uint32_t, 2> lane{};  ///< by index_of(StorageOp)
};

class TierPort final : private StorageListener, private RouteListener, private Settled {
 public:
  TierPort(Network& network, const PortConfig& config, Settlement& settlement, EventQueue& queue,
           Observer& observer, PortListener& listener);

  /// `job` is the listener's own number, used by no other job of this direction. Precondition:
  /// bytes > 0. `operations`: as the device takes it.
  void submit(StorageOp op, std::uint32_t job, Bytes bytes, std::uint32_t operations = 0);
  bool idle() const { return under_way_ == 0; }
  std::uint32_t under_way(StorageOp op) const { return jobs_under_way_[index_of(op)]; }
  /// Null: it goes by lanes.
  const StorageDevice* device() const { return device_.get(); }

 private:
  struct Job {
    StorageOp op = StorageOp::kRead;
    std::uint32_t number = 0;  ///< the listener's
    std::uint64_t order = 0;   ///< of submission
    Bytes bytes{0};
    Time submitted{};
    Time started{};
  };
  std::uint32_t make_job(StorageOp op, std::uint32_t number, Bytes bytes);
  void on_storage_done(StorageOp op, std::uint32_t job) override;
  void on_route_service(RouteId route, std::uint32_t job, bool begins) override;
  void on_route_done(RouteId route, std::uint32_t job) override;
  void settle(std::uint32_t job) override;

  Network& network_;
  PortConfig config_;
  Settlement& settlement_;
  EventQueue& queue_;
  Observer& observer_;
  PortListener& listener_;
  std::unique_ptr<StorageDevice> device_;
  Slab<Job> jobs_;
  std::uint32_t under_way_ = 0;
  std::array<std::uint32_t, 2> jobs_under_way_{};
};

}  // namespace spillway
