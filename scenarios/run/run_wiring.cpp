#include "scenarios/run/run_wiring.hpp"

#include <algorithm>

#include "models/engine/engine_parts.hpp"
#include "models/tier/storage_link.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/error.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kMostCpuBlocks = std::uint64_t{1} << 31;  // the engine's counters

}  // namespace

RunWiring::RunWiring(const Scenario& scenario, std::function<std::unique_ptr<StepCost>()> cost)
    : s_(scenario),
      cost_(std::move(cost)),
      tier_blocks_(scenario.tier ? scenario.tier_blocks(scenario.tier->capacity) : 0),
      places_(make_places()) {}

std::uint32_t RunWiring::tiers() const {
  return tier_blocks_ > 0 ? 2 + static_cast<std::uint32_t>(s_.behind.size()) : 1;
}

bool RunWiring::v0() const {
  return s_.engine.family == EngineFamily::kVllmV0;
}

bool RunWiring::has_storage() const {
  return tiers() > 1 && s_.tier->storage.has_value();
}

bool RunWiring::direct() const {
  return s_.tier->storage->direct;
}

std::uint32_t RunWiring::lane_pairs() const {
  return s_.ranks_apart() || (has_storage() && direct()) ? s_.world() : 1;
}

std::vector<const TierChoice*> RunWiring::stores() const {
  std::vector<const TierChoice*> out;
  if (tiers() == 1) return out;
  if (has_storage() && !s_.tier->by_links) out.push_back(&*s_.tier);
  for (const TierChoice& tier : s_.behind) {
    if (tier.storage) out.push_back(&tier);  // LMCache's L1 behind a native tier is memory
  }
  return out;
}

Places RunWiring::make_places() const {
  Places::Links links;
  if (tiers() == 1) return {shape_of(s_), links};
  links.lanes = 2 * lane_pairs();
  for (const MediumChoice& medium : s_.media) links.media.push_back(medium.scope);
  const std::size_t apart = stores().size() - (has_storage() && direct() ? 1 : 0);
  links.storage = 2 * static_cast<std::uint32_t>(apart);
  return {shape_of(s_), links};
}

std::vector<std::uint64_t> RunWiring::capacities() const {
  std::vector<std::uint64_t> out = {s_.engine.usable_blocks(), tier_blocks_};
  for (const TierChoice& tier : s_.behind) out.push_back(s_.tier_blocks(tier.capacity));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i > (hybrid() ? 1U : 0U) && keeps_chunks())
      out[i] = kUnboundedBlocks;  // in bytes: these watch themselves
    if (out[i] != kUnboundedBlocks) out[i] *= stores_of(i);
  }
  return out;
}

bool RunWiring::shared(const TierChoice& tier, std::uint32_t engine) const {
  return tier.storage && !tier.per_rank &&
         places_.engines_at(tier.scope, places_.place(tier.scope, engine)) > 1;
}

/// How many there are of tier `i`: engines share storage by its scope.
std::uint32_t RunWiring::stores_of(std::size_t i) const {
  if (i == 0 || tiers() == 1) return s_.engines();
  const TierChoice& tier = i == 1 ? *s_.tier : s_.behind[i - 2];
  return tier.storage && !tier.per_rank ? places_.count(tier.scope) : s_.engines();
}

const LinkChoice& RunWiring::rank_link(std::uint32_t rank, bool down) const {
  if (!s_.rank_links.empty()) return s_.rank_links[2 * rank + (down ? 0 : 1)];
  return down ? *s_.down : *s_.up;
}

std::uint32_t RunWiring::medium_index(const std::string& name) const {
  const auto at = std::find_if(s_.media.begin(), s_.media.end(),
                               [&](const MediumChoice& m) { return m.name == name; });
  KV_ASSERT(at != s_.media.end(), "no medium {}", name);
  return static_cast<std::uint32_t>(at - s_.media.begin());
}

LaneSpec RunWiring::lane(std::uint32_t engine, std::uint32_t number,
                         const LinkChoice& choice) const {
  LaneSpec out{places_.first_lane(engine) + number, choice.make(), choice.duplex_factor};
  out.submit = choice.submit;
  out.clients = choice.shared_by;
  for (const std::string& name : choice.through) {
    out.through.push_back(places_.medium(medium_index(name), engine));
  }
  return out;
}

HostLanes RunWiring::lanes(std::uint32_t engine) const {
  HostLanes out;
  out.down = lane(engine, kDownLink, *s_.down);
  out.up = lane(engine, kUpLink, *s_.up);
  out.seed = seed_of(engine);
  for (std::uint32_t rank = 0; rank < lane_pairs() && lane_pairs() > 1; ++rank) {
    out.ranks.push_back({lane(engine, 2 * rank + kDownLink, rank_link(rank, true)),
                         lane(engine, 2 * rank + kUpLink, rank_link(rank, false))});
  }
  out.stored_once = s_.tier_copies() < s_.world();
  return out;
}

/// To and from the disk behind host memory.
HostLanes RunWiring::disk_lanes(std::uint32_t engine) const {
  const TierChoice& tier = s_.behind[0];
  const StorageClientConfig numbers = clients(0, engine)[0];
  const auto lane = [&](std::uint32_t link, const TierLane& way) {
    LaneSpec out;
    out.link = link;
    out.model = make_affine_link(way.latency, way.bytes_per_second);
    out.through = numbers.through;
    return out;
  };
  HostLanes out;
  out.down = lane(numbers.write_link, *tier.down);
  out.up = lane(numbers.read_link, *tier.up);
  out.seed = numbers.seed;
  return out;
}

/// Latencies and delays of several engines are drawn apart.
std::uint64_t RunWiring::seed_of(std::uint32_t engine) const {
  const std::uint32_t instance = engine / s_.engine.data_parallel;
  const std::uint32_t core = engine % s_.engine.data_parallel;
  const std::uint64_t seed = instance == 0 ? s_.seed : Stream(s_.seed, "instance", instance).bits();
  return core == 0 ? seed : Stream(seed, "engine", core).bits();
}

/// Each then has a link of its own to bound it; else the GPU's link bounds the device.
bool RunWiring::several_gpus(std::size_t store) const {
  return s_.world() * places_.engines_at(stores()[store]->scope, 0) > 1;
}

StorageServerSpec RunWiring::server(std::size_t store, std::uint32_t place) const {
  const TierChoice& tier = *stores()[store];
  const StorageChoice& choice = *tier.storage;
  const bool bound = choice.direct && !several_gpus(store);
  StorageServerSpec out{
      bound ? direct_storage(choice.spec, s_.down->make()->capacity(), s_.up->make()->capacity())
            : choice.spec};
  out.clients = places_.engines_at(tier.scope, place);
  out.others = choice.clients;
  return out;
}

NetworkSpec RunWiring::network() const {
  NetworkSpec out;
  for (const Places::Medium& medium : places_.media()) {
    const MediumChoice& choice = s_.media[medium.index];
    out.media.push_back({choice.bytes_per_second, medium.link, choice.fifo});
  }
  for (std::size_t i = 0; i < stores().size(); ++i) {
    for (std::uint32_t place = 0; place < places_.count(stores()[i]->scope); ++place) {
      out.servers.push_back(server(i, place));
    }
  }
  // Threads bound the writes to LMCache's disk and all I/O of llm-d; other ways take one at a time.
  constexpr std::uint32_t kAny = 1 << 20;
  const auto lay = [&](const TierChoice& tier, const TierLane& down, const TierLane& up,
                       std::uint32_t writes, std::uint32_t reads) {
    for (std::uint32_t place = 0; place < places_.count(tier.scope); ++place) {
      out.lanes.push_back({down.latency, down.bytes_per_second, writes});
      out.lanes.push_back({up.latency, up.bytes_per_second, reads});
    }
  };
  if (!keeps_chunks()) return out;
  if (s_.tier->by_links) {
    const auto lane_of = [](const LinkChoice& link) {
      const auto rate = static_cast<std::int64_t>(link.make()->capacity().value());
      return TierLane{link.name, link.latency, rate};
    };
    lay(*s_.tier, lane_of(*s_.down), lane_of(*s_.up), kAny, kAny);
  }
  const bool in_process = s_.engine.connector == ConnectorKind::kLmcache;
  for (const TierChoice& tier : s_.behind) {
    if (!tier.by_links) continue;
    const bool threads = in_process && tier.kind() == "nvme";
    lay(tier, *tier.down, *tier.up, threads ? kAny : 1, 1);
  }
  return out;
}

bool RunWiring::mooncake() const {
  return s_.engine.store_first();
}

bool RunWiring::store_behind() const {
  return s_.engine.sglang.mooncake;
}

/// What it keeps in tiers below HBM it counts itself, and in bytes.
bool RunWiring::keeps_chunks() const {
  return tiers() > 1 &&
         (mooncake() || store_behind() || spillway::keeps_chunks(s_.engine.connector));
}

bool RunWiring::hybrid() const {
  return s_.engine.connector == ConnectorKind::kHybrid || store_behind();
}

std::uint32_t RunWiring::tier_lane(const TierChoice& tier, std::uint32_t place) const {
  std::uint32_t before = 0;
  const auto count = [&](const TierChoice& t) { return t.by_links ? places_.count(t.scope) : 0; };
  if (&tier != &*s_.tier) {
    before += count(*s_.tier);
    for (const TierChoice& other : s_.behind) {
      if (&other == &tier) break;
      before += count(other);
    }
  }
  return 2 * (before + place);
}

std::uint32_t RunWiring::server_index(std::size_t store, std::uint32_t engine) const {
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < store; ++i) first += places_.count(stores()[i]->scope);
  return first + places_.place(stores()[store]->scope, engine);
}

std::vector<StorageClientConfig> RunWiring::clients(std::size_t store, std::uint32_t engine) const {
  const StorageChoice& choice = *stores()[store]->storage;
  StorageClientConfig out;
  out.server = server_index(store, engine);
  out.seed = seed_of(engine);
  for (const std::string& name : choice.through) {
    out.through.push_back(places_.medium(medium_index(name), engine));
  }
  if (!choice.direct) {
    // Each of several tiers draws its own latencies, and only the first can be direct.
    const auto number = static_cast<std::uint32_t>(store);
    out.seed += number;
    out.write_link = places_.first_storage(engine) + 2 * number;
    out.read_link = out.write_link + 1;
    return {out};
  }
  std::vector<StorageClientConfig> all;
  for (std::uint32_t rank = 0; rank < s_.world(); ++rank) {
    StorageClientConfig client = out;
    if (rank > 0) client.seed = Stream(out.seed, "rank", rank).bits();
    client.write_link = places_.first_lane(engine) + 2 * rank + kDownLink;
    client.read_link = places_.first_lane(engine) + 2 * rank + kUpLink;
    if (several_gpus(store)) {
      const auto rate = [&](bool down) {
        return static_cast<std::int64_t>(rank_link(rank, down).make()->capacity().value());
      };
      client.own_rate[index_of(StorageOp::kRead)] = rate(false);
      client.own_rate[index_of(StorageOp::kWrite)] = rate(true);
    }
    all.push_back(client);
  }
  return all;
}

std::vector<std::uint32_t> RunWiring::load_links(std::uint32_t engine) const {
  std::vector<std::uint32_t> out;
  if (tiers() == 1) return out;
  for (std::uint32_t pair = 0; pair < lane_pairs(); ++pair) {
    out.push_back(places_.first_lane(engine) + 2 * pair + kUpLink);
  }
  for (std::size_t store = 0; store < stores().size(); ++store) {
    for (const StorageClientConfig& client : clients(store, engine)) {
      out.push_back(client.read_link);
    }
  }
  return out;
}

std::unique_ptr<LinkModel> RunWiring::load_link() const {
  if (!has_storage()) return s_.up->make();
  const StorageServerSpec device = server(0, 0);
  StorageSpec spec = device.spec;
  spec.read.total_rate = shared_part(spec.read.total_rate, device.others, device.clients);
  if (!direct()) return make_storage_read_link(spec, 0, s_.up->make(), s_.tier_copies());
  if (several_gpus(0)) {
    // All ranks read their parts at once, each over its own link; the slowest has `up`.
    spec.read.total_rate = shared_part(spec.read.total_rate, s_.world() - 1);
    spec.read.client_rate = lowest_rate(
        {spec.read.client_rate, static_cast<std::int64_t>(s_.up->make()->capacity().value())});
  }
  return make_storage_read_link(spec, 0, nullptr);
}

ChunkTierConfig RunWiring::chunk_tier(std::size_t place, std::uint32_t engine) const {
  const TierChoice& tier = place == 0 ? *s_.tier : s_.behind[place - 1];
  ChunkTierConfig out;
  const std::string_view kind = tier.kind();
  const bool in_process = s_.engine.connector == ConnectorKind::kLmcache;
  out.kind = kind == "dram"                                  ? ChunkTierKind::kHost
             : s_.engine.connector == ConnectorKind::kLlmdFs ? ChunkTierKind::kFiles
             : in_process && kind == "nvme"                  ? ChunkTierKind::kDisk
                                                             : ChunkTierKind::kRemote;
  const std::int64_t block = s_.tier_block_bytes().count();
  switch (tier.capacity.kind) {
    case Capacity::Kind::kUnbounded:
      break;
    case Capacity::Kind::kBlocks:
      out.capacity = Bytes(tier.capacity.count * block);
      break;
    case Capacity::Kind::kBytes:
      out.capacity = Bytes(tier.capacity.count);
      break;
  }
  // Host memory is simulated for one rank, which stands for all.
  if (out.kind == ChunkTierKind::kHost) {
    out.capacity = Bytes(out.capacity.count() / std::int64_t{s_.tier_copies()});
  }
  out.order = tier.order;
  out.lookup = tier.lookup;
  out.put_threads = tier.put_threads;
  out.serde = tier.serde;
  out.outages = tier.outages;
  out.atime = tier.atime;
  out.evicts = tier.evictor.has_value();
  if (tier.evictor) out.evictor = *tier.evictor;
  if (!tier.storage) return out;
  const std::uint32_t at = places_.place(tier.scope, engine);
  // Each tier at each place has a number of its own.
  out.number = static_cast<std::uint32_t>(place) * places_.engines() + at;
  out.shared = shared(tier, engine);
  out.first = engine == 0 || tier.per_rank || places_.place(tier.scope, engine - 1) != at;
  if (tier.by_links) {
    out.port.lanes = true;
    const std::uint32_t lane = tier_lane(tier, at);
    out.port.lane[index_of(StorageOp::kWrite)] = lane;
    out.port.lane[index_of(StorageOp::kRead)] = lane + 1;
  }
  const std::vector<const TierChoice*> all = stores();
  const auto store = std::find(all.begin(), all.end(), &tier);
  if (store != all.end()) {
    out.port.client = clients(static_cast<std::size_t>(store - all.begin()), engine)[0];
  } else {
    out.port.client.write_link = places_.first_lane(engine) + kDownLink;
    out.port.client.read_link = places_.first_lane(engine) + kUpLink;
  }
  return out;
}

/// Host memory by the GPU's links, of one rank that stands for all; the others by their own.
std::vector<AttachedTierConfig> RunWiring::attached(std::uint32_t engine) const {
  std::vector<AttachedTierConfig> out(1 + s_.behind.size());
  const auto host_way = [&](std::uint32_t number, const LinkChoice& link) {
    return AttachedWay{places_.first_lane(engine) + number, link.make(),
                       link.affine ? link.latency : Duration(0), s_.engine.block_bytes,
                       s_.engine.copies_per_block};
  };
  out[0] = {tier_blocks_, false, host_way(kDownLink, *s_.down), host_way(kUpLink, *s_.up)};
  for (std::size_t i = 0; i < s_.behind.size(); ++i) {
    const TierChoice& tier = s_.behind[i];
    const StorageClientConfig numbers = clients(i, engine)[0];
    const auto way = [&](std::uint32_t link, const TierLane& lane) {
      return AttachedWay{link, make_affine_link(lane.latency, lane.bytes_per_second), lane.latency,
                         s_.tier_block_bytes(), 1};
    };
    const bool filtered = s_.engine.is_kvbm() && s_.engine.kvbm.filter && tier.kind() == "nvme";
    out[i + 1] = {s_.tier_blocks(tier.capacity), filtered, way(numbers.write_link, *tier.down),
                  way(numbers.read_link, *tier.up)};
  }
  return out;
}

std::unique_ptr<ChunkedConfig> RunWiring::chunked(std::uint32_t engine) const {
  auto out = std::make_unique<ChunkedConfig>();
  out->lanes = lanes(engine);
  out->down = s_.down->make();
  out->up = s_.up->make();
  out->copies = s_.tier_copies();
  const std::size_t own = hybrid() ? 1 : 0;  // the first is the native connector's
  for (std::size_t i = own; i < 1 + s_.behind.size(); ++i) {
    out->tiers.push_back(chunk_tier(i, engine));
  }
  return out;
}

EngineParts RunWiring::parts(std::uint32_t engine) const {
  EngineParts out;
  out.config = s_.engine;
  out.config.sglang.seed = seed_of(engine);
  out.assemble = assembler_of(s_.engine);
  out.admission = s_.admission;
  out.eviction = s_.hbm_eviction;
  out.cost = cost_ ? cost_() : s_.make_cost();
  const std::optional<ComputeProfile>& profile = s_.compute->profile;
  if (!cost_ && profile && profile->range.known()) {
    out.cost = counting_reach(std::move(out.cost), profile->range, *reach_);
  }
  out.measure_from = s_.workload->warmup;
  if (v0()) {
    out.config.swap.cpu_blocks = static_cast<std::uint32_t>(std::min(tier_blocks_, kMostCpuBlocks));
    if (tiers() == 1) return out;
    out.swap = std::make_unique<SwapLanes>();
    out.swap->down = lane(engine, kDownLink, *s_.down);
    out.swap->up = lane(engine, kUpLink, *s_.up);
    return out;
  }
  if (tiers() == 1) return out;
  if (keeps_chunks()) {
    out.chunked = chunked(engine);
    if (!hybrid()) return out;
  }
  if (s_.engine.attached()) {
    out.attached = attached(engine);
    return out;
  }
  out.lower = std::make_unique<LowerTierConfig>();
  out.lower->capacity_blocks = tier_blocks_;
  out.lower->eviction = s_.tier->eviction;
  out.lower->write_admission = s_.tier->write_admission;
  out.lower->trim = s_.tier->rules.trim;
  out.lower->lanes = lanes(engine);
  out.lower->copies = s_.tier_copies();
  if (hybrid()) return out;  // what is behind is LMCache's, or Mooncake's
  if (has_storage()) {
    out.lower->shared = shared(*s_.tier, engine);
    out.lower->storage = clients(0, engine);
    out.lower->direct = direct();
  }
  if (s_.engine.family == EngineFamily::kTrtllm && !s_.behind.empty()) {
    out.lower->disk = disk_lanes(engine);
    out.lower->disk_blocks = s_.tier_blocks(s_.behind[0].capacity);
    return out;
  }
  for (std::size_t i = 0; i < s_.behind.size(); ++i) {
    LevelConfig level;
    level.device = clients(i, engine)[0];
    level.lookup = s_.behind[i].storage->lookup;
    level.rules = s_.behind[i].rules;
    level.eviction = s_.behind[i].eviction;
    level.write_admission = s_.behind[i].write_admission;
    level.shared = shared(s_.behind[i], engine);
    const std::uint64_t blocks = s_.tier_blocks(s_.behind[i].capacity);
    if (blocks != kUnboundedBlocks) level.capacity = blocks / s_.engine.blocks_per_chunk;
    out.lower->behind.push_back(std::move(level));
  }
  if (s_.load_at_break_even) out.lower->load_estimate = load_link();
  out.lower->interference = s_.copy_interference();
  return out;
}

}  // namespace spillway
