// TensorRT-LLM's arguments, its host memory as the tier below HBM, and how long requests want their
// KV to be kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "models/catalogue/model_spec.hpp"
#include "models/kv_geometry.hpp"
#include "reports/format.hpp"
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

/// tensorrt_llm/_torch/pyexecutor/_util.py, configure_kv_cache_capacity: what a step of
/// max_num_tokens leaves of the GPU. It is made of prompts as long as they may be, so few of them
/// are sampled (_create_dummy_context_requests).
/// Model: what the step itself and everything else need is vLLM's estimate
/// (models/kv_geometry.cpp); no pool of TensorRT-LLM was compared with it.
HbmBudget free_memory(const Scenario& s) {
  const EngineConfig& c = s.engine;
  const std::uint32_t longest = std::max(2U, c.trtllm.max_seq_len) - 1;
  const std::uint32_t tokens = c.max_num_batched_tokens;
  EngineMemory memory;
  memory.gpu_memory_utilization = 1;
  memory.max_num_batched_tokens = tokens;
  memory.max_num_seqs = ceil_div(tokens, std::min(tokens, longest));
  return memory_budget(s, memory);
}

/// Blocks of what free_gpu_memory_fraction leaves.
std::int64_t fraction_blocks(const ObjectReader& engine, Scenario& s) {
  constexpr double kDefaultFraction = 0.9;  // llm_args.py, KvCacheConfig
  const double fraction = engine.number("free_gpu_memory_fraction").value_or(kDefaultFraction);
  HbmBudget budget = free_memory(s);
  const Bytes free = std::max(Bytes(0), budget.kv);
  budget.kv = Bytes(static_cast<std::int64_t>(static_cast<double>(free.count()) * fraction));
  budget.requested = budget.visible - (free - budget.kv);
  const std::int64_t blocks = budget.kv / s.engine.block_bytes;
  const auto shown = [](Bytes bytes) { return format_bytes(static_cast<double>(bytes.count())); };
  if (blocks < 1) {
    engine.fail(
        "free_gpu_memory_fraction",
        fmt::format("no room for KV: weights ({}), activations ({}) and other ({}) leave {} of {}, "
                    "and {:g} of that holds no block of {}; expected a larger fraction, a larger "
                    "gpu, a smaller model or more tensor_parallel_size ({})",
                    shown(budget.weights), shown(budget.activations), shown(budget.other),
                    shown(free), s.gpu->name, fraction, shown(s.engine.block_bytes),
                    s.world() == 1 ? "one GPU" : fmt::format("each of {} ranks", s.world())));
  }
  s.budget = budget;
  s.gpu_memory_utilization = fraction;
  return blocks;
}

/// num_gpu_blocks: given, or the smaller of max_tokens and what free_gpu_memory_fraction leaves.
void read_pool(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  s.pool_where = engine.where("num_gpu_blocks");
  if (const auto given = engine.integer("num_gpu_blocks")) {
    engine.refuse({"free_gpu_memory_fraction", "max_tokens"},
                  "expected only without num_gpu_blocks, which decides the pool");
    c.num_gpu_blocks = static_cast<std::uint32_t>(*given);
    s.pool_given = true;
    return;
  }
  assign(c.trtllm.max_tokens, engine.integer("max_tokens"));
  const std::int64_t limit = c.trtllm.max_tokens / c.block_tokens;
  if (c.trtllm.max_tokens > 0) {
    s.pool_where = engine.where("max_tokens");
    if (limit < 1) {
      engine.fail("max_tokens", fmt::format("{} tokens hold no block of {}; expected one at least",
                                            c.trtllm.max_tokens, c.block_tokens));
    }
  }
  if (s.model->spec == nullptr || s.gpu == nullptr) {
    if (engine.has("free_gpu_memory_fraction") || c.trtllm.max_tokens == 0) {
      engine.missing("num_gpu_blocks",
                     "the KV blocks in HBM, which TensorRT-LLM logs when it starts, or a model and "
                     "a gpu to size them from");
    }
    c.num_gpu_blocks = static_cast<std::uint32_t>(limit);
    s.pool_given = true;
    return;
  }
  const std::int64_t blocks = fraction_blocks(engine, s);
  if (c.trtllm.max_tokens > 0 && limit <= blocks) {
    c.num_gpu_blocks = static_cast<std::uint32_t>(limit);
    return;
  }
  take_estimate(engine, blocks, s);
  s.pool_where = engine.where("free_gpu_memory_fraction");
  const std::int64_t tokens = blocks * c.block_tokens;
  s.notes.push_back(
      scenario_note("pool-of-free-memory", {{"blocks", blocks},
                                            {"tokens", tokens},
                                            {"fraction_share", s.gpu_memory_utilization},
                                            {"gpu", s.gpu->name}}));
  if (c.trtllm.max_tokens > 0) {
    s.notes.push_back(scenario_note("max-tokens-unused",
                                    {{"max_tokens", c.trtllm.max_tokens}, {"tokens", tokens}}));
  }
}

/// What the manager V2 has, and what it does not.
void read_manager(const ObjectReader& engine, TrtllmConfig& t) {
  if (engine.text("kv_cache_manager") == kTrtllmManagerNames[1]) t.manager = TrtllmManager::kV2;
  const auto share = engine.number("max_util_for_resume");
  const auto ahead = engine.integer("disk_prefetch_num_reqs");
  if (!t.v2()) {
    return engine.refuse({"max_util_for_resume", "disk_prefetch_num_reqs"},
                         "expected only with \"kv_cache_manager\": \"v2\"");
  }
  if (share) t.resume_ppm = static_cast<std::uint32_t>(std::llround(*share * 1e6));
  if (ahead.value_or(0) > 0) {
    engine.fail("disk_prefetch_num_reqs",
                "reading ahead from the disk is not modelled; expected 0");
  }
  engine.refuse({"copy_on_partial_reuse", "secondary_offload_min_priority", "claim_before_onboard"},
                "expected only with \"kv_cache_manager\": \"v1\": V2 has no such setting");
  if (t.capacity == CapacityPolicy::kGuaranteedNoEvict && engine.has("capacity_scheduler_policy")) {
    engine.fail("capacity_scheduler_policy",
                "expected MAX_UTILIZATION, the only policy of the KV cache manager V2");
  }
  t.capacity = CapacityPolicy::kMaxUtilization;
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
  read_manager(engine, t);
  if (s.model->spec != nullptr) {
    t.max_seq_len = static_cast<std::uint32_t>(s.model->spec->max_position);
  }
  assign(t.max_seq_len, engine.integer("max_model_len"));

  const Bytes rank_bytes =
      rank_kv_bytes(s.model->kv_bytes_per_token, s.model->spec, s.model->layers, s.shards());
  c.block_bytes = rank_bytes * c.block_tokens;
  s.hbm_eviction = parse_eviction("lru", engine.where("preset"));
  read_pool(engine, s);
}

namespace {

/// Of a level, whose slots are there from the start.
void read_slots(const ObjectReader& tier, Scenario& s, TierChoice& out) {
  const std::string capacity = tier.require_text("capacity", ObjectReader::kSize);
  out.capacity = instance_capacity(s, out, parse_capacity(capacity, out.where));
  constexpr std::uint64_t kMostBlocks = 1 << 28;
  if (out.capacity.kind == Capacity::Kind::kUnbounded ||
      checked_tier_blocks(s, out.capacity, capacity, out.where) > kMostBlocks) {
    tier.fail("capacity",
              fmt::format("expected at most {} blocks: TensorRT-LLM {} as it starts, "
                          "found {}",
                          kMostBlocks, out.storage ? "makes its files" : "pins its host memory",
                          capacity));
  }
  if (s.engine.trtllm.v2() && s.tier_blocks(out.capacity) == 0) {
    tier.fail("capacity",
              "expected room for a block: the KV cache manager V2 suspends requests "
              "to it");
  }
}

/// The disk of the manager V2, behind host memory.
void read_disk(const ObjectReader& tier, Scenario& s) {
  TierChoice out;
  out.name = tier_name(tier);
  refuse_taken_name(tier, out, s);
  if (const std::string kind = tier.require_text("kind"); kind != "nvme") {
    tier.fail("kind",
              fmt::format("expected nvme, the disk of the KV cache manager V2, found {}", kind));
  }
  constexpr std::string_view kRules = "TensorRT-LLM has rules of its own";
  refuse_attached_tier_keys(
      tier,
      fmt::format("expected links from {} to {} and back, which say how fast the disk is",
                  s.tier->name, out.name),
      kRules, "each engine has files of its own");
  tier.refuse({"eviction"}, kRules);
  out.per_rank = tier.text("scope").value_or("instance") == "rank";
  out.where = tier.where("capacity");
  out.by_links = true;
  out.storage.emplace();
  out.storage->spec = default_storage(StorageKind::kNvme);
  read_slots(tier, s, out);
  s.behind.push_back(std::move(out));
}

}  // namespace

bool read_trtllm_tier(const ObjectReader& top, Scenario& s) {
  if (s.engine.family != EngineFamily::kTrtllm) return false;
  const bool v2 = s.engine.trtllm.v2();
  HostMemoryWords words{
      "TensorRT-LLM's KV cache manager V1 has no tier behind host memory; expected one tier of "
      "kind dram, or \"kv_cache_manager\": \"v2\"",
      "expected dram, TensorRT-LLM's host memory, found {}",
      "TensorRT-LLM has rules of its own: retention of the workload, "
      "engine.secondary_offload_min_priority"};
  if (v2) {
    words.one_tier = "expected at most two tiers, of kinds dram and nvme";
    words.most_tiers = 2;
  }
  std::optional<TierChoice> host = begin_host_memory(top, words);
  if (!host) {
    if (v2) {
      top.missing("tiers",
                  "a tier of kind dram, to which the KV cache manager V2 suspends "
                  "requests");
    }
    return true;
  }
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  TierChoice& out = *host;
  if (v2 && !tiers[0].has("capacity")) {
    // As much as the GPU's (kv_cache_manager_v2.py, _compute_auto_host_tier_quota).
    out.capacity = {Capacity::Kind::kBlocks, s.engine.num_gpu_blocks};
  } else {
    read_slots(tiers[0], s, out);
  }
  s.tier = std::move(out);
  if (tiers.size() > 1) read_disk(tiers[1], s);
  return true;
}

void read_retention(const ObjectReader& workload, Scenario& s) {
  if (s.engine.family != EngineFamily::kTrtllm) {
    return workload.refuse({kRetentionKey, kDecodeRetentionKey},
                           "expected only with preset trtllm: no other engine asks for it");
  }
  if (s.engine.trtllm.v2()) {
    return workload.refuse({kRetentionKey, kDecodeRetentionKey},
                           "expected only with \"kv_cache_manager\": \"v1\": V2 does not pass it "
                           "on");
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
