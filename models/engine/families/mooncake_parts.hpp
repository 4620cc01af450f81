// The store of Mooncake as engines of a simulation find it.
#pragma once

#include <memory>
#include <span>

#include "models/engine/connectors/mooncake/mooncake_master.hpp"
#include "models/engine/engine_parts.hpp"

namespace spillway {

struct MooncakeParts {
  Settlement& settlement;
  MooncakeClock& clock;
  MooncakeMaster& master;
};

/// `tiers`: memory, and the SSD if there is one; observers know the first by `number`. The master
/// is `own`, where nobody shares it.
MooncakeParts mooncake_parts(const Site& site, const EngineParts& parts,
                             std::span<const ChunkTierConfig> tiers, const InstantOrder& order,
                             std::uint32_t number, std::unique_ptr<MooncakeMaster>& own);

}  // namespace spillway
