#include "scenarios/scenario/flags/chunk_flags.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/shell_word.hpp"
#include "scenarios/scenario/flags/aibrix_flags.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

/// Bytes over all ranks of one engine.
std::int64_t bytes_in(const Scenario& s, const Capacity& capacity) {
  return capacity.kind == Capacity::Kind::kBytes ? capacity.count
                                                 : capacity.count * s.tier_block_bytes().count();
}

/// LMCache multiplies a size by 2^30 in each rank (lmcache/v1/cache_engine.py).
std::string gib_of_rank(const Scenario& s, std::int64_t bytes, std::string_view key,
                        EngineFlags& out) {
  const double gib = static_cast<double>(bytes) / static_cast<double>(s.world()) / kGib;
  std::string set = fmt::format("{:.6f}", gib);
  set.erase(set.find_last_not_of('0') + 1);
  if (set.back() == '.') set += '0';
  out.comments.push_back(
      s.world() == 1
          ? fmt::format("{} is in GiB (LMCache multiplies by 2^30), of one rank: {} bytes = {}",
                        key, bytes, set)
          : fmt::format("{} is in GiB (LMCache multiplies by 2^30), of each rank: {} bytes / {} "
                        "ranks = {}",
                        key, bytes, s.world(), set));
  return set;
}

Json connector_of(std::string_view name, Json extra) {
  Json out = {{"kv_connector", name}, {"kv_role", "kv_both"}};
  if (!extra.empty()) out["kv_connector_extra_config"] = std::move(extra);
  return out;
}

void add_transfer(const Json& config, EngineFlags& out) {
  out.arguments.push_back("--kv-transfer-config " + shell_word(config.dump()));
}

// ---- LMCache in process

std::string_view policy_of(ChunkOrder order) {
  for (const RedisPolicy& policy : kRedisPolicies) {
    if (policy.order == order) return policy.name;
  }
  return "allkeys-lru";
}

void add_remote(const Scenario& s, const TierChoice& tier, EngineFlags& out) {
  const std::string_view scheme = tier.kind() == "kv"       ? "redis"
                                  : tier.kind() == "object" ? "s3"
                                                            : "fs";
  out.environment.push_back(fmt::format("LMCACHE_REMOTE_URL={}://HOST_OF_{}", scheme, tier.name));
  out.not_covered.push_back(
      fmt::format("where tier {} lies: put its address for HOST_OF_{}", tier.name, tier.name));
  if (tier.serde.ratio != 1) {
    out.environment.push_back("LMCACHE_REMOTE_SERDE=cachegen");
  }
  if (tier.kind() != "kv" || tier.capacity.kind == Capacity::Kind::kUnbounded) return;
  out.comments.push_back(fmt::format(
      "the server's own: maxmemory {}, maxmemory-policy {}, save \"\" (a Redis without maxmemory "
      "grows until the host ends it)",
      bytes_in(s, tier.capacity), policy_of(tier.order)));
}

void add_lmcache(const Scenario& s, std::int64_t bytes, EngineFlags& out) {
  const LmcacheConfig& c = s.engine.lmcache;
  const auto set = [&](std::string_view name, const std::string& value) {
    out.environment.push_back(fmt::format("LMCACHE_{}={}", name, value));
  };
  const auto word = [](bool on) { return std::string(on ? "True" : "False"); };
  set("CHUNK_SIZE", fmt::to_string(c.chunk_tokens));
  set("LOCAL_CPU", word(c.local_cpu));
  set("MAX_LOCAL_CPU_SIZE", gib_of_rank(s, bytes, "LMCACHE_MAX_LOCAL_CPU_SIZE", out));
  if (s.tier->order != ChunkOrder::kLru) {
    std::string name(kChunkOrders[static_cast<std::size_t>(s.tier->order)]);
    for (char& letter : name) letter = static_cast<char>(letter - 'a' + 'A');
    set("CACHE_POLICY", name);
  }
  if (c.save_decode_cache) set("SAVE_DECODE_CACHE", word(true));
  if (c.save_unfull_chunk) set("SAVE_UNFULL_CHUNK", word(true));
  if (c.min_retrieve_tokens > 0) set("MIN_RETRIEVE_TOKENS", fmt::to_string(c.min_retrieve_tokens));
  if (s.engine.load == LoadSemantics::kLayerwise) set("USE_LAYERWISE", word(true));
  for (const TierChoice& tier : s.behind) {
    if (tier.kind() != "nvme") {
      add_remote(s, tier, out);
      continue;
    }
    set("LOCAL_DISK", "file://DIRECTORY_OF_" + tier.name);
    out.not_covered.push_back(fmt::format(
        "where tier {} lies: put its directory for DIRECTORY_OF_{}", tier.name, tier.name));
    if (tier.capacity.kind == Capacity::Kind::kUnbounded) continue;
    set("MAX_LOCAL_DISK_SIZE",
        gib_of_rank(s, bytes_in(s, tier.capacity), "LMCACHE_MAX_LOCAL_DISK_SIZE", out));
  }
  out.comments.emplace_back(
      "the same as a file: LMCACHE_CONFIG_FILE names YAML with these names in small letters, "
      "without LMCACHE_");
  Json config = connector_of("LMCacheConnectorV1", {});
  if (s.engine.recompute_failed) config["kv_load_failure_policy"] = "recompute";
  add_transfer(config, out);
}

// ---- LMCache multi-process

std::string adapter_of(const TierChoice& tier) {
  if (tier.kind() == "kv") return "resp";
  if (tier.kind() == "object") return "s3";
  return "fs";
}

/// The process beside the engine, told as a comment: it is no part of vLLM's command.
void add_server(const Scenario& s, const TierChoice& l1, std::int64_t bytes, std::size_t behind,
                EngineFlags& out) {
  const LmcacheMpConfig& c = s.engine.lmcache_mp;
  std::string command = fmt::format(
      "beside it: lmcache server --l1-size-gb {} --eviction-policy LRU --chunk-size {} "
      "--eviction-trigger-watermark {} --eviction-ratio {} --l2-prefetch-max-in-flight {}",
      static_cast<double>(bytes) / kGib, c.chunk_tokens, static_cast<double>(c.watermark_ppm) / 1e6,
      static_cast<double>(c.ratio_ppm) / 1e6, c.prefetches);
  if (c.skip_l1) command += " --l2-store-policy skip_l1";
  if (c.retain) command += " --l2-prefetch-policy retain";
  for (std::size_t i = behind; i < s.behind.size(); ++i) {
    command += fmt::format(" --l2-adapter {}", adapter_of(s.behind[i]));
    out.not_covered.push_back(
        fmt::format("where tier {} lies: it belongs to its --l2-adapter", s.behind[i].name));
  }
  out.comments.push_back(std::move(command));
  out.not_covered.push_back(
      fmt::format("lmcache_mp and the size of tier {}: flags of lmcache server", l1.name));
  out.comments.push_back(fmt::format("--l1-size-gb is in GiB, of the whole server: {} ({})",
                                     static_cast<double>(bytes) / kGib, l1.name));
}

// ---- llm-d

void add_files(const Scenario& s, EngineFlags& out) {
  const LlmdConfig& c = s.engine.llmd;
  add_transfer(
      connector_of(
          "OffloadingConnector",
          {{"spec_name", "SharedStorageOffloadingSpec"},
           {"spec_module_path", "llmd_fs_backend.spec"},
           {"shared_storage_path", "PATH_OF_" + s.tier->name},
           {"block_size", c.block_size},
           {"threads_per_gpu", c.threads},
           {"read_preferring_ratio", static_cast<double>(c.read_preferring_ppm) / 1e6},
           {"max_write_queued_seconds", static_cast<double>(c.max_write_queued_us) / 1e6}}),
      out);
  out.not_covered.push_back(
      fmt::format("where tier {} lies: put its path for PATH_OF_{}", s.tier->name, s.tier->name));
  out.not_covered.push_back(fmt::format("the size of tier {}: the volume's", s.tier->name));
  if (!s.tier->evictor) {
    out.comments.emplace_back("nothing deletes files: the volume fills up unless an evictor runs");
    return;
  }
  const EvictorConfig& e = *s.tier->evictor;
  out.comments.push_back(fmt::format(
      "the PVC evictor's own: CLEANUP_THRESHOLD={} TARGET_THRESHOLD={} "
      "FILE_ACCESS_TIME_THRESHOLD_MINUTES={} FILE_QUEUE_MIN_SIZE={} FILE_QUEUE_MAXSIZE={} "
      "DELETION_BATCH_SIZE={}",
      static_cast<double>(e.cleanup_ppm) / 1e4, static_cast<double>(e.target_ppm) / 1e4,
      static_cast<double>(e.access.count()) / 60e9, e.queue_min, e.queue_max, e.batch));
}

}  // namespace

void add_chunk_flags(const Scenario& s, const Capacity& capacity, EngineFlags& out) {
  const std::int64_t bytes = bytes_in(s, capacity);
  switch (s.engine.connector) {
    case ConnectorKind::kLmcache:
      add_lmcache(s, bytes, out);
      break;
    case ConnectorKind::kLmcacheMp:
      add_transfer(connector_of("LMCacheMPConnector", {}), out);
      add_server(s, *s.tier, bytes, 0, out);
      break;
    case ConnectorKind::kHybrid: {
      const Json both =
          Json::array({connector_of("OffloadingConnector", {{"cpu_bytes_to_use", bytes}}),
                       connector_of("LMCacheMPConnector", {})});
      add_transfer(connector_of("MultiConnector", {{"connectors", both}}), out);
      const TierChoice& l1 = s.behind.front();
      add_server(s, l1, bytes_in(s, l1.capacity), 1, out);
      break;
    }
    case ConnectorKind::kAibrix:
      add_aibrix_flags(s, bytes, out);
      break;
    default:
      add_files(s, out);
  }
}

}  // namespace spillway
