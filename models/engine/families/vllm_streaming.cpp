// Streaming: a store in which running requests may have blocks below HBM, and steps that end with
// what they compute and what they read (step_overlap.hpp).
#include "models/engine/engine_parts.hpp"
#include "models/engine/schedulers/streaming_scheduler.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

struct StreamingBase final : Assembly::Base {
  std::unique_ptr<StreamingStore> store;
};

}  // namespace

Assembly assemble_vllm_streaming(const Site& site, EngineParts& parts) {
  const EngineConfig& config = site.config;
  KV_ASSERT(!config.async_scheduling && config.enable_prefix_caching,
            "streaming with asynchronous scheduling, or with blocks without names");
  LowerTierConfig* lower = parts.lower.get();
  KV_ASSERT(lower == nullptr || !lower->interference.any(),
            "streamed steps are not slowed by copies");
  auto base = std::make_unique<StreamingBase>();
  base->store = std::make_unique<StreamingStore>(
      config.num_gpu_blocks, lower != nullptr ? lower->capacity_blocks : 0,
      site.chains.most_blocks(), parts.eviction,
      lower != nullptr ? lower->eviction : EvictionChoice(), policy_context(site, parts));
  site.chains.attach(*base->store);
  auto link = std::make_unique<ColdLink>(config, config.cold, site.waiter);
  Assembly out;
  if (lower != nullptr) {
    LowerPath path = make_path(site, *lower, *link);
    link->attach(std::move(path.path));
    out.storage = path.storage;
  }
  out.connector = std::make_unique<NoConnector>(config, site.requests, site.waiter);
  out.scheduler = std::make_unique<StreamingScheduler>(StreamingScheduler::Environment{
      config.block_tokens, config, streaming_step(config), site.chains, site.requests, *base->store,
      *link, site.observer, parts.measure_from});
  out.moves = std::move(link);
  out.base = std::move(base);
  return out;
}

}  // namespace spillway
