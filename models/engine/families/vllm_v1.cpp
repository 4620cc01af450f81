// vLLM v1: one pool of hashed blocks in HBM, and a connector to what lies below.
#include "models/engine/connectors/chunks/chunk_connectors.hpp"
#include "models/engine/connectors/flexkv/flexkv_connector.hpp"
#include "models/engine/connectors/grouped_connector.hpp"
#include "models/engine/connectors/kvbm/kvbm_connector.hpp"
#include "models/engine/connectors/offload_connector.hpp"
#include "models/engine/connectors/simple_connector.hpp"
#include "models/engine/connectors/tier_moves.hpp"
#include "models/engine/engine_parts.hpp"
#include "models/engine/schedulers/vllm_scheduler.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

struct V1Base final : Assembly::Base {
  std::unique_ptr<KvPool> pool;
  std::optional<LoadChoice> load_choice;
  std::unique_ptr<ChunkedConfig> chunked;  ///< what a connector that keeps chunks is told

  void watch_pool(StoreWatch& watch) override { pool->tell(watch); }
};

/// What policies of tiers below HBM call a block is a chunk.
EvictionContext chunk_context(const Site& site, const EngineParts& parts) {
  EvictionContext context = policy_context(site, parts);
  context.block_tokens *= site.config.blocks_per_chunk;
  return context;
}

/// What engines share is named by all that there will ever be.
FirstStore first_store(const Site& site, const EngineParts& parts) {
  const LowerTierConfig& lower = *parts.lower;
  const std::uint64_t chunks = lower.capacity_blocks == BlockStore::kUnbounded
                                   ? BlockStore::kUnbounded
                                   : lower.capacity_blocks / site.config.blocks_per_chunk;
  EvictionContext context = chunk_context(site, parts);
  if (lower.shared) context.blocks = page_names(site);
  const auto make = [&] {
    return std::make_unique<BlockStore>(BlockStore::Size{chunks, page_names(site)}, lower.eviction,
                                        context);
  };
  if (lower.shared) return {nullptr, parts.shared->at(lower.storage.front().server, make)};
  auto own = make();
  BlockStore& store = *own;
  return {std::move(own), store};
}

std::unique_ptr<TierStack> stack_over(const Site& site, BlockStore& first,
                                      const EngineParts& parts) {
  const LowerTierConfig& lower = *parts.lower;
  // A file behind host memory is a row of it: all ranks' parts of a chunk.
  const Bytes chunk = site.config.block_bytes * std::int64_t{site.config.blocks_per_chunk} *
                      std::int64_t{lower.copies};
  for (const LevelConfig& level : lower.behind) {
    if (level.shared) site.chains.keep_origins();
  }
  return std::make_unique<TierStack>(
      TierStack::Environment{site.queue,
                             site.network,
                             site.observer,
                             site.waiter,
                             chunk,
                             page_names(site),
                             chunk_context(site, parts),
                             parts.shared,
                             {&site.chains, site.config.groups.count()}},
      first, lower.trim, lower.behind);
}

std::unique_ptr<WriteAdmissionPolicy> write_admission(const Site& site,
                                                      const LowerTierConfig& lower) {
  WriteAdmissionContext context;
  context.blocks = lower.shared ? site.chains.most_blocks() : site.chains.block_count();
  context.block_tokens = site.config.block_tokens * site.config.blocks_per_chunk;
  return lower.write_admission.make(context);
}

std::unique_ptr<KvConnector> connector_of(const Site& site, V1Base& base,
                                          const EngineParts& parts) {
  const EngineConfig& config = site.config;
  const LowerTierConfig* lower = parts.lower.get();
  if (lower == nullptr) return std::make_unique<NoConnector>(config, site.requests, site.waiter);
  if (config.simple_offload() && !config.groups.hybrid()) {
    return std::make_unique<SimpleConnector>(
        SimpleConnector::Environment{config, site.chains, site.requests, *base.pool, site.waiter},
        lower->capacity_blocks);
  }
  FirstStore tier = first_store(site, parts);
  auto stack = stack_over(site, tier.store, parts);
  if (config.groups.hybrid()) {  // its tiers keep pages of groups
    return std::make_unique<GroupedConnector>(
        GroupedConnector::Environment{config, site.chains, site.requests, *base.pool, site.waiter},
        std::move(tier), std::move(stack), site.workload.size());
  }
  return std::make_unique<OffloadConnector>(
      OffloadConnector::Environment{config, site.chains, site.requests, *base.pool, site.waiter},
      std::move(tier), std::move(stack), write_admission(site, *lower));
}

std::unique_ptr<StepMoves> moves_of(const Site& site, const CopyInterference& interference,
                                    TransferJobs& jobs, std::unique_ptr<TransferPath> path) {
  TierMoves moves(site.config, jobs, std::move(path));
  if (!interference.any()) return std::make_unique<TierMoves>(std::move(moves));
  KV_ASSERT(site.config.load != LoadSemantics::kLayerwise, "layers are not slowed by copies");
  return std::make_unique<SlowedMoves>(std::move(moves), interference, site.cost);
}

}  // namespace

Assembly assemble_vllm_v1(const Site& site, EngineParts& parts) {
  const EngineConfig& config = site.config;
  LowerTierConfig* lower = parts.lower.get();
  auto base = std::make_unique<V1Base>();
  base->pool =
      std::make_unique<KvPool>(config.num_gpu_blocks, parts.eviction, policy_context(site, parts),
                               config.unhashed_front, page_names(site));
  site.chains.attach(*base->pool, config.groups.count());
  if (lower != nullptr && lower->load_estimate != nullptr) {
    base->load_choice.emplace(config, site.cost.step(), std::move(lower->load_estimate));
  } else {
    base->load_choice.emplace();
  }
  Assembly out;
  const bool attached = !parts.attached.empty();  // else its host memory has no room
  if (attached && config.is_kvbm()) {
    auto kvbm = std::make_unique<KvbmConnector>(
        KvConnector::Environment{config, site.chains, site.requests, *base->pool, site.waiter},
        std::move(parts.attached), KvbmConnector::Place{site.queue, site.observer});
    out.moves = std::make_unique<KvbmMoves>(*kvbm);
    out.connector = std::move(kvbm);
  } else if (attached && config.is_flexkv()) {
    auto flexkv = std::make_unique<FlexkvConnector>(
        KvConnector::Environment{config, site.chains, site.requests, *base->pool, site.waiter},
        std::move(parts.attached), FlexkvConnector::Place{site.queue, site.observer});
    out.moves = std::make_unique<StepMoves>();  // a step beside it waits for nothing
    out.connector = std::move(flexkv);
  } else if (parts.chunked != nullptr) {
    base->chunked = std::move(parts.chunked);
    const KvConnector::Environment environment{config, site.chains, site.requests, *base->pool,
                                               site.waiter};
    const auto native = [&](const KvConnector::Environment& inner, const PathMaker& path) {
      FirstStore tier = first_store(site, parts);
      auto stack = stack_over(site, tier.store, parts);
      ChunkConnector made;
      made.connector = std::make_unique<OffloadConnector>(inner, std::move(tier), std::move(stack),
                                                          write_admission(site, *lower));
      made.moves =
          moves_of(site, lower->interference, made.connector->jobs(), path(*made.connector));
      return made;
    };
    ChunkConnector chunks =
        config.connector == ConnectorKind::kHybrid
            ? make_hybrid_connector(site, parts, *base->chunked, environment, native)
            : make_chunk_connector(site, parts, *base->chunked, environment);
    out.connector = std::move(chunks.connector);
    out.moves = std::move(chunks.moves);
  } else {
    out.connector = connector_of(site, *base, parts);
  }
  site.chains.attach(*out.connector, config.groups.count());
  if (out.moves != nullptr) {
    // the connector's own
  } else if (lower == nullptr) {
    out.moves = std::make_unique<StepMoves>();
  } else {
    LowerPath path = make_path(site, *lower, *out.connector);
    out.storage = path.storage;
    out.moves = moves_of(site, lower->interference, out.connector->jobs(), std::move(path.path));
  }
  out.scheduler = std::make_unique<VllmScheduler>(VllmScheduler::Environment{
      config, v1_rules(config, lower != nullptr || out.connector->tiers() > 0), v1_step(config),
      site.chains, site.requests, *base->pool, *out.connector, *base->load_choice, site.observer});
  out.base = std::move(base);
  return out;
}

}  // namespace spillway
