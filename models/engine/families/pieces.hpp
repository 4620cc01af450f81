// Pieces that several families are put together from.
#pragma once

#include "models/engine/engine_parts.hpp"

namespace spillway {

/// Names of blocks as pool and tiers see them, however many there will be: one for each KV group.
/// Throws InputError (exit 7) when they do not fit.
std::uint32_t page_names(const Site& site);

EvictionContext policy_context(const Site& site, const EngineParts& parts);

/// The way between HBM and the tier below.
struct LowerPath {
  std::unique_ptr<TransferPath> path;
  std::span<const std::unique_ptr<StorageDevice>> storage;  ///< at its end, where that is storage
};
LowerPath make_path(const Site& site, LowerTierConfig& lower, TransferListener& listener);

}  // namespace spillway
