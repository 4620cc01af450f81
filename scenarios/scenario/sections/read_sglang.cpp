// SGLang's own flags, and HiCache's host memory as the tier below HBM.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "models/catalogue/model_spec.hpp"
#include "models/engine/connectors/load_wait.hpp"
#include "models/kv_geometry.hpp"
#include "reports/format.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

constexpr double kDefaultRatio = 2;  // server_args.py, hicache_ratio

/// The choice of a row of `names`, the first where nothing is said.
template <class Choice>
Choice chosen(const ObjectReader& engine, const char* key,
              std::span<const std::string_view> names) {
  const std::string text = engine.text(key).value_or(std::string(names.front()));
  return static_cast<Choice>(std::find(names.begin(), names.end(), text) - names.begin());
}

// server_args.py, in MiB: memory of a GPU below which it cuts prompts after so many tokens, and
// captures graphs for so many requests, with four ranks or more for so many.
struct MemoryRow {
  std::int64_t below;
  std::int64_t chunk;
  std::int64_t requests;
  std::int64_t of_ranks;
};
constexpr MemoryRow kByMemory[] = {{20 << 10, 2048, 8, 8},
                                   {35 << 10, 2048, 24, 80},
                                   {60 << 10, 4096, 32, 160},
                                   {160 << 10, 8192, 256, 512},
                                   {std::numeric_limits<std::int64_t>::max(), 16384, 512, 512}};

const MemoryRow& row_of(const GpuSpec& gpu) {
  const std::int64_t memory = gpu.memory_bytes >> 20;
  return *std::find_if(std::begin(kByMemory), std::end(kByMemory),
                       [&](const MemoryRow& row) { return memory < row.below; });
}
constexpr std::int64_t kManyRanks = 4;
constexpr double kConstantMib = 512;
constexpr double kMibPerToken = 1.5;  // of activations
constexpr std::int64_t kLeastTokens = 2048;
constexpr double kMibPerRank = 128;
constexpr double kMibPerGraphRequest = 2;
constexpr double kMibPerPromptGraph = 8;
constexpr std::int64_t kMlaPromptGraph = 2048;  // tokens of the largest
constexpr std::int64_t kLargeGpuMib = 60 << 10;
constexpr double kLeastOnLargeGpu = 10 << 10;

/// Sizes up to `most` for which it captures graphs of prompts.
std::int64_t prompt_graphs(std::int64_t most) {
  struct Range {
    std::int64_t first, last, step;
  };
  std::int64_t count = 0;
  for (const Range& r : {Range{4, 32, 4}, Range{48, 256, 16}, Range{288, 512, 32},
                         Range{576, 1024, 64}, Range{1280, most, 256}}) {
    if (most >= r.first) count += (std::min(most, r.last) - r.first) / r.step + 1;
  }
  return count;
}

/// What SGLang takes where nobody says (server_args.py).
double usual_share(const ObjectReader& engine, const Scenario& s) {
  const SglangConfig& g = s.engine.sglang;
  const std::int64_t memory = s.gpu->memory_bytes >> 20;
  const std::int64_t ranks = s.engine.tensor_parallel;
  double reserved = kConstantMib + kMibPerRank * static_cast<double>(ranks);
  const std::int64_t tokens =
      g.chunked_prefill_size > 0 ? g.chunked_prefill_size : std::int64_t{g.max_prefill_tokens};
  reserved += kMibPerToken * static_cast<double>(std::max(tokens, kLeastTokens));
  if (!engine.boolean("enforce_eager").value_or(false)) {
    const MemoryRow& row = row_of(*s.gpu);
    std::int64_t requests = ranks < kManyRanks ? row.requests : row.of_ranks;
    requests = engine.integer("max_cudagraph_capture_size").value_or(requests);
    const std::int64_t longest = s.model->spec->is_mla()
                                     ? std::min(g.chunked_prefill_size, kMlaPromptGraph)
                                     : g.chunked_prefill_size;
    reserved += kMibPerGraphRequest * static_cast<double>(requests) +
                kMibPerPromptGraph * static_cast<double>(prompt_graphs(longest));
  }
  if (memory > kLargeGpuMib) reserved = std::max(reserved, kLeastOnLargeGpu);
  return std::nearbyint((1 - reserved / static_cast<double>(memory)) * 1000) / 1000;
}

std::int64_t pool_tokens(const ObjectReader& engine, Scenario& s) {
  const auto given = engine.integer("max_total_tokens");
  auto share = engine.number("mem_fraction_static");
  if (given && share) {
    engine.fail("mem_fraction_static", "expected this or max_total_tokens, found both");
  }
  if (given) return *given;
  if (s.model->spec == nullptr || s.gpu == nullptr) {
    engine.missing("max_total_tokens",
                   "the tokens of the device pool, or a named model and a gpu to size it from");
  }
  if (!share) share = usual_share(engine, s);
  // model_runner.py, profile_max_num_token: what the share leaves beside the weights.
  EngineMemory memory;
  memory.gpu_memory_utilization = *share;
  HbmBudget budget = memory_budget(s, memory);
  budget.activations = budget.other = budget.cuda_graphs = Bytes(0);
  budget.kv = budget.requested - budget.weights;
  s.budget = budget;
  s.gpu_memory_utilization = *share;
  const auto weights = static_cast<double>(budget.weights.count());
  const auto left = static_cast<double>(budget.kv.count());
  const double token = static_cast<double>(s.engine.block_bytes.count()) / s.engine.block_tokens;
  if (left < token * s.engine.block_tokens) {
    engine.fail(
        "mem_fraction_static",
        fmt::format("no room for KV: {:g} of {} less weights of {} leaves {}; expected a "
                    "larger share, a larger gpu or more tensor_parallel_size",
                    *share, s.gpu->name, format_bytes(weights), format_bytes(std::max(0.0, left))));
  }
  return static_cast<std::int64_t>(left / token);
}

void read_steps(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  SglangConfig& g = c.sglang;
  if (s.gpu != nullptr) g.chunked_prefill_size = row_of(*s.gpu).chunk;
  assign(g.max_running_requests, engine.integer("max_running_requests"));
  assign(g.max_prefill_tokens, engine.integer("max_prefill_tokens"));
  assign(g.max_new_tokens, engine.integer("max_new_tokens"));
  g.chunked_prefill_size = engine.integer("chunked_prefill_size").value_or(g.chunked_prefill_size);
  if (g.chunked_prefill_size > 0 && g.chunked_prefill_size % c.block_tokens != 0) {
    engine.fail("chunked_prefill_size",
                fmt::format("expected a multiple of page_size ({}), or 0 for prompts that are not "
                            "cut, found {}",
                            c.block_tokens, g.chunked_prefill_size));
  }
  g.queue = chosen<QueuePolicy>(engine, "schedule_policy", kQueuePolicyNames);
  g.eviction = chosen<RadixEviction>(engine, "radix_eviction_policy", kRadixEvictionNames);
  g.mixed_chunks = engine.boolean("enable_mixed_chunk").value_or(false);
  if (const auto value = engine.number("schedule_conservativeness")) {
    g.conservativeness = std::llround(*value * static_cast<double>(kNano));
  }
  c.async_scheduling = engine.boolean("async_scheduling").value_or(true);
  c.chunked_prefill = g.chunked_prefill_size > 0;
  c.max_num_seqs = g.max_running_requests;
  c.max_num_batched_tokens = g.max_prefill_tokens;
}

Duration seconds(const ObjectReader& engine, const char* key, Duration otherwise) {
  const auto value = engine.number(key);
  return value ? Duration(std::llround(*value * 1e9)) : otherwise;
}

/// HiCache's storage (L3) with rules of its own.
void read_level_behind(const ObjectReader& tier, const ObjectReader& engine, Scenario& s) {
  refuse_tier_rules(tier,
                    "HiCache writes to its storage what comes to host memory; expected at most "
                    "capacity, eviction, scope and device");
  TierChoice out = read_tier_behind(tier, engine, s);
  refuse_taken_name(tier, out, s);
  s.behind.push_back(std::move(out));
}

/// HiCache's storage: the second tier, and the third where that is Mooncake Store with an SSD.
void read_storage_behind(const ObjectReader& top, const ObjectReader& engine, Scenario& s) {
  const auto tiers = top.objects("tiers", ScenarioKeys::kTier);
  if (tiers[1].has("segments") || tiers[1].has("store")) {
    read_mooncake_behind(top, s);
  } else {
    if (tiers.size() > 2) {
      tiers[2].fail("name",
                    "expected at most one storage behind host memory, or Mooncake Store "
                    "(keys segments, store) and its SSD");
    }
    read_level_behind(tiers[1], engine, s);
  }
  for (std::size_t i = 0; i < s.behind.size(); ++i) {
    StorageChoice& storage = *s.behind[i].storage;
    if (storage.lookup > Duration(0)) {
      tiers[1 + i].fail("device",
                        "lookup_us: expected 0: HiCache's look-ups are taken to cost no time");
    }
    // Files are read one after the other (hicache_storage.py, HiCacheFile); stores take a batch.
    // Model: so are objects of Mooncake Store, whose batches are one job for each source.
    const StorageKind kind = storage.spec.kind;
    storage.spec.whole_jobs =
        s.engine.sglang.mooncake || kind == StorageKind::kNvme || kind == StorageKind::kFs;
  }
  if (s.engine.sglang.write == HicacheWrite::kBack) {
    engine.fail("hicache_write_policy",
                "expected write_through or write_through_selective with storage behind host "
                "memory: write_back with storage is not modelled");
  }
  PrefetchRules& rules = s.engine.sglang.prefetch;
  if (const auto policy = engine.text("hicache_storage_prefetch_policy")) {
    rules.stop = static_cast<PrefetchStop>(
        std::find(std::begin(kPrefetchStopNames), std::end(kPrefetchStopNames), *policy) -
        std::begin(kPrefetchStopNames));
  }
  assign(rules.threshold, engine.integer("prefetch_threshold"));
  rules.timeout_base = seconds(engine, "prefetch_timeout_base", rules.timeout_base);
  rules.timeout_per_ki_token =
      seconds(engine, "prefetch_timeout_per_ki_token", rules.timeout_per_ki_token);
  rules.timeout_max = seconds(engine, "prefetch_timeout_max", rules.timeout_max);
}

/// Upstream takes these flags and never looks at them.
void note_unused(const ObjectReader& engine, Scenario& s) {
  std::string keys;
  for (const char* key : {"hicache_write_policy", "hicache_ratio"}) {
    if (engine.has(key)) keys += fmt::format("{}engine.{}", keys.empty() ? "" : " and ", key);
  }
  if (!keys.empty()) s.notes.push_back(scenario_note("hicache-off", {{"keys", keys}}));
}

void note_size(Scenario& s) {
  const EngineConfig& c = s.engine;
  const std::uint64_t pages = s.tier_blocks(s.tier->capacity);
  if (pages > 0 && pages <= c.num_gpu_blocks) {
    s.notes.push_back(
        scenario_note("hicache-too-small",
                      {{"tier", s.tier->name},
                       {"host_tokens", pages * c.block_tokens},
                       {"device_tokens", std::uint64_t{c.num_gpu_blocks} * c.block_tokens}}));
  }
  if (c.sglang.write == HicacheWrite::kBack) s.notes.push_back(scenario_note("hicache-write-back"));
}

}  // namespace

void read_sglang(const ObjectReader& engine, Scenario& s) {
  EngineConfig& c = s.engine;
  c.block_tokens = static_cast<std::uint32_t>(engine.integer("page_size").value_or(1));
  if ((c.block_tokens & (c.block_tokens - 1)) != 0) {
    engine.fail("page_size", fmt::format("expected a power of two, found {}", c.block_tokens));
  }
  const Bytes rank_bytes =
      rank_kv_bytes(s.model->kv_bytes_per_token, s.model->spec, s.model->layers, s.shards());
  c.block_bytes = rank_bytes * c.block_tokens;
  read_steps(engine, s);
  if (c.sglang.mixed_chunks && !c.chunked_prefill) {
    s.notes.push_back(scenario_note("mixed-chunk-off", {}));
  }
  if (s.model->spec != nullptr)
    c.sglang.context_length = static_cast<std::uint32_t>(s.model->spec->max_position);
  assign(c.sglang.context_length, engine.integer("max_model_len"));

  const std::string load = engine.text("load").value_or("layerwise");
  if (load != "layerwise" && load != "blocking") {
    engine.fail("load", fmt::format("expected layerwise or blocking with SGLang, found {}", load));
  }
  c.load = find_row(load_semantics(), "load semantics", load, engine.where("load")).value;
  const std::uint32_t layers = std::max(1U, s.model->layers);
  c.layers = static_cast<std::uint32_t>(stage_layers(layers, s.shards()));

  c.sglang.write = chosen<HicacheWrite>(engine, "hicache_write_policy", kHicacheWriteNames);

  s.hbm_eviction = parse_eviction("lru", engine.where("preset"));
  s.pool_where = engine.where("max_total_tokens");
  s.pool_given = engine.has("max_total_tokens");
  const std::int64_t tokens = pool_tokens(engine, s);
  const std::int64_t pages = tokens / c.block_tokens;
  if (pages < 1) {
    engine.fail("max_total_tokens", fmt::format("{} tokens hold no page of {}; expected one "
                                                "at least",
                                                tokens, c.block_tokens));
  }
  c.num_gpu_blocks = static_cast<std::uint32_t>(pages);
}

bool read_sglang_tier(const ObjectReader& top, Scenario& s) {
  if (s.engine.family != EngineFamily::kSglang) return false;
  const ObjectReader engine = *top.object("engine", ScenarioKeys::kEngine);
  constexpr HostMemoryWords kWords{
      "expected host memory (dram), and behind it one storage, or Mooncake Store and its SSD",
      "expected dram first, HiCache's host memory, found {}",
      "HiCache has rules of its own; expected engine.radix_eviction_policy or "
      "engine.hicache_write_policy",
      3};
  std::optional<TierChoice> host = begin_host_memory(top, kWords);
  if (!host) {
    note_unused(engine, s);
    return true;
  }
  TierChoice& out = *host;
  const ObjectReader tier = top.objects("tiers", ScenarioKeys::kTier).front();
  const EngineConfig& c = s.engine;
  const std::int64_t pool = std::int64_t{c.num_gpu_blocks} * c.block_tokens;
  if (const auto text = tier.text("capacity", ObjectReader::kSize)) {
    if (engine.has("hicache_ratio"))
      s.notes.push_back(scenario_note("hicache-ratio-unused", {{"tier", out.name}}));
    out.capacity = instance_capacity(s, out, parse_capacity(*text, out.where));
    checked_tier_blocks(s, out.capacity, *text, out.where);
  } else {
    // mem_cache/pool_host/base.py
    const double ratio = engine.number("hicache_ratio").value_or(kDefaultRatio);
    const auto tokens = static_cast<std::int64_t>(static_cast<double>(pool) * ratio);
    out.capacity = {Capacity::Kind::kBlocks, tokens / c.block_tokens + 1};
  }
  if (c.load == LoadSemantics::kLayerwise && s.model->layers == 0) {
    engine.fail("load",
                "layerwise needs the number of layers: expected a named model, or "
                "model.layers beside kv_bytes_per_token");
  }
  s.tier = std::move(out);
  note_size(s);
  if (top.objects("tiers", ScenarioKeys::kTier).size() > 1) {
    read_storage_behind(top, engine, s);
  } else {
    engine.refuse({"hicache_storage_prefetch_policy", "prefetch_threshold", "prefetch_timeout_base",
                   "prefetch_timeout_per_ki_token", "prefetch_timeout_max"},
                  "expected only with storage behind host memory: a second tier");
  }
  return true;
}

}  // namespace spillway
