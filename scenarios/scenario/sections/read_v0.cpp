// The v0 engine: its defaults, its swap space, and what it does not have.
//
// The CPU pool appears as a tier "cpu" below HBM, so that links, results and plans treat it as they
// treat any other place; without swapping v0 has none.
#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr std::string_view kDefaultSwapSpace = "4GiB";  // vllm/engine/arg_utils.py
constexpr std::uint32_t kDefaultBatch = 2048;
// Longer models get chunked prefill unless told otherwise (vllm/engine/arg_utils.py).
constexpr std::uint32_t kLongContext = 32768;
// Of host memory, by all GPUs of a node together (vllm/config.py, verify_with_parallel_config).
constexpr double kMostHostShare = 0.7;
constexpr double kMuchHostShare = 0.4;

bool is_v0(const Scenario& s) {
  return s.engine.family == EngineFamily::kVllmV0;
}

/// What came with v1, or later: each would be ignored.
void refuse_v1_keys(const ObjectReader& engine) {
  engine.refuse({"eviction", "unhashed_front", "reserve_full_isl", "defer_block_free"},
                "vllm@0.6 is the v0 engine, whose pool has no prefix cache here; expected a v1 "
                "preset");
  engine.refuse(
      {"offload_prompt_only", "async_load_reservation", "convoy", "store_defer_next_step", "load",
       "load_or_recompute", "blocks_per_chunk", "offload_block_tokens", "store_threshold",
       "threshold_counts_offers", "max_tracker_size", "max_offload_tokens", "offload_connector",
       "lazy_offload", "small_page_kernel", "mla_single_copy", "connector_costs"},
      "vllm@0.6 is the v0 engine, which has no KV connector; expected a v1 preset, or "
      "swap_space");
  engine.refuse(
      {"residency", "cold", "token_budget", "interference", "kv_layout", "hybrid_kv_cache",
       "scheduling_policy", "max_num_scheduled_tokens", "long_prefill_token_threshold",
       "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"},
      "not modelled with vllm@0.6, the v0 engine");
  for (const char* key : {"enable_prefix_caching", "async_scheduling"}) {
    if (engine.boolean(key).value_or(false)) {
      engine.fail(key, "true is not modelled with vllm@0.6, the v0 engine; expected false");
    }
  }
}

/// The step's tokens. Without chunked prefill a whole prompt has to fit (SchedulerConfig).
void read_batch(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  const bool long_context = c.max_model_len > kLongContext;
  const auto chunked = engine.boolean("enable_chunked_prefill");
  c.chunked_prefill = chunked.value_or(long_context);
  if (!chunked && long_context) {
    s.notes.push_back(scenario_note("chunks-by-default",
                                    {{"limit_tokens", kLongContext}, {"tokens", c.max_model_len}}));
  }
  if (!engine.has("max_num_batched_tokens")) {
    c.max_num_batched_tokens =
        c.chunked_prefill ? kDefaultBatch : std::max(c.max_model_len, kDefaultBatch);
  } else if (!c.chunked_prefill && c.max_num_batched_tokens < c.max_model_len) {
    engine.fail("max_num_batched_tokens",
                fmt::format("expected at least max_model_len ({}) without chunked prefill, found "
                            "{}: v0 computes a prompt in one step",
                            c.max_model_len, c.max_num_batched_tokens));
  }
  if (c.max_num_batched_tokens < c.max_num_seqs) {
    engine.fail("max_num_batched_tokens", fmt::format("expected at least max_num_seqs ({}), found "
                                                      "{}",
                                                      c.max_num_seqs, c.max_num_batched_tokens));
  }
}

}  // namespace

void read_v0(const ObjectReader& engine, Scenario& s) {
  if (!is_v0(s)) {
    return engine.refuse({"swap_space", "preemption_mode"},
                         "v1 recomputes what it preempts and has no swap space; expected a tier in "
                         "\"tiers\", or the preset vllm@0.6");
  }
  EngineConfig& c = s.engine;
  refuse_v1_keys(engine);
  if (s.model->spec != nullptr && s.model->spec->is_mla()) {
    engine.fail("preset", fmt::format("vllm@0.6 keeps full keys and values of {}, which is MLA; "
                                      "that is not modelled, expected a later preset",
                                      s.model->spec->name));
  }
  read_batch(engine, s);
  c.swap.swap = engine.text("preemption_mode") == "swap";
  s.swap_space = parse_bytes(
      engine.text("swap_space", ObjectReader::kSize).value_or(std::string(kDefaultSwapSpace)),
      engine.where("swap_space"));
  // Keys and values apart, layer by layer (csrc/cache_kernels.cu).
  c.copies_per_block = 2 * std::max(1U, s.model->layers);
  if (c.swap.swap) return;
  s.notes.push_back(engine.has("swap_space") ? scenario_note("swap-space-unused")
                                             : scenario_note("recompute-by-default"));
}

bool read_v0_tier(const ObjectReader& top, Scenario& s) {
  if (!is_v0(s)) return false;
  top.refuse({"tiers"},
             "vllm@0.6 is the v0 engine, which has no tiers below HBM; expected engine.swap_space "
             "with \"preemption_mode\": \"swap\"");
  if (!s.engine.swap.swap) return true;
  TierChoice cpu;
  cpu.name = "cpu";
  cpu.capacity = {Capacity::Kind::kBytes, s.swap_space.count()};
  cpu.where = ObjectReader(top.source(), "/engine", "engine").where("swap_space");
  checked_tier_blocks(s, cpu.capacity, fmt::format("swap_space of {}B", s.swap_space.count()),
                      cpu.where);
  s.tier = std::move(cpu);
  return true;
}

void check_v0(const ObjectReader& top, Scenario& s) {
  if (!is_v0(s)) return;
  if (!s.media.empty()) {
    top.fail("links", "media and shared_by are not modelled with vllm@0.6, the v0 engine");
  }
  for (const auto& link : {s.down, s.up}) {
    if (!link || link->sm_share == 0) continue;
    top.fail("links", fmt::format("sm_share of {}: expected none with vllm@0.6, where nothing "
                                  "computes beside copies",
                                  link->name));
  }
  if (!s.host || s.host->memory == Bytes(0)) return;
  const Bytes swap = s.swap_space * std::int64_t{s.host->instances};
  const double share =
      static_cast<double>(swap.count()) / static_cast<double>(s.host->memory.count());
  const std::string text =
      fmt::format("{} of {} host memory ({:.0f}%) is allocated for the swap space",
                  format_bytes(static_cast<double>(swap.count())),
                  format_bytes(static_cast<double>(s.host->memory.count())), 100 * share);
  if (share > kMostHostShare) {
    throw InputError(Fault::kUsage,
                     ObjectReader(top.source(), "/engine", "engine").where("swap_space"),
                     fmt::format("too large swap space: {}; v0 starts with at most 70%", text));
  }
  if (share > kMuchHostShare) {
    s.notes.push_back(scenario_note("swap-space-large", {{"swap_bytes", swap.count()},
                                                         {"host_bytes", s.host->memory.count()},
                                                         {"host_share", share},
                                                         {"limit_share", kMostHostShare}}));
  }
}

}  // namespace spillway
