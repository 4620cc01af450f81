// One of the sections `tiers` of a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/engine/connectors/chunks/chunk_rules.hpp"
#include "models/engine/connectors/level_rules.hpp"
#include "models/tier/storage_spec.hpp"
#include "policies/catalogue.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/sections/scope.hpp"
#include "sim/error.hpp"

namespace spillway {

/// tiers[].device: the storage behind a tier that is not DRAM.
struct StorageChoice {
  StorageSpec spec;
  std::uint32_t chunk_tokens = 0;    ///< of one operation; 0: one engine block
  std::uint32_t clients = 0;         ///< others that do what this one does
  bool direct = false;               ///< between device and GPU without a copy in host memory
  Bytes drive_bytes{0};              ///< of the drive, where it is not the tier's capacity
  std::vector<std::string> through;  ///< names of media that its bytes cross
  Duration lookup{0};  ///< behind another tier: to find out whether one chunk is there
};

/// One way to a tier behind the first, of connectors that keep chunks.
struct TierLane {
  std::string name;
  Duration latency{0};
  std::int64_t bytes_per_second = 0;
};

struct TierChoice {
  std::string name;
  std::optional<StorageChoice> storage;  ///< none: host DRAM
  Capacity capacity;
  EvictionChoice eviction;
  WriteAdmissionChoice write_admission;
  LevelRules rules;
  bool per_rank = false;           ///< capacity is of each rank, not of the engine
  Scope scope = Scope::kInstance;  ///< of a storage tier: who has its device in common
  SourceRef where;

  // With connectors that keep chunks:
  ChunkOrder order = ChunkOrder::kLru;
  bool by_links = false;  ///< reached by these, not through a device
  std::optional<TierLane> down;
  std::optional<TierLane> up;
  Duration lookup{0};
  std::uint32_t put_threads = 4;
  Serde serde;
  std::vector<Outage> outages;
  AtimeRule atime = AtimeRule::kRelatime;
  std::optional<EvictorConfig> evictor;

  std::string_view kind() const { return storage ? name_of(storage->spec.kind) : "dram"; }
  /// The place at the other end of the GPU's host link: the tier itself, or host memory before it.
  std::string_view host_end() const {
    return storage && !by_links ? kHost : std::string_view(name);
  }

  static constexpr std::string_view kHost = "host";
};

}  // namespace spillway
