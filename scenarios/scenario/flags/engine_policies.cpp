#include "scenarios/scenario/flags/engine_policies.hpp"

#include <algorithm>
#include <string_view>

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

/// What the connectors of an engine family evict by (vllm/v1/kv_offload @ 02fcc613c6 and
/// simple_kv_offload @ #37160). A v0 engine swaps and evicts nothing below HBM.
struct ConnectorPolicies {
  bool simple;
  std::string_view policy;
};
constexpr ConnectorPolicies kTierPolicies[] = {{false, "lru"}, {false, "vllm-arc"}, {true, "lru"}};

/// vllm/v1/core/block_pool.py: one free queue in order of use.
constexpr std::string_view kHbmPolicy = "lru";

}  // namespace

bool has_hbm_eviction(std::string_view policy) {
  return policy == kHbmPolicy;
}

std::vector<std::string_view> tier_evictions(const Scenario& s) {
  std::vector<std::string_view> out;
  if (!s.tier || s.engine.family == EngineFamily::kVllmV0) return out;
  // Others of theirs are not policies of Spillway: FlexkvEviction, ChunkOrder.
  if (s.engine.is_flexkv() || s.engine.is_aibrix() || s.engine.is_mooncake()) return {"lru"};
  for (const ConnectorPolicies& one : kTierPolicies) {
    if (one.simple == s.engine.simple_offload()) out.push_back(one.policy);
  }
  return out;
}

bool has_tier_eviction(const Scenario& s, std::string_view policy) {
  if (s.engine.family == EngineFamily::kVllmV0) return true;
  const std::vector<std::string_view> has = tier_evictions(s);
  return std::find(has.begin(), has.end(), policy) != has.end();
}

bool some_engine_has(std::string_view policy) {
  // Without an engine "arc" stands for vLLM's as well.
  return has_hbm_eviction(policy) || policy == "arc" ||
         std::any_of(std::begin(kTierPolicies), std::end(kTierPolicies),
                     [&](const ConnectorPolicies& one) { return one.policy == policy; });
}

std::string engine_lacks(const Scenario& s) {
  std::string out;
  if (!has_hbm_eviction(s.hbm_eviction.name())) {
    out = std::string(s.hbm_eviction.name()) + " in HBM";
  }
  if (s.tier && !has_tier_eviction(s, s.tier->eviction.name())) {
    out += (out.empty() ? "" : ", ") + std::string(s.tier->eviction.name());
  }
  return out;
}

std::string engine_name(const Scenario& s) {
  const std::size_t at = s.preset.find('@');
  return at == std::string::npos ? "vLLM" : "vLLM " + s.preset.substr(at + 1);
}

}  // namespace spillway
