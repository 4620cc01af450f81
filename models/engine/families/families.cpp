// The table of engine families, and pieces that several of them are put together from.
#include "models/engine/engine_parts.hpp"

#include <algorithm>

#include "models/tier/storage_path.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

struct FamilyRow {
  EngineFamily family;
  Residency residency;
  Assembler assemble;
};

constexpr FamilyRow kFamilies[] = {
    {EngineFamily::kVllmV1, Residency::kFull, assemble_vllm_v1},
    {EngineFamily::kVllmV1, Residency::kStreaming, assemble_vllm_streaming},
    {EngineFamily::kVllmV0, Residency::kFull, assemble_vllm_v0},
    {EngineFamily::kSglang, Residency::kFull, assemble_sglang},
    {EngineFamily::kTrtllm, Residency::kFull, assemble_trtllm},
    {EngineFamily::kMooncake, Residency::kFull, assemble_mooncake_client},
};

}  // namespace

Assembler assembler_of(const EngineConfig& config) {
  for (const FamilyRow& row : kFamilies) {
    if (row.family == config.family && row.residency == config.residency) return row.assemble;
  }
  KV_ASSERT(false, "no family of engines has this residency");
  return nullptr;
}

// ---- pieces

std::uint32_t page_names(const Site& site) {
  constexpr std::uint64_t kMostNames = (std::uint64_t{1} << 31) - 2;
  const std::uint32_t blocks = site.chains.most_blocks();
  const std::uint32_t groups = site.config.groups.count();
  if (std::uint64_t{blocks} * groups > kMostNames) {
    throw InputError(Fault::kIo, {"hybrid_kv_cache", 0, ""},
                     fmt::format("{} distinct blocks in {} KV groups; expected at most {} in all, "
                                 "with larger blocks or fewer requests",
                                 blocks, groups, kMostNames));
  }
  return blocks * groups;
}

bool EngineParts::need_facts() const {
  if (eviction.needs().requests) return true;
  if (lower == nullptr) return false;
  return lower->eviction.needs().requests ||
         std::any_of(lower->behind.begin(), lower->behind.end(),
                     [](const LevelConfig& level) { return level.eviction.needs().requests; });
}

EvictionContext policy_context(const Site& site, const EngineParts& parts) {
  KV_ASSERT(parts.facts != nullptr || !parts.need_facts(), "a policy without the facts it needs");
  EvictionContext context;
  context.blocks = site.chains.block_count() * site.config.groups.count();
  context.block_tokens = site.config.block_tokens;
  context.requests = parts.facts;
  return context;
}

LowerPath make_path(const Site& site, LowerTierConfig& lower, TransferListener& listener) {
  if (lower.storage.empty()) {
    return {make_host_path(site.queue, site.network.fabric(), site.network.media(),
                           std::move(lower.lanes), site.observer, listener),
            {}};
  }
  StoragePathConfig config{std::move(lower.storage), {}, lower.copies};
  if (!lower.direct) config.host = std::move(lower.lanes);
  auto path = std::make_unique<StoragePath>(site.queue, site.network, std::move(config),
                                            site.observer, listener);
  const std::span<const std::unique_ptr<StorageDevice>> storage = path->devices();
  return {std::move(path), storage};
}

}  // namespace spillway
