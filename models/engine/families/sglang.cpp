// SGLang: a radix cache, its scheduler, and HiCache where there is host memory below.
#include <algorithm>

#include "models/engine/connectors/hicache/hicache.hpp"
#include "models/engine/engine_parts.hpp"
#include "models/engine/schedulers/sglang_scheduler.hpp"
#include "models/engine/stores/radix_tree.hpp"

namespace spillway {

namespace {

struct SglangBase final : Assembly::Base {
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

}  // namespace

Assembly assemble_sglang(const Site& site, EngineParts& parts) {
  const EngineConfig& config = site.config;
  Assembly out;
  auto cache = std::make_unique<Hicache>(
      Hicache::Environment{config, site.requests, site.waiter, site.queue});
  auto base = std::make_unique<SglangBase>();
  RadixTree::Config tree{site.chains.most_blocks(), config.block_tokens,
                         config.num_gpu_blocks,     0,
                         1,                         config.sglang.eviction};
  std::unique_ptr<TransferPath> path;
  if (parts.lower != nullptr) {
    tree.host_pages = parts.lower->capacity_blocks;
    tree.write_after = write_after(config.sglang.write);
    path = make_path(site, *parts.lower, *cache).path;
  }
  base->tree = std::make_unique<RadixTree>(tree, *cache);
  auto scheduler = std::make_unique<SglangScheduler>(SglangScheduler::Environment{
      config, site.chains, site.requests, *base->tree, *cache, site.observer});
  cache->attach(*base->tree, *scheduler, path.get());
  out.moves = std::make_unique<HicacheStep>(config, *cache, std::move(path));
  out.connector = std::move(cache);
  out.scheduler = std::move(scheduler);
  out.base = std::move(base);
  return out;
}

}  // namespace spillway
