// Sizes are in GiB of each rank; the rest are names of python/aibrix_kvcache/aibrix_kvcache/envs.py
// (vllm-project/aibrix, 2026). Host memory of a pod: ranks x (capacity + 20 GiB), after issue 1154.
#include "scenarios/scenario/flags/aibrix_flags.hpp"

#include <fmt/format.h>

#include <string>

#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr int kPodExtraGib = 20;

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& letter : out) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return out;
}

std::string gib_text(double gib) {
  std::string out = fmt::format("{:.6f}", gib);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

void set_variable(EngineFlags& out, std::string_view name, std::string_view value) {
  out.environment.push_back(fmt::format("AIBRIX_KV_CACHE_OL_{}={}", name, value));
}

void add_l1(const Scenario& s, std::int64_t bytes, EngineFlags& out) {
  const std::string gib = gib_text(static_cast<double>(bytes) / s.world() / kGib);
  set_variable(out, "L1_CACHE_CAPACITY_GB", gib);
  out.comments.push_back(
      fmt::format("AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB is in GiB (2^30), of each rank: {} "
                  "bytes / {} ranks = {}",
                  bytes, s.world(), gib));
  out.comments.push_back(fmt::format(
      "memory of the pod: about {} ranks x ({} + {} GiB) = {} GiB", s.world(), gib, kPodExtraGib,
      gib_text(static_cast<double>(bytes) / kGib + static_cast<double>(kPodExtraGib * s.world()))));
}

void add_l2(const TierChoice& tier, const AibrixConfig& c, EngineFlags& out) {
  set_variable(out, "L2_CACHE_BACKEND", "BACKEND_OF_" + tier.name);
  out.not_covered.push_back(
      fmt::format("what tier {} is: put its backend for BACKEND_OF_{}, for instance INFINISTORE",
                  tier.name, tier.name));
  out.not_covered.push_back(
      fmt::format("the size and the eviction of tier {}: its own", tier.name));
  set_variable(out, "L2_CACHE_INGESTION_TYPE",
               upper(kIngestions[static_cast<std::size_t>(c.ingestion)]));
  set_variable(out, "L2_CACHE_INGESTION_MAX_INFLIGHT_TOKENS",
               fmt::to_string(c.max_inflight_tokens));
  set_variable(out, "L2_CACHE_PER_TOKEN_TIMEOUT_MS",
               fmt::to_string(to_double(c.per_token_timeout_ms)));
  if (static_cast<double>(floor_scaled(c.per_token_timeout_ms, 0)) !=
      to_double(c.per_token_timeout_ms)) {
    out.not_covered.emplace_back("per_token_timeout_ms: AIBrix takes whole milliseconds");
  }
  set_variable(out, "DOUBLE_GET_THRESHOLD",
               fmt::format("{},{}", c.double_get_blocks, to_double(c.double_get_ratio)));
}

}  // namespace

void add_aibrix_flags(const Scenario& s, std::int64_t bytes, EngineFlags& out) {
  const AibrixConfig& c = s.engine.aibrix;
  const AibrixConfig usual;
  add_l1(s, bytes, out);
  set_variable(out, "L1_CACHE_EVICTION_POLICY",
               upper(kChunkOrders[static_cast<std::size_t>(s.tier->order)]));
  if (s.tier->order == ChunkOrder::kS3Fifo) {
    set_variable(out, "S3FIFO_SMALL_FIFO_CAPACITY_RATIO",
                 fmt::to_string(to_double(c.small_fifo_ratio)));
    set_variable(out, "S3FIFO_SMALL_TO_MAIN_PROMO_THRESHOLD", fmt::to_string(c.promo_threshold));
  }
  set_variable(out, "CHUNK_SIZE", fmt::to_string(c.chunk_tokens));
  if (c.skip_blocks != usual.skip_blocks) {
    out.not_covered.push_back(fmt::format(
        "skip_blocks: the connector has {}, and no variable for it", usual.skip_blocks));
  }
  if (!s.behind.empty()) add_l2(s.behind.front(), c, out);
  out.arguments.emplace_back(
      R"(--kv-transfer-config '{"kv_connector":"AIBrixOffloadingConnectorV1Type1",)"
      R"("kv_role":"kv_both"}')");
}

}  // namespace spillway
