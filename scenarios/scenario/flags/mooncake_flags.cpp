#include "scenarios/scenario/flags/mooncake_flags.hpp"

#include <fmt/format.h>

#include "models/releases/mooncake_config.hpp"
#include "scenarios/scenario/scenario.hpp"
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

class MooncakeFlags {
 public:
  MooncakeFlags(const Scenario& scenario, const EnginePreset& release)
      : s_(scenario), c_(scenario.engine.mooncake) {
    out_.engine = "mooncake-client";
    out_.release = release.name;
  }

  EngineFlags write(const Capacity& capacity) {
    // mooncake-store/src/master.cpp
    add("default_kv_lease_ttl", ms(c_.lease));
    add("default_kv_soft_pin_ttl", ms(c_.soft_pin));
    add("allow_evict_soft_pinned_objects", c_.evict_soft_pinned);
    add("eviction_high_watermark_ratio", ratio_of(c_.high_watermark));
    add("eviction_ratio", ratio_of(c_.eviction_ratio));
    add("put_start_discard_timeout_sec", seconds_of(c_.put_discard));
    add("put_start_release_timeout_sec", seconds_of(c_.put_release));
    if (c_.offload) add_offload();
    add_segments(capacity);
    if (c_.offload && !s_.behind.empty()) add_ssd(s_.behind.front());
    if (c_.replicas > 1) {
      leave(fmt::format("replicas: {} of each object are asked for with each put", c_.replicas));
    }
    leave("what clients ask for: pins and polling are theirs");
    return std::move(out_);
  }

 private:
  static double ms(Duration d) { return milliseconds_of(d); }
  template <class Value>
  void add(std::string_view flag, const Value& value) {
    out_.arguments.push_back(fmt::format("--{}={}", flag, value));
  }
  template <class Value>
  void put(std::string_view name, const Value& value) {
    out_.environment.push_back(fmt::format("{}={}", name, value));
  }
  void say(std::string comment) { out_.comments.push_back(std::move(comment)); }
  void leave(std::string what) { out_.not_covered.push_back(std::move(what)); }

  void add_offload() {
    add("enable_offload", true);
    add("offload_on_evict", c_.offload_on_evict);
    add("offload_force_evict", c_.offload_force_evict);
    add("offloading_queue_limit", c_.queue_limit);
    add("offload_cap_ratio", ratio_of(c_.offload_cap));
  }

  void add_segments(const Capacity& capacity) {
    if (capacity.kind == Capacity::Kind::kUnbounded) {
      return leave(
          fmt::format("the size of {}: a segment has one; expected it, e.g. 64GiB", s_.tier->name));
    }
    const std::int64_t all = store_bytes(s_, capacity);
    const std::int64_t each = (all + c_.segments - 1) / c_.segments;
    put("MOONCAKE_GLOBAL_SEGMENT_SIZE", each);
    say(
        fmt::format("MOONCAKE_GLOBAL_SEGMENT_SIZE: bytes, for each of {} processes that lend "
                    "memory: {} / {} = {}",
                    c_.segments, all, c_.segments, each));
  }

  // docs/source/deployment/ssd/ssd-offload.md: of each process that lends an SSD.
  void add_ssd(const TierChoice& ssd) {
    put("MOONCAKE_OFFLOAD_HEARTBEAT_INTERVAL_SECONDS", seconds_of(c_.heartbeat));
    put("MOONCAKE_OFFLOAD_BUCKET_SIZE_LIMIT_BYTES", c_.bucket_bytes.count());
    put("MOONCAKE_OFFLOAD_BUCKET_KEYS_LIMIT", c_.bucket_keys);
    if (ssd.capacity.kind != Capacity::Kind::kUnbounded) {
      put("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES", store_bytes(s_, ssd.capacity));
      say("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES: bytes, for each client process; here one SSD "
          "serves the store");
    }
    const MooncakeConfig usual;
    if (c_.ssd_high_watermark != usual.ssd_high_watermark ||
        c_.ssd_low_watermark != usual.ssd_low_watermark) {
      leave(
          "ssd_high_watermark, ssd_low_watermark: set disk_eviction_high_watermark_ratio and "
          "disk_eviction_low_watermark_ratio of the file storage");
    }
  }

  const Scenario& s_;
  const MooncakeConfig& c_;
  EngineFlags out_;
};

}  // namespace

EngineFlags mooncake_flags(const Scenario& scenario, const Capacity& capacity,
                           const EnginePreset& release) {
  return MooncakeFlags(scenario, release).write(capacity);
}

}  // namespace spillway
