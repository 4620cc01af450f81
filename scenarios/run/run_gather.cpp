// What engines counted, under the scenario's names.
#include <fmt/format.h>

#include <algorithm>

#include "models/engine/connectors/level.hpp"
#include "models/engine/schedulers/load_choice.hpp"
#include "scenarios/run/load_times.hpp"
#include "scenarios/run/run_wiring.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

void add_refusal(std::string_view reason, std::uint64_t blocks, TierResult& tier) {
  if (blocks == 0) return;
  const auto known = std::find_if(tier.write_refusals.begin(), tier.write_refusals.end(),
                                  [&](const ReasonCount& c) { return c.reason == reason; });
  if (known != tier.write_refusals.end()) {
    known->count += blocks;
  } else {
    tier.write_refusals.push_back({std::string(reason), blocks});
  }
}

/// `refused` by verdict, in pieces of so many blocks.
void add_refusals(const std::array<std::uint64_t, kWriteVerdicts>& refused, std::uint64_t blocks,
                  TierResult& tier) {
  for (std::size_t i = 1; i < kWriteVerdicts; ++i) {
    add_refusal(name_of(static_cast<WriteVerdict>(i)), refused[i] * blocks, tier);
  }
}

/// Adds what one engine did.
void gather_offload(const OffloadCounters& offload, RunResult& r) {
  TierResult& tier = r.tiers[1];
  tier.queries += offload.queries;
  tier.hits += offload.hits;
  tier.hits_resumed += offload.hits_resumed;
  tier.store_failures += offload.store_failures;
  tier.stores_skipped += offload.stores_skipped;
  add_refusals(offload.refused, 1, tier);
  add_refusal("no_room", offload.no_room, tier);
  r.flushes += offload.flushes;
}

/// Bytes and rates of one of `ranks` that do the same, as those of all.
void sum_ranks(std::uint32_t ranks, LinkResult& link, Series& series) {
  link.ranks = ranks;
  link.bytes *= ranks;
  link.transfers *= ranks;
  link.peak_bytes_per_s *= ranks;
  link.capacity_bytes_per_s *= ranks;
  for (double& value : series.values) value *= ranks;
}

}  // namespace

void RunWiring::gather_engine(const Engine& engine, RunResult& r) const {
  const EngineStats stats = engine.stats();
  r.deferrals += stats.deferrals;
  r.flush_stall_s += seconds_of(stats.flush_stall);
  r.tiers[0].queries += stats.prefix.queries;
  r.tiers[0].hits += stats.prefix.hits;
  r.tiers[0].hits_resumed += stats.prefix.hits_resumed;
  const bool collectives = s_.engine.tensor_parallel > 1 || s_.lockstep();
  if (collectives && s_.compute->kind == ComputeChoice::Kind::kComponents) {
    r.collective_s = r.collective_s.value_or(0) + seconds_of(stats.collective);
  }
  if (stats.swap) add_swap(*stats.swap, r.swap);
  if (tiers() == 1) return;
  if (stats.swap) r.tiers[1].evictions = 0;  // what left was swapped in, or ended
  for (std::size_t i = 0; i < stats.exchange.size(); ++i) {
    const ExchangeStats& exchange = stats.exchange[i];
    TierResult& tier = r.tiers[i + 1];
    tier.stores += exchange.lost_stores;
    tier.evictions -= exchange.other_ends;
    tier.queries += exchange.queries;
    tier.hits += exchange.hits;
    tier.hits_resumed += exchange.hits_resumed;
  }
  gather_offload(stats.offload, r);
  if (s_.copy_interference().any()) {
    r.copy_harm_s = r.copy_harm_s.value_or(0) + seconds_of(stats.copy_harm);
  }
  if (s_.engine.costs.any()) {
    r.connector_s = r.connector_s.value_or(0) + seconds_of(stats.connector);
  }
  if (s_.engine.load != LoadSemantics::kAsync) {
    if (!r.load_wait) r.load_wait.emplace();
    r.load_wait->steps += stats.load_stalls;
    r.load_wait->stall_s += seconds_of(stats.load_stall);
  }
}

RunResult RunWiring::gather(const Cluster& cluster, RunResult r) const {
  std::size_t series = r.series.size() - r.tiers.size() - r.links.size();
  const auto name_tier = [&](std::size_t i, const std::string& name, std::uint64_t blocks,
                             Bytes block) {
    TierResult& tier = r.tiers[i];
    tier.name = name;
    tier.unbounded = blocks == kUnboundedBlocks;
    tier.capacity_blocks = tier.unbounded ? 0 : blocks * stores_of(i);
    tier.capacity_bytes = static_cast<std::int64_t>(tier.capacity_blocks) * block.count();
    if (block != s_.pool_block_bytes()) {  // in which levels were recorded
      const double share = static_cast<double>(s_.tier_copies()) / s_.world();
      tier.peak_bytes = tier.peak_bytes / s_.world() * s_.tier_copies();
      tier.mean_bytes *= share;
      for (double& value : r.series[series].values) value *= share;
    }
    r.prompt_tokens_by_source[i + 1].first = name;
    r.series[series++].name = name;
  };
  name_tier(0, "hbm", s_.engine.usable_blocks(), s_.pool_block_bytes());
  if (tiers() > 1) name_tier(1, s_.tier->name, tier_blocks_, s_.tier_block_bytes());
  for (std::size_t i = 0; i + 2 < tiers(); ++i) {
    name_tier(i + 2, s_.behind[i].name, s_.tier_blocks(s_.behind[i].capacity),
              s_.tier_block_bytes());
  }
  for (std::uint32_t i = 0; i < cluster.size(); ++i) gather_engine(cluster[i], r);
  r.engines = cluster.shares();
  if (tiers() == 1) return r;

  const bool files = s_.tier->storage && s_.tier->by_links;
  if (!v0() && !files) r.load_choice = load_choice(cluster);
  const bool full = !v0() && s_.engine.residency == Residency::kFull;
  if (full && (!s_.tier->storage || keeps_chunks())) add_load_times(s_, r);
  for (std::uint32_t i = 0; i < cluster.size(); ++i) {
    const std::string suffix = cluster.size() == 1 ? "" : fmt::format("/engine{}", i);
    if (!has_storage() || !direct()) name_lanes(i, suffix, series, r);
    for (std::size_t store = 0; store < stores().size(); ++store) {
      name_storage_links(store, i, suffix, series, r);
    }
    gather_behind(r, cluster[i].stats().levels);
    if (keeps_chunks()) gather_chunks(cluster[i], i, r);
    if (s_.engine.attached() && !keeps_chunks()) gather_attached(cluster[i], r);
  }
  name_media(series, r);
  for (std::size_t store = 0; store < stores().size(); ++store) gather_devices(cluster, store, r);
  return r;
}

void RunWiring::name_lanes(std::uint32_t engine, const std::string& suffix, std::size_t series,
                           RunResult& r) const {
  const std::uint32_t first = places_.first_lane(engine);
  for (std::uint32_t pair = 0; pair < lane_pairs(); ++pair) {
    const bool alike = lane_pairs() > 1 && s_.rank_links.empty();
    for (const bool down : {true, false}) {
      const LinkChoice& choice = rank_link(pair, down);
      const std::uint32_t number = first + 2 * pair + (down ? kDownLink : kUpLink);
      LinkResult& link = r.links[number];
      link.name = (alike ? fmt::format("{}/rank{}", choice.name, pair) : choice.name) + suffix;
      link.from = choice.from;
      link.to = choice.to;
      link.capacity_bytes_per_s = choice.make()->capacity().value();
      link.model = choice.source;
      r.series[series + number].name = link.name;
    }
  }
  if (lane_pairs() == s_.world()) return;
  // The first rank stores for all where one copy is kept; every rank loads.
  sum_ranks(s_.tier_copies(), r.links[first + kDownLink], r.series[series + first + kDownLink]);
  sum_ranks(s_.world(), r.links[first + kUpLink], r.series[series + first + kUpLink]);
}

void RunWiring::name_media(std::size_t series, RunResult& r) const {
  for (const Places::Medium& medium : places_.media()) {
    const MediumChoice& choice = s_.media[medium.index];
    LinkResult& link = r.links[medium.link];
    link.name = choice.name + places_.suffix(choice.scope, medium.place);
    link.model = choice.fifo ? "scenario, first come first served" : "scenario, fair shares";
    link.medium = true;
    link.capacity_bytes_per_s = static_cast<double>(choice.bytes_per_second);
    // A transfer's bytes are told as if spread evenly over its time, which a bin may see as too
    // many.
    link.peak_bytes_per_s = std::min(link.peak_bytes_per_s, link.capacity_bytes_per_s);
    r.series[series + medium.link].name = link.name;
  }
}

std::uint32_t RunWiring::chunk_tokens() const {
  if (mooncake() || store_behind()) return s_.engine.block_tokens;
  switch (s_.engine.connector) {
    case ConnectorKind::kLmcache:
      return s_.engine.lmcache.chunk_tokens;
    case ConnectorKind::kLlmdFs:
      return s_.engine.llmd.block_size;
    case ConnectorKind::kAibrix:
      return s_.engine.block_tokens;
    default:
      return s_.engine.lmcache_mp.chunk_tokens;
  }
}

/// What an engine did in the tiers of an attached store, in blocks.
void RunWiring::gather_attached(const Engine& engine, RunResult& r) const {
  const EngineStats stats = engine.stats();
  for (std::size_t i = 0; i < stats.chunk_tiers.size(); ++i) {
    const ChunkTierStats& c = stats.chunk_tiers[i];
    TierResult& t = r.tiers[i + 1];
    t.queries += c.queries;
    t.hits += c.hits;
    t.hits_resumed += c.hits_resumed;
    t.store_failures += c.refused;
    t.stores_skipped += c.filtered;
  }
}

/// What an engine did in tiers that keep chunks, in chunks, and what these did themselves.
void RunWiring::gather_chunks(const Engine& engine, std::uint32_t number, RunResult& r) const {
  const EngineStats stats = engine.stats();
  r.load_failures += stats.load_failures;
  for (std::size_t i = 0; i < stats.chunk_tiers.size(); ++i) {
    const ChunkTierStats& c = stats.chunk_tiers[i];
    TierResult& t = r.tiers[i + (hybrid() ? 2 : 1)];
    if (number == 0) t.stores = t.evictions = t.peak_bytes = 0;  // told as blocks until here
    t.queries += c.queries;
    t.hits += c.hits;
    t.hits_resumed += c.hits_resumed;
    t.stores += c.stored;
    t.evictions += c.evicted;
    t.store_failures += c.refused;
    t.peak_bytes += c.peak_bytes;
    add_refusal("unreachable", c.unreachable, t);
    if (!t.chunks) t.chunks.emplace();
    t.chunks->tokens = chunk_tokens();
    t.chunks->lost += c.lost;
    t.chunks->ticks += c.ticks;
    t.chunks->idle_ticks += c.idle_ticks;
    t.chunks->missing_reads += c.missing_reads;
  }
}

/// What the tiers behind the first did. Each was asked for what the nearer ones did not supply.
void RunWiring::gather_behind(RunResult& r, const std::vector<const Level*>& levels) const {
  const std::uint64_t capacity = tier_blocks_ / s_.engine.blocks_per_chunk;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const LevelCounters& c = levels[i]->counters;
    TierResult& t = r.tiers[i + 2];
    t.queries += c.queries;
    t.hits += c.hits;
    if (!t.tiering) t.tiering.emplace();
    t.tiering->promotions += c.promotions;
    t.tiering->cascades += c.cascades;
    t.tiering->promotion_failures += c.promotion_failures;
    add_refusals(c.refused, s_.engine.blocks_per_chunk, t);
    add_refusal("no_room", c.no_room * s_.engine.blocks_per_chunk, t);
    if (capacity > 0) {
      const double share = static_cast<double>(c.peak_pinned) / static_cast<double>(capacity);
      t.tiering->peak_pinned_share = std::max(t.tiering->peak_pinned_share, share);
    }
  }
}

/// Peaks are those of the instance with the highest.
void RunWiring::add_swap(const SwapStats& swap, std::optional<SwapResult>& sum) const {
  if (!sum) sum.emplace();
  SwapResult& out = *sum;
  out.swapped_out += swap.requests_out;
  out.swapped_in += swap.requests_in;
  out.blocks_out += swap.blocks_out;
  out.blocks_in += swap.blocks_in;
  out.stall_s += seconds_of(swap.stall);
  out.peak_swapped = std::max(out.peak_swapped, std::uint64_t{swap.peak_requests});
  if (tier_blocks_ > 0) {
    out.peak_cpu_usage =
        std::max(out.peak_cpu_usage, swap.peak_blocks / static_cast<double>(tier_blocks_));
  }
  if (const auto& fatal = swap.fatal; fatal && out.fatal.empty()) {
    out.fatal = fmt::format(
        "lack of CPU swap space: to swap request {} out takes {} blocks, and {} of {} are free",
        raw(fatal->request), fatal->needed, fatal->free, tier_blocks_);
  }
}

void RunWiring::name_storage_links(std::size_t store, std::uint32_t engine,
                                   const std::string& suffix, std::size_t series,
                                   RunResult& r) const {
  const TierChoice& tier = *stores()[store];
  const StorageServerSpec device = server(store, places_.place(tier.scope, engine));
  const std::string near(mooncake()             ? std::string_view(s_.tier->name)
                         : tier.storage->direct ? "hbm"
                         : has_storage()        ? TierChoice::kHost
                                                : std::string_view(s_.tier->name));
  const std::vector<StorageClientConfig> all = clients(store, engine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string whose = all.size() == 1 ? "" : fmt::format("/rank{}", rank);
    const auto name_link = [&](StorageOp op, const char* way, const std::string& from,
                               const std::string& to) {
      const std::uint32_t number =
          op == StorageOp::kWrite ? all[rank].write_link : all[rank].read_link;
      const StorageLane& lane = op == StorageOp::kWrite ? device.spec.write : device.spec.read;
      LinkResult& l = r.links[number];
      l.name = fmt::format("{}-{}{}{}", tier.name, way, whose, suffix);
      if (tier.by_links) {
        l.name = (op == StorageOp::kWrite ? tier.down : tier.up)->name + suffix;
      }
      l.from = from;
      l.to = to;
      l.capacity_bytes_per_s = static_cast<double>(lowest_rate(
          {client_share(lane, device.others, device.clients), all[rank].own_rate[index_of(op)]}));
      // A job's bytes are told as if spread evenly over its time, which a bin may see as too many.
      l.peak_bytes_per_s = std::min(l.peak_bytes_per_s, l.capacity_bytes_per_s);
      l.model = fmt::format("{}, {} {} in flight{}", name_of(device.spec.kind), device.spec.slots,
                            device.spec.whole_jobs ? "jobs" : "operations",
                            tier.storage->direct ? ", direct" : "");
      if (tier.by_links) l.model = "scenario";
      r.series[series + number].name = l.name;
    };
    // The SSD of a store is written from that.
    const bool from_store = store_behind() && store > 0;
    name_link(StorageOp::kWrite, "write", from_store ? s_.behind.front().name : near, tier.name);
    const bool straight = mooncake() || s_.engine.is_kvbm();
    name_link(StorageOp::kRead, "read", tier.name, straight ? "hbm" : near);
  }
}

std::vector<const StorageDevice*> RunWiring::devices(const Engine& engine,
                                                     std::size_t store) const {
  const EngineStats stats = engine.stats();
  std::vector<const StorageDevice*> out;
  if (keeps_chunks()) {
    // Of any kind, L1 is the only memory; HiCache's is not among these.
    const std::size_t behind = has_storage() || store_behind() ? 0 : 1;
    if (const StorageDevice* device = stats.chunk_tiers[store + behind].device) {
      out.push_back(device);
    }
  } else if (has_storage()) {
    for (const auto& device : stats.storage) out.push_back(device.get());
  } else if (store < stats.levels.size()) {
    out.push_back(&stats.levels[store]->device());
  }
  return out;
}

void RunWiring::tell_busy(const Cluster& cluster,
                          const std::function<void(std::uint32_t, Duration)>& tell) const {
  for (std::uint32_t i = 0; i < cluster.size(); ++i) {
    for (std::size_t store = 0; store < stores().size(); ++store) {
      const std::vector<const StorageDevice*> all = devices(cluster[i], store);
      const std::vector<StorageClientConfig> configs = clients(store, i);
      for (std::size_t k = 0; k < all.size(); ++k) {
        // An SSD of Mooncake is written by the store, one bucket at a time.
        const bool by_store = store_behind() && store > 0;
        if (!by_store) tell(configs[k].write_link, all[k]->busy(StorageOp::kWrite));
        tell(configs[k].read_link, all[k]->busy(StorageOp::kRead));
      }
    }
  }
}

/// Bytes and times are summed, latencies pooled, and wear is that of an average drive.
void RunWiring::gather_devices(const Cluster& cluster, std::size_t store, RunResult& r) const {
  const TierChoice& choice = *stores()[store];
  const bool first = has_storage() && !s_.tier->by_links;  // of those that have devices
  const std::size_t tier = store + (first ? 1 : hybrid() && !store_behind() ? 3 : 2);
  const StorageSpec spec = server(store, 0).spec;
  LatencySamples loads;
  DeviceWear wear;
  Duration slow{};
  std::vector<const StorageServer*> seen;
  for (std::uint32_t i = 0; i < cluster.size(); ++i) {
    for (const StorageDevice* device : devices(cluster[i], store)) {
      loads.add(device->latency(StorageOp::kRead));
      const StorageServer& server = device->server();
      if (std::find(seen.begin(), seen.end(), &server) != seen.end()) continue;
      seen.push_back(&server);
      wear.read += server.wear().read;
      wear.written += server.wear().written;
      slow += server.slow_writes();
    }
  }
  TierResult& t = r.tiers[tier];
  t.kind = name_of(spec.kind);
  if (choice.by_links) return;
  DeviceResult& d = t.device.emplace();
  d.bytes_read = wear.read.count();
  d.bytes_written = wear.written.count();
  if (loads.count() > 0) {
    const LatencyStats stats = loads.stats();
    d.latency_p50_ms = stats.median_ms;
    d.latency_p99_ms = stats.p99_ms;
  }
  const auto drives = static_cast<std::int64_t>(seen.size());
  if (spec.write_cache) d.slow_write_seconds = seconds_of(slow);
  if (spec.rated_writes > Bytes(0)) {
    d.endurance_share = wear.endurance_share(spec.rated_writes * drives);
  }
  Bytes drive = choice.storage->drive_bytes * drives;
  if (drive == Bytes(0)) drive = Bytes(t.capacity_bytes);
  if (spec.kind == StorageKind::kNvme && drive > Bytes(0)) {
    d.drive_writes = wear.drive_writes(drive);
  }
}

/// Where loading begins to pay, and what was decided of each load.
LoadChoiceResult RunWiring::load_choice(const Cluster& cluster) const {
  LoadChoiceResult out;
  const auto cost = s_.make_cost();
  const auto up = load_link();
  const std::uint32_t pool = s_.engine.usable_blocks() * s_.engine.block_tokens;
  const std::uint32_t most = s_.engine.max_model_len;
  LoadEstimate estimate(s_.engine, *cost, *up);
  out.break_even_tokens =
      estimate.break_even_tokens(most > 0 ? std::min(most, pool) : pool).value_or(0);
  for (std::uint32_t i = 0; i < cluster.size(); ++i) {
    const auto decisions = cluster[i].stats().load_decisions;
    if (!decisions) continue;
    out.decided = true;
    out.loaded += decisions->loaded;
    out.recomputed += decisions->recomputed;
  }
  return out;
}

}  // namespace spillway
