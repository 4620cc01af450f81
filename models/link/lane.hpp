// One direction between HBM and what lies below, as a route in the fabric: a host thread that
// submits copies where that costs anything, a copy engine, and the media that it shares with
// others. Media are laid once for a simulation, whoever crosses them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/link/link_model.hpp"
#include "sim/observer.hpp"

namespace spillway {

enum class Direction : std::uint8_t { kDown, kUp };  ///< away from the GPU (D2H), towards it (H2D)
constexpr std::size_t index_of(Direction d) {
  return static_cast<std::size_t>(d);
}

struct LaneSpec {
  std::uint32_t link = 0;  ///< its number in observations and results
  std::unique_ptr<LinkModel> model;
  /// Share of its own speed that a direction keeps while the other is busy; in (0, 1].
  double duplex_factor = 1;
  Duration submit{0};                    ///< of the host thread, for each copy; 0: none to model
  std::vector<std::uint32_t> through{};  ///< places in LaidMedia
  std::uint32_t clients = 1;             ///< that use these media alike, this engine among them
};

/// What transfers cross besides their own copy engine.
struct MediumSpec {
  std::int64_t bytes_per_second = 0;
  std::uint32_t link = kNoLink;  ///< its number in observations and results
  bool fifo = false;             ///< first come, first served, instead of fair shares
};

/// Media laid out in a fabric, in the order of their specs.
class LaidMedia {
 public:
  LaidMedia() = default;
  LaidMedia(Fabric& fabric, std::span<const MediumSpec> media, Observer& observer);

  /// The hops of a lane. Media of fair shares are crossed together with the copy engine; one that
  /// serves in order comes before it on the way up, behind it on the way down.
  std::vector<Hop> hops(const LaneSpec& lane, Direction direction, StationId engine,
                        const std::optional<StationId>& thread) const;
  /// What moves the bytes, across the media `through`: those that serve in order come before it or
  /// behind it.
  std::vector<Hop> across(Hop moves, std::span<const std::uint32_t> through,
                          bool in_order_first) const;

 private:
  struct Laid {
    std::optional<MediumId> fair;
    StationId in_order{};
  };
  std::vector<Laid> media_;
};

}  // namespace spillway
