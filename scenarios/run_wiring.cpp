#include "scenarios/run_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/tier/storage_link.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kDownLink = 0;
constexpr std::uint32_t kUpLink = 1;
constexpr std::uint64_t kMostCpuBlocks = std::uint64_t{1} << 31;  // the engine's counters

void gather_offload(const OffloadCounters& offload, RunResult& r) {
  TierResult& tier = r.tiers[1];
  tier.queries = offload.queries;
  tier.hits = offload.hits;
  tier.hits_resumed = offload.hits_resumed;
  tier.store_failures = offload.store_failures;
  for (std::size_t i = 1; i < kWriteVerdicts; ++i) {
    if (offload.refused[i] == 0) continue;
    const std::string_view reason = name_of(static_cast<WriteVerdict>(i));
    tier.write_refusals.push_back({std::string(reason), offload.refused[i]});
  }
  r.flushes = offload.flushes;
}

}  // namespace

std::uint32_t RunWiring::write_link() const {
  return direct() ? kDownLink : after_media();
}
std::uint32_t RunWiring::read_link() const {
  return direct() ? kUpLink : after_media() + 1;
}

std::uint32_t RunWiring::write_link(std::size_t index) const {
  return after_media() + 2 * static_cast<std::uint32_t>(index);
}
std::uint32_t RunWiring::read_link(std::size_t index) const {
  return write_link(index) + 1;
}

std::uint32_t RunWiring::links() const {
  if (tiers() == 1) return 0;
  return after_media() + (has_storage() && !direct() ? 2 : 0) +
         2 * static_cast<std::uint32_t>(s_.behind.size());
}

std::vector<std::uint64_t> RunWiring::capacities() const {
  std::vector<std::uint64_t> out = {s_.engine.usable_blocks(), tier_blocks_};
  for (const TierChoice& tier : s_.behind) out.push_back(s_.tier_blocks(tier.capacity));
  return out;
}

LaneSpec RunWiring::lane(std::uint32_t link, const LinkChoice& choice) const {
  LaneSpec out{link, choice.make(), choice.duplex_factor};
  out.submit = choice.submit;
  out.clients = choice.shared_by;
  for (const std::string& name : choice.through) {
    const auto at = std::find_if(s_.media.begin(), s_.media.end(),
                                 [&](const MediumChoice& m) { return m.name == name; });
    out.through.push_back(static_cast<std::uint32_t>(at - s_.media.begin()));
  }
  return out;
}

StorageDeviceConfig RunWiring::device() const {
  const StorageChoice& choice = *s_.tier->storage;
  StorageDeviceConfig out;
  out.spec = choice.direct ? direct_storage(choice.spec, s_.down->make()->capacity(),
                                            s_.up->make()->capacity())
                           : choice.spec;
  out.clients = choice.clients;
  out.seed = s_.seed;
  out.read_link = read_link();
  out.write_link = write_link();
  return out;
}

StorageDeviceConfig RunWiring::device_behind(std::size_t index) const {
  const StorageChoice& choice = *s_.behind[index].storage;
  // Each draws its own latencies.
  return {choice.spec, choice.clients, s_.seed + index, read_link(index), write_link(index)};
}

std::unique_ptr<LinkModel> RunWiring::load_link() const {
  if (!has_storage()) return s_.up->make();
  const StorageDeviceConfig config = device();
  return make_storage_read_link(config.spec, config.clients, direct() ? nullptr : s_.up->make());
}

EngineParts RunWiring::parts() const {
  EngineParts out;
  out.config = s_.engine;
  out.admission = s_.admission;
  out.eviction = s_.hbm_eviction;
  out.cost = s_.make_cost();
  out.measure_from = s_.workload.warmup;
  if (v0()) {
    out.config.swap.cpu_blocks = static_cast<std::uint32_t>(std::min(tier_blocks_, kMostCpuBlocks));
    if (tiers() == 1) return out;
    out.swap = std::make_unique<SwapLanes>();
    out.swap->down = lane(kDownLink, *s_.down);
    out.swap->up = lane(kUpLink, *s_.up);
    return out;
  }
  if (tiers() == 1) return out;
  out.lower = std::make_unique<LowerTierConfig>();
  out.lower->capacity_blocks = tier_blocks_;
  out.lower->eviction = s_.tier->eviction;
  out.lower->write_admission = s_.tier->write_admission;
  out.lower->down = lane(kDownLink, *s_.down);
  out.lower->up = lane(kUpLink, *s_.up);
  out.lower->media.seed = s_.seed;
  for (std::uint32_t i = 0; i < s_.media.size(); ++i) {
    out.lower->media.media.push_back(
        {s_.media[i].bytes_per_second, kFirstMedium + i, s_.media[i].fifo});
  }
  if (has_storage()) {
    out.lower->storage = device();
    out.lower->direct = direct();
  }
  for (std::size_t i = 0; i < s_.behind.size(); ++i) {
    out.lower->behind.push_back({device_behind(i), s_.behind[i].storage->lookup});
  }
  if (s_.load_at_break_even) out.lower->load_estimate = load_link();
  out.lower->interference = s_.copy_interference();
  return out;
}

RunResult RunWiring::gather(const Engine& engine, RunResult r) const {
  r.deferrals = engine.deferrals();
  r.flush_stall_s = seconds_of(engine.flush_stall());
  std::size_t series = r.series.size() - r.tiers.size() - r.links.size();

  const auto name_tier = [&](std::size_t i, const std::string& name, std::uint64_t blocks) {
    TierResult& tier = r.tiers[i];
    tier.name = name;
    tier.unbounded = blocks == ~std::uint64_t{0};
    tier.capacity_blocks = tier.unbounded ? 0 : blocks;
    tier.capacity_bytes =
        static_cast<std::int64_t>(tier.capacity_blocks) * s_.engine.block_bytes.count();
    r.prompt_tokens_by_source[i + 1].first = name;
    r.series[series++].name = name;
  };
  name_tier(0, "hbm", s_.engine.usable_blocks());
  const PrefixCacheCounters& prefix = engine.scheduler().counters();
  r.tiers[0].queries = prefix.queries;
  r.tiers[0].hits = prefix.hits;
  r.tiers[0].hits_resumed = prefix.hits_resumed;
  if (v0()) r.swap = swap_result(engine);
  if (tiers() == 1) return r;

  name_tier(1, s_.tier->name, tier_blocks_);
  for (std::size_t i = 0; i < s_.behind.size(); ++i) {
    name_tier(i + 2, s_.behind[i].name, s_.tier_blocks(s_.behind[i].capacity));
  }
  if (v0()) {
    r.tiers[1].evictions = 0;  // what left was swapped in, or ended
  } else if (engine.streaming() != nullptr) {
    r.tiers[1].queries = engine.streaming()->lower_counters().queries;
    r.tiers[1].hits = engine.streaming()->lower_counters().hits;
  } else {
    gather_offload(engine.connector()->counters(), r);
  }
  if (!v0()) r.load_choice = load_choice(engine);
  if (s_.copy_interference().any()) r.copy_harm_s = seconds_of(engine.copy_harm());
  if (s_.engine.load != LoadSemantics::kAsync) {
    r.load_wait = {engine.load_stalls(), seconds_of(engine.load_stall())};
  }
  const std::size_t first = series;  // of the links, in their order
  const auto name_link = [&](std::size_t i, const LinkChoice& choice) {
    r.links[i].name = choice.name;
    r.links[i].from = choice.from;
    r.links[i].to = choice.to;
    r.links[i].capacity_bytes_per_s = choice.make()->capacity().value();
    r.links[i].model = choice.source;
    r.series[first + i].name = choice.name;
  };
  if (!has_storage() || !direct()) {
    name_link(kDownLink, *s_.down);
    name_link(kUpLink, *s_.up);
  }
  for (std::size_t i = 0; i < s_.media.size(); ++i) {
    LinkResult& link = r.links[kFirstMedium + i];
    link.name = s_.media[i].name;
    link.model = s_.media[i].fifo ? "scenario, first come first served" : "scenario, fair shares";
    link.medium = true;
    link.capacity_bytes_per_s = static_cast<double>(s_.media[i].bytes_per_second);
    r.series[first + kFirstMedium + i].name = link.name;
  }
  if (has_storage()) {
    const std::string near(direct() ? "hbm" : TierChoice::kHost);
    gather_storage(r, *engine.storage(), *s_.tier->storage, device(), {1, near, first});
  }
  if (const Tiering* tiering = engine.tiering()) gather_behind(r, *tiering, first);
  return r;
}

/// What the tiers behind the first did. Each was asked for what the nearer ones did not supply.
void RunWiring::gather_behind(RunResult& r, const Tiering& tiering, std::size_t first) const {
  const std::uint64_t capacity = r.tiers[1].capacity_blocks / s_.engine.blocks_per_chunk;
  for (std::size_t i = 0; i < s_.behind.size(); ++i) {
    gather_storage(r, tiering.device(i), *s_.behind[i].storage, device_behind(i),
                   {i + 2, s_.tier->name, first});
    const SecondaryCounters& c = tiering.counters(i);
    TierResult& t = r.tiers[i + 2];
    t.queries = c.queries;
    t.hits = c.hits;
    t.tiering = {c.promotions, c.cascades, c.promotion_failures, 0};
    if (capacity > 0) {
      t.tiering->peak_pinned_share =
          static_cast<double>(c.peak_pinned) / static_cast<double>(capacity);
    }
  }
}

SwapResult RunWiring::swap_result(const Engine& engine) const {
  const V0Scheduler& v0 = *engine.v0();
  SwapResult out;
  out.swapped_out = v0.swaps().requests_out;
  out.swapped_in = v0.swaps().requests_in;
  out.blocks_out = v0.swaps().blocks_out;
  out.blocks_in = v0.swaps().blocks_in;
  if (engine.swap() != nullptr) out.stall_s = seconds_of(engine.swap()->stall());
  out.peak_swapped = v0.swaps().peak_requests;
  if (tier_blocks_ > 0) {
    out.peak_cpu_usage = v0.swaps().peak_blocks / static_cast<double>(tier_blocks_);
  }
  if (const auto& fatal = v0.fatal()) {
    out.fatal = fmt::format(
        "lack of CPU swap space: to swap request {} out takes {} blocks, and {} of {} are free",
        raw(fatal->request), fatal->needed, fatal->free, tier_blocks_);
  }
  return out;
}

/// The links to the device, and what the device did.
void RunWiring::gather_storage(RunResult& r, const StorageDevice& storage,
                               const StorageChoice& choice, const StorageDeviceConfig& config,
                               const StorageAt& at) const {
  const StorageSpec& spec = config.spec;
  TierResult& t = r.tiers[at.tier];
  const auto name_link = [&](std::uint32_t link, const char* way, const std::string& from,
                             const std::string& to, const StorageLane& lane) {
    LinkResult& l = r.links[link];
    l.name = fmt::format("{}-{}", t.name, way);
    l.from = from;
    l.to = to;
    l.capacity_bytes_per_s = static_cast<double>(client_share(lane, config.clients));
    // A job's bytes are told as if spread evenly over its time, which a bin may see as too many.
    l.peak_bytes_per_s = std::min(l.peak_bytes_per_s, l.capacity_bytes_per_s);
    l.model = fmt::format("{}, {} {} in flight{}", name_of(spec.kind), spec.slots,
                          spec.whole_jobs ? "jobs" : "operations", choice.direct ? ", direct" : "");
    r.series[at.first_series + link].name = l.name;
  };
  name_link(config.write_link, "write", at.near, t.name, spec.write);
  name_link(config.read_link, "read", t.name, at.near, spec.read);

  t.kind = name_of(spec.kind);
  DeviceResult& d = t.device.emplace();
  d.bytes_read = storage.wear().read.count();
  d.bytes_written = storage.wear().written.count();
  const LatencySamples& loads = storage.latency(StorageOp::kRead);
  if (loads.count() > 0) {
    d.latency_p50_ms = loads.stats().median_ms;
    d.latency_p99_ms = loads.stats().p99_ms;
  }
  if (spec.write_cache) d.slow_write_seconds = seconds_of(storage.slow_writes());
  if (spec.rated_writes > Bytes(0)) {
    d.endurance_share = storage.wear().endurance_share(spec.rated_writes);
  }
  Bytes drive = choice.drive_bytes;
  if (drive == Bytes(0)) drive = Bytes(t.capacity_bytes);
  if (spec.kind == StorageKind::kNvme && drive > Bytes(0)) {
    d.drive_writes = storage.wear().drive_writes(drive);
  }
}

/// Where loading begins to pay, and what was decided of each load.
LoadChoiceResult RunWiring::load_choice(const Engine& engine) const {
  LoadChoiceResult out;
  const auto cost = s_.make_cost();
  const auto up = load_link();
  const std::uint32_t pool = s_.engine.usable_blocks() * s_.engine.block_tokens;
  const std::uint32_t most = s_.engine.max_model_len;
  LoadEstimate estimate(s_.engine, *cost, *up);
  out.break_even_tokens =
      estimate.break_even_tokens(most > 0 ? std::min(most, pool) : pool).value_or(0);
  if (const LoadChoice* choice = engine.load_choice()) {
    out.decided = true;
    out.loaded = choice->loaded();
    out.recomputed = choice->recomputed();
  }
  return out;
}

}  // namespace spillway
