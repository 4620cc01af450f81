// SGLang: a radix cache, its scheduler, and HiCache where there is host memory below.
#include <algorithm>

#include "models/engine/connectors/hicache/hicache.hpp"
#include "models/engine/connectors/hicache/level_pages.hpp"
#include "models/engine/connectors/hicache/mooncake_pages.hpp"
#include "models/engine/families/mooncake_parts.hpp"
#include "models/engine/schedulers/sglang_scheduler.hpp"
#include "models/engine/stores/radix_tree.hpp"

namespace spillway {

namespace {

struct SglangBase final : Assembly::Base {
  std::unique_ptr<MooncakeMaster> store;  ///< behind host memory, where nobody shares it
  std::unique_ptr<RadixTree> tree;
};

/// Insertions after which a node is written; 0: as the device evicts it (hiradix_cache.py,
/// write_through_threshold).
std::uint32_t write_after(HicacheWrite write) {
  switch (write) {
    case HicacheWrite::kThrough:
      return 1;
    case HicacheWrite::kSelective:
      return 2;
    case HicacheWrite::kBack:
      break;
  }
  return 0;
}

/// What lies behind host memory; null: nothing.
std::unique_ptr<PageStorage> pages_of(const Site& site, EngineParts& parts, SglangBase& base) {
  const Bytes page_bytes = site.config.block_bytes * std::int64_t{parts.lower->copies};
  if (parts.chunked != nullptr) {
    const std::vector<ChunkTierConfig>& tiers = parts.chunked->tiers;
    if (tiers[0].shared) site.chains.keep_origins();
    const MooncakeParts store = mooncake_parts(site, parts, tiers, kBeforeSteps, 2, base.store);
    return std::make_unique<MooncakePages>(
        MooncakePages::Environment{site.queue, site.network, site.observer, store.settlement,
                                   store.clock, store.master, site.chains, page_bytes,
                                   page_bytes, parts.number},
        tiers);
  }
  if (parts.lower->behind.empty()) return nullptr;
  const LevelConfig& level = parts.lower->behind.front();
  if (level.shared) site.chains.keep_origins();
  return std::make_unique<LevelPages>(LevelPages::Environment{site.queue,
                                                              site.network,
                                                              site.observer,
                                                              page_names(site),
                                                              policy_context(site, parts),
                                                              parts.shared,
                                                              {&site.chains, 1},
                                                              page_bytes},
                                      level);
}

std::unique_ptr<HicacheStorage> storage_of(const Site& site, EngineParts& parts, SglangBase& base) {
  if (parts.lower == nullptr) return nullptr;
  std::unique_ptr<PageStorage> pages = pages_of(site, parts, base);
  if (pages == nullptr) return nullptr;
  return std::make_unique<HicacheStorage>(
      HicacheStorage::Environment{site.queue, site.waiter, *base.tree, site.config.sglang.prefetch,
                                  site.config.block_tokens, parts.lower->capacity_blocks},
      std::move(pages));
}

}  // namespace

Assembly assemble_sglang(const Site& site, EngineParts& parts) {
  const EngineConfig& config = site.config;
  Assembly out;
  auto cache = std::make_unique<Hicache>(
      Hicache::Environment{config, site.requests, site.waiter, site.queue});
  auto base = std::make_unique<SglangBase>();
  RadixTree::Config tree{
      site.chains.most_blocks(), config.block_tokens, config.num_gpu_blocks, 0, 1,
      config.sglang.eviction};
  std::unique_ptr<TransferPath> path;
  if (parts.lower != nullptr) {
    tree.host_pages = parts.lower->capacity_blocks;
    tree.write_after = write_after(config.sglang.write);
    path = make_path(site, *parts.lower, *cache).path;
  }
  base->tree = std::make_unique<RadixTree>(tree, *cache);
  auto scheduler = std::make_unique<SglangScheduler>(SglangScheduler::Environment{
      config, site.chains, site.requests, *base->tree, *cache, site.observer});
  cache->attach(*base->tree, *scheduler, path.get(), storage_of(site, parts, *base));
  site.chains.attach(*cache, 1);
  out.moves = std::make_unique<HicacheStep>(config, *cache, std::move(path));
  out.connector = std::move(cache);
  out.scheduler = std::move(scheduler);
  out.base = std::move(base);
  return out;
}

}  // namespace spillway
