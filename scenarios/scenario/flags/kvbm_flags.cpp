// Sizes are integers of 10^9 bytes over all ranks of one instance, or numbers of blocks
// (lib/bindings/kvbm/src/block_manager/distributed/leader.rs; names of the variables:
// lib/runtime/src/config/environment_names.rs).
#include "scenarios/scenario/flags/kvbm_flags.hpp"

#include <fmt/format.h>

#include "models/releases/chunk_connectors.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kGb = 1'000'000'000;

void set(EngineFlags& out, std::string_view name, std::uint64_t value) {
  out.environment.push_back(fmt::format("DYN_KVBM_{}={}", name, value));
}

std::string ranks_of(const Scenario& s) {
  return s.world() == 1 ? "" : fmt::format(", over all {} ranks of an instance", s.world());
}

/// Whole GB as such, any other size as blocks.
void add_size(const Scenario& s, const TierChoice& tier, const Capacity& capacity,
              std::string_view cache, EngineFlags& out) {
  if (capacity.kind == Capacity::Kind::kUnbounded) {
    out.not_covered.push_back(
        fmt::format("the size of tier {}: KVBM needs one, DYN_KVBM_{}_CACHE_GB", tier.name, cache));
    return;
  }
  const std::uint64_t blocks = s.tier_blocks(capacity);
  const std::int64_t block = s.tier_block_bytes().count();
  if (capacity.kind == Capacity::Kind::kBytes && capacity.count % kGb == 0) {
    set(out, fmt::format("{}_CACHE_GB", cache), static_cast<std::uint64_t>(capacity.count / kGb));
    out.comments.push_back(
        fmt::format("DYN_KVBM_{}_CACHE_GB is in GB (10^9 bytes){}: {} bytes / {} a block = {} "
                    "blocks",
                    cache, ranks_of(s), capacity.count, block, blocks));
    return;
  }
  const std::string name = fmt::format("{}_CACHE_OVERRIDE_NUM_BLOCKS", cache);
  set(out, name, blocks);
  if (capacity.kind == Capacity::Kind::kBlocks) return;
  out.comments.push_back(
      fmt::format("DYN_KVBM_{}: {} bytes{} / {} a block = {} blocks, as the "
                  "size is no whole number of GB",
                  name, capacity.count, ranks_of(s), block, blocks));
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

}  // namespace

void add_kvbm_flags(const Scenario& s, const Capacity& capacity, EngineFlags& out) {
  const KvbmConfig& c = s.engine.kvbm;
  const KvbmConfig usual;
  add_size(s, *s.tier, capacity, "CPU", out);
  for (const TierChoice& tier : s.behind) {
    if (tier.kind() == "object") {
      add_object(s, tier, out);
      continue;
    }
    add_size(s, tier, tier.capacity, "DISK", out);
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
