#include "models/link/host_path.hpp"

namespace spillway {

std::unique_ptr<TransferPath> make_host_path(EventQueue& queue, Fabric& fabric,
                                             const LaidMedia& media, HostLanes lanes,
                                             Observer& observer, TransferListener& listener) {
  if (!lanes.ranks.empty()) {
    return std::make_unique<RankPath>(fabric, std::move(lanes.ranks), lanes.stored_once, observer,
                                      listener, media);
  }
  return std::make_unique<CopyPath>(queue, fabric, std::move(lanes.down), std::move(lanes.up),
                                    observer, listener, media, lanes.seed);
}

}  // namespace spillway
