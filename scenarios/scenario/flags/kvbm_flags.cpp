// Sizes are integers of 10^9 bytes over all ranks of one instance, or numbers of blocks
// (lib/bindings/kvbm/src/block_manager/distributed/leader.rs; names of the variables:
// lib/runtime/src/config/environment_names.rs). v2 takes GB of each rank
// (lib/kvbm-config/README.md; lib/kvbm-connector/src/connector/leader/init.rs divides them by a
// block of one worker).
#include "scenarios/scenario/flags/kvbm_flags.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/releases/chunk_connectors.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

/// Variables of a size, in GB and in blocks.
struct SizeNames {
  std::string_view gb;
  std::string_view blocks;
  bool per_rank = false;  ///< the GB
};
constexpr SizeNames kHostSize = {"DYN_KVBM_CPU_CACHE_GB", "DYN_KVBM_CPU_CACHE_OVERRIDE_NUM_BLOCKS"};
constexpr SizeNames kDiskSize = {"DYN_KVBM_DISK_CACHE_GB",
                                 "DYN_KVBM_DISK_CACHE_OVERRIDE_NUM_BLOCKS"};
constexpr SizeNames kHostSizeV2 = {"KVBM_CACHE_HOST_CACHE_SIZE_GB", "KVBM_CACHE_HOST_NUM_BLOCKS",
                                   true};
constexpr SizeNames kDiskSizeV2 = {"KVBM_CACHE_DISK_CACHE_SIZE_GB", "KVBM_CACHE_DISK_NUM_BLOCKS",
                                   true};

constexpr std::int64_t kGb = 1'000'000'000;

void set(EngineFlags& out, std::string_view name, std::uint64_t value) {
  out.environment.push_back(fmt::format("DYN_KVBM_{}={}", name, value));
}

std::string ranks_of(const Scenario& s) {
  return s.world() == 1 ? "" : fmt::format(", over all {} ranks of an instance", s.world());
}

/// Whole GB as such, any other size as blocks.
void add_size(const Scenario& s, const TierChoice& tier, const Capacity& capacity,
              const SizeNames& names, EngineFlags& out) {
  if (capacity.kind == Capacity::Kind::kUnbounded) {
    out.not_covered.push_back(
        fmt::format("the size of tier {}: KVBM needs one, {}", tier.name, names.gb));
    return;
  }
  const std::uint64_t blocks = s.tier_blocks(capacity);
  const std::int64_t block = s.tier_block_bytes().count();
  const std::int64_t unit = names.per_rank ? kGb * static_cast<std::int64_t>(s.world()) : kGb;
  if (capacity.kind == Capacity::Kind::kBytes && capacity.count % unit == 0) {
    out.environment.push_back(fmt::format("{}={}", names.gb, capacity.count / unit));
    const std::string scope = names.per_rank && s.world() > 1 ? " of each rank" : "";
    out.comments.push_back(
        fmt::format("{} is in GB (10^9 bytes){}{}: {} bytes / {} a block = {} blocks", names.gb,
                    scope, scope.empty() ? ranks_of(s) : "", capacity.count, block, blocks));
    return;
  }
  out.environment.push_back(fmt::format("{}={}", names.blocks, blocks));
  if (capacity.kind == Capacity::Kind::kBlocks) return;
  out.comments.push_back(
      fmt::format("{}: {} bytes{} / {} a block = {} blocks, as the size is no whole number of GB",
                  names.blocks, capacity.count, ranks_of(s), block, blocks));
}

void add_object(const Scenario& s, const TierChoice& tier, EngineFlags& out) {
  set(out, "OBJECT_ENABLED", 1);
  out.environment.push_back("DYN_KVBM_OBJECT_BUCKET=BUCKET_OF_" + tier.name);
  out.not_covered.push_back(
      fmt::format("where tier {} lies: put its bucket for BUCKET_OF_{}", tier.name, tier.name));
  if (tier.capacity.kind == Capacity::Kind::kUnbounded) return;
  set(out, "OBJECT_NUM_BLOCKS", s.tier_blocks(tier.capacity));
}

/// What the scenario has otherwise than KVBM's constants, and no variable changes.
void say_fixed(const KvbmConfig& c, EngineFlags& out) {
  const KvbmConfig usual;
  if (c.filter_min != usual.filter_min || c.filter_decay != usual.filter_decay ||
      c.filter_entries != usual.filter_entries) {
    out.not_covered.emplace_back(
        "disk_filter_min, disk_filter_decay_s, disk_filter_entries: KVBM has 2, 600 s and "
        "1,000,000, and no variable for them");
  }
}

Json policies_json(const KvbmConfig& c, const KvbmPolicies& hop) {
  const std::string_view name = hop.frequent   ? "presence_lfu"
                                : hop.presence ? "presence"
                                               : "pass_all";
  Json out = {{"policies", Json::array({name})}, {"max_batch_size", c.max_batch}};
  if (hop.frequent) out["presence_lfu"] = {{"min_lfu_count", c.min_uses}};
  return out;
}

/// Sizes as variables, the rest as the connector's own settings (lib/kvbm-config/README.md).
void add_v2_flags(const Scenario& s, const Capacity& capacity, EngineFlags& out) {
  const KvbmConfig& c = s.engine.kvbm;
  const KvbmConfig usual = kvbm_v2();
  Json leader;
  leader["offload"]["g1_to_g2"] = policies_json(c, c.host);
  add_size(s, *s.tier, capacity, kHostSizeV2, out);
  for (const TierChoice& tier : s.behind) {
    const std::string_view kind = tier.kind() == "object" ? "BUCKET" : "DIRECTORY";
    const std::string place = fmt::format("{}_OF_{}", kind, tier.name);
    out.not_covered.push_back(fmt::format("where tier {} lies: put its {} for {}", tier.name,
                                          kind == "BUCKET" ? "bucket" : "directory", place));
    if (kind == "BUCKET") {
      leader["object"]["client"] = {{"type", "s3"}, {"bucket", place}};
      continue;
    }
    add_size(s, tier, tier.capacity, kDiskSizeV2, out);
    out.environment.push_back("KVBM_CACHE_DISK_STORAGE_PATH=" + place);
    leader["offload"]["g2_to_g3"] = policies_json(c, c.disk);
  }
  if (c.inactive != usual.inactive || c.use_entries != usual.use_entries) {
    out.not_covered.emplace_back(
        "inactive_pool, multi_lru_thresholds, lfu_entries: KVBM has lineage and 2,097,152, and no "
        "setting for them");
  }
  out.arguments.emplace_back("--no-async-scheduling");
  const Json config = {{"kv_connector", "DynamoConnector"},
                       {"kv_connector_module_path", "kvbm.v2.vllm.connector"},
                       {"kv_role", "kv_both"},
                       {"kv_connector_extra_config", {{"leader", leader}}}};
  out.arguments.push_back(fmt::format("--kv-transfer-config '{}'", config.dump()));
}

}  // namespace

void add_kvbm_flags(const Scenario& s, const Capacity& capacity, EngineFlags& out) {
  const KvbmConfig& c = s.engine.kvbm;
  if (c.v2) return add_v2_flags(s, capacity, out);
  const KvbmConfig usual;
  add_size(s, *s.tier, capacity, kHostSize, out);
  for (const TierChoice& tier : s.behind) {
    if (tier.kind() == "object") {
      add_object(s, tier, out);
      continue;
    }
    add_size(s, tier, tier.capacity, kDiskSize, out);
    out.environment.push_back("DYN_KVBM_DISK_CACHE_DIR=DIRECTORY_OF_" + tier.name);
    out.not_covered.push_back(fmt::format(
        "where tier {} lies: put its directory for DIRECTORY_OF_{}", tier.name, tier.name));
    if (!c.filter) out.environment.emplace_back("DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=true");
    say_fixed(c, out);
  }
  if (c.max_transfers != usual.max_transfers) {
    set(out, "MAX_CONCURRENT_TRANSFERS", c.max_transfers);
  }
  if (c.max_batch != usual.max_batch) set(out, "MAX_TRANSFER_BATCH_SIZE", c.max_batch);
  out.arguments.emplace_back("--no-async-scheduling");
  out.arguments.emplace_back(
      R"(--kv-transfer-config '{"kv_connector":"DynamoConnector",)"
      R"("kv_connector_module_path":"kvbm.vllm_integration.connector","kv_role":"kv_both"}')");
}

}  // namespace spillway
