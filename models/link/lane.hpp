// One direction between HBM and what lies below, as a route in the fabric: a host thread that
// submits copies where that costs anything, a copy engine, and the media that it shares with
// others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  std::vector<std::uint32_t> through{};  ///< places in PathMedia::media
  std::uint32_t clients = 1;             ///< that use these media alike, this engine among them
};

/// What transfers cross besides their own copy engine.
struct MediumSpec {
  std::int64_t bytes_per_second = 0;
  std::uint32_t link = kNoLink;  ///< its number in observations and results
  bool fifo = false;             ///< first come, first served, instead of fair shares
};
struct PathMedia {
  std::vector<MediumSpec> media;
  std::uint64_t seed = 1;  ///< of the delays by which other clients lag
};

/// Media of a path, laid out in a fabric.
class LaidMedia {
 public:
  LaidMedia(Fabric& fabric, const PathMedia& media, Observer& observer);

  /// The hops of a lane. Media of fair shares are crossed together with the copy engine; one that
  /// serves in order comes before it on the way up, behind it on the way down.
  std::vector<Hop> hops(const LaneSpec& lane, Direction direction, StationId engine,
                        const std::optional<StationId>& thread) const;

 private:
  struct Laid {
    std::optional<MediumId> fair;
    StationId in_order{};
  };
  std::vector<Laid> media_;
};

}  // namespace spillway
