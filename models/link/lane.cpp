#include "models/link/lane.hpp"

namespace spillway {

LaidMedia::LaidMedia(Fabric& fabric, const PathMedia& media, Observer& observer) {
  for (const MediumSpec& spec : media.media) {
    Laid laid;
    if (spec.fifo) {
      laid.in_order = fabric.add_station(
          {make_link_service(make_constant_link(spec.bytes_per_second)), 1, spec.link, &observer});
    } else {
      laid.fair = fabric.add_medium(spec.bytes_per_second, spec.link, &observer);
    }
    media_.push_back(laid);
  }
}

std::vector<Hop> LaidMedia::hops(const LaneSpec& lane, Direction direction, StationId engine,
                                 const std::optional<StationId>& thread) const {
  std::vector<Hop> out;
  if (thread) out.push_back({.station = *thread, .pipelined = true});
  Hop copy{.station = engine};
  std::vector<Hop> in_order;
  for (const std::uint32_t i : lane.through) {
    if (media_[i].fair) {
      copy.media.push_back(*media_[i].fair);
    } else {
      in_order.push_back({.station = media_[i].in_order});
    }
  }
  out.push_back(std::move(copy));
  out.insert(direction == Direction::kDown ? out.end() : out.begin(), in_order.begin(),
             in_order.end());
  return out;
}

}  // namespace spillway
