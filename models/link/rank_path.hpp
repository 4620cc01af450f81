// The way between HBM and the tier below where an engine's ranks are not alike, or share media:
// every rank has a copy engine for each direction, and moves its own part of each job. A job has
// ended when the slowest rank has: so does vLLM's scheduler wait for the reports of all workers.
//
// Where ranks hold the same (an MLA latent, kept once below), the first stores for all, and all
// load.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/link/copy_path.hpp"
#include "models/link/fabric.hpp"
#include "sim/slab.hpp"

namespace spillway {

struct RankLanes {
  LaneSpec down;
  LaneSpec up;
};

class RankPath final : public TransferPath, private RouteListener {
 public:
  /// Lanes without other clients.
  RankPath(Fabric& fabric, std::vector<RankLanes> ranks, bool stored_once, Observer& observer,
           TransferListener& listener, const LaidMedia& media);

  /// `payload` and `copies` are those of one rank.
  void submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies) override;
  bool idle() const override { return pending_.none_in_use(); }

 private:
  struct Pending {
    std::uint32_t job = 0;
    std::uint32_t ranks = 0;  ///< that have not ended
    Direction direction = Direction::kDown;
  };
  void on_route_service(RouteId route, std::uint32_t place, bool begins) override;
  void on_route_done(RouteId route, std::uint32_t place) override;

  std::vector<std::array<std::unique_ptr<LinkModel>, 2>> models_;
  Fabric& fabric_;
  TransferListener& listener_;
  std::array<std::vector<RouteId>, 2> routes_;  ///< of the ranks that move such jobs
  Slab<Pending> pending_;
};

}  // namespace spillway
