#include "models/link/copy_path.hpp"

namespace spillway {

CopyPath::CopyPath(EventQueue& queue, LaneSpec down, LaneSpec up, Observer& observer,
                   TransferListener& listener)
    : network_(queue, observer), listener_(listener) {
  const auto engine = [this](LaneSpec& lane) {
    return network_.add_station({make_link_service(std::move(lane.model)), 1, lane.link});
  };
  const StationId below = engine(down);
  const StationId above = engine(up);
  network_.pair(below, down.duplex_factor, above, up.duplex_factor);
  const Hop away[] = {{.station = below}};
  const Hop towards[] = {{.station = above}};
  routes_ = {network_.add_route(away), network_.add_route(towards)};
}

}  // namespace spillway
