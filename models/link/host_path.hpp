// The way between HBM and host memory: the lanes of one rank, which stands for all where they are
// alike, or of each.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/link/copy_path.hpp"
#include "models/link/rank_path.hpp"

namespace spillway {

struct HostLanes {
  LaneSpec down;
  LaneSpec up;
  std::uint64_t seed = 1;  ///< of the delays by which other clients of their media lag
  /// Where ranks differ or share media, the lanes of each; empty: all are alike.
  std::vector<RankLanes> ranks{};
  bool stored_once = false;  ///< ranks hold the same: the first stores for all
};

std::unique_ptr<TransferPath> make_host_path(EventQueue& queue, Fabric& fabric,
                                             const LaidMedia& media, HostLanes lanes,
                                             Observer& observer, TransferListener& listener);

}  // namespace spillway
