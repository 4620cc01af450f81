#include "models/link/copy_path.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

CopyPath::CopyPath(EventQueue& queue, Fabric& fabric, LaneSpec down, LaneSpec up,
                   Observer& observer, TransferListener& listener, const PathMedia& media)
    : models_{std::move(down.model), std::move(up.model)},
      fabric_(fabric),
      observer_(observer),
      neighbours_(queue, fabric, media.seed),
      listener_(listener) {
  for (const MediumSpec& spec : media.media) {
    Medium medium;
    if (spec.fifo) {
      medium.fifo = fabric_.add_station(
          {make_link_service(make_constant_link(spec.bytes_per_second)), 1, spec.link, &observer});
    } else {
      medium.fair = fabric_.add_medium(spec.bytes_per_second, spec.link, &observer);
    }
    media_.push_back(medium);
  }
  const std::array<LaneSpec, 2> lanes = {std::move(down), std::move(up)};
  for (const LaneSpec& lane : lanes) {
    KV_ASSERT(lane.clients > 0 && (lane.clients == 1 || !lane.through.empty()),
              "{} clients of a lane of its own", lane.clients);
  }
  for (std::uint32_t i = 0; i < std::max(lanes[0].clients, lanes[1].clients); ++i) {
    add_client(lanes, i);
  }
}

/// Client 0 is this engine; only it is observed at its own stations.
void CopyPath::add_client(const std::array<LaneSpec, 2>& lanes, std::uint32_t client) {
  std::array<StationId, 2> engines{};
  for (std::size_t i = 0; i < 2; ++i) {
    engines[i] = fabric_.add_station(
        {make_link_service(*models_[i]), 1, client == 0 ? lanes[i].link : kNoLink, &observer_});
  }
  fabric_.pair(engines[0], lanes[0].duplex_factor, engines[1], lanes[1].duplex_factor);
  // One thread submits for both directions.
  std::optional<StationId> thread;
  const Duration submit = std::max(lanes[0].submit, lanes[1].submit);
  if (submit > Duration(0)) thread = fabric_.add_station({make_per_copy_service(submit), 1});
  for (std::size_t i = 0; i < 2; ++i) {
    if (client >= lanes[i].clients) continue;
    const RouteId route =
        route_of(i, lanes[i], engines[i], lanes[i].submit > Duration(0) ? thread : std::nullopt);
    if (client == 0) {
      routes_[i] = route;
    } else {
      neighbours_.add(i, route);
    }
  }
}

/// Media of fair shares are crossed together with the engine; one that serves in order comes before
/// it on the way up, behind it on the way down.
RouteId CopyPath::route_of(std::size_t lane, const LaneSpec& spec, StationId engine,
                           std::optional<StationId> thread) {
  std::vector<Hop> hops;
  if (thread) hops.push_back({.station = *thread, .pipelined = true});
  Hop copy{.station = engine};
  std::vector<Hop> in_order;
  for (const std::uint32_t i : spec.through) {
    if (media_[i].fair) {
      copy.media.push_back(*media_[i].fair);
    } else {
      in_order.push_back({.station = media_[i].fifo});
    }
  }
  hops.push_back(std::move(copy));
  const bool down = lane == index_of(Direction::kDown);
  hops.insert(down ? hops.end() : hops.begin(), in_order.begin(), in_order.end());
  return fabric_.add_route(hops);
}

}  // namespace spillway
