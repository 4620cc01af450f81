// Connectors that keep chunks (LMCache, llm-d, AIBrix): their settings and their tiers; those of
// AIBrix's settings are in read_aibrix.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/catalogue/model_spec.hpp"
#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "reports/format.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/decimal.hpp"
#include "sim/observer.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kMostChunkTokens = 65536;
constexpr std::int64_t kMostThreads = 65536;
constexpr double kMillion = 1e6;
constexpr std::string_view kStorePolicies[] = {"default", "skip_l1"};
constexpr std::string_view kPrefetchPolicies[] = {"default", "retain"};

constexpr Key kLmcacheKeys[] = {
    integer_key("chunk_tokens", 1, kMostChunkTokens, "Tokens of a chunk.", "256"),
    flag_key("save_decode_cache", "Whether answers are stored too."),
    flag_key("save_unfull_chunk", "Whether the rest of a prompt is stored as a smaller chunk."),
    integer_key("min_retrieve_tokens", 0, kMostTokens,
                "Fewest tokens that are loaded; less is computed.", "0"),
    flag_key("local_cpu", "Whether host memory keeps chunks, or only stages them.", "true"),
    number_key("blocking_timeout_secs", 1e-6, 1e6, "Longest wait for a read from the remote store.",
               "10"),
    choice_key("remote_serde", kSerdes, "How chunks are packed for the remote store.", "naive"),
    number_key("serde_ratio", 1, 1000, "What packing divides their bytes by.",
               "3.5 with cachegen, 2 with fp8"),
    rate_key("serde_encode_bandwidth", "Rate at which chunks are packed, in bytes before.",
             "no time"),
    rate_key("serde_decode_bandwidth", "Rate at which they are unpacked, in bytes after.",
             "no time")};
constexpr Key kLmcacheMpKeys[] = {
    integer_key("chunk_tokens", 1, kMostChunkTokens, "Tokens of a chunk.", "256"),
    flag_key("save_decode_cache", "Whether answers are stored too."),
    number_key("eviction_trigger_watermark", 0, 1,
               "Share of L1 in use from which each second's tick evicts.", "0.8"),
    number_key("eviction_ratio", 0, 1, "Share of the chunks that such a tick drops.", "0.2"),
    choice_key("l2_store_policy", kStorePolicies,
               "skip_l1: a chunk leaves L1 once every L2 has it.", "default"),
    choice_key("l2_prefetch_policy", kPrefetchPolicies,
               "retain: what was read from L2 stays in L1.", "default"),
    integer_key("l2_prefetch_max_in_flight", 1, kMostThreads, "Reads from L2 at once.", "8"),
    flag_key("resume_load", "Whether preempted requests load again.", "true")};
constexpr Key kLlmdKeys[] = {
    integer_key("block_size", 1, kMostChunkTokens, "Tokens of a file.", "256"),
    integer_key("threads_per_gpu", 1, kMostThreads, "I/O threads of each GPU.", "64"),
    number_key("read_preferring_ratio", 0, 1, "Share of the threads that take reads first.",
               "0.75"),
    number_key("max_write_queued_seconds", 0, 1e6,
               "Writes that would wait longer are dropped. 0: none are.", "30"),
    flag_key("async_lookup", "Whether a look-up is answered one scheduling pass later.")};
constexpr Key kOutageKeys[] = {
    required(number_key("from_s", 0, kMostSeconds, "When the store can no longer be reached.")),
    required(number_key("to_s", 0, kMostSeconds, "When it can be reached again."))};
constexpr Key kEvictorKeys[] = {
    number_key("interval_s", 1e-3, 1e6, "How often it looks at the disk.", "0.5"),
    number_key("cleanup_threshold", 0, 100, "Percent in use from which it deletes.", "85"),
    number_key("target_threshold", 0, 100, "Percent in use at which it stops.", "70"),
    number_key("access_minutes", 0, 1e6, "Files read in the last so many minutes stay.", "60"),
    integer_key("queue_min", 0, kMostTracked, "Files that it has in line while it rests.", "1000"),
    integer_key("queue_max", 1, kMostTracked, "Files that it has in line while it deletes.",
                "10000"),
    integer_key("deletion_batch_size", 1, kMostTracked, "Files that it deletes at once.", "100")};

std::int64_t ppm(const ObjectReader& object, std::string_view key, std::int64_t otherwise,
                 double scale = kMillion) {
  const auto value = object.number(key);
  return value ? std::llround(*value * scale) : otherwise;
}

Duration seconds(double s) {
  return Duration(static_cast<std::int64_t>(std::llround(s * 1e9)));
}

/// Tokens of a chunk, which is some whole blocks.
void use_chunk(const ObjectReader& object, std::string_view key, std::uint32_t tokens,
               EngineConfig& c) {
  if (tokens % c.block_tokens != 0) {
    object.fail(key, fmt::format("expected a multiple of engine.block_tokens ({}), as a chunk is "
                                 "some whole blocks; found {}",
                                 c.block_tokens, tokens));
  }
  c.blocks_per_chunk = tokens / c.block_tokens;
}

void read_lmcache(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  LmcacheConfig& out = c.lmcache;
  c.load = LoadSemantics::kBlocking;
  if (const auto load = engine.text("load"); engine.told("load")) {
    if (*load != "blocking" && *load != "layerwise") {
      engine.fail("load", fmt::format("expected blocking or layerwise: LMCache in process loads "
                                      "within the step; found {}",
                                      *load));
    }
    if (*load == "layerwise") c.load = LoadSemantics::kLayerwise;
  }
  if (const auto o = engine.object("lmcache", ScenarioKeys::kLmcache)) {
    assign(out.chunk_tokens, o->integer("chunk_tokens"));
    assign(out.min_retrieve_tokens, o->integer("min_retrieve_tokens"));
    out.save_decode_cache = o->boolean("save_decode_cache").value_or(false);
    out.save_unfull_chunk = o->boolean("save_unfull_chunk").value_or(false);
    out.local_cpu = o->boolean("local_cpu").value_or(true);
    if (const auto wait = o->number("blocking_timeout_secs")) out.blocking_timeout = seconds(*wait);
    use_chunk(*o, "chunk_tokens", out.chunk_tokens, c);
    return;
  }
  use_chunk(engine, "block_tokens", out.chunk_tokens, c);
}

void read_lmcache_mp(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  LmcacheMpConfig& out = c.lmcache_mp;
  if (const auto o = engine.object("lmcache_mp", ScenarioKeys::kLmcacheMp)) {
    assign(out.chunk_tokens, o->integer("chunk_tokens"));
    assign(out.prefetches, o->integer("l2_prefetch_max_in_flight"));
    out.save_decode_cache = o->boolean("save_decode_cache").value_or(false);
    out.watermark_ppm = ppm(*o, "eviction_trigger_watermark", out.watermark_ppm);
    out.ratio_ppm = ppm(*o, "eviction_ratio", out.ratio_ppm);
    out.skip_l1 = o->text("l2_store_policy") == "skip_l1";
    out.retain = o->text("l2_prefetch_policy") == "retain";
    out.resume_load = o->boolean("resume_load").value_or(true);
    use_chunk(*o, "chunk_tokens", out.chunk_tokens, c);
    return;
  }
  use_chunk(engine, "block_tokens", out.chunk_tokens, c);
}

void read_llmd(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  LlmdConfig& out = c.llmd;
  if (const auto o = engine.object("llmd", ScenarioKeys::kLlmd)) {
    assign(out.block_size, o->integer("block_size"));
    assign(out.threads, o->integer("threads_per_gpu"));
    out.max_write_queued_us = ppm(*o, "max_write_queued_seconds", out.max_write_queued_us);
    out.read_preferring_ppm = ppm(*o, "read_preferring_ratio", out.read_preferring_ppm);
    out.async_lookup = o->boolean("async_lookup").value_or(false);
    use_chunk(*o, "block_size", out.block_size, c);
    return;
  }
  use_chunk(engine, "block_tokens", out.block_size, c);
}

/// What the connector does not go with, each with a reason.
void check_engine(const ObjectReader& engine, std::string_view name, const Scenario& s) {
  const EngineConfig& c = s.engine;
  const auto fail = [&](std::string_view key, std::string_view expected) {
    engine.fail(key, fmt::format("expected {} with \"offload_connector\": \"{}\"", expected, name));
  };
  if (c.family != EngineFamily::kVllmV1) fail("preset", "a release of vLLM v1");
  if (c.residency != Residency::kFull) fail("residency", "full");
  if (engine.boolean("async_scheduling").value_or(false)) fail("async_scheduling", "false");
  if (c.pipeline_parallel > 1) fail("pipeline_parallel_size", "1");
  if (c.groups.hybrid()) fail("hybrid_kv_cache", "false");
  const bool in_step = c.connector == ConnectorKind::kLmcache || c.is_aibrix();
  if (!in_step && engine.text("load").value_or("async") != "async") fail("load", "async");
  if (s.load_at_break_even) fail("load_or_recompute", "always_load");
  if (s.interference) fail("interference", "none");
  if (c.costs.any()) fail("connector_costs", "none");
  if (s.lockstep()) fail("data_parallel_size", "1 for a model of experts");
  engine.refuse(
      {"blocks_per_chunk", "offload_block_tokens", "store_threshold", "threshold_counts_offers",
       "max_tracker_size", "lazy_offload", "max_offload_tokens"},
      fmt::format("expected only with \"offload_connector\": \"native\", found {}", name));
}

/// `remote`: also as Redis calls it.
ChunkOrder read_order(const ObjectReader& tier, std::span<const ChunkOrder> allowed, bool remote) {
  const std::string usual(kChunkOrders[static_cast<std::size_t>(allowed.front())]);
  const std::string name = tier.text("eviction").value_or(usual);
  std::string known;
  for (const RedisPolicy& policy : kRedisPolicies) {
    if (remote && policy.name == name) return policy.order;
  }
  for (const ChunkOrder order : allowed) {
    const std::string_view text = kChunkOrders[static_cast<std::size_t>(order)];
    if (text == name) return order;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", text);
  }
  tier.fail("eviction",
            fmt::format("expected {} in this tier of the connector, found \"{}\"", known, name));
}

std::vector<Outage> read_outages(const ObjectReader& tier) {
  std::vector<Outage> out;
  for (const ObjectReader& o : tier.objects("outages", ScenarioKeys::kOutage)) {
    const Time from = time_at(seconds(o.require_number("from_s")).count());
    const Time to = time_at(seconds(o.require_number("to_s")).count());
    if (to <= from) o.fail("to_s", "expected later than from_s");
    out.push_back({from, to});
  }
  return out;
}

EvictorConfig read_evictor(const ObjectReader& o) {
  EvictorConfig out;
  constexpr double kPercent = 1e4;  // in millionths
  if (const auto interval = o.number("interval_s")) out.interval = seconds(*interval);
  out.cleanup_ppm = ppm(o, "cleanup_threshold", out.cleanup_ppm, kPercent);
  out.target_ppm = ppm(o, "target_threshold", out.target_ppm, kPercent);
  if (out.target_ppm > out.cleanup_ppm) {
    o.fail("target_threshold", "expected at most cleanup_threshold, where deletion begins");
  }
  if (const auto minutes = o.number("access_minutes")) out.access = seconds(*minutes * 60);
  assign(out.queue_min, o.integer("queue_min"));
  assign(out.queue_max, o.integer("queue_max"));
  assign(out.batch, o.integer("deletion_batch_size"));
  return out;
}

/// engine.lmcache.remote_serde and what it takes.
Serde read_serde(const ObjectReader& top, const TierChoice& tier, Scenario& s) {
  Serde out;
  const auto engine = top.object("engine", ScenarioKeys::kEngine);
  const auto o = engine->object("lmcache", ScenarioKeys::kLmcache);
  const std::string name = o ? o->text("remote_serde").value_or("naive") : "naive";
  const auto at = std::find(std::begin(kSerdes), std::end(kSerdes), name) - std::begin(kSerdes);
  if (at == 0) {
    if (o) {
      o->refuse({"serde_ratio", "serde_encode_bandwidth", "serde_decode_bandwidth"},
                "expected only with remote_serde cachegen or fp8");
    }
    return out;
  }
  if (s.model->spec != nullptr && s.model->spec->is_mla() && name == "cachegen") {
    o->fail("remote_serde", "expected naive or fp8: CacheGen does not take the KV of an MLA model");
  }
  out.ratio = o->number("serde_ratio").value_or(kSerdeRatios[at]);
  const auto rate = [&](std::string_view key) -> std::int64_t {
    const auto text = o->text(key, ObjectReader::kRate);
    return text ? parse_bandwidth(*text, o->where(key)) : 0;
  };
  out.encode_rate = rate("serde_encode_bandwidth");
  out.decode_rate = rate("serde_decode_bandwidth");
  if (out.encode_rate == 0 || out.decode_rate == 0) {
    s.notes.push_back(scenario_note("serde-without-time", {{"serde", name}, {"tier", tier.name}}));
  }
  return out;
}

/// Some link leads to this tier or from it.
bool has_links(const ObjectReader& top, const std::string& tier) {
  const auto links = top.objects("links", ScenarioKeys::kLink);
  return std::any_of(links.begin(), links.end(), [&](const ObjectReader& link) {
    return link.text("from") == tier || link.text("to") == tier;
  });
}

/// A chunk that no tier as small as this could hold is a slip, or rounding upstream.
void note_small(const ObjectReader& tier, const TierChoice& out, Scenario& s) {
  const std::int64_t chunk = s.tier_block_bytes().count() * std::int64_t{s.engine.blocks_per_chunk};
  if (out.capacity.kind != Capacity::Kind::kBytes || out.capacity.count == 0) return;
  if (out.capacity.count >= chunk) return;
  s.notes.push_back(
      scenario_note("chunk-tier-too-small",
                    {{"tier", out.name},
                     {"capacity", tier.text("capacity", ObjectReader::kSize).value_or("")},
                     {"chunk", format_bytes(static_cast<double>(chunk))}}));
}

class ChunkTiers {
 public:
  ChunkTiers(const ObjectReader& top, Scenario& s) : top_(top), s_(s) {}

  void read() {
    const auto tiers = top_.objects("tiers", ScenarioKeys::kTier);
    if (tiers.empty()) {
      top_.missing("tiers", fmt::format("at least one tier for \"offload_connector\": \"{}\"",
                                        name_of_connector()));
    }
    for (std::size_t i = 0; i < tiers.size(); ++i) read_one(tiers[i], i);
    if (s_.engine.connector == ConnectorKind::kHybrid && tiers.size() == 1) {
      tiers[0].fail("", "expected a second tier of kind dram behind it: L1 of LMCache");
    }
  }

 private:
  std::string_view name_of_connector() const {
    return kConnectorNames[static_cast<std::size_t>(s_.engine.connector)];
  }

  void read_one(const ObjectReader& tier, std::size_t place) {
    TierChoice out;
    out.name = tier.require_text("name");
    if (out.name == "hbm" || out.name == "local_compute" || out.name.empty()) {
      tier.fail("name", fmt::format("\"{}\" is taken; hbm is the implicit first tier", out.name));
    }
    check_name(tier, out.name);
    out.where = tier.where("capacity");
    const std::string kind = tier.require_text("kind");
    check_kind(tier, kind, place);
    refuse_tier_rules(tier,
                      fmt::format("expected only with \"offload_connector\": \"native\", found {}",
                                  name_of_connector()));
    if (kind != "dram") read_way(tier, kind, out);
    if (kind == "dram") tier.refuse({"device"}, "expected only with a tier behind host memory");
    read_scope(tier, kind, out);
    const std::string capacity =
        tier.text("capacity", ObjectReader::kSize).value_or(place == 0 ? "" : "inf");
    if (capacity.empty()) tier.missing("capacity", "a size, e.g. 64GiB");
    out.capacity = instance_capacity(s_, out, parse_capacity(capacity, out.where));
    if (place == 0 && kind == "dram" && out.capacity.kind == Capacity::Kind::kUnbounded) {
      tier.fail("capacity", "expected a size: host memory is pinned at the start");
    }
    read_rules(tier, kind, out);
    note_small(tier, out, s_);
    if (place == 0) {
      s_.tier = std::move(out);
    } else {
      s_.behind.push_back(std::move(out));
    }
  }

  void check_name(const ObjectReader& tier, const std::string& name) const {
    bool taken = s_.tier && s_.tier->name == name;
    for (const TierChoice& other : s_.behind) taken = taken || other.name == name;
    if (taken) {
      tier.fail("name", fmt::format("two tiers are called \"{}\"; expected different names", name));
    }
  }

  void check_kind(const ObjectReader& tier, const std::string& kind, std::size_t place) const {
    const auto fail = [&](std::string_view expected) {
      tier.fail("kind", fmt::format("expected {} as tier {} of \"{}\", found {}", expected,
                                    place + 1, name_of_connector(), kind));
    };
    switch (s_.engine.connector) {
      case ConnectorKind::kLmcache: {
        if (place == 0 && kind != "dram") fail("dram (local_cpu)");
        const bool disk = place == 2 && s_.behind.front().kind() == "nvme";
        if (place == 1 && kind == "dram") fail("nvme (local_disk), or kv, object or fs (remote)");
        if (place == 2 && (!disk || kind == "nvme" || kind == "dram")) {
          fail("kv, object or fs (remote) behind an nvme tier");
        }
        if (place > 2) fail("no further tier");
        if (place > 0 && s_.engine.load == LoadSemantics::kLayerwise) {
          tier.fail("kind", "expected host memory alone with \"load\": \"layerwise\"");
        }
        return;
      }
      case ConnectorKind::kLmcacheMp:
        if (place == 0 && kind != "dram") fail("dram (L1)");
        if (place > 0 && kind == "dram") fail("nvme, fs, kv or object (L2)");
        return;
      case ConnectorKind::kHybrid:
        if (place == 0 && kind != "dram") fail("dram (of the native connector)");
        if (place == 1 && kind != "dram") fail("dram (L1 of LMCache)");
        if (place > 1 && kind == "dram") fail("nvme, fs, kv or object (L2 of LMCache)");
        return;
      case ConnectorKind::kAibrix:
        if (place == 0 && kind != "dram") fail("dram (L1)");
        if (place == 1 && kind != "kv") fail("kv (L2)");
        if (place > 1) fail("no further tier");
        return;
      default:
        if (kind != "fs") fail("fs");
        if (place > 0) fail("no further tier");
    }
  }

  /// By links of the scenario, or by a device.
  void read_way(const ObjectReader& tier, const std::string& kind, TierChoice& out) {
    const auto at = std::find(std::begin(kStorageKinds), std::end(kStorageKinds), kind);
    const auto storage = static_cast<StorageKind>(at - std::begin(kStorageKinds));
    out.by_links = has_links(top_, out.name);
    if (!out.by_links) {
      out.storage = read_storage(tier, {out.name, storage, true}, s_);
      return;
    }
    tier.refuse({"device"},
                fmt::format("expected either links to and from {} or a device", out.name));
    out.storage.emplace();
    out.storage->spec = default_storage(storage);
  }

  void read_scope(const ObjectReader& tier, const std::string& kind, TierChoice& out) const {
    const std::string scope = tier.text("scope").value_or("instance");
    out.per_rank = scope == "rank";
    if (out.per_rank) return;
    out.scope = *scope_of(scope);
    if (out.scope != Scope::kInstance && kind == "dram") {
      tier.fail("scope", fmt::format("expected instance or rank, found \"{}\": each engine pins a "
                                     "pool of its own in host memory",
                                     scope));
    }
  }

  void read_rules(const ObjectReader& tier, const std::string& kind, TierChoice& out) {
    using enum ChunkOrder;
    const bool in_process = s_.engine.connector == ConnectorKind::kLmcache;
    constexpr ChunkOrder kLocal[] = {kLru, kLfu, kFifo, kMru};
    constexpr ChunkOrder kRemote[] = {kLru, kLfu, kRandom, kNone};
    constexpr ChunkOrder kOnly[] = {kLru};
    constexpr ChunkOrder kL1[] = {kS3Fifo, kLru, kFifo};
    constexpr ChunkOrder kL2[] = {kLru, kNone};
    const bool aibrix = s_.engine.is_aibrix();
    const bool local = kind == "dram" || kind == "nvme";
    const bool remote = in_process && !local;
    const auto by_place = [&](std::span<const ChunkOrder> near, std::span<const ChunkOrder> far) {
      return local ? near : far;
    };
    std::span<const ChunkOrder> allowed = kOnly;
    if (in_process) allowed = by_place(kLocal, kRemote);
    if (aibrix) allowed = by_place(kL1, kL2);
    out.order = read_order(tier, allowed, remote);
    const bool files = s_.engine.connector == ConnectorKind::kLlmdFs;
    if (!remote) tier.refuse({"outages"}, "expected only with a remote store of LMCache");
    if (!remote && !files && (!aibrix || local)) {
      tier.refuse({"lookup_us"},
                  "expected only with a remote store of LMCache or AIBrix, or files of llm-d");
    }
    if (!files) tier.refuse({"atime", "evictor"}, "expected only with files of llm-d");
    if (!in_process || kind != "nvme") {
      tier.refuse({"put_threads"}, "expected only with the disk of LMCache");
    }
    if (remote) out.serde = read_serde(top_, out, s_);
    out.outages = read_outages(tier);
    if (const auto us = tier.number("lookup_us")) out.lookup = microseconds_up(*us);
    if (const auto threads = tier.integer("put_threads")) {
      out.put_threads = static_cast<std::uint32_t>(*threads);
    }
    if (const auto atime = tier.text("atime")) {
      out.atime =
          static_cast<AtimeRule>(std::find(std::begin(kAtimeRules), std::end(kAtimeRules), *atime) -
                                 std::begin(kAtimeRules));
    }
    if (const auto evictor = tier.object("evictor", ScenarioKeys::kEvictor)) {
      out.evictor = read_evictor(*evictor);
      if (out.capacity.kind == Capacity::Kind::kUnbounded) {
        tier.fail("evictor", "expected a capacity, of which its thresholds are shares");
      }
    }
  }

  const ObjectReader& top_;
  Scenario& s_;
};

}  // namespace

const KeyTable ScenarioKeys::kLmcache = kLmcacheKeys;
const KeyTable ScenarioKeys::kLmcacheMp = kLmcacheMpKeys;
const KeyTable ScenarioKeys::kLlmd = kLlmdKeys;
const KeyTable ScenarioKeys::kOutage = kOutageKeys;
const KeyTable ScenarioKeys::kEvictor = kEvictorKeys;

void read_chunk_connector(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  // Whoever the connector is: their keys are known ones.
  engine.object("lmcache", ScenarioKeys::kLmcache);
  engine.object("lmcache_mp", ScenarioKeys::kLmcacheMp);
  engine.object("llmd", ScenarioKeys::kLlmd);
  read_aibrix(engine, s);
  const auto only_with = [&](std::string_view key, ConnectorKind kind) {
    const bool object = key != "kv_load_failure_policy";
    if (c.connector == kind || !(object ? engine.has(key) : engine.told(key))) return;
    engine.fail(key, fmt::format("expected only with \"offload_connector\": \"{}\"",
                                 kConnectorNames[static_cast<std::size_t>(kind)]));
  };
  only_with("lmcache", ConnectorKind::kLmcache);
  if (!has_mp(c.connector)) only_with("lmcache_mp", ConnectorKind::kLmcacheMp);
  only_with("llmd", ConnectorKind::kLlmdFs);
  if (!c.is_mooncake()) only_with("kv_load_failure_policy", ConnectorKind::kLmcache);
  c.recompute_failed = engine.text("kv_load_failure_policy") == "recompute";
  if (!keeps_chunks(c.connector)) return;
  check_engine(engine, kConnectorNames[static_cast<std::size_t>(c.connector)], s);
  c.async_scheduling = false;
  c.defer_block_free = false;  // it acts only beside that
  if (c.connector == ConnectorKind::kLmcache) read_lmcache(engine, s);
  if (has_mp(c.connector)) read_lmcache_mp(engine, s);
  if (c.connector == ConnectorKind::kHybrid) c.blocks_per_chunk = 1;  // of the native connector
  if (c.connector == ConnectorKind::kLlmdFs) read_llmd(engine, s);
}

/// They are read all the same, so that a wrong value is told as one.
void refuse_chunk_keys(const ObjectReader& tier) {
  tier.number("lookup_us");
  tier.integer("put_threads");
  tier.text("atime");
  read_outages(tier);
  if (const auto evictor = tier.object("evictor", ScenarioKeys::kEvictor)) read_evictor(*evictor);
  tier.refuse({"lookup_us", "put_threads", "outages", "atime", "evictor"},
              "expected only with \"offload_connector\": \"lmcache\" or \"llmd-fs\", or with "
              "preset aibrix");
}

void read_chunk_tiers(const ObjectReader& top, Scenario& s) {
  ChunkTiers(top, s).read();
}

bool use_chunk_link(const ObjectReader& link, const LinkChoice& choice, Scenario& s) {
  const bool chunks = keeps_chunks(s.engine.connector);
  const bool mooncake = s.engine.store_first();
  const bool attached = s.engine.attached();
  if (attached) {
    link.refuse({"through", "shared_by", "submit_us", "duplex_factor", "sm_share", "rank"},
                fmt::format("expected only without preset {}, whose links share nothing",
                            kConnectorNames[static_cast<std::size_t>(s.engine.connector)]));
  }
  const bool trtllm = s.engine.family == EngineFamily::kTrtllm;
  if (!chunks && !attached && !mooncake && !trtllm) return false;
  for (TierChoice& tier : s.behind) {
    if (!tier.storage) continue;  // L1 of a hybrid
    const bool down = choice.to == tier.name;
    if (!down && choice.from != tier.name) continue;
    // L1, behind the native connector's tier in a hybrid.
    const bool hybrid = s.engine.connector == ConnectorKind::kHybrid;
    // An SSD of Mooncake and tiers of KVBM are read straight into HBM.
    const bool straight = mooncake || s.engine.is_kvbm();
    const std::string gate = straight && !down ? "hbm"
                             : hybrid          ? s.behind.front().name
                                               : s.tier->name;
    if ((down ? choice.from : choice.to) != gate) {
      link.fail(down ? "from" : "to",
                gate == "hbm"
                    ? fmt::format("expected hbm: {} is read straight into it", tier.name)
                    : fmt::format("expected {}: what is in {} goes by way of it", gate, tier.name));
    }
    if (!choice.affine || !choice.through.empty() || choice.rank) {
      link.fail("kind", fmt::format("expected affine or constant, without media and rank, for the "
                                    "way to {}{}",
                                    tier.name, chunks ? "; give it a device instead" : ""));
    }
    link.refuse({"nics", "slice"}, "expected only on links of hbm and the first tier");
    std::optional<TierLane>& lane = down ? tier.down : tier.up;
    if (lane) {
      link.fail("name", fmt::format("a second link from {} to {}", choice.from, choice.to));
    }
    lane = {choice.name, choice.latency, choice.bytes_per_second};
    StorageLane& rates = down ? tier.storage->spec.write : tier.storage->spec.read;
    rates = {};
    rates.total_rate = choice.bytes_per_second;
    return true;
  }
  return false;
}

void check_chunk_links(const ObjectReader& top, const Scenario& s) {
  for (const TierChoice& tier : s.behind) {
    if (!tier.by_links || (tier.down && tier.up)) continue;
    top.fail("links", fmt::format("{} has {}; expected both directions", tier.name,
                                  tier.down ? "a link to it only"
                                  : tier.up ? "a link from it only"
                                            : "no links"));
  }
}

}  // namespace spillway
