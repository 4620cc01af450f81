#include "scenarios/experiment/engine_variants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/releases/chunk_connectors.hpp"
#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::string_view kOption = "--engines";

[[noreturn]] void fail(const std::string& message) {
  throw InputError(Fault::kUsage, {std::string(kOption), 0, ""}, message);
}

/// What engines have in common, whatever they call it.
struct Common {
  std::int64_t pool_tokens;  ///< of the device
  std::uint32_t requests;    ///< that run
  std::uint32_t step_tokens;
  std::uint32_t longest;  ///< prompt and answer; 0: no limit
  std::uint32_t ranks;
  bool layers;  ///< their number is known
};

/// Pages and blocks of the size that each engine's documents recommend beside host memory.
constexpr std::int64_t kVllmBlock = 16;
constexpr std::int64_t kSglangPage = 64;
constexpr std::int64_t kTrtllmBlock = 32;

json vllm(const Common& c) {
  return {{"num_gpu_blocks", c.pool_tokens / kVllmBlock + 1},  // and the null block
          {"max_num_seqs", c.requests},
          {"max_num_batched_tokens", c.step_tokens}};
}

json sglang(const Common& c) {
  json out = {
      {"page_size", kSglangPage},
      {"max_total_tokens", c.pool_tokens},
      {"max_running_requests", c.requests},
      {"chunked_prefill_size", std::max(kSglangPage, c.step_tokens / kSglangPage * kSglangPage)}};
  if (!c.layers) out["load"] = "blocking";  // layer-wise loads need them
  return out;
}

/// The others cut prompts too.
json trtllm(const Common& c) {
  return {{"block_tokens", kTrtllmBlock},
          {"num_gpu_blocks", c.pool_tokens / kTrtllmBlock},
          {"max_num_seqs", c.requests},
          {"max_num_batched_tokens", c.step_tokens},
          {"enable_chunked_prefill", true}};
}

struct Translation {
  std::string_view engine;
  json (*settings)(const Common&);
};
constexpr Translation kTranslations[] = {{"vllm", vllm}, {"sglang", sglang}, {"trtllm", trtllm}};

std::uint32_t longest_of(const EngineConfig& e) {
  if (e.family == EngineFamily::kSglang) return e.sglang.context_length;
  return e.family == EngineFamily::kTrtllm ? e.trtllm.max_seq_len : e.max_model_len;
}

Common common_of(const Scenario& s) {
  const EngineConfig& e = s.engine;
  const bool is_sglang = e.family == EngineFamily::kSglang;
  return {std::int64_t{e.usable_blocks()} * e.block_tokens,
          e.max_num_seqs,
          is_sglang && e.sglang.chunked_prefill_size > 0
              ? static_cast<std::uint32_t>(e.sglang.chunked_prefill_size)
              : e.max_num_batched_tokens,
          longest_of(e),
          e.tensor_parallel,
          s.model->layers > 0};
}

/// Host memory alone, without what only one engine knows of it. Mooncake Store has as much of it.
json tiers_of(const Scenario& s, ConnectorKind connector) {
  if (!s.tier) return json::array();
  const Capacity& capacity = s.tier->capacity;
  std::string size = "inf";
  if (capacity.kind == Capacity::Kind::kBytes) size = fmt::format("{}B", capacity.count);
  if (capacity.kind == Capacity::Kind::kBlocks) {
    size = fmt::format("{}B", capacity.count * s.tier_block_bytes().count());
  }
  const char* kind = connector == ConnectorKind::kMooncake ? "kv" : "dram";
  return json::array({{{"name", s.tier->name}, {"kind", kind}, {"capacity", size}}});
}

/// Connectors of vLLM that keep a prefix in host memory alone, by their names.
constexpr ConnectorKind kConnectors[] = {ConnectorKind::kSimple, ConnectorKind::kLmcache,
                                         ConnectorKind::kLmcacheMp};

/// Throws InputError with all that may stand there.
void check_name(const std::string& given) {
  std::vector<std::string_view> known;
  for (const EnginePreset& row : engine_presets()) {
    const std::string_view name = row.name;
    if (given == name.substr(0, name.find('@'))) return;
    known.push_back(name);
  }
  for (const ConnectorKind kind : kConnectors) {
    known.push_back(kConnectorNames[static_cast<std::size_t>(kind)]);
  }
  fail(unknown_name("engine", given, known));
}

/// What `--engines` names: a preset, or a connector on the newest vLLM.
struct Entrant {
  std::string name;
  std::string preset;
  const EnginePreset* release = nullptr;
  ConnectorKind connector = ConnectorKind::kNative;

  explicit Entrant(const std::string& given) : name(given), preset(given) {
    for (const ConnectorKind kind : kConnectors) {
      if (kConnectorNames[static_cast<std::size_t>(kind)] != given) continue;
      connector = kind;
      preset = "vllm";
    }
    if (preset.find('@') == preset.npos) check_name(preset);
    release = &find_preset(preset, {std::string(kOption), 0, ""});
    if (connector == ConnectorKind::kNative) connector = release->connector;
  }
};

Scenario as_told(const JsonSource& source, const Scenario& base, const Entrant& entrant) {
  JsonSource changed = source;
  const std::string_view engine = engine_of(entrant.release->family);
  const bool plain = entrant.connector == ConnectorKind::kNative;
  if (entrant.connector == base.engine.connector && engine == engine_of(base.engine.family)) {
    if (entrant.preset.find('@') != std::string::npos) {
      changed.set(fmt::format("engine.preset={}", entrant.preset), kOption);
    }
    return load_scenario(changed);
  }
  const auto* const row = std::find_if(std::begin(kTranslations), std::end(kTranslations),
                                       [&](const Translation& t) { return t.engine == engine; });
  if (row == std::end(kTranslations)) {
    fail(
        fmt::format("{} has no pool of HBM to compare with; expected an engine, or a connector of "
                    "vLLM",
                    entrant.name));
  }
  if (!plain && !base.tier) {
    fail(fmt::format("{} needs host memory; expected a tier of kind dram in {}", entrant.name,
                     base.name));
  }
  const Common common = common_of(base);
  json settings = row->settings(common);
  settings["preset"] = entrant.preset;
  if (!plain) {
    settings["offload_connector"] = kConnectorNames[static_cast<std::size_t>(entrant.connector)];
    if (entrant.connector != ConnectorKind::kSimple) settings["async_scheduling"] = false;
  }
  if (common.longest > 0) settings["max_model_len"] = common.longest;
  if (common.ranks > 1) settings["tensor_parallel_size"] = common.ranks;
  changed.set("engine=" + settings.dump(), kOption);
  // What TensorRT-LLM's requests say, others do not hear.
  for (const std::string_view key : {kRetentionKey, kDecodeRetentionKey}) {
    if (engine_of(base.engine.family) == "trtllm") {
      changed.set(fmt::format("workload.{}=null", key), kOption);
    }
  }
  if (base.tier) changed.set("tiers=" + tiers_of(base, entrant.connector).dump(), kOption);
  return load_scenario(changed);
}

}  // namespace

VariantSet make_engine_variants(const JsonSource& source, std::span<const std::string> names) {
  const Scenario base = load_scenario(source);
  const EngineConfig& e = base.engine;
  const bool own_tier = e.connector == ConnectorKind::kNative || of_preset(e.connector);
  const bool plain = own_tier && e.residency == Residency::kFull &&
                     e.family != EngineFamily::kVllmV0 && e.pipeline_parallel == 1;
  if (!plain || !base.behind.empty() || (base.tier && base.tier->storage)) {
    fail(
        fmt::format("{} has what only its engine knows; expected one tier of kind dram at most, "
                    "vLLM's own offload or the store of a preset, and no pipeline",
                    base.name));
  }
  VariantSet out;
  for (const std::string& name : names) {
    const Entrant entrant(name);
    for (const Variant& other : out.variants) {
      if (other.name == name) fail(fmt::format("{} is given twice", name));
    }
    Variant variant;
    variant.name = name;
    variant.values = {{"engine.preset", name}};
    variant.scenario = as_told(source, base, entrant);
    out.variants.push_back(std::move(variant));
  }
  if (out.variants.size() < 2) fail("expected two engines or more, e.g. vllm,sglang");
  return out;
}

}  // namespace spillway
