#include "scenarios/scenario/sections/scenario_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/catalogue/gpu_spec.hpp"
#include "models/compute/copy_interference.hpp"
#include "models/engine/connectors/level_rules.hpp"
#include "models/engine/stores/grouped_blocks.hpp"
#include "models/releases/presets.hpp"
#include "reports/format.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/measured/measured_facts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

// Limits of the engine's counters: far beyond any GPU, and what keeps byte counts within 63 bits.
constexpr std::int64_t kMostGpuBlocks = 1 << 28;
constexpr double kMostHostUs = 10e6;
constexpr std::string_view kKvLayouts[] = {"contiguous", "per_layer"};
constexpr std::string_view kSchedulingPolicies[] = {"fcfs", "priority"};
constexpr std::string_view kLoads[] = {"async", "blocking", "barrier", "layerwise"};
constexpr std::string_view kLoadChoices[] = {"always_load", "break_even"};
constexpr std::string_view kLoadFailures[] = {"fail", "recompute"};
constexpr auto kRuleSetNames = rule_set_names();
constexpr std::string_view kResidencies[] = {"full", "streaming"};
constexpr std::string_view kPreemptionModes[] = {"recompute", "swap"};

constexpr Key kEngineKeys[] = {
    aside(text_key("preset", "Release of the engine: vllm is the newest, vllm@0.23 a given one.",
                   "vllm")),
    integer_key("block_tokens", 1, 65536, "Tokens of a KV block.", "16, or as measured"),
    integer_key("num_gpu_blocks", 2, kMostGpuBlocks,
                "KV blocks in HBM, with the null block, as vLLM counts them.",
                "sized from model and gpu"),
    number_key("gpu_memory_utilization", 0.01, 1.0,
               "Share of the GPU memory that the engine takes.", "as the release does"),
    size_key("kv_cache_memory", "Memory of each GPU that holds KV, whatever the share above.",
             "sized from model and gpu"),
    size_key("cuda_graph_memory", "Memory that captured CUDA graphs take.", "0GiB"),
    integer_key("max_num_seqs", 1, 1 << 20, "Most sequences in a step.",
                "as the release does for the gpu"),
    integer_key("max_num_batched_tokens", 1, 1 << 24, "Most tokens in a step.",
                "as the release does for the gpu"),
    integer_key("max_model_len", 1, 1 << 26, "Longest prompt and answer together.",
                "the limit of the model"),
    integer_key("long_prefill_token_threshold", 0, 1 << 24,
                "Most tokens of a long prompt in a step. 0: no limit.", "0"),
    number_key("watermark", 0, 0.99, "Share of the blocks that admission keeps free.",
               "as the release does"),
    aside(text_key("eviction", "Eviction policy of HBM: spillway list policies.", "lru")),
    choice_key("kv_layout", kKvLayouts,
               "Whether a block is one piece of memory or one for each layer.",
               "contiguous, or per_layer with hybrid_kv_cache"),
    flag_key("enable_prefix_caching", "Whether prompts share the KV of common prefixes.",
             "as the release does"),
    flag_key("enable_chunked_prefill", "Whether a long prompt is computed in several steps.",
             "as the release does"),
    flag_key("async_scheduling", "Whether the engine schedules a step while the one before runs.",
             "as the release does"),
    flag_key("hybrid_kv_cache", "Whether sliding-window layers keep their window only."),
    choice_key("scheduling_policy", kSchedulingPolicies,
               "fcfs: by arrival. priority: by workload.classes[].priority first.", "fcfs"),
    integer_key("max_num_scheduled_tokens", 1, 1 << 24, "Most tokens that a step schedules.",
                "max_num_batched_tokens"),
    flag_key("defer_block_free",
             "Whether blocks of a preempted request become free when the step in flight ends.",
             "as the release does"),
    flag_key("unhashed_front", "Whether blocks without a hash are reused first.",
             "as the release does"),
    flag_key("reserve_full_isl", "Whether admission reserves blocks for the whole prompt.",
             "as the release does"),
    flag_key("async_load_reservation",
             "Whether requests that wait for a load reserve their blocks.", "as the release does"),
    flag_key("convoy", "Whether a request that cannot be admitted holds back those after it.",
             "as the release does"),
    choice_key("load", kLoads,
               "Who waits for a load from below: request, batch, next step, or layer.", "async"),
    choice_key("load_or_recompute", kLoadChoices,
               "break_even: compute a prefix again where that is faster.", "always_load"),
    choice_key("tier_rules", kRuleSetNames,
               "Rules of secondary tiers that do not say otherwise: those of vLLM, or each tier "
               "takes what the one before gives up.",
               "vllm"),
    choice_key("offload_connector", kConnectorNames, "Connector of vLLM for the tiers below HBM.",
               "native"),
    object_key("lmcache", ScenarioKeys::kLmcache, "Settings of LMCache in process."),
    object_key("lmcache_mp", ScenarioKeys::kLmcacheMp, "Settings of LMCache multi-process."),
    object_key("llmd", ScenarioKeys::kLlmd, "Settings of llm-d's FS backend."),
    object_key("kvbm", ScenarioKeys::kKvbm, "Settings of Dynamo KVBM."),
    object_key("flexkv", ScenarioKeys::kFlexkv, "Settings of FlexKV."),
    object_key("aibrix", ScenarioKeys::kAibrix, "Settings of AIBrix KVCache."),
    choice_key("kv_load_failure_policy", kLoadFailures,
               "lmcache, mooncake: whether a request whose load fails ends, or computes again.",
               "fail"),
    flag_key("lazy_offload", "simple connector: store only what HBM is about to evict."),
    flag_key("offload_prompt_only", "Whether only prompts are stored below HBM.",
             "as the release does"),
    flag_key("prompt_only_default", "Another name of offload_prompt_only.", "as the release does"),
    flag_key("store_defer_next_step", "Whether stores begin with the next step.",
             "as the release does"),
    integer_key("blocks_per_chunk", 1, kMostBlocksPerChunk,
                "HBM blocks that the tier below keeps and moves as one.",
                "1, or as offload_block_tokens says"),
    integer_key("offload_block_tokens", 1, kMostBlocksPerChunk * 65536,
                "blocks_per_chunk in tokens: a multiple of block_tokens."),
    integer_key("store_threshold", 0, kMostThreshold,
                "Times that a chunk is seen before it is stored. Below 2: at once.", "0"),
    flag_key("threshold_counts_offers",
             "Whether offers to store count towards store_threshold, not look-ups.",
             "as the release does"),
    integer_key("max_tracker_size", 1, kMostTracked, "Chunks whose sightings are remembered.",
                "64000"),
    integer_key("max_offload_tokens", 0, kMostTokens,
                "Leading tokens of a request that may be stored below HBM.", "all"),
    flag_key("small_page_kernel", "Whether loads of pages below 28 KiB are copied by 12 SMs.",
             "as the release does"),
    flag_key("mla_single_copy",
             "Whether tensor-parallel ranks of an MLA model share one copy below HBM.",
             "as the release does"),
    object_key("interference", ScenarioKeys::kInterference,
               "Copies take HBM bandwidth from memory-bound steps.", "they do not"),
    object_key("connector_costs", ScenarioKeys::kConnectorCosts,
               "What the connector itself costs the engine, where there is a tier below HBM.",
               "nothing"),
    choice_key("residency", kResidencies,
               "full: a running request has all its blocks in HBM. streaming: it reads them.",
               "full"),
    object_key("cold", ScenarioKeys::kCold, "streaming: how a step reads blocks from below HBM."),
    integer_key("token_budget", 1, 1 << 26, "streaming: tokens whose KV a sequence keeps."),
    size_key("swap_space", "vllm@0.6: host memory for swapping, for each GPU.",
             "4GiB with vllm@0.6"),
    choice_key("preemption_mode", kPreemptionModes,
               "vllm@0.6: whether a preempted request is swapped out or computed again.",
               "recompute"),
    integer_key("page_size", 1, 512, "sglang: tokens of a page, a power of two.", "1"),
    integer_key("max_total_tokens", 1, kMostTokens, "sglang: tokens of the device pool.",
                "sized by mem_fraction_static"),
    number_key("mem_fraction_static", 0.01, 1,
               "sglang: share of the GPU memory for weights and KV.",
               "as SGLang chooses it by GPU, chunks and graphs"),
    integer_key("max_running_requests", 1, 1 << 20, "sglang: most requests that run.", "2048"),
    integer_key("chunked_prefill_size", -1, 1 << 24,
                "sglang: tokens of a prompt that a batch computes. At most 0: all of them.",
                "8192"),
    integer_key("max_prefill_tokens", 1, 1 << 24,
                "sglang: tokens of prompts after which a batch takes no more.", "16384"),
    choice_key("schedule_policy", kQueuePolicyNames,
               "sglang: which prompts go first. fcfs: by arrival. lpm: longest cached prefix. "
               "dfs-weight: where most wait for one prefix. lof: longest answer.",
               "fcfs"),
    choice_key("radix_eviction_policy", kRadixEvictionNames,
               "sglang: which part of the radix cache leaves first, on the device and in host "
               "memory.",
               "lru"),
    flag_key("enable_mixed_chunk",
             "sglang: whether decodes join a batch of prompts that are computed in chunks.",
             "false"),
    number_key("schedule_conservativeness", 0, 1000,
               "sglang: above 1, fewer requests are admitted and fewer retracted.", "1"),
    integer_key("max_new_tokens", 1, 1 << 26,
                "sglang: tokens that requests ask for, by which it admits them.",
                "what they generate"),
    choice_key("hicache_write_policy", kHicacheWriteNames,
               "sglang: when KV is copied to host memory.", "write_through"),
    number_key("hicache_ratio", 0.001, 1000,
               "sglang: tokens of host memory for each of the device, where the tier has no "
               "capacity.",
               "2"),
    choice_key("hicache_storage_prefetch_policy", kPrefetchStopNames,
               "sglang: when reading ahead from storage stops for a waiting request.", "timeout"),
    integer_key("prefetch_threshold", 1, 1 << 26,
                "sglang: tokens; less than this is not read ahead.", "256"),
    number_key("prefetch_timeout_base", 0, 1e6,
               "sglang: seconds that reading ahead may take, whatever its size.", "2"),
    number_key("prefetch_timeout_per_ki_token", 0, 1e6,
               "sglang: seconds more for each 1,024 tokens.", "0.1"),
    number_key("prefetch_timeout_max", 0, 1e6, "sglang: seconds that it may take at most.", "30"),
    number_key("free_gpu_memory_fraction", 0.001, 0.999,
               "trtllm: share of the GPU memory that weights and work leave, for KV, where "
               "num_gpu_blocks is not given.",
               "0.9"),
    integer_key("max_tokens", 1, kMostTokens,
                "trtllm: most tokens of the pool, where num_gpu_blocks is not given. The smaller "
                "of this and free_gpu_memory_fraction counts."),
    choice_key("capacity_scheduler_policy", kCapacityPolicyNames,
               "trtllm: whether a request is admitted with all memory that it will need, or with "
               "that of its next step. With v2 only the latter.",
               "GUARANTEED_NO_EVICT"),
    flag_key("enable_block_reuse", "trtllm: whether blocks are kept for later requests.", "true"),
    flag_key("enable_partial_reuse", "trtllm: whether a part of a block is used again.", "true"),
    flag_key("copy_on_partial_reuse",
             "trtllm: whether that part is copied where its block is in use.", "true"),
    integer_key("secondary_offload_min_priority", 0, kMostRetention,
                "trtllm: blocks evicted with a lower priority do not go to host memory.", "30"),
    flag_key("claim_before_onboard",
             "trtllm: whether all blocks that were found are claimed before the first is loaded.",
             "true"),
    choice_key("kv_cache_manager", kTrtllmManagerNames,
               "trtllm: v1, or v2, which suspends requests where v1 pauses them, and may have a "
               "disk.",
               "v1"),
    number_key("max_util_for_resume", 1e-6, 1,
               "trtllm with v2: share of the pool that may be locked when a request begins, or "
               "goes on after it was suspended.",
               "0.95"),
    integer_key("disk_prefetch_num_reqs", 0, 1 << 20,
                "trtllm with v2: requests whose blocks are read ahead. Only 0 is modelled.", "0"),
    integer_key("tensor_parallel_size", 1, kMostRanks,
                "Ranks that share every layer. Pool sizes are of one rank.", "1"),
    integer_key("pipeline_parallel_size", 1, kMostRanks,
                "Stages that share the layers, with as many batches in flight.", "1"),
    integer_key("data_parallel_size", 1, kMostEngines,
                "Engines like this one, each with a pool, a tier and links of its own.", "1"),
    flag_key("enable_expert_parallel",
             "Whether each rank holds some whole experts, not a part of every expert."),
    flag_key("enforce_eager", "Whether no step replays a captured CUDA graph."),
    integer_key("max_cudagraph_capture_size", 0, 1 << 16,
                "Tokens of the largest batch that replays a graph.", "min(2 x max_num_seqs, 512)")};
constexpr Key kConnectorCostsKeys[] = {
    number_key("step_us", 0, kMostHostUs, "Time of the host in each step.", "0"),
    number_key("lookup_us", 0, kMostHostUs, "Time of the host for each look-up of a request.", "0"),
    number_key("job_us", 0, kMostHostUs, "Time of the host for each load and store.", "0"),
    number_key("copy_us", 0, kMostHostUs, "Time of the host for each copy that these consist of.",
               "0"),
    number_key("step_factor", 1, 10, "Steps compute so many times as long.", "1"),
    size_key("hbm", "KV pool of each GPU that the connector takes.", "0B")};
constexpr Key kInterferenceKeys[] = {
    rate_key("hbm_bandwidth", "HBM bandwidth that copies and steps share.",
             "the bandwidth of the gpu"),
    number_key("factor", 1, 10, "Measured slowdown beyond that share.", "1")};
constexpr Bytes kMostBlockBytes = 4_GiB;

// --------------------------------------------------------------------------

/// kv_cache_memory as blocks. vllm/v1/worker/gpu_worker.py takes --kv-cache-memory-bytes for what
/// its profiling would have left, and fails later where the GPU has not as much.
std::uint32_t blocks_of_memory(const ObjectReader& engine, const std::string& size,
                               const Scenario& s) {
  constexpr std::string_view kName = "kv_cache_memory";
  engine.refuse({"num_gpu_blocks", "gpu_memory_utilization"},
                "expected only without kv_cache_memory, which decides the pool");
  if (s.engine.family == EngineFamily::kVllmV0) {
    engine.fail(kName, "v0 has no such flag; expected num_gpu_blocks");
  }
  const Bytes memory = parse_bytes(size, engine.where(kName));
  if (s.budget) {
    const Bytes room = s.budget->kv + s.budget->visible - s.budget->requested;
    if (memory > room) {
      engine.fail(kName,
                  fmt::format("expected at most {}, which the weights and work of {} leave of {}; "
                              "found {}",
                              format_bytes(std::max(0.0, static_cast<double>(room.count()))),
                              s.model->spec->name, s.gpu->name, size));
    }
  }
  const std::int64_t blocks = memory / s.engine.block_bytes;
  if (blocks < 2 || blocks > kMostGpuBlocks) {
    engine.fail(kName, fmt::format("{} holds {} blocks of {}; expected 2 to {}", size, blocks,
                                   format_bytes(static_cast<double>(s.engine.block_bytes.count())),
                                   kMostGpuBlocks));
  }
  return static_cast<std::uint32_t>(blocks);
}

/// num_gpu_blocks: given, or as memory, or measured, or what model, GPU and utilisation leave.
void size_pool(const ObjectReader& engine, const EnginePreset& preset, Scenario& s) {
  const auto utilization = engine.number("gpu_memory_utilization");
  s.gpu_memory_utilization = utilization.value_or(preset.gpu_memory_utilization);
  Bytes cuda_graphs{0};
  if (const auto graphs = engine.text("cuda_graph_memory", ObjectReader::kSize)) {
    cuda_graphs = parse_bytes(*graphs, engine.where("cuda_graph_memory"));
  }
  if (s.model->spec != nullptr && s.gpu != nullptr) {
    EngineMemory memory;
    memory.gpu_memory_utilization = s.gpu_memory_utilization;
    memory.max_num_batched_tokens = s.engine.max_num_batched_tokens;
    memory.max_num_seqs = s.engine.max_num_seqs;
    memory.cuda_graphs = cuda_graphs;
    s.budget = memory_budget(s, memory);
  }
  const std::int64_t estimate = s.budget ? s.budget->kv / s.engine.block_bytes : 0;
  if (const auto size = engine.text("kv_cache_memory", ObjectReader::kSize)) {
    s.engine.num_gpu_blocks = blocks_of_memory(engine, *size, s);
    s.pool_given = true;
    return;
  }
  if (const auto given = engine.integer("num_gpu_blocks")) {
    s.engine.num_gpu_blocks = static_cast<std::uint32_t>(*given);
    s.pool_given = true;
    return;
  }
  if (const auto measured = measured_blocks(s)) {
    s.engine.num_gpu_blocks = *measured;
    return;
  }
  if (!s.budget) {
    engine.missing("num_gpu_blocks", "a number of blocks, or a model and a gpu to size it from");
  }
  if (estimate < 2) {
    engine.fail(
        "gpu_memory_utilization",
        fmt::format("no room for KV: {} of {} go to the weights of {} ({}), activations ({}), CUDA "
                    "graphs ({}) and other ({}); expected a smaller model, a larger gpu or more "
                    "utilization, or more tensor_parallel_size ({})",
                    format_bytes(static_cast<double>(s.budget->requested.count())), s.gpu->name,
                    s.model->spec->name,
                    format_bytes(static_cast<double>(s.budget->weights.count())),
                    format_bytes(static_cast<double>(s.budget->activations.count())),
                    format_bytes(static_cast<double>(s.budget->cuda_graphs.count())),
                    format_bytes(static_cast<double>(s.budget->other.count())),
                    s.world() == 1 ? "one GPU" : fmt::format("each of {} ranks", s.world())));
  }
  take_estimate(engine, estimate, s);
}

/// vLLM refuses to start when one request of max_model_len does not fit the memory it finds. A
/// limit that the scenario gives is held to that; the model's own is lowered to what fits, with a
/// note. Beside a pool given in blocks a given limit stays: longer requests are rejected as they
/// arrive.
void fit_max_model_len(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  if (c.max_model_len == 0) return;
  const std::int64_t usable = c.usable_blocks();
  const auto pages = [&](std::uint32_t tokens) {
    return static_cast<std::int64_t>(startup_pages(c, tokens));
  };
  const std::int64_t needed = pages(c.max_model_len);
  if (needed <= usable) return;
  if (engine.has("max_model_len") && engine.has("num_gpu_blocks")) return;
  if (engine.has("max_model_len")) {
    engine.fail(
        "max_model_len",
        fmt::format("{} tokens need {} blocks, but the pool has {} ({} less the null block); "
                    "lower max_model_len or give the pool more",
                    c.max_model_len, needed, usable, c.num_gpu_blocks));
  }
  std::uint32_t fitting = 0;  // the largest that fits; pages grow with the length
  for (std::uint32_t bit = std::uint32_t{1} << 26; bit > 0; bit >>= 1) {
    if (pages(fitting | bit) <= usable) fitting |= bit;
  }
  if (fitting == 0) {
    engine.fail("num_gpu_blocks", fmt::format("{} blocks beside the null block do not hold one "
                                              "token; expected at least {}",
                                              usable, pages(1)));
  }
  s.notes.push_back(scenario_note("max-model-len-lowered",
                                  {{"model_tokens", c.max_model_len}, {"tokens", fitting}}));
  c.max_model_len = fitting;
}

/// hybrid_kv_cache: sliding layers keep their window only. Where the model has such layers, a block
/// is then a page of one group of layers. After the bytes of a block over all layers.
void read_groups(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  c.hybrid_kv_cache = engine.boolean("hybrid_kv_cache").value_or(c.hybrid_kv_cache);
  if (!c.hybrid_kv_cache || s.model->spec == nullptr) return;
  const KvGroups groups = kv_groups_of(*s.model->spec);
  if (!groups.hybrid()) return;
  c.groups = groups;
  c.block_bytes = Bytes(
      ceil_div(c.block_bytes.count() * std::int64_t{groups.layers}, s.model->spec->kv_layers));
  // vLLM lays only a single group out across layers. Keys and values apart, of one stage's layers.
  c.copies_per_block = 2 * static_cast<std::uint32_t>(ceil_div(groups.layers, c.pipeline_parallel));
  const auto refuse = [&](std::string_view key, std::string_view expected) {
    engine.fail(key, fmt::format("expected {} beside hybrid_kv_cache: {} has {} KV groups",
                                 expected, s.model->spec->name, groups.count()));
  };
  // A policy that follows chains would take a group's page for the whole block.
  if (engine.text("eviction").value_or("lru") != "lru") refuse("eviction", "lru");
  if (engine.text("residency").value_or("full") != "full") refuse("residency", "full");
  if (c.family == EngineFamily::kVllmV0) refuse("preset", "one of vLLM v1");
  if (engine.text("load") == "layerwise") refuse("load", "async, blocking or barrier");
  if (engine.text("kv_layout").value_or("per_layer") != "per_layer") {
    refuse("kv_layout", "per_layer");
  }
}

/// Who waits for a load from below, and whether there is one.
void read_load(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  const std::uint32_t layers = std::max(1U, s.model->layers);
  c.layers = static_cast<std::uint32_t>(stage_layers(layers, s.shards()));
  s.load_at_break_even = engine.text("load_or_recompute") == "break_even";
  const auto name = engine.text("load");
  if (!name) return;
  c.load = find_row(load_semantics(), "load semantics", *name, engine.where("load")).value;
  if (c.load != LoadSemantics::kLayerwise) return;
  if (s.model->layers == 0) {
    engine.fail("load",
                "layerwise needs the number of layers: expected a named model, or "
                "model.layers beside kv_bytes_per_token");
  }
  if (c.block_bytes.count() < std::int64_t{c.layers}) {
    engine.fail("load", fmt::format("layerwise moves a block in {} pieces, but it has {} bytes; "
                                    "expected at least one byte a layer",
                                    c.layers, c.block_bytes.count()));
  }
}

void read_interference(const ObjectReader& engine, Scenario& s) {
  const auto interference = engine.object("interference", ScenarioKeys::kInterference);
  if (!interference) return;
  InterferenceChoice out;
  if (const auto rate = interference->text("hbm_bandwidth", ObjectReader::kRate)) {
    const std::int64_t value = parse_bandwidth(*rate, interference->where("hbm_bandwidth"));
    out.hbm_bytes_per_s = static_cast<double>(value);
  } else if (s.gpu != nullptr) {
    out.hbm_bytes_per_s = s.gpu->memory_bandwidth().value();
  } else {
    interference->missing("hbm_bandwidth", "a rate, or a gpu to take it from");
  }
  out.memory_factor = interference->number("factor").value_or(1);
  s.interference = out;
}

void read_connector_costs(const ObjectReader& engine, Scenario& s) {
  const auto costs = engine.object("connector_costs", ScenarioKeys::kConnectorCosts);
  if (!costs) return;
  ConnectorCosts& out = s.engine.costs;
  out.step_us = costs->number("step_us").value_or(out.step_us);
  out.lookup_us = costs->number("lookup_us").value_or(out.lookup_us);
  out.job_us = costs->number("job_us").value_or(out.job_us);
  out.copy_us = costs->number("copy_us").value_or(out.copy_us);
  out.step_factor = costs->number("step_factor").value_or(out.step_factor);
  const auto hbm = costs->text("hbm", ObjectReader::kSize);
  if (!hbm) return;
  out.hbm = parse_bytes(*hbm, costs->where("hbm"));
  const std::int64_t blocks = out.hbm.count() / s.engine.block_bytes.count();
  if (blocks + 1 < s.engine.usable_blocks()) return;
  costs->fail("hbm", fmt::format("takes {} blocks of the KV pool, which has {}; expected less",
                                 blocks, s.engine.usable_blocks()));
}

}  // namespace

HbmBudget memory_budget(const Scenario& s, EngineMemory memory) {
  memory.shards = s.shards();
  ModelSpec held = *s.model->spec;
  if (s.model->weights) held.weight_bytes = s.model->weights->total.count();
  return hbm_budget(held, *s.gpu, memory);
}

void take_estimate(const ObjectReader& engine, std::int64_t blocks, Scenario& s) {
  if (blocks > kMostGpuBlocks) {
    engine.fail("num_gpu_blocks",
                fmt::format("{} blocks of {} fit the GPU; expected at most {} (larger blocks, or "
                            "num_gpu_blocks as given)",
                            blocks, format_bytes(static_cast<double>(s.engine.block_bytes.count())),
                            kMostGpuBlocks));
  }
  s.engine.num_gpu_blocks = static_cast<std::uint32_t>(blocks);
  s.pool_estimated = true;
  if (s.gpu->memory_is_label) {
    s.notes.push_back(scenario_note("memory-as-sold", {{"gpu", s.gpu->name}}));
  }
}

const KeyTable ScenarioKeys::kConnectorCosts = kConnectorCostsKeys;
const KeyTable ScenarioKeys::kInterference = kInterferenceKeys;
const KeyTable ScenarioKeys::kEngine = kEngineKeys;

void read_engine(const ObjectReader& top, Scenario& s) {
  const auto engine = top.object("engine", ScenarioKeys::kEngine);
  if (!engine) top.missing("engine", "an object with at least a preset");
  const std::string preset_name = engine->text("preset").value_or("vllm");
  const EnginePreset* nearest =
      preset_name.starts_with("vllm@") ? nearest_preset(preset_name) : nullptr;
  const EnginePreset& preset =
      nearest != nullptr ? *nearest : find_preset(preset_name, engine->where("preset"));
  s.preset = std::string(preset.name);
  if (nearest != nullptr && preset_name != s.preset) {
    s.notes.push_back(
        scenario_note("nearest-release", {{"asked", preset_name}, {"preset", s.preset}}));
  }
  EngineConfig& c = s.engine = engine_defaults(preset, s.gpu);
  refuse_foreign_keys(*engine, s);
  read_ranks(*engine, s);
  if (c.family == EngineFamily::kSglang) return read_sglang(*engine, s);
  if (c.family == EngineFamily::kTrtllm) return read_trtllm(*engine, s);
  if (c.family == EngineFamily::kMooncake) return read_mooncake(*engine, s);
  use_measured_engine(s);

  assign(c.block_tokens, engine->integer("block_tokens"));
  assign(c.max_num_seqs, engine->integer("max_num_seqs"));
  assign(c.max_num_batched_tokens, engine->integer("max_num_batched_tokens"));
  assign(c.long_prefill_token_threshold, engine->integer("long_prefill_token_threshold"));
  if (s.model->spec != nullptr)
    c.max_model_len = static_cast<std::uint32_t>(s.model->spec->max_position);
  if (s.measured && s.measured->max_model_len) c.max_model_len = *s.measured->max_model_len;
  assign(c.max_model_len, engine->integer("max_model_len"));
  if (const auto watermark = engine->number("watermark")) {
    c.watermark = *watermark;
    if (c.watermark > 0 && !preset.has_watermark) {
      s.notes.push_back(scenario_note("no-watermark-yet", {{"preset", s.preset}}));
    }
  }
  for (const EngineSwitch& choice : engine_switches()) {
    bool& target = c.*choice.member;
    target = engine->boolean(choice.name).value_or(target);
  }
  if (c.pipeline_parallel > 1) c.async_scheduling = false;
  if (c.family == EngineFamily::kVllmV1) read_scheduler(top, *engine, s);

  const std::string layout = engine->text("kv_layout").value_or("contiguous");
  if (layout == "per_layer") {
    if (s.model->spec == nullptr) {
      engine->fail("kv_layout", "per_layer needs a named model, whose layers it counts");
    }
    const int parts = s.model->spec->is_mla() ? 1 : 2;  // keys and values apart
    const std::int64_t layers = stage_layers(s.model->spec->kv_layers, s.shards());
    c.copies_per_block = static_cast<std::uint32_t>(parts * layers);
  }
  const Bytes rank_bytes =
      rank_kv_bytes(s.model->kv_bytes_per_token, s.model->spec, s.model->layers, s.shards());
  c.block_bytes = rank_bytes * c.block_tokens;
  read_groups(*engine, s);
  if (c.block_bytes > kMostBlockBytes) {
    engine->fail("block_tokens",
                 fmt::format("a block of {} tokens has {}; expected at most {}", c.block_tokens,
                             format_bytes(static_cast<double>(c.block_bytes.count())),
                             format_bytes(static_cast<double>(kMostBlockBytes.count()))));
  }
  read_v0(*engine, s);
  read_load(*engine, s);
  read_interference(*engine, s);
  s.hbm_eviction = read_eviction(*engine);
  s.pool_where = engine->where("num_gpu_blocks");
  size_pool(*engine, preset, s);
  read_connector_costs(*engine, s);

  c.residency = read_residency(*engine);
  read_connector(*engine, s);
  if (c.residency == Residency::kFull) fit_max_model_len(*engine, s);
}

void check_groups(const ObjectReader& top, const Scenario& s) {
  if (!s.engine.groups.hybrid() || !s.tier) return;
  const auto refuse = [&](std::string_view section, std::string_view expected) {
    top.fail(section, fmt::format("expected {} beside hybrid_kv_cache: {} has {} KV groups",
                                  expected, s.model->spec->name, s.engine.groups.count()));
  };
  if (s.tier->eviction.text() != "lru") refuse("tiers", "eviction lru");
  if (s.tier->write_admission.text() != "always") refuse("tiers", "write_admission always");
  for (const TierChoice& tier : s.behind) {
    if (tier.eviction.text() != "lru") refuse("tiers", "eviction lru");
    if (tier.rules.prefetch > 0) refuse("tiers", "prefetch_chunks 0");
  }
  if (s.engine.simple_offload()) refuse("engine", "offload_connector native");
  if (s.engine.store_threshold > 1) refuse("engine", "store_threshold below 2");
}

void check_interference(const ObjectReader& top, const Scenario& s) {
  const CopyInterference taken = s.copy_interference();
  const double bandwidth = taken.hbm_share[0] + taken.hbm_share[1];
  if (bandwidth >= 1) {
    top.fail("engine", fmt::format("interference: copies both ways would take {:.0f}% of HBM's "
                                   "bandwidth; expected less than all of it",
                                   100 * bandwidth));
  }
  const double sms = taken.sm_share[0] + taken.sm_share[1];
  if (sms >= 1) {
    top.fail("links", fmt::format("sm_share: copies both ways would take {:.0f}% of the SMs; "
                                  "expected less than all of them",
                                  100 * sms));
  }
  if (taken.any() && s.engine.residency == Residency::kStreaming) {
    top.fail(
        "links",
        "sm_share: what copies take from streamed steps is not modelled; expected it only with "
        "\"residency\": \"full\"");
  }
  if (taken.any() && s.engine.load == LoadSemantics::kLayerwise) {
    top.fail("engine",
             "load: layerwise beside interference or a link's sm_share is not modelled; "
             "expected one of the two");
  }
}

}  // namespace spillway
