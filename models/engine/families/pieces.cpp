#include "models/engine/families/pieces.hpp"

#include "models/engine/chain_map.hpp"
#include "models/tier/storage_path.hpp"
#include "sim/error.hpp"

namespace spillway {

std::uint32_t page_names(const Site& site) {
  constexpr std::uint64_t kMostNames = (std::uint64_t{1} << 31) - 2;
  const std::uint32_t blocks = site.chains.block_count();
  const std::uint32_t groups = site.config.groups.count();
  if (std::uint64_t{blocks} * groups > kMostNames) {
    throw InputError(Fault::kIo, {"hybrid_kv_cache", 0, ""},
                     fmt::format("{} distinct blocks in {} KV groups; expected at most {} in all, "
                                 "with larger blocks or fewer requests",
                                 blocks, groups, kMostNames));
  }
  return blocks * groups;
}

std::unique_ptr<RequestFacts> needed_facts(const Site& site, const EngineParts& parts) {
  const bool needed = parts.eviction.needs().requests ||
                      (parts.lower != nullptr && parts.lower->eviction.needs().requests);
  return needed ? std::make_unique<RequestFacts>(request_facts(site.workload)) : nullptr;
}

EvictionContext policy_context(const Site& site, const RequestFacts* facts) {
  EvictionContext context;
  context.blocks = page_names(site);
  context.block_tokens = site.config.block_tokens;
  context.requests = facts;
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
