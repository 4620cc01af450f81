// The engine families: each is a file here, with the function that puts its parts together, and a
// row of the table in families.cpp.
#pragma once

#include "models/engine/engine_parts.hpp"

namespace spillway {

/// The function that puts together what the configuration asks for.
Assembler assembler_of(const EngineConfig& config);

Assembly assemble_vllm_v1(const Site& site, EngineParts& parts);
/// v1 with blocks of running requests below HBM.
Assembly assemble_vllm_streaming(const Site& site, EngineParts& parts);
Assembly assemble_vllm_v0(const Site& site, EngineParts& parts);

// ---- pieces that several of them are put together from

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
