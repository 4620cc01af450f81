#include "models/link/lane.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

LaidMedia::LaidMedia(Fabric& fabric, std::span<const MediumSpec> media, Observer& observer) {
  for (const MediumSpec& spec : media) {
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
  std::vector<Hop> out = across({.station = engine}, lane.through, direction == Direction::kUp);
  if (!thread) return out;
  const auto copy =
      std::find_if(out.begin(), out.end(), [&](const Hop& hop) { return hop.station == engine; });
  out.insert(copy, {.station = *thread, .pipelined = true});
  return out;
}

std::vector<Hop> LaidMedia::across(Hop moves, std::span<const std::uint32_t> through,
                                   bool in_order_first) const {
  std::vector<Hop> out;
  for (const std::uint32_t i : through) {
    KV_ASSERT(i < media_.size(), "medium {} of {}", i, media_.size());
    if (media_[i].fair) {
      moves.media.push_back(*media_[i].fair);
    } else {
      out.push_back({.station = media_[i].in_order});
    }
  }
  out.insert(in_order_first ? out.end() : out.begin(), std::move(moves));
  return out;
}

}  // namespace spillway
