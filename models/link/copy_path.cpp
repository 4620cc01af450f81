#include "models/link/copy_path.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

CopyPath::CopyPath(EventQueue& queue, Fabric& fabric, LaneSpec down, LaneSpec up,
                   Observer& observer, TransferListener& listener, const LaidMedia& media,
                   std::uint64_t seed)
    : models_{std::move(down.model), std::move(up.model)},
      fabric_(fabric),
      neighbours_(queue, fabric, seed),
      listener_(listener) {
  const std::array<LaneSpec, 2> lanes = {std::move(down), std::move(up)};
  for (const LaneSpec& lane : lanes) {
    KV_ASSERT(lane.clients > 0 && (lane.clients == 1 || !lane.through.empty()),
              "{} clients of a lane of its own", lane.clients);
  }
  for (std::uint32_t i = 0; i < std::max(lanes[0].clients, lanes[1].clients); ++i) {
    add_client(lanes, i, media, observer);
  }
}

/// Client 0 is this engine; only it is observed at its own stations.
void CopyPath::add_client(const std::array<LaneSpec, 2>& lanes, std::uint32_t client,
                          const LaidMedia& media, Observer& observer) {
  std::array<StationId, 2> engines{};
  for (std::size_t i = 0; i < 2; ++i) {
    engines[i] = fabric_.add_station(
        {make_link_service(*models_[i]), 1, client == 0 ? lanes[i].link : kNoLink, &observer});
  }
  fabric_.pair(engines[0], lanes[0].duplex_factor, engines[1], lanes[1].duplex_factor);
  // One thread submits for both directions.
  std::optional<StationId> thread;
  const Duration submit = std::max(lanes[0].submit, lanes[1].submit);
  if (submit > Duration(0)) thread = fabric_.add_station({make_per_copy_service(submit), 1});
  for (std::size_t i = 0; i < 2; ++i) {
    if (client >= lanes[i].clients) continue;
    const RouteId route =
        fabric_.add_route(media.hops(lanes[i], static_cast<Direction>(i), engines[i],
                                     lanes[i].submit > Duration(0) ? thread : std::nullopt));
    if (client == 0) {
      routes_[i] = route;
    } else {
      neighbours_.add(i, route);
    }
  }
}

}  // namespace spillway
