// What stores attached to vLLM by a preset (KVBM, FlexKV) have in common.
#include <fmt/format.h>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

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
  for (const std::string_view key : {"offload_prompt_only", "prompt_only_default"}) {
    if (engine.boolean(key).value_or(false)) fail(key, "false, as it stores answers too,");
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
  tier.refuse({"write", "inclusion", "when_full", "trim_above", "trim_to", "trim_every_s", "ttl_s",
               "prefetch_chunks", "write_admission"},
              rules);
  if (const std::string scope = tier.text("scope").value_or("instance");
      scope != "instance" && scope != "rank") {
    tier.fail("scope", fmt::format("expected instance or rank, found {}: {}", scope, sharing));
  }
}

}  // namespace spillway
