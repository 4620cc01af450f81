// What goes with vLLM's SimpleCPUOffloadConnector, and what does not.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

void check_engine(const ObjectReader& engine, const Scenario& s) {
  const EngineConfig& c = s.engine;
  engine.refuse({"offload_prompt_only", "prompt_only_default", "convoy", "store_defer_next_step"},
                "expected only with \"offload_connector\": \"native\"");
  if (c.residency == Residency::kStreaming) {
    engine.fail("offload_connector", "expected native with \"residency\": \"streaming\"");
  }
  // Upstream warns and runs without the connector (simple_cpu_offload_connector.py).
  if (!c.enable_prefix_caching) {
    engine.fail("enable_prefix_caching",
                "expected true with \"offload_connector\": \"simple\", which does nothing without");
  }
  if (c.load != LoadSemantics::kAsync) {
    engine.fail("load", fmt::format("expected async with \"offload_connector\": \"simple\", found "
                                    "{}",
                                    name_of(c.load)));
  }
  if (c.lazy_offload && s.hbm_eviction.name() != EvictionChoice().name()) {
    engine.fail("eviction",
                fmt::format("expected {} beside lazy_offload, which walks HBM's free queue; found "
                            "{}",
                            EvictionChoice().name(), s.hbm_eviction.text()));
  }
}

void check_tier(const ObjectReader& tier, const TierChoice& choice) {
  const auto refuse = [&](std::string_view key, std::string_view expected, std::string_view found) {
    tier.fail(key, fmt::format("expected {} with \"offload_connector\": \"simple\", found {}",
                               expected, found));
  };
  if (choice.storage) refuse("kind", "dram", choice.kind());
  if (choice.eviction.text() != EvictionChoice().name()) {
    refuse("eviction", EvictionChoice().name(), choice.eviction.text());
  }
  if (choice.write_admission.text() != WriteAdmissionChoice().name()) {
    refuse("write_admission", WriteAdmissionChoice().name(), choice.write_admission.text());
  }
}

}  // namespace

void check_simple(const ObjectReader& top, const Scenario& s) {
  if (!s.engine.simple_offload()) return;
  check_engine(*top.object("engine", ScenarioKeys::kEngine), s);
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  if (tiers.size() > 1) {
    tiers[1].fail("", "expected one tier below HBM with \"offload_connector\": \"simple\"");
  }
  if (s.tier) check_tier(tiers.front(), *s.tier);
}

/// Ranks share the bytes alike (simple_cpu_offload_connector.py); each has whole blocks, at least
/// one, and never uses the first (vllm/v1/simple_kv_offload/manager.py, _derive_cpu_config;
/// vllm/v1/core/block_pool.py).
std::uint64_t block_pool_blocks(const EngineConfig& engine, std::int64_t bytes) {
  const std::int64_t ranks = std::int64_t{engine.tensor_parallel} * engine.pipeline_parallel;
  const std::int64_t blocks = bytes / ranks / engine.block_bytes.count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, blocks) - 1);
}

}  // namespace spillway
