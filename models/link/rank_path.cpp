#include "models/link/rank_path.hpp"

#include <algorithm>
#include <optional>

#include "sim/error.hpp"

namespace spillway {

RankPath::RankPath(Fabric& fabric, std::vector<RankLanes> ranks, bool stored_once,
                   Observer& observer, TransferListener& listener, const LaidMedia& media)
    : fabric_(fabric), listener_(listener) {
  models_.reserve(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    RankLanes& lanes = ranks[rank];
    KV_ASSERT(lanes.down.clients == 1 && lanes.up.clients == 1, "other clients beside ranks");
    models_.push_back({std::move(lanes.down.model), std::move(lanes.up.model)});
    const auto& models = models_.back();
    const StationId down =
        fabric_.add_station({make_link_service(*models[0]), 1, lanes.down.link, &observer});
    const StationId up =
        fabric_.add_station({make_link_service(*models[1]), 1, lanes.up.link, &observer});
    fabric_.pair(down, lanes.down.duplex_factor, up, lanes.up.duplex_factor);
    // Each rank is a process of its own, whose one thread submits for both directions.
    std::optional<StationId> thread;
    const Duration submit = std::max(lanes.down.submit, lanes.up.submit);
    if (submit > Duration(0)) thread = fabric_.add_station({make_per_copy_service(submit), 1});
    const auto add = [&](Direction direction, const LaneSpec& lane, StationId engine) {
      const bool submits = lane.submit > Duration(0);
      routes_[index_of(direction)].push_back(
          fabric_.add_route(media.hops(lane, direction, engine, submits ? thread : std::nullopt)));
    };
    if (rank == 0 || !stored_once) add(Direction::kDown, lanes.down, down);
    add(Direction::kUp, lanes.up, up);
  }
}

void RankPath::submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies) {
  const std::vector<RouteId>& routes = routes_[index_of(direction)];
  const std::uint32_t place = pending_.take();
  pending_[place] = {job, static_cast<std::uint32_t>(routes.size()), direction};
  for (const RouteId route : routes) fabric_.submit(route, place, payload, copies, *this);
}

void RankPath::on_route_service(RouteId, std::uint32_t place, bool begins) {
  const Pending& pending = pending_[place];
  if (pending.direction == Direction::kUp) listener_.on_load_service(pending.job, begins);
}

void RankPath::on_route_done(RouteId, std::uint32_t place) {
  if (--pending_[place].ranks > 0) return;
  const Pending ended = pending_[place];
  pending_.release(place);
  listener_.on_transfer_done(ended.direction, ended.job);
}

}  // namespace spillway
