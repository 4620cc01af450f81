#include "scenarios/scenario/flags/mooncake_flags.hpp"

#include <fmt/format.h>

#include <cmath>

#include "models/releases/mooncake_config.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

double ratio_of(std::int64_t billionths) {
  return static_cast<double>(billionths) / static_cast<double>(MooncakeConfig::kWhole);
}

std::int64_t store_bytes(const Scenario& s, const Capacity& capacity) {
  const bool blocks = capacity.kind == Capacity::Kind::kBlocks;
  return blocks ? capacity.count * s.tier_block_bytes().count() : capacity.count;
}

std::int64_t rounded_up(std::int64_t bytes, std::int64_t parts) {
  return (bytes + parts - 1) / parts;
}

class MooncakeFlags {
 public:
  MooncakeFlags(const Scenario& scenario, EngineFlags& out)
      : s_(scenario), c_(scenario.engine.mooncake), out_(out) {}

  /// mooncake-store/src/master.cpp
  std::vector<std::string> master() {
    whole("default_kv_lease_ttl", milliseconds_of(c_.lease), "lease_ms", "milliseconds");
    whole("default_kv_soft_pin_ttl", milliseconds_of(c_.soft_pin), "soft_pin_ms", "milliseconds");
    add("allow_evict_soft_pinned_objects", c_.evict_soft_pinned);
    add("eviction_high_watermark_ratio", ratio_of(c_.high_watermark));
    add("eviction_ratio", ratio_of(c_.eviction_ratio));
    whole("put_start_discard_timeout_sec", seconds_of(c_.put_discard), "put_discard_s", "seconds");
    whole("put_start_release_timeout_sec", seconds_of(c_.put_release), "put_release_s", "seconds");
    if (c_.offload) add_offload();
    const MooncakeConfig usual;
    if (c_.check != usual.check) {
      leave(fmt::format("eviction_check_ms: the master checks each {:g} ms",
                        milliseconds_of(usual.check)));
    }
    if (c_.replicas > 1) {
      leave(fmt::format("replicas: {} of each object are asked for with each put", c_.replicas));
    }
    return std::move(arguments_);
  }

  /// What the master's numbers come to, in the memory of all segments.
  void explain(std::int64_t bytes) {
    say(fmt::format(
        "mooncake_master: one for the whole store. Its lease and soft pin are in ms; "
        "eviction_high_watermark_ratio {} x {} bytes = {:.0f} bytes in use, above which "
        "it evicts {} of the objects at least",
        ratio_of(c_.high_watermark), bytes,
        std::floor(ratio_of(c_.high_watermark) * static_cast<double>(bytes)),
        ratio_of(c_.eviction_ratio)));
  }

  void segments(const Capacity& capacity) {
    if (capacity.kind == Capacity::Kind::kUnbounded) {
      return leave(
          fmt::format("the size of {}: a segment has one; expected it, e.g. 64GiB", s_.tier->name));
    }
    const std::int64_t all = store_bytes(s_, capacity);
    const std::int64_t each = rounded_up(all, c_.segments);
    put("MOONCAKE_GLOBAL_SEGMENT_SIZE", each);
    say(
        fmt::format("MOONCAKE_GLOBAL_SEGMENT_SIZE: bytes, for each of {} processes that lend "
                    "memory: {} / {} = {}",
                    c_.segments, all, c_.segments, each));
    if (c_.segments > 1) {
      leave(fmt::format("segments {}: start as many processes that lend memory", c_.segments));
    }
    explain(all);
  }

  /// Of one instance of SGLang: its ranks lend equal parts (mooncake_store.py).
  void behind() {
    const TierChoice& store = s_.behind.front();
    const std::int64_t instances = store.scope == Scope::kCluster ? s_.fleet->replicas : 1;
    const std::int64_t ranks = s_.world();
    const std::int64_t all = store_bytes(s_, store.capacity);
    const std::int64_t each = rounded_up(all, instances * ranks) * ranks;
    out_.environment.push_back("MOONCAKE_MASTER=MASTER_OF_" + store.name);
    leave(
        fmt::format("where the master of tier {} listens: put its address, such as "
                    "127.0.0.1:50051, for MASTER_OF_{}",
                    store.name, store.name));
    put("MOONCAKE_GLOBAL_SEGMENT_SIZE", each);
    say(
        fmt::format("MOONCAKE_GLOBAL_SEGMENT_SIZE: bytes, of one instance, which divides them by "
                    "its ranks ({}): {} / {} {} = {}",
                    ranks, all, instances, instances == 1 ? "instance" : "instances", each));
    if (c_.segments != instances * ranks) {
      leave(fmt::format("segments {}: each rank of SGLang lends one, {} in all", c_.segments,
                        instances * ranks));
    }
    explain(all);
    if (c_.offload && s_.behind.size() > 1) {
      put("MOONCAKE_ENABLE_SSD_OFFLOAD", true);
      const TierChoice& tier = s_.behind[1];
      put("MOONCAKE_OFFLOAD_FILE_STORAGE_PATH", "DIRECTORY_OF_" + tier.name);
      leave(fmt::format("where tier {} lies: put a directory of each rank for DIRECTORY_OF_{}",
                        tier.name, tier.name));
      ssd(tier, instances * ranks);
    }
  }

  /// docs/source/deployment/ssd/ssd-offload.md: of each process that lends an SSD.
  void ssd(const TierChoice& tier, std::int64_t clients) {
    put("MOONCAKE_OFFLOAD_HEARTBEAT_INTERVAL_SECONDS", seconds_of(c_.heartbeat));
    put("MOONCAKE_OFFLOAD_BUCKET_SIZE_LIMIT_BYTES", c_.bucket_bytes.count());
    put("MOONCAKE_OFFLOAD_BUCKET_KEYS_LIMIT", c_.bucket_keys);
    put("MOONCAKE_OFFLOAD_DISK_EVICTION_HIGH_WATERMARK_RATIO", ratio_of(c_.ssd_high_watermark));
    put("MOONCAKE_OFFLOAD_DISK_EVICTION_LOW_WATERMARK_RATIO", ratio_of(c_.ssd_low_watermark));
    if (tier.capacity.kind == Capacity::Kind::kUnbounded) {
      return leave(
          fmt::format("the size of tier {}: an SSD has one, 2 TiB unless "
                      "MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES says another",
                      tier.name));
    }
    const std::int64_t all = store_bytes(s_, tier.capacity);
    const std::int64_t each = rounded_up(all, clients);
    put("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES", each);
    say(
        fmt::format("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES: bytes, for each client process; here "
                    "{} with an SSD: {} / {} = {}",
                    clients, all, clients, each));
  }

  void leave(std::string what) { out_.not_covered.push_back(std::move(what)); }

 private:
  template <class Value>
  void add(std::string_view flag, const Value& value) {
    arguments_.push_back(fmt::format("--{}={}", flag, value));
  }
  /// The master takes whole ones only.
  void whole(std::string_view flag, double value, std::string_view key, std::string_view unit) {
    add(flag, std::floor(value));
    if (value != std::floor(value)) leave(fmt::format("{}: the master takes whole {}", key, unit));
  }
  template <class Value>
  void put(std::string_view name, const Value& value) {
    out_.environment.push_back(fmt::format("{}={}", name, value));
  }
  void say(std::string comment) { out_.comments.push_back(std::move(comment)); }

  void add_offload() {
    add("enable_offload", true);
    add("offload_on_evict", c_.offload_on_evict);
    add("offload_force_evict", c_.offload_force_evict);
    add("offloading_queue_limit", c_.queue_limit);
    add("offload_cap_ratio", ratio_of(c_.offload_cap));
  }

  const Scenario& s_;
  const MooncakeConfig& c_;
  EngineFlags& out_;
  std::vector<std::string> arguments_;
};

}  // namespace

EngineFlags mooncake_flags(const Scenario& scenario, const Capacity& capacity,
                           const EnginePreset& release) {
  EngineFlags out;
  out.engine = "mooncake-client";
  out.release = release.name;
  MooncakeFlags flags(scenario, out);
  out.arguments = flags.master();
  flags.segments(capacity);
  if (scenario.engine.mooncake.offload && !scenario.behind.empty()) {
    flags.ssd(scenario.behind.front(), 1);  // one SSD serves the store
  }
  flags.leave("what clients ask for: blocks (block_tokens), pins and polling are theirs");
  return out;
}

void add_mooncake_behind(const Scenario& scenario, EngineFlags& out) {
  MooncakeFlags flags(scenario, out);
  out.processes.push_back({"mooncake_master", flags.master()});
  flags.behind();
}

}  // namespace spillway
