// Dynamo's KV block manager: its settings and its tiers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kMostBatch = 65536;
constexpr std::int64_t kMostTransfers = 1024;

constexpr Key kKvbmKeys[] = {
    integer_key("max_transfer_batch_size", 1, kMostBatch, "Most blocks of a copy.", "16"),
    integer_key("max_concurrent_transfers", 1, kMostTransfers,
                "Copies of each hop that are under way at once.", "4"),
    flag_key("disk_offload_filter",
             "Whether only blocks that were copied to dram often enough go on to nvme.", "true"),
    integer_key("disk_filter_min", 1, std::int64_t{1} << 30,
                "Count from which a block goes on: 1 at first, doubled each time.", "2"),
    number_key("disk_filter_decay_s", 1e-6, kMostSeconds, "Time after which every count loses 1.",
               "600"),
    integer_key("disk_filter_entries", 1, kMostTracked, "Most blocks that are counted.",
                "1000000")};

/// G3 and G4, in this order, behind G2.
constexpr StorageKind kBehind[] = {StorageKind::kNvme, StorageKind::kObject};

/// What KVBM does not go with, each with a reason.
void check_engine(const ObjectReader& engine, const Scenario& s) {
  const EngineConfig& c = s.engine;
  const auto fail = [&](std::string_view key, std::string_view expected) {
    engine.fail(key, fmt::format("expected {} with preset kvbm", expected));
  };
  if (c.residency != Residency::kFull) fail("residency", "full");
  if (c.async_scheduling) fail("async_scheduling", "false");
  if (c.pipeline_parallel > 1) fail("pipeline_parallel_size", "1");
  if (c.groups.hybrid()) fail("hybrid_kv_cache", "false");
  if (c.load != LoadSemantics::kAsync) fail("load", "async");
  if (s.load_at_break_even) fail("load_or_recompute", "always_load");
  if (s.interference) fail("interference", "none");
  if (c.costs.any()) fail("connector_costs", "none");
  if (s.lockstep()) fail("data_parallel_size", "1 for a model of experts");
  for (const std::string_view key : {"offload_prompt_only", "prompt_only_default"}) {
    if (engine.boolean(key).value_or(false)) fail(key, "false, as it stores answers too,");
  }
  engine.refuse({"blocks_per_chunk", "offload_block_tokens", "store_threshold",
                 "threshold_counts_offers", "max_tracker_size", "max_offload_tokens", "tier_rules"},
                "expected only with \"offload_connector\": \"native\", found kvbm");
}

void read_capacity(const ObjectReader& tier, std::string_view otherwise, Scenario& s,
                   TierChoice& out) {
  out.per_rank = tier.text("scope").value_or("instance") == "rank";
  out.where = tier.where("capacity");
  const std::string text =
      tier.text("capacity", ObjectReader::kSize).value_or(std::string(otherwise));
  if (text.empty()) tier.missing("capacity", "a size, e.g. 64GiB");
  out.capacity = instance_capacity(s, out, parse_capacity(text, out.where));
  if (checked_tier_blocks(s, out.capacity, text, out.where) == 0 && !otherwise.empty()) {
    tier.fail("capacity", "expected room for a block, or inf");
  }
}

void refuse_tier_keys(const ObjectReader& tier) {
  refuse_chunk_keys(tier);
  tier.refuse({"device"},
              "expected links from dram to the tier and from there to hbm, which say how fast "
              "it is");
  tier.refuse({"write", "inclusion", "when_full", "trim_above", "trim_to", "trim_every_s", "ttl_s",
               "prefetch_chunks", "eviction", "write_admission"},
              "KVBM has rules of its own: engine.kvbm");
  if (const std::string scope = tier.text("scope").value_or("instance");
      scope != "instance" && scope != "rank") {
    tier.fail("scope", fmt::format("expected instance or rank, found {}: each instance of KVBM has "
                                   "tiers of its own",
                                   scope));
  }
}

/// A tier behind host memory: of the first kind of `left`, or of a later one.
void read_behind(const ObjectReader& tier, std::span<const StorageKind>& left, Scenario& s) {
  TierChoice out;
  out.name = tier_name(tier);
  refuse_taken_name(tier, out, s);
  const std::string kind = tier.require_text("kind");
  const auto at = std::find_if(left.begin(), left.end(),
                               [&](StorageKind known) { return name_of(known) == kind; });
  if (at == left.end()) {
    tier.fail("kind", fmt::format("expected dram (G2), then nvme (G3), then object (G4), each at "
                                  "most once; found {}",
                                  kind));
  }
  refuse_tier_keys(tier);
  out.by_links = true;
  out.storage.emplace();
  out.storage->spec = default_storage(*at);
  left = left.subspan(static_cast<std::size_t>(at - left.begin()) + 1);
  read_capacity(tier, "inf", s, out);
  s.behind.push_back(std::move(out));
}

}  // namespace

const KeyTable ScenarioKeys::kKvbm = kKvbmKeys;

void read_kvbm(const ObjectReader& engine, Scenario& s) {
  const auto o = engine.object("kvbm", ScenarioKeys::kKvbm);
  EngineConfig& c = s.engine;
  if (!c.is_kvbm()) {
    if (o) engine.fail("kvbm", "expected only with preset kvbm");
    return;
  }
  check_engine(engine, s);
  if (!o) return;
  KvbmConfig& out = c.kvbm;
  assign(out.max_batch, o->integer("max_transfer_batch_size"));
  assign(out.max_transfers, o->integer("max_concurrent_transfers"));
  out.filter = o->boolean("disk_offload_filter").value_or(out.filter);
  assign(out.filter_min, o->integer("disk_filter_min"));
  if (const auto decay = o->number("disk_filter_decay_s")) {
    out.filter_decay = Duration(std::llround(*decay * 1e9));
  }
  assign(out.filter_entries, o->integer("disk_filter_entries"));
}

void read_kvbm_tiers(const ObjectReader& top, Scenario& s) {
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  if (tiers.empty()) top.missing("tiers", "a tier of kind dram, the host memory of KVBM (G2)");
  if (!s.media.empty()) top.fail("media", "expected none with preset kvbm");
  const ObjectReader& host = tiers.front();
  TierChoice out;
  out.name = tier_name(host);
  if (const std::string kind = host.require_text("kind"); kind != "dram") {
    host.fail("kind",
              fmt::format("expected dram first, the host memory of KVBM (G2); found {}", kind));
  }
  refuse_tier_keys(host);
  read_capacity(host, "", s, out);
  if (out.capacity.kind == Capacity::Kind::kUnbounded) {
    host.fail("capacity", "expected a size: host memory is pinned at the start");
  }
  s.tier = std::move(out);
  std::span<const StorageKind> left = kBehind;
  for (std::size_t i = 1; i < tiers.size(); ++i) read_behind(tiers[i], left, s);
}

}  // namespace spillway
