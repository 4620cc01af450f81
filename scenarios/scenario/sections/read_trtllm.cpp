// TensorRT-LLM's arguments, its host memory as the tier below HBM, and how long requests want their
// KV to be kept.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "models/catalogue/model_spec.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/config/settings.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

void read_block_reuse(const ObjectReader& engine, TrtllmConfig& t) {
  t.block_reuse = engine.boolean("enable_block_reuse").value_or(t.block_reuse);
  t.partial_reuse = engine.boolean("enable_partial_reuse").value_or(t.partial_reuse);
  t.copy_on_partial_reuse =
      engine.boolean("copy_on_partial_reuse").value_or(t.copy_on_partial_reuse);
  assign(t.offload_min_priority, engine.integer("secondary_offload_min_priority"));
  t.claim_before_onboard = engine.boolean("claim_before_onboard").value_or(t.claim_before_onboard);
}

/// An array of numbers and nulls.
std::vector<std::optional<double>> retention_numbers(const ObjectReader& workload,
                                                     std::string_view key,
                                                     const nlohmann::json& value,
                                                     std::string_view expected) {
  std::vector<std::optional<double>> out;
  bool good = value.is_array();
  for (const nlohmann::json& number : good ? value : nlohmann::json::array()) {
    const bool none = number.is_null() || number == kUnlimited;
    good = good && (none || number.is_number());
    if (!good) break;
    none ? out.emplace_back() : out.emplace_back(number.get<double>());
  }
  if (!good) workload.fail(key, fmt::format("expected {}, found {}", expected, value.dump()));
  return out;
}

}  // namespace

void read_trtllm(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  TrtllmConfig& t = c.trtllm;
  assign(c.block_tokens, engine.integer("block_tokens"));
  assign(c.max_num_seqs, engine.integer("max_num_seqs"));
  assign(c.max_num_batched_tokens, engine.integer("max_num_batched_tokens"));
  c.chunked_prefill = engine.boolean("enable_chunked_prefill").value_or(false);
  if (engine.boolean("async_scheduling").value_or(false)) {
    engine.fail("async_scheduling",
                "the overlap scheduler of TensorRT-LLM is not modelled; expected false");
  }
  if (engine.has("load") && engine.text("load") != "barrier") {
    engine.fail("load", "expected barrier: steps of TensorRT-LLM wait for all of their copies");
  }
  c.load = LoadSemantics::kBarrier;
  const auto policy = engine.text("capacity_scheduler_policy");
  if (policy == kCapacityPolicyNames[1]) t.capacity = CapacityPolicy::kMaxUtilization;
  read_block_reuse(engine, t);
  if (s.model->spec != nullptr) {
    t.max_seq_len = static_cast<std::uint32_t>(s.model->spec->max_position);
  }
  assign(t.max_seq_len, engine.integer("max_model_len"));

  const Bytes rank_bytes =
      rank_kv_bytes(s.model->kv_bytes_per_token, s.model->spec, s.model->layers, s.shards());
  c.block_bytes = rank_bytes * c.block_tokens;
  s.hbm_eviction = parse_eviction("lru", engine.where("preset"));
  s.pool_where = engine.where("num_gpu_blocks");
  s.pool_given = true;
  const auto blocks = engine.integer("num_gpu_blocks");
  if (!blocks) {
    engine.missing("num_gpu_blocks",
                   "the KV blocks in HBM, which TensorRT-LLM logs when it starts");
  }
  c.num_gpu_blocks = static_cast<std::uint32_t>(*blocks);
}

bool read_trtllm_tier(const ObjectReader& top, Scenario& s) {
  if (s.engine.family != EngineFamily::kTrtllm) return false;
  constexpr HostMemoryWords kWords{
      "TensorRT-LLM's KV cache manager V1 has no tier behind host memory; expected one tier of "
      "kind "
      "dram",
      "expected dram, TensorRT-LLM's host memory, found {}",
      "TensorRT-LLM has rules of its own: retention of the workload, "
      "engine.secondary_offload_min_priority"};
  std::optional<TierChoice> host = begin_host_memory(top, kWords);
  if (!host) return true;
  TierChoice& out = *host;
  const ObjectReader tier = top.objects("tiers", ScenarioKeys::kTier).front();
  const std::string capacity = tier.require_text("capacity", ObjectReader::kSize);
  out.capacity = instance_capacity(s, out, parse_capacity(capacity, out.where));
  constexpr std::uint64_t kMostHostBlocks = 1 << 28;
  if (out.capacity.kind == Capacity::Kind::kUnbounded ||
      checked_tier_blocks(s, out.capacity, capacity, out.where) > kMostHostBlocks) {
    tier.fail("capacity", fmt::format("expected at most {} blocks: TensorRT-LLM pins its host "
                                      "memory as it starts, found {}",
                                      kMostHostBlocks, capacity));
  }
  s.tier = std::move(out);
  return true;
}

void read_retention(const ObjectReader& workload, Scenario& s) {
  if (s.engine.family != EngineFamily::kTrtllm) {
    return workload.refuse({kRetentionKey, kDecodeRetentionKey},
                           "expected only with preset trtllm: no other engine asks for it");
  }
  KvRetention& out = s.engine.trtllm.retention;
  std::string expected;
  if (workload.has(kRetentionKey)) {
    const nlohmann::json& rows = workload.value(kRetentionKey);
    const auto refuse = [&](const nlohmann::json& found) {
      workload.fail(kRetentionKey, fmt::format("expected {}, found {}", expected, found.dump()));
    };
    expected = kRetentionRows;
    if (!rows.is_array()) refuse(rows);
    std::vector<RetentionRange>& ranges = out.prompt.emplace();
    for (const nlohmann::json& row : rows) {
      const auto range = retention_range(
          retention_numbers(workload, kRetentionKey, row, kRetentionRows), expected);
      if (!range) refuse(row);
      ranges.push_back(*range);
    }
    if (overlap(ranges)) workload.fail(kRetentionKey, "expected ranges that do not overlap");
  }
  if (workload.has(kDecodeRetentionKey)) {
    const nlohmann::json& row = workload.value(kDecodeRetentionKey);
    out.decode = retention_rule(
        retention_numbers(workload, kDecodeRetentionKey, row, kRetentionRow), expected);
    if (!out.decode) {
      workload.fail(kDecodeRetentionKey,
                    fmt::format("expected {}, found {}", expected, row.dump()));
    }
  }
}

}  // namespace spillway
