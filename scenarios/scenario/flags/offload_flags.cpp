#include "scenarios/scenario/flags/offload_flags.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/catalogue/gpu_spec.hpp"
#include "reports/shell_word.hpp"
#include "scenarios/scenario/flags/chunk_flags.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/flags/engine_policies.hpp"
#include "scenarios/scenario/flags/flexkv_flags.hpp"
#include "scenarios/scenario/flags/kvbm_flags.hpp"
#include "scenarios/scenario/flags/vllm_mooncake_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

/// How a release of v1 is told about host memory (vllm-project/vllm; commits are those of the
/// stored versions that were read).
struct OffloadForm {
  explicit OffloadForm(const EnginePreset& release)
      : size_flag(release.since(19)),
        bytes_key(release.since(14)),
        blocks_key(!release.since(15)),
        threshold(release.since(19)),
        prompt_only(release.since(23)),
        simple(release.since(19)) {}

  /// --kv-offloading-size and --kv-offloading-backend work. The flags are older than that: before
  /// #24498 they hand num_cpu_blocks 0 to a connector that refuses it
  /// (vllm/v1/kv_offload/cpu.py @ 6c05827e97).
  bool size_flag;
  // #24498 was reviewed on 2026-01-08 and 0.14 came out that month; which of the two keys 0.14
  // reads is not certain, and unknown keys are ignored, so that it is given both.
  bool bytes_key;    ///< kv_connector_extra_config.cpu_bytes_to_use (#24498)
  bool blocks_key;   ///< kv_connector_extra_config.num_cpu_blocks, of each worker (before #24498)
  bool threshold;    ///< store_threshold, max_tracker_size (cpu.py @ 02fcc613c6)
  bool prompt_only;  ///< offload_prompt_only (d63108fb18)
  bool simple;       ///< SimpleCPUOffloadConnector (#37160)
};

/// For people: at most four decimals, the last one rounded.
std::string gib(std::int64_t bytes) {
  std::string out = fmt::format("{:.4f}", static_cast<double>(bytes) / static_cast<double>(kGib));
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

/// Whole hundredths that are enough.
std::string gib_up(std::int64_t bytes) {
  return fmt::format("{}", std::ceil(static_cast<double>(bytes) * 100 / kGib) / 100);
}

/// A size as a flag takes it in GiB: the shortest decimal that is no more than `bytes` and has room
/// for as many blocks of `slot` bytes. vLLM multiplies it by 2^30 and counts whole blocks.
std::string flag_gib(std::int64_t bytes, std::int64_t slot) {
  const std::int64_t least = bytes / slot * slot;
  const double exact = static_cast<double>(bytes) / static_cast<double>(kGib);
  double scale = 1;
  for (int decimals = 0; decimals < 9; ++decimals, scale *= 10) {
    const double value = std::floor(exact * scale) / scale;
    const auto read = static_cast<std::int64_t>(value * static_cast<double>(kGib));
    if (read >= least && read <= bytes) return fmt::format("{}", value);
  }
  return fmt::format("{}", exact);  // reads as this very number of bytes
}

std::string gb(std::int64_t bytes) {
  return fmt::format("{:.6g} GB", static_cast<double>(bytes) / 1e9);
}

/// Bytes of one block (or chunk of them) over all ranks of one engine.
std::int64_t slot_of(const Scenario& s) {
  if (s.engine.simple_offload()) return s.engine.block_bytes.count() * s.world();
  return s.tier_slot().count();
}

/// Bytes over all ranks of one engine that `capacity` takes.
std::int64_t bytes_of(const Scenario& s, const Capacity& capacity) {
  if (capacity.kind == Capacity::Kind::kBytes) return capacity.count;
  const std::int64_t blocks = capacity.count;
  // Its pool never uses one block of each rank (vllm/v1/simple_kv_offload/manager.py).
  if (s.engine.simple_offload() && blocks > 0) return (blocks + 1) * slot_of(s);
  return ceil_div(blocks, std::int64_t{s.engine.blocks_per_chunk}) * slot_of(s);
}

bool is_arc(const Scenario& s) {
  return s.tier->eviction.name() == "vllm-arc";
}

/// What the scenario has of the connector that its flags alone do not say.
Json extra_config(const Scenario& s, const OffloadForm& form, const EnginePreset& release,
                  EngineFlags& out) {
  const EngineConfig& c = s.engine;
  Json extra = Json::object();
  if (c.blocks_per_chunk > 1) extra["block_size"] = c.blocks_per_chunk * c.block_tokens;
  if (is_arc(s)) extra["eviction_policy"] = "arc";
  if (c.store_threshold >= 2 && form.threshold) {
    extra["store_threshold"] = c.store_threshold;
    extra["max_tracker_size"] = c.max_tracker_size;
  } else if (c.store_threshold >= 2) {
    out.not_covered.push_back(
        fmt::format("store_threshold {}: {} has none", c.store_threshold, release.name));
  }
  const bool prompt_only = engine_defaults(release, s.gpu).offload_prompt_only;
  if (c.family == EngineFamily::kVllmV1 && c.offload_prompt_only != prompt_only &&
      !c.simple_offload()) {
    if (form.prompt_only) {
      extra["offload_prompt_only"] = c.offload_prompt_only;
    } else {
      out.not_covered.push_back(fmt::format(
          "offload_prompt_only: {} copies answers as well (d63108fb18 brought it)", release.name));
    }
  }
  if (c.lazy_offload) extra["lazy_offload"] = true;
  return extra;
}

/// Tiers behind host memory (vllm/v1/kv_offload/tiering). Paths are the reader's.
void add_behind(const Scenario& s, const EnginePreset& release, Json& extra, EngineFlags& out) {
  if (s.behind.empty()) return;
  if (!release.has_tiering) {
    out.not_covered.push_back(
        fmt::format("tiers behind {}: {} has none (11f6b545d4 brought TieringOffloadingSpec)",
                    s.tier->name, release.name));
    return;
  }
  Json tiers = Json::array();
  for (const TierChoice& tier : s.behind) {
    const StorageSpec& spec = tier.storage->spec;
    switch (spec.kind) {
      case StorageKind::kNvme:
      case StorageKind::kFs:
        tiers.push_back({{"type", "fs"},
                         {"root_dir", "ROOT_DIR_OF_" + tier.name},
                         {"n_read_threads", spec.read_first},
                         {"n_write_threads", spec.slots - spec.read_first}});
        out.not_covered.push_back(fmt::format(
            "where tier {} lies: put its directory for ROOT_DIR_OF_{}", tier.name, tier.name));
        break;
      case StorageKind::kObject:
        tiers.push_back({{"type", "obj"}, {"io_threads", spec.slots}});
        out.not_covered.push_back(
            fmt::format("the store behind tier {}: its address and credentials", tier.name));
        break;
      case StorageKind::kKv:
        out.not_covered.push_back(
            fmt::format("tier {}: vLLM has fs and obj behind host memory, and no kv", tier.name));
        break;
    }
  }
  if (tiers.empty()) return;
  extra["spec_name"] = "TieringOffloadingSpec";
  extra["secondary_tiers"] = std::move(tiers);
}

/// What was set in place of `bytes`, where that is not the same.
std::string rounding(const std::string& set, std::int64_t bytes, std::int64_t slot) {
  if (set == gib(bytes)) return "";
  return fmt::format(", set as {}: no more, and room for the same {} blocks of {} bytes", set,
                     bytes / slot, slot);
}

void add_size_comment(const Scenario& s, std::string_view key, std::int64_t bytes,
                      std::string_view unit, const std::string& rounded, EngineFlags& out) {
  const std::string ranks =
      s.world() == 1 ? "one rank" : fmt::format("all {} ranks of one engine together", s.world());
  out.comments.push_back(fmt::format("{} is in {}, of {}: {} bytes = {} GiB ({}){}", key, unit,
                                     ranks, bytes, gib(bytes), gb(bytes), rounded));
  if (s.world() > 1 && s.tier_copies() == 1) {
    out.comments.emplace_back("its ranks hold the same latents and share one copy (7eca0e1a64)");
  } else if (s.world() > 1) {
    out.comments.push_back(
        fmt::format("each rank has {} / {} = {} bytes of it", bytes, s.world(), bytes / s.world()));
  }
}

/// The connector as JSON: every release takes it, and it says what the flags cannot.
void add_connector(const Scenario& s, const Capacity& capacity, const OffloadForm& form,
                   std::int64_t bytes, Json extra, EngineFlags& out) {
  Json config = {{"kv_connector",
                  s.engine.simple_offload() ? "SimpleCPUOffloadConnector" : "OffloadingConnector"},
                 {"kv_role", "kv_both"}};
  Json all = Json::object();
  if (form.blocks_key) {
    const std::uint64_t slots = s.tier_blocks(capacity) / s.engine.blocks_per_chunk;
    all["block_size"] = s.engine.blocks_per_chunk * s.engine.block_tokens;
    all["num_cpu_blocks"] = slots;
    out.comments.push_back(fmt::format(
        "num_cpu_blocks counts blocks of {} tokens on every worker, a part of each: {} bytes / {} "
        "bytes a block over {} = {}",
        s.engine.blocks_per_chunk * s.engine.block_tokens, bytes, s.tier_slot().count(),
        s.world() == 1 ? "one rank" : fmt::format("{} ranks", s.world()), slots));
  }
  if (form.bytes_key) {
    all["cpu_bytes_to_use"] = bytes;
    add_size_comment(s, "cpu_bytes_to_use", bytes, "bytes", "", out);
  }
  if (form.blocks_key && form.bytes_key) {
    out.comments.emplace_back(
        "both say the same: vLLM reads cpu_bytes_to_use since #24498 (January 2026), "
        "num_cpu_blocks before");
  }
  for (const auto& [key, value] : extra.items()) all[key] = value;
  config["kv_connector_extra_config"] = std::move(all);
  out.arguments.push_back("--kv-transfer-config " + shell_word(config.dump()));
}

/// Of everything that shares the machine.
void add_host_total(const Scenario& s, std::int64_t bytes, const EnginePreset& release,
                    EngineFlags& out) {
  const std::uint32_t engines = s.engine.data_parallel;
  if (engines > 1) {
    out.comments.push_back(fmt::format(
        "each of {} data-parallel engines has that much: {} x {} GiB = {} GiB of host memory",
        engines, engines, gib(bytes), gib(bytes * engines)));
  }
  if (release.has_tiering) {
    out.comments.push_back(fmt::format(
        "it lies in /dev/shm (vllm/v1/kv_offload/cpu): a container needs --shm-size of {} GiB or "
        "more",
        gib_up(bytes * engines)));
  }
}

/// What of the tier v1's own connector does not do.
void say_unlike(const Scenario& s, EngineFlags& out) {
  const EngineConfig& c = s.engine;
  if (!has_tier_eviction(s, s.tier->eviction.name())) {
    out.not_covered.push_back(fmt::format("eviction {} of {}: vLLM has lru and arc",
                                          s.tier->eviction.text(), s.tier->name));
  }
  if (s.tier->write_admission.name() != "always") {
    out.not_covered.push_back(
        fmt::format("write admission ({}); vLLM's own is store_threshold in "
                    "kv_connector_extra_config",
                    s.tier->write_admission.text()));
  }
  if (c.load != LoadSemantics::kAsync) {
    out.not_covered.push_back(
        fmt::format("load {}: vLLM's connector loads async", name_of(c.load)));
  }
  if (s.load_at_break_even) {
    out.not_covered.emplace_back("load_or_recompute break_even: vLLM loads whatever it finds");
  }
}

}  // namespace

void add_swap_flags(const Scenario& s, const Capacity& capacity, EngineFlags& out) {
  const bool own = s.engine.family == EngineFamily::kVllmV0;
  const bool swaps = (s.tier || own) && capacity.count > 0 && (!own || s.engine.swap.swap);
  const std::int64_t whole = own && !s.tier ? s.swap_space.count() : bytes_of(s, capacity);
  const std::int64_t bytes = own ? whole : ceil_div(whole, std::int64_t{s.world()});
  out.arguments.push_back(fmt::format("--preemption-mode {}", swaps ? "swap" : "recompute"));
  const std::int64_t slot = s.engine.block_bytes.count();
  const std::string set = flag_gib(bytes, slot);
  out.arguments.push_back(fmt::format("--swap-space {}", set));
  // vllm/engine/arg_utils.py, vllm/config.py @ db66e018ea: a float, "per GPU (in GiB)".
  out.comments.push_back(fmt::format(
      "--swap-space is in GiB, of each GPU: {} bytes{} / 2^30 = {} "
      "GiB ({}){}",
      whole, own || s.world() == 1 ? std::string() : fmt::format(" / {} GPUs", s.world()),
      gib(bytes), gb(bytes), rounding(set, bytes, slot)));
  if (own) return;
  out.not_covered.emplace_back(
      "prefixes in host memory: v0 keeps only what it preempts there, so the hits that were "
      "simulated do not carry over");
}

void add_offload_flags(const Scenario& s, const Capacity& capacity, const EnginePreset& release,
                       EngineFlags& out) {
  if (!s.tier || capacity.count == 0) {
    out.comments.emplace_back("nothing is offloaded, which is vLLM's default");
    return;
  }
  const ConnectorKind own = s.engine.connector;
  if (release.connector != own && (of_preset(own) || of_preset(release.connector))) {
    out.not_covered.push_back(
        fmt::format("the tiers below HBM: the scenario runs {}, whose connector is not that of {}",
                    s.preset, release.name));
    return;
  }
  if (own == ConnectorKind::kKvbm) return add_kvbm_flags(s, capacity, out);
  if (own == ConnectorKind::kFlexkv) return add_flexkv_flags(s, capacity, out);
  if (own == ConnectorKind::kMooncake) return add_vllm_mooncake_flags(s, capacity, out);
  if (keeps_chunks(s.engine.connector)) return add_chunk_flags(s, capacity, out);
  if (s.tier->storage) {
    out.not_covered.push_back(fmt::format(
        "tier {} ({}): vLLM's own offload keeps blocks in host memory, with storage behind it only",
        s.tier->name, s.tier->kind()));
    return;
  }
  const OffloadForm form(release);
  if (s.engine.simple_offload() && !form.simple) {
    out.not_covered.push_back(
        fmt::format("offload_connector simple: {} has none (#37160 brought it)", release.name));
    return;
  }
  const std::int64_t bytes = bytes_of(s, capacity);
  Json extra = extra_config(s, form, release, out);
  add_behind(s, release, extra, out);
  say_unlike(s, out);
  if (!form.size_flag || !extra.empty()) {
    add_connector(s, capacity, form, bytes, std::move(extra), out);
  } else {
    // vllm/config/cache.py @ 002f10e0cf: GiB, "summed across all TP ranks"; vllm/config/vllm.py
    // multiplies by 2^30 for cpu_bytes_to_use.
    if (s.engine.simple_offload()) out.environment.emplace_back("VLLM_USE_SIMPLE_KV_OFFLOAD=1");
    out.arguments.emplace_back("--kv-offloading-backend native");
    const std::int64_t slot = slot_of(s);
    const std::string set = flag_gib(bytes, slot);
    out.arguments.push_back(fmt::format("--kv-offloading-size {}", set));
    add_size_comment(s, "--kv-offloading-size", bytes, "GiB", rounding(set, bytes, slot), out);
    // Before #39403 the connector knows no KV groups, and refuses to start beside them.
    if (!release.has_tiering) out.arguments.emplace_back("--disable-hybrid-kv-cache-manager");
  }
  add_host_total(s, bytes, release, out);
}

}  // namespace spillway
