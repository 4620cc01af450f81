// LMCache, llm-d, AIBrix and Mooncake Store on vLLM v1: the scheduler's and the worker's side of
// their connectors put together.
#include "models/engine/connectors/chunks/chunk_connectors.hpp"

#include "models/engine/connectors/aibrix/aibrix_step.hpp"
#include "models/engine/connectors/hicache/mooncake_pages.hpp"
#include "models/engine/connectors/llmd/file_turns.hpp"
#include "models/engine/connectors/llmd/llmd_step.hpp"
#include "models/engine/connectors/lmcache/lmcache_step.hpp"
#include "models/engine/connectors/lmcache_mp/mp_connector.hpp"
#include "models/engine/connectors/multi/multi_connector.hpp"
#include "models/engine/connectors/vllm_mooncake/store_connector.hpp"
#include "models/engine/engine_parts.hpp"
#include "models/engine/families/mooncake_parts.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

Settlement& settlement_of(const Site& site, const EngineParts& parts) {
  return parts.things->at<Settlement>(0, [&] { return std::make_unique<Settlement>(site.queue); });
}

ChunkNames& names_of(const Site& site, const EngineParts& parts, std::uint32_t chunk_tokens) {
  return parts.things->at<ChunkNames>(
      0, [&] { return std::make_unique<ChunkNames>(site.chains.global(), chunk_tokens); });
}

ChunkConnector make_lmcache(const Site& site, const EngineParts& parts, ChunkedConfig& config,
                            const KvConnector::Environment& environment) {
  auto step = std::make_unique<LmcacheStep>(
      config, LmcacheStep::Place{site.queue, site.waiter, parts.number, config.lanes.down.link,
                                 config.lanes.up.link, site.observer});
  auto connector = std::make_unique<LmcacheConnector>(
      environment, config,
      LmcacheConnector::Place{site.queue, site.network, site.observer, settlement_of(site, parts),
                              names_of(site, parts, site.config.lmcache.chunk_tokens),
                              *parts.things, *step});
  step->connect(*connector, make_host_path(site.queue, site.network.fabric(), site.network.media(),
                                           std::move(config.lanes), site.observer, *step));
  return {std::move(connector), std::move(step)};
}

ChunkConnector make_aibrix(const Site& site, const EngineParts& parts, ChunkedConfig& config,
                           const KvConnector::Environment& environment) {
  auto step =
      std::make_unique<AibrixStep>(AibrixStep::Place{site.queue, site.waiter, parts.number});
  auto connector = std::make_unique<AibrixConnector>(
      environment, config,
      AibrixL2::Place{site.queue, site.network, site.observer, settlement_of(site, parts),
                      *parts.things, *step});
  step->connect(*connector, make_host_path(site.queue, site.network.fabric(), site.network.media(),
                                           std::move(config.lanes), site.observer, *step));
  return {std::move(connector), std::move(step)};
}

std::unique_ptr<MpConnector> make_mp(const Site& site, const EngineParts& parts,
                                     ChunkedConfig& config,
                                     const KvConnector::Environment& environment,
                                     std::uint32_t first_tier) {
  return std::make_unique<MpConnector>(
      environment, config,
      MpConnector::Place{site.queue, site.network, site.observer, settlement_of(site, parts),
                         ticker_of(site.queue, site.workload, *parts.things),
                         names_of(site, parts, site.config.lmcache_mp.chunk_tokens), *parts.things,
                         first_tier});
}

ChunkConnector make_lmcache_mp(const Site& site, const EngineParts& parts, ChunkedConfig& config,
                               const KvConnector::Environment& environment) {
  auto connector = make_mp(site, parts, config, environment, 0);
  connector->attach(make_host_path(site.queue, site.network.fabric(), site.network.media(),
                                   std::move(config.lanes), site.observer, *connector));
  auto moves = std::make_unique<MpMoves>(*connector);
  return {std::move(connector), std::move(moves)};
}

/// Its own, or the one that it shares with others.
FileStore& store_of(const Site& site, const EngineParts& parts, const ChunkedConfig& config,
                    FileTurns& turns, std::unique_ptr<FileStore>& own) {
  const ChunkTierConfig& tier = config.tiers.front();
  const Bytes file = site.config.block_bytes * std::int64_t{site.config.blocks_per_chunk} *
                     std::int64_t{config.copies};
  const auto make = [&] {
    auto store = std::make_unique<FileStore>(tier, site.chains.global(), file, config.copies);
    turns.join(*store);
    return store;
  };
  if (tier.shared) return parts.things->at<FileStore>(tier.number, make);
  own = make();
  return *own;
}

ChunkConnector make_llmd(const Site& site, const EngineParts& parts, const ChunkedConfig& config,
                         const KvConnector::Environment& environment) {
  const ChunkTierConfig& tier = config.tiers.front();
  FileTurns& turns = parts.things->at<FileTurns>(0, [&] {
    return std::make_unique<FileTurns>(site.queue, settlement_of(site, parts),
                                       site.workload.size());
  });
  std::unique_ptr<FileStore> own;
  FileStore& store = store_of(site, parts, config, turns, own);
  auto connector = std::make_unique<LlmdConnector>(
      environment, tier,
      LlmdConnector::Place{site.queue, names_of(site, parts, site.config.llmd.block_size), turns,
                           store, std::move(own)});
  auto threads = std::make_unique<FileThreads>(
      site.config, tier, config.copies,
      FileThreads::Site{site.queue, site.network, site.observer, settlement_of(site, parts), turns,
                        parts.number, store, connector->jobs(), *connector});
  connector->jobs().attach(*threads);
  connector->connect(*threads);
  auto step = std::make_unique<LlmdStep>(LlmdStep::Place{site.queue, site.waiter, parts.number},
                                         *connector, std::move(threads));
  return {std::move(connector), std::move(step)};
}

ChunkConnector make_mooncake(const Site& site, const EngineParts& parts,
                             const ChunkedConfig& config,
                             const KvConnector::Environment& environment) {
  std::unique_ptr<MooncakeMaster> own;
  const MooncakeParts store = mooncake_parts(site, parts, config.tiers, kBeforeSteps, 1, own);
  const Bytes rank = site.config.block_bytes;
  auto pages = std::make_unique<MooncakePages>(
      MooncakePages::Environment{site.queue, site.network, site.observer, store.settlement,
                                 store.clock, store.master, site.chains,
                                 rank * std::int64_t{config.copies}, rank, parts.number},
      config.tiers);
  auto connector = std::make_unique<StoreConnector>(
      environment,
      StoreConnector::Place{site.queue, store.master, std::move(own), std::move(pages)});
  auto moves = std::make_unique<StoreMoves>(*connector);
  return {std::move(connector), std::move(moves)};
}

}  // namespace

ChunkConnector make_hybrid_connector(const Site& site, const EngineParts& parts,
                                     ChunkedConfig& config,
                                     const KvConnector::Environment& environment,
                                     const NativeMaker& native) {
  auto path = std::make_unique<SharedPath>();
  path->attach(make_host_path(site.queue, site.network.fabric(), site.network.media(),
                              std::move(config.lanes), site.observer, *path));
  auto multi = std::make_unique<MultiConnector>(site.config, site.requests, site.waiter);
  KvConnector::Environment inner = environment;
  inner.ends = multi.get();
  ChunkConnector first =
      native(inner, [&](TransferListener& listener) { return path->part(0, listener); });
  auto second = make_mp(site, parts, config, inner, first.connector->tiers());
  second->attach(path->part(1, *second));
  auto moves =
      std::make_unique<MultiMoves>(std::move(first.moves), std::make_unique<MpMoves>(*second));
  multi->attach(std::move(first.connector), std::move(second), std::move(path));
  return {std::move(multi), std::move(moves)};
}

ChunkConnector make_chunk_connector(const Site& site, const EngineParts& parts,
                                    ChunkedConfig& config,
                                    const KvConnector::Environment& environment) {
  switch (site.config.connector) {
    case ConnectorKind::kLmcache:
      return make_lmcache(site, parts, config, environment);
    case ConnectorKind::kLmcacheMp:
      return make_lmcache_mp(site, parts, config, environment);
    case ConnectorKind::kLlmdFs:
      return make_llmd(site, parts, config, environment);
    case ConnectorKind::kAibrix:
      return make_aibrix(site, parts, config, environment);
    case ConnectorKind::kMooncake:
      return make_mooncake(site, parts, config, environment);
    default:
      KV_ASSERT(false, "no such connector of chunks");
      return {};
  }
}

}  // namespace spillway
