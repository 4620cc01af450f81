// Sizes are whole GiB over all ranks of one instance (taco-project/FlexKV, flexkv/common/config.py:
// UserConfig, convert_to_block_num(); docs/flexkv_config_reference/README_en.md,
// docs/eviction_policy/README_en.md, docs/vllm_adapter/README_en.md).
#include "scenarios/scenario/flags/flexkv_flags.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/releases/flexkv_config.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

void set(EngineFlags& out, std::string_view name, const std::string& value) {
  out.environment.push_back(fmt::format("FLEXKV_{}={}", name, value));
}

/// The whole GiB that hold the tier, and how many blocks FlexKV makes of them.
std::int64_t add_size(const Scenario& s, const Capacity& capacity, std::string_view name,
                      EngineFlags& out) {
  const std::int64_t block = s.tier_block_bytes().count();
  const std::int64_t bytes =
      capacity.kind == Capacity::Kind::kBytes ? capacity.count : capacity.count * block;
  const std::int64_t whole = (bytes + kGib - 1) / kGib;
  set(out, name, fmt::format("{}", whole));
  const std::string ranks =
      s.world() == 1 ? "" : fmt::format(", over all {} ranks of an instance", s.world());
  out.comments.push_back(fmt::format(
      "FLEXKV_{} is in whole GiB (2^30 bytes){}: {} bytes / 2^30 = {:.2f}, so {}; {} blocks of {} "
      "bytes",
      name, ranks, bytes, static_cast<double>(bytes) / kGib, whole, whole * kGib / block, block));
  return whole;
}

std::string share(std::int64_t part) {
  return fmt::format("{}", static_cast<double>(part) / FlexkvConfig::kWhole);
}

/// One policy for all tiers, and its settings; the source's own defaults vary, so all are told.
void add_eviction(const Scenario& s, EngineFlags& out) {
  const FlexkvConfig& c = s.engine.flexkv;
  const FlexkvEviction first = c.eviction.front();
  for (std::size_t i = 0; i < s.behind.size(); ++i) {
    if (c.eviction[1 + i] == first) continue;
    out.not_covered.push_back(
        fmt::format("eviction {} of tier {}: FlexKV has one policy for all tiers, that of {}",
                    kFlexkvEvictions[static_cast<std::size_t>(c.eviction[1 + i])], s.behind[i].name,
                    s.tier->name));
  }
  set(out, "EVICTION_POLICY", std::string(kFlexkvEvictions[static_cast<std::size_t>(first)]));
  set(out, "EVICT_START_THRESHOLD", share(c.start_threshold));
  set(out, "EVICT_RATIO", share(c.evict_ratio));
  const std::int64_t reward = c.hit_reward / std::chrono::seconds(1);
  if (reward > 0) set(out, "HIT_REWARD_SECONDS", fmt::format("{}", reward));
  if (first == FlexkvEviction::kSlru) {
    set(out, "SLRU_PROTECTED_THRESHOLD", fmt::format("{}", c.protected_hits));
  }
}

}  // namespace

void add_flexkv_flags(const Scenario& s, const Capacity& capacity, EngineFlags& out) {
  const std::int64_t host = add_size(s, capacity, "CPU_CACHE_GB", out);
  for (const TierChoice& tier : s.behind) {
    if (tier.kind() != "nvme") {
      out.not_covered.push_back(fmt::format(
          "tier {}: FlexKV's remote cache (enable_remote) is set in cache_config of its "
          "configuration file, not by a variable",
          tier.name));
      continue;
    }
    if (add_size(s, tier.capacity, "SSD_CACHE_GB", out) <= host) {
      out.not_covered.push_back(
          fmt::format("tier {} no larger than {}: FlexKV refuses an SSD cache that is not larger",
                      tier.name, s.tier->name));
    }
    set(out, "SSD_CACHE_DIR", "DIRECTORY_OF_" + tier.name);
    out.not_covered.push_back(fmt::format(
        "where tier {} lies: put its directory for DIRECTORY_OF_{}", tier.name, tier.name));
  }
  add_eviction(s, out);
  out.comments.emplace_back("FLEXKV_CONFIG_PATH must not be set: its file would take precedence");
  // Rule F1 of tests/oracle/AMBIGUITIES_FLEXKV.md: the simulated scheduler is the synchronous one.
  out.arguments.emplace_back("--no-async-scheduling");
  out.arguments.emplace_back(
      R"(--kv-transfer-config '{"kv_connector":"FlexKVConnectorV1","kv_role":"kv_both"}')");
}

}  // namespace spillway
