// Tiers that keep chunks: what an engine is told of each, and what it does in them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/engine/connectors/chunks/chunk_rules.hpp"
#include "models/engine/connectors/chunks/chunk_table.hpp"
#include "models/engine/connectors/chunks/tier_port.hpp"
#include "models/link/host_path.hpp"
#include "models/releases/chunk_connectors.hpp"
#include "models/requests/engine_stats.hpp"
#include "sim/units.hpp"

namespace spillway {

enum class ChunkTierKind : std::uint8_t { kHost, kDisk, kRemote, kFiles };

struct ChunkTierConfig {
  ChunkTierKind kind = ChunkTierKind::kHost;
  Bytes capacity{ChunkTable::kUnbounded};
  ChunkOrder order = ChunkOrder::kLru;
  PortConfig port;                         ///< behind host memory; of files, straight from HBM
  Duration lookup{0};                      ///< to ask for one chunk
  std::uint32_t put_threads = 4;           ///< disk
  Serde serde;                             ///< remote
  std::vector<Outage> outages;             ///< remote
  AtimeRule atime = AtimeRule::kRelatime;  ///< files
  bool evicts = false;                     ///< files: an evictor runs
  EvictorConfig evictor;
  std::uint32_t number = 0;  ///< of the store in the simulation, where engines share it
  bool shared = false;
  bool first = true;  ///< of those that share it: it tells of the store itself

  bool reachable(Time now) const {
    for (const Outage& o : outages) {
      if (now >= o.from && now < o.to) return false;
    }
    return true;
  }
};

struct ChunkedConfig {
  HostLanes lanes;  ///< between HBM and the first tier
  /// The same ways once more, to tell what a copy takes alone.
  std::unique_ptr<LinkModel> down;
  std::unique_ptr<LinkModel> up;
  std::uint32_t copies = 1;  ///< ranks whose parts a tier behind host memory keeps of each chunk
  std::vector<ChunkTierConfig> tiers;  ///< nearest first
};

}  // namespace spillway
