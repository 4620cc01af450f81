// What stores attached to vLLM by a preset (KVBM, FlexKV, Mooncake Store) have in common.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/notes/scenario_notes.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

void check_attached_engine(const ObjectReader& engine, const Scenario& s) {
  const EngineConfig& c = s.engine;
  const std::string_view name = kConnectorNames[static_cast<std::size_t>(c.connector)];
  const auto fail = [&](std::string_view key, std::string_view expected) {
    engine.fail(key, fmt::format("expected {} with preset {}", expected, name));
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
  const bool answers = !c.is_mooncake();
  for (const std::string_view key : {"offload_prompt_only", "prompt_only_default"}) {
    if (engine.boolean(key).value_or(!answers) != answers) continue;
    fail(key, answers ? "false, as it stores answers too," : "true, as it stores prompts only,");
  }
  engine.refuse(
      {"blocks_per_chunk", "offload_block_tokens", "store_threshold", "threshold_counts_offers",
       "max_tracker_size", "max_offload_tokens", "tier_rules"},
      fmt::format("expected only with \"offload_connector\": \"native\", found {}", name));
}

void refuse_attached_tier_keys(const ObjectReader& tier, std::string_view ways,
                               std::string_view rules, std::string_view sharing) {
  refuse_chunk_keys(tier);
  tier.refuse({"device"}, ways);
  refuse_tier_rules(tier, rules);
  if (const std::string scope = tier.text("scope").value_or("instance");
      scope != "instance" && scope != "rank") {
    tier.fail("scope", fmt::format("expected instance or rank, found {}: {}", scope, sharing));
  }
}

namespace {

/// One direction of a tier that no link describes, with its kind's published figures.
TierLane usual_lane(TierChoice& tier, bool down, Scenario& s) {
  const StorageSpec spec = default_storage(tier.storage->spec.kind);
  const StorageLane& usual = down ? spec.write : spec.read;
  const bool limited = usual.client_rate > 0;
  TierLane out{tier.name + (down ? "-write" : "-read"), usual.latency.p50,
               limited ? usual.client_rate : usual.total_rate};
  const std::string_view key = limited ? "client_limit"
                               : down  ? "write_bandwidth"
                                       : "read_bandwidth";
  std::string_view source = "assumed";
  for (const StorageSource& row : storage_sources(spec.kind)) {
    if (row.key == key) source = row.source;
  }
  s.notes.push_back(scenario_note(
      "tier-default",
      {{"tier", tier.name},
       {"key", down ? "the link to it" : "the link from it"},
       {"value", fmt::format("{} GB/s and {} us",
                             format_real(static_cast<double>(out.bytes_per_second) / 1e9),
                             out.latency.count() / 1000)},
       {"source", std::string(source)}}));
  StorageLane& rates = down ? tier.storage->spec.write : tier.storage->spec.read;
  rates = {};
  rates.total_rate = out.bytes_per_second;
  return out;
}

/// A network card of 200 Gb/s between HBM and Mooncake Store: no link of the GPU's leads there.
void fill_store_link(bool down, Scenario& s) {
  Boxed<LinkChoice>& link = down ? s.down : s.up;
  if (link) return;
  LinkChoice usual;
  usual.name = down ? "put" : "get";
  usual.from = down ? "hbm" : s.tier->name;
  usual.to = down ? s.tier->name : "hbm";
  usual.latency = std::chrono::microseconds(20);  // assumed
  usual.bytes_per_second = 21'750'000'000;
  usual.source = "Mooncake README, 87 GB/s over four cards of 200 Gb/s";
  s.notes.push_back(scenario_note(
      "link-default", {{"from", usual.from}, {"to", usual.to}, {"source", usual.source}}));
  link = std::move(usual);
}

}  // namespace

void fill_attached_links(Scenario& s) {
  if (!of_preset(s.engine.connector)) return;
  if (s.engine.is_mooncake() && s.tier) {
    fill_store_link(true, s);
    fill_store_link(false, s);
  }
  for (TierChoice& tier : s.behind) {
    if (!tier.by_links || tier.down || tier.up) continue;
    tier.down = usual_lane(tier, true, s);
    tier.up = usual_lane(tier, false, s);
  }
}

}  // namespace spillway
