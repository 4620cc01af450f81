// Mooncake Store: its client as an engine or vLLM with it as the connector, the store as the first
// tier, its SSD as the second; or both behind the host memory of SGLang.
#include <fmt/format.h>

#include <algorithm>

#include "models/catalogue/model_spec.hpp"
#include "models/kv_geometry.hpp"
#include "reports/format.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/decimal.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kMostReplicas = 64;
constexpr double kMostMs = 1e9;
constexpr double kLeastMs = 1e-3;
constexpr std::int64_t kMostBucketBytes = std::int64_t{1} << 50;

constexpr Key kMooncakeKeys[] = {
    number_key("lease_ms", 0, kMostMs, "How long exist and get keep an object from eviction.",
               "10000"),
    number_key("soft_pin_ms", 0, kMostMs, "How long a soft pin holds after the put.", "1800000"),
    number_key("high_watermark", 0, 1, "Share of the memory in use above which a check evicts.",
               "0.9"),
    number_key("eviction_ratio", 0, 1, "Share of the objects that a check evicts at least.",
               "0.05"),
    flag_key("allow_evict_soft_pinned", "Whether soft-pinned objects go where others do not do.",
             "true"),
    integer_key("replicas", 1, kMostReplicas, "Copies of an object, each in another segment.", "1"),
    number_key("eviction_check_ms", kLeastMs, kMostMs, "How often the master checks.", "10"),
    number_key("put_discard_s", 0, kMostSeconds, "Age from which a put may be replaced.", "30"),
    number_key("put_release_s", 1e-6, kMostSeconds,
               "Age at which an unfinished put, or a pin for the SSD, ends.", "600"),
    flag_key("enable_offload", "Whether objects are written to the SSD, the second tier."),
    flag_key("offload_on_evict", "Whether they are written as they are evicted, not as put."),
    flag_key("offload_force_evict", "Whether objects go where the queue for the SSD has no room."),
    integer_key("offload_queue_limit", 1, 100'000'000, "Objects that may wait for the SSD.",
                "50000"),
    number_key("offload_cap_ratio", 0, 1,
               "With offload_force_evict: share of the queue that one check may fill.", "0.5"),
    integer_key("bucket_bytes", 1, kMostBucketBytes, "Bytes of a bucket on the SSD.", "268435456"),
    integer_key("bucket_keys", 1, kMostCount, "Objects of a bucket on the SSD.", "500"),
    number_key("heartbeat_ms", kLeastMs, kMostMs, "Pause between the writes to the SSD.", "10000"),
    number_key("ssd_high_watermark", 0, 1, "Share of the SSD in use above which buckets go.",
               "0.9"),
    number_key("ssd_low_watermark", 0, 1, "Share of the SSD in use at which no more go.", "0.8")};

constexpr std::string_view kNeedsOffload[] = {"offload_on_evict", "offload_force_evict"};

/// A share in billionths, exactly as written.
void assign_share(const ObjectReader& store, std::string_view key, std::int64_t& out) {
  constexpr int kDigits = 9;
  const auto value = store.number(key);
  if (!value) return;
  const Decimal share = decimal_of(*value);
  if (share.digits != 0 && share.exponent < -kDigits) {
    store.fail(
        key, fmt::format("expected at most {} digits behind the point, found {}", kDigits, *value));
  }
  out = floor_scaled(share, kDigits);
}

void assign_time(const ObjectReader& store, std::string_view key, int digits, Duration& out) {
  if (const auto value = store.number(key)) {
    out = Duration(floor_scaled(decimal_of(*value), digits));
  }
}

void read_offload(const ObjectReader& store, MooncakeConfig& c, Scenario& s) {
  c.offload = store.boolean("enable_offload").value_or(false);
  c.offload_on_evict = store.boolean("offload_on_evict").value_or(false);
  c.offload_force_evict = store.boolean("offload_force_evict").value_or(false);
  if (const auto limit = store.integer("offload_queue_limit")) {
    c.queue_limit = static_cast<std::uint64_t>(*limit);
  }
  assign_share(store, "offload_cap_ratio", c.offload_cap);
  if (const auto bytes = store.integer("bucket_bytes")) c.bucket_bytes = Bytes(*bytes);
  assign(c.bucket_keys, store.integer("bucket_keys"));
  assign_time(store, "heartbeat_ms", 6, c.heartbeat);
  assign_share(store, "ssd_high_watermark", c.ssd_high_watermark);
  assign_share(store, "ssd_low_watermark", c.ssd_low_watermark);
  if (c.ssd_low_watermark > c.ssd_high_watermark) {
    store.fail("ssd_low_watermark", "expected at most ssd_high_watermark, above which buckets go");
  }
  for (const std::string_view key : kNeedsOffload) {
    const bool on = store.boolean(key).value_or(false);
    if (!on || (c.offload && (c.offload_on_evict || key == kNeedsOffload[0]))) continue;
    s.notes.push_back(scenario_note(
        "mooncake-offload-off", {{"key", std::string(key)},
                                 {"needed", c.offload ? "offload_on_evict" : "enable_offload"}}));
  }
}

void read_store(const ObjectReader& tier, Scenario& s) {
  MooncakeConfig& c = s.engine.mooncake;
  assign(c.segments, tier.integer("segments"));
  const auto store = tier.object("store", ScenarioKeys::kMooncake);
  if (!store) return;
  assign(c.replicas, store->integer("replicas"));
  assign_time(*store, "lease_ms", 6, c.lease);
  assign_time(*store, "soft_pin_ms", 6, c.soft_pin);
  assign_time(*store, "eviction_check_ms", 6, c.check);
  assign_time(*store, "put_discard_s", 9, c.put_discard);
  assign_time(*store, "put_release_s", 9, c.put_release);
  assign_share(*store, "high_watermark", c.high_watermark);
  assign_share(*store, "eviction_ratio", c.eviction_ratio);
  c.evict_soft_pinned = store->boolean("allow_evict_soft_pinned").value_or(true);
  if (c.put_release <= c.put_discard) {
    s.notes.push_back(scenario_note(
        "mooncake-release-early",
        {{"release_s", seconds_of(c.put_release)}, {"discard_s", seconds_of(c.put_discard)}}));
  }
  read_offload(*store, c, s);
}

/// How it is reached: by links of the scenario, or behind host memory through a device.
void read_way(const ObjectReader& tier, StorageKind kind, TierChoice& out, Scenario& s) {
  out.by_links = s.engine.store_first();
  if (!out.by_links) {
    out.storage = read_storage(tier, {out.name, kind, true}, s);
    return;
  }
  tier.refuse({"device"},
              fmt::format("expected links to and from {}, which say how fast it is", out.name));
  out.storage.emplace();
  out.storage->spec = default_storage(kind);
}

/// What the store and its SSD have in common.
TierChoice begin_store_tier(const ObjectReader& tier, StorageKind kind, Scenario& s) {
  TierChoice out;
  out.name = tier_name(tier);
  if (out.name == TierChoice::kHost) {
    tier.fail("name", "\"host\" is taken; expected another name, e.g. \"store\"");
  }
  refuse_chunk_keys(tier);
  constexpr std::string_view kRules = "Mooncake Store has rules of its own; expected its key store";
  refuse_tier_rules(tier, kRules);
  tier.refuse({"eviction"}, kRules);
  const std::string scope = tier.text("scope").value_or("instance");
  out.per_rank = scope == "rank";
  if (!out.per_rank) out.scope = *scope_of(scope);
  out.where = tier.where("capacity");
  read_way(tier, kind, out, s);
  // The memory has a size; an SSD without one is as large as it has to be.
  const std::string text = kind == StorageKind::kKv
                               ? tier.require_text("capacity", ObjectReader::kSize)
                               : tier.text("capacity", ObjectReader::kSize).value_or("inf");
  out.capacity = parse_capacity(text, out.where);
  if (!out.by_links) out.capacity = instance_capacity(s, out, out.capacity);
  checked_tier_blocks(s, out.capacity, text, out.where);
  return out;
}

void check_memory(const ObjectReader& tier, const TierChoice& out, const Scenario& s) {
  if (out.capacity.kind == Capacity::Kind::kUnbounded) {
    tier.fail("capacity", "expected a size, e.g. 1TiB: watermarks are shares of it");
  }
  const std::int64_t block = s.tier_block_bytes().count();
  const bool blocks = out.capacity.kind == Capacity::Kind::kBlocks;
  const std::int64_t bytes = out.capacity.count * (blocks ? block : 1);
  const std::int64_t segments = s.engine.mooncake.segments;
  if (bytes / segments >= block) return;
  tier.fail("capacity",
            fmt::format("each of {} segments has {} bytes, and an object {}; expected room for one",
                        segments, bytes / segments, block));
}

/// The store; `ssd`: another tier follows.
TierChoice read_memory(const ObjectReader& tier, bool ssd, Scenario& s) {
  if (const std::string kind = tier.require_text("kind"); kind != "kv") {
    tier.fail("kind", fmt::format("expected kv, the memory of Mooncake Store, found {}", kind));
  }
  read_store(tier, s);
  TierChoice out = begin_store_tier(tier, StorageKind::kKv, s);
  check_memory(tier, out, s);
  if (s.engine.mooncake.offload && !ssd) {
    tier.fail("store", "enable_offload: expected a tier of kind nvme or fs behind it, the SSD");
  }
  return out;
}

/// Behind `memory`, the store.
void read_ssd(const ObjectReader& tier, const TierChoice& memory, Scenario& s) {
  const std::string kind = tier.require_text("kind");
  if (kind != "nvme" && kind != "fs") {
    tier.fail("kind", fmt::format("expected nvme or fs, the SSD of the store, found {}", kind));
  }
  tier.refuse({"segments", "store"}, "expected only with the store, the tier before");
  TierChoice out = begin_store_tier(tier, kind == "fs" ? StorageKind::kFs : StorageKind::kNvme, s);
  refuse_taken_name(tier, out, s);
  if (!tier.has("scope")) {
    out.scope = memory.scope;
    out.per_rank = memory.per_rank;
  } else if (out.scope != memory.scope || out.per_rank != memory.per_rank) {
    tier.fail("scope", fmt::format("expected that of {}, to which the SSD belongs", memory.name));
  }
  if (out.capacity.kind != Capacity::Kind::kUnbounded && out.capacity.count == 0) {
    tier.fail("capacity", "expected room for an object, or inf");
  }
  if (!s.engine.mooncake.offload) {
    s.notes.push_back(scenario_note("mooncake-ssd-unused", {{"tier", out.name}}));
  }
  s.behind.push_back(std::move(out));
}

}  // namespace

const KeyTable ScenarioKeys::kMooncake = kMooncakeKeys;

void read_mooncake(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  assign(c.block_tokens, engine.integer("block_tokens"));
  if (s.model->spec != nullptr)
    c.max_model_len = static_cast<std::uint32_t>(s.model->spec->max_position);
  assign(c.max_model_len, engine.integer("max_model_len"));
  c.block_bytes =
      rank_kv_bytes(s.model->kv_bytes_per_token, s.model->spec, s.model->layers, s.shards()) *
      c.block_tokens;
  c.async_scheduling = false;
  // It has no pool, no batch and no queue: these are taken so that a scenario of another engine
  // needs no other changes.
  for (const char* key : {"num_gpu_blocks", "max_num_seqs", "max_num_batched_tokens"}) {
    engine.integer(key);
  }
  engine.boolean("async_scheduling");
  s.hbm_eviction = parse_eviction("lru", engine.where("preset"));
  s.pool_where = engine.where("preset");
  s.pool_given = true;
}

void read_mooncake_connector(const ObjectReader& engine, Scenario& s) {
  if (s.engine.is_mooncake()) check_attached_engine(engine, s);
}

bool read_mooncake_tiers(const ObjectReader& top, Scenario& s) {
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  if (!s.engine.store_first()) {
    const std::size_t stores = s.engine.family == EngineFamily::kSglang ? 1 : tiers.size();
    for (std::size_t i = 0; i < std::min(stores, tiers.size()); ++i) {
      tiers[i].object("store", ScenarioKeys::kMooncake);  // a key it has not comes first
      tiers[i].refuse({"segments", "store"},
                      "expected only with preset mooncake or mooncake-client, or behind dram with "
                      "sglang: no other engine has this store");
    }
    return false;
  }
  if (tiers.empty()) top.missing("tiers", "a tier of kind kv, the memory of Mooncake Store");
  if (s.engine.is_mooncake() && !s.media.empty()) {
    top.fail("media", "expected none with preset mooncake");
  }
  if (tiers.size() > 2) {
    tiers[2].fail("name", "expected at most two tiers: the store (kv) and its SSD (nvme or fs)");
  }
  s.tier = read_memory(tiers[0], tiers.size() > 1, s);
  if (tiers.size() > 1) read_ssd(tiers[1], *s.tier, s);
  return true;
}

void read_mooncake_behind(const ObjectReader& top, Scenario& s) {
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  s.engine.sglang.mooncake = true;
  TierChoice memory = read_memory(tiers[1], tiers.size() > 2, s);
  refuse_taken_name(tiers[1], memory, s);
  if (!tiers[1].has("device") && !s.hardware) {
    s.notes.push_back(scenario_note("mooncake-device-default", {{"tier", memory.name}}));
  }
  s.behind.push_back(std::move(memory));
  if (tiers.size() > 2) read_ssd(tiers[2], s.behind.front(), s);
}

void check_mooncake(const ObjectReader& top, Scenario& s) {
  if (!s.engine.store_first()) return;
  if (!s.engine.is_mooncake() && s.admission.text() != "always") {
    top.fail("policies", "admission: expected always: a client of the store has no queue");
  }
  if (s.engine.is_mooncake() && !(s.down->affine && s.up->affine)) {
    top.fail("links", fmt::format("expected affine or constant links from hbm to {} and back",
                                  s.tier->name));
  }
  const Bytes block = s.tier_block_bytes();
  const Duration one = s.up->make()->service_time(block, 1);
  if (one < s.engine.mooncake.lease) return;
  s.notes.push_back(
      scenario_note("mooncake-lease-short", {{"lease_ms", milliseconds_of(s.engine.mooncake.lease)},
                                             {"link", s.up->name},
                                             {"object_bytes", block.count()},
                                             {"transfer_ms", milliseconds_of(one)}}));
}

}  // namespace spillway
