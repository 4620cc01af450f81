#include "models/engine/rank_path.hpp"

#include <algorithm>
#include <optional>

#include "sim/error.hpp"

namespace spillway {

namespace {

/// A shared path in the fabric: of fair shares, or one that serves in order.
struct Shared {
  std::optional<MediumId> fair;
  StationId in_order{};
};

std::vector<Shared> add_media(Fabric& fabric, const PathMedia& media, Observer& observer) {
  std::vector<Shared> out;
  for (const MediumSpec& spec : media.media) {
    Shared shared;
    if (spec.fifo) {
      shared.in_order = fabric.add_station(
          {make_link_service(make_constant_link(spec.bytes_per_second)), 1, spec.link, &observer});
    } else {
      shared.fair = fabric.add_medium(spec.bytes_per_second, spec.link, &observer);
    }
    out.push_back(shared);
  }
  return out;
}

/// As in copy_path.cpp: media of fair shares are crossed together with the copy engine, one that
/// serves in order is crossed before it on the way up and behind it on the way down.
std::vector<Hop> hops_of(const LaneSpec& lane, bool down, StationId engine,
                         const std::optional<StationId>& thread,
                         const std::vector<Shared>& shared) {
  std::vector<Hop> hops;
  if (thread) hops.push_back({.station = *thread, .pipelined = true});
  Hop copy{.station = engine};
  std::vector<Hop> in_order;
  for (const std::uint32_t i : lane.through) {
    if (shared[i].fair) {
      copy.media.push_back(*shared[i].fair);
    } else {
      in_order.push_back({.station = shared[i].in_order});
    }
  }
  hops.push_back(std::move(copy));
  hops.insert(down ? hops.end() : hops.begin(), in_order.begin(), in_order.end());
  return hops;
}

}  // namespace

RankPath::RankPath(Fabric& fabric, std::vector<RankLanes> ranks, bool stored_once,
                   Observer& observer, TransferListener& listener, const PathMedia& media)
    : fabric_(fabric), listener_(listener) {
  const std::vector<Shared> shared = add_media(fabric_, media, observer);
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
      const bool is_down = direction == Direction::kDown;
      routes_[index_of(direction)].push_back(fabric_.add_route(
          hops_of(lane, is_down, engine, submits ? thread : std::nullopt, shared)));
    };
    if (rank == 0 || !stored_once) add(Direction::kDown, lanes.down, down);
    add(Direction::kUp, lanes.up, up);
  }
}

void RankPath::submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies) {
  const std::vector<RouteId>& routes = routes_[index_of(direction)];
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(pending_.size()));
    pending_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
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
  free_.push_back(place);
  listener_.on_transfer_done(ended.direction, ended.job);
}

}  // namespace spillway
