// Sources: sgl-project/sglang, python/sglang/srt/mem_cache/storage/mooncake_store/mooncake_store.py
// @ 00fe477f (where a client's settings come from; "4gb" is 2^30; a rank lends its part) and
// srt/environ.py (names, defaults); kvcache-ai/Mooncake, docs/source/deployment/ssd/ssd-offload.md
// @ 05ee27c0 (variables of the SSD, of each client process) and
// docs/source/deployment/mooncake-store-configuration-reference.md @ 7f95787f (mooncake_client).
#include "scenarios/scenario/intake/mooncake_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/intake/mooncake_client.hpp"
#include "scenarios/scenario/intake/mooncake_master.hpp"

namespace spillway {

namespace {

using MooncakeJson = nlohmann::ordered_json;

constexpr std::string_view kMooncakePrefix = "MOONCAKE_";
constexpr std::string_view kMooncakeOnVllm = "mooncake@0.3";
constexpr std::int64_t kUsualSegment = std::int64_t{4} << 30;
constexpr double kUsualHigh = 0.9;  // of the SSD
constexpr std::int64_t kUsualSsd = std::int64_t{2} << 40;

constexpr std::string_view kOfClient = "how a client finds the store";
constexpr std::string_view kOfBuffers = "buffers of the SSD's copies are not modelled";
constexpr SettingRow kVariableRows[] = {
    read_row("GLOBAL_SEGMENT_SIZE"),
    read_row("STANDALONE_STORAGE"),
    read_row("CLIENT"),
    read_row("ENABLE_SSD_OFFLOAD"),
    read_row("OFFLOAD_TOTAL_SIZE_LIMIT_BYTES"),
    read_row("OFFLOAD_HEARTBEAT_INTERVAL_SECONDS"),
    read_row("OFFLOAD_BUCKET_SIZE_LIMIT_BYTES"),
    read_row("OFFLOAD_BUCKET_KEYS_LIMIT"),
    read_row("OFFLOAD_DISK_EVICTION_HIGH_WATERMARK_RATIO"),
    read_row("OFFLOAD_DISK_EVICTION_LOW_WATERMARK_RATIO"),
    read_row("DISK_EVICTION_HIGH_WATERMARK_RATIO"),
    read_row("DISK_EVICTION_LOW_WATERMARK_RATIO"),
    idle_row("OFFLOAD_FILE_STORAGE_PATH", "where the SSD lies"),
    left_row("OFFLOAD_STORAGE_BACKEND_DESCRIPTOR", "the SSD holds buckets"),
    left_row("OFFLOAD_BUCKET_EVICTION_POLICY", "the oldest bucket goes first"),
    left_row("OFFLOAD_BUCKET_MAX_TOTAL_SIZE", "OFFLOAD_TOTAL_SIZE_LIMIT_BYTES bounds the SSD"),
    left_row("OFFLOAD_BUCKET_MAX_PHYSICAL_BYTES", "OFFLOAD_TOTAL_SIZE_LIMIT_BYTES bounds the SSD"),
    left_row("OFFLOAD_TOTAL_KEYS_LIMIT", "the SSD is bounded by its bytes"),
    left_row("OFFLOAD_ENABLE_DISK_WATERMARK_EVICTION", "the SSD evicts at its watermarks"),
    left_row("ENABLE_STANDALONE", "the master is a process of its own"),
    left_row("TENANT_ID", "all clients are one tenant"),
    idle_row("OFFLOAD_", kOfBuffers),
    idle_row("MASTER", kOfClient),
    idle_row("MASTER_METRICS_PORT", kOfClient),
    idle_row("LOCAL_HOSTNAME", kOfClient),
    idle_row("TE_META_DATA_SERVER", kOfClient),
    idle_row("PROTOCOL", "links or tiers[].device have the rates of the copies"),
    idle_row("DEVICE", "links or tiers[].device have the rates of the copies"),
    idle_row("CHECK_SERVER", kOfClient),
    idle_row("CLIENT_METRICS_PORT_BASE", kOfClient),
    idle_row("LOCAL_BUFFER_SIZE", kOfBuffers),
    idle_row("CONFIG_PATH", "a file of vLLM's connector, which is not named here"),
    idle_row("PREFERRED_SEGMENT", "puts go to the segment with most room"),
    idle_row("REQUESTER_LOCAL_HOSTNAME", kOfClient),
    idle_row("SNAPSHOT_LOCAL_PATH", "the master does not fail"),
};

/// Variables of the SSD that are keys of the store.
struct SsdKey {
  std::string_view name;
  std::string_view key;
  bool share;          ///< else whole
  std::int64_t scale;  ///< of a whole number
};
constexpr SsdKey kSsdKeys[] = {
    {"OFFLOAD_BUCKET_SIZE_LIMIT_BYTES", "bucket_bytes", false, 1},
    {"OFFLOAD_BUCKET_KEYS_LIMIT", "bucket_keys", false, 1},
    {"OFFLOAD_HEARTBEAT_INTERVAL_SECONDS", "heartbeat_ms", false, 1000},
    {"DISK_EVICTION_HIGH_WATERMARK_RATIO", "ssd_high_watermark", true, 1},
    {"DISK_EVICTION_LOW_WATERMARK_RATIO", "ssd_low_watermark", true, 1},
    {"OFFLOAD_DISK_EVICTION_HIGH_WATERMARK_RATIO", "ssd_high_watermark", true, 1},
    {"OFFLOAD_DISK_EVICTION_LOW_WATERMARK_RATIO", "ssd_low_watermark", true, 1},
};

class MooncakeReader {
 public:
  MooncakeReader(const EngineCall& call, std::int64_t ranks, Draft& draft)
      : call_(call), ranks_(ranks), draft_(draft), variables_(settings_of(call, kMooncakePrefix)) {
    for (const EngineCall& store : call.stores) {
      for (StoreSetting& one : settings_of(store, kMooncakePrefix)) {
        if (find_setting(variables_, one.name) == nullptr) variables_.push_back(std::move(one));
      }
    }
  }

  void behind(const MooncakeJson& extra) {
    at_ = "tiers.1";
    client_ = mooncake_client_settings(call_, extra, variables_, draft_);
    own_memory();
    lent_memory();
    memory();
    store();
  }

  void vllm() {
    draft_.set("engine.preset", std::string(kMooncakeOnVllm), "MooncakeStoreConnector");
    at_ = "tiers.0";
    draft_.set("tiers.0.name", "store", "MooncakeStoreConnector");
    draft_.set("tiers.0.kind", "kv", "");
    draft_.set("tiers.0.scope", "cluster", "");
    client_ = vllm_client_settings(call_, variables_, draft_);
    memory_of_ranks();
    lent_memory();
    memory();
    store();
  }

  void alone() {
    draft_.set("engine.preset", "mooncake-client", "processes of Mooncake Store alone");
    at_ = "tiers.0";
    draft_.set("tiers.0.name", "store", std::string(kMooncakeMaster));
    draft_.set("tiers.0.kind", "kv", "");
    draft_.set("tiers.0.scope", "cluster", "");
    lent_memory();
    if (const StoreSetting* size = find_setting(variables_, "GLOBAL_SEGMENT_SIZE");
        size != nullptr && total_ == 0) {
      lend(segment_bytes(*size, false), 1, size->written);
    }
    memory();
    store();
    ways();
  }

 private:
  // ---- memory

  void lend(std::int64_t bytes, std::int64_t segments, const std::string& origin) {
    if (bytes == 0) return draft_.remark(Standing::kUsed, origin, "lends no memory");
    total_ += bytes * segments;
    segments_ += segments;
    origin_ += (origin_.empty() ? "" : "; ") + origin;
    draft_.remark(Standing::kUsed, origin, at_ + ".capacity");
  }

  bool own(const char* name) const {
    const StoreSetting* given = find_setting(client_, name);
    return given != nullptr && truth_setting(*given);
  }

  /// A size is of an instance, whose ranks lend equal parts of it.
  void own_memory() {
    if (own("standalone_storage")) {
      return draft_.remark(Standing::kNoEffect, "global_segment_size",
                           "a client process lends the memory, not the engine");
    }
    const StoreSetting* size = find_setting(client_, "global_segment_size");
    const std::int64_t instances = std::max<std::int64_t>(1, call_.replicas.value_or(1));
    const std::int64_t bytes = size == nullptr ? kUsualSegment : segment_bytes(*size, false);
    const std::string origin =
        (size == nullptr ? std::string("MOONCAKE_GLOBAL_SEGMENT_SIZE, SGLang's default of 4gb")
                         : size->written) +
        fmt::format(", of each of {} instance{}", instances, instances == 1 ? "" : "s") +
        (ranks_ == 1 ? "" : fmt::format(" over its {} ranks", ranks_));
    if (size == nullptr) {
      draft_.remark(Standing::kAssumed, "MOONCAKE_GLOBAL_SEGMENT_SIZE is not set",
                    "SGLang takes 4 GiB for each instance");
    }
    lend(bytes / ranks_, ranks_ * instances, origin);
  }

  /// Of vLLM each rank lends as much; none where processes mooncake_client do.
  void memory_of_ranks() {
    const StoreSetting* mode = find_setting(client_, "mode");
    const StoreSetting* size = find_setting(client_, "global_segment_size");
    if (mode != nullptr && mode->value == "standalone-store") {
      return draft_.remark(Standing::kUsed, mode->written, "processes mooncake_client lend memory");
    }
    if (mode != nullptr && mode->value != "embedded") {
      refuse_setting(*mode, "embedded or standalone-store");
    }
    const std::int64_t instances = std::max<std::int64_t>(1, call_.replicas.value_or(1));
    if (!call_.replicas) {
      draft_.remark(Standing::kAssumed, "one server",
                    "for N servers set fleet.replicas=N, tiers.0.capacity and tiers.0.segments to "
                    "N times as much");
    }
    const std::int64_t bytes = size == nullptr ? kUsualSegment : segment_bytes(*size, true);
    if (size == nullptr) {
      draft_.remark(Standing::kAssumed, "global_segment_size is not set",
                    "4 GiB are taken for each rank");
    }
    lend(bytes, ranks_ * instances,
         (size == nullptr ? std::string("global_segment_size, assumed 4 GiB") : size->written) +
             fmt::format(", of each of {} ranks", ranks_ * instances));
  }

  void lent_memory() {
    for (const EngineCall& store : call_.stores) {
      if (store.engine == kMooncakeMaster) continue;
      const std::int64_t count = std::max<std::int64_t>(1, store.replicas.value_or(1));
      const std::optional<StoreSetting> size = lent_segment(store);
      if (!size) {
        draft_.remark(Standing::kAssumed, store.engine,
                      "it names no size: the memory that it lends is left out");
        continue;
      }
      lend(segment_bytes(*size, store.engine == kMooncakeClient), count,
           fmt::format("{} {}", store.engine, size->written));
    }
  }

  void memory() {
    if (total_ == 0) {
      draft_.set(at_ + ".capacity", "64GiB", "ASSUMED: other processes lend the memory");
      draft_.set(at_ + ".segments", 1, "");
      return draft_.remark(Standing::kAssumed, "the memory of the store",
                           fmt::format("64 GiB: processes that are not here lend it. Set "
                                       "{}.capacity to their sum",
                                       at_));
    }
    draft_.set(at_ + ".capacity", bytes_text(total_), origin_);
    draft_.set(at_ + ".segments", segments_, "processes that lend memory");
  }

  // ---- the master and the SSD

  void store() {
    const auto master = std::find_if(call_.stores.begin(), call_.stores.end(),
                                     [](const auto& one) { return one.engine == kMooncakeMaster; });
    bool offload = false;
    if (master != call_.stores.end()) {
      offload = read_mooncake_master(*master, at_, draft_);
    } else {
      draft_.remark(Standing::kAssumed, "mooncake_master",
                    "its flags are not here: the defaults of the store are taken. Give its command "
                    "line or its file as another input");
    }
    const std::int64_t lenders = ssd_lenders();
    if (master == call_.stores.end() && lenders > 0) {
      offload = true;
      draft_.set(at_ + ".store.enable_offload", true, "MOONCAKE_ENABLE_SSD_OFFLOAD");
    }
    const bool elsewhere = total_ == 0 || at_ == "tiers.0";  // clients that are not here
    if (offload && (lenders > 0 || elsewhere)) return ssd(std::max<std::int64_t>(1, lenders));
    if (offload) {
      draft_.set(at_ + ".store.enable_offload", false, "no client lends an SSD");
      draft_.remark(Standing::kAssumed, "--enable_offload",
                    "no client lends an SSD, and nothing is offloaded: SGLang needs "
                    "MOONCAKE_ENABLE_SSD_OFFLOAD=true");
    }
  }

  /// Client processes with an SSD of their own.
  std::int64_t ssd_lenders() const {
    std::int64_t out = 0;
    if (own("enable_ssd_offload") && !own("standalone_storage")) {
      out += ranks_ * std::max<std::int64_t>(1, call_.replicas.value_or(1));
    }
    for (const EngineCall& one : call_.stores) {
      if (lends_ssd(one)) out += std::max<std::int64_t>(1, one.replicas.value_or(1));
    }
    return out;
  }

  void ssd(std::int64_t clients) {
    const std::string tier = at_ == "tiers.0" ? "tiers.1" : "tiers.2";
    const StoreSetting* limit = find_setting(variables_, "OFFLOAD_TOTAL_SIZE_LIMIT_BYTES");
    const std::int64_t bytes =
        limit == nullptr ? kUsualSsd : whole_setting(*limit, 1, kMostStoreBytes);
    const std::string origin =
        (limit == nullptr
             ? std::string("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES, its default of 2 TiB")
             : limit->written) +
        fmt::format(", of each of {} client{}", clients, clients == 1 ? "" : "s");
    draft_.set(tier + ".name", "ssd", origin);
    draft_.set(tier + ".kind", "nvme", "");
    draft_.set(tier + ".scope", "cluster", "");
    draft_.set(tier + ".capacity", bytes_text(bytes * clients), origin);
    draft_.remark(limit == nullptr ? Standing::kAssumed : Standing::kUsed, origin,
                  tier + ".capacity");
    for (const SsdKey& row : kSsdKeys) {
      const StoreSetting* given = find_setting(variables_, row.name);
      if (given == nullptr) continue;
      const std::string key = fmt::format("{}.store.{}", at_, row.key);
      if (row.share) {
        draft_.set(key, number_as_json(real_setting(*given, 0, 1)), given->written);
      } else {
        draft_.set(key, whole_setting(*given, 1, kMostStoreBytes / row.scale) * row.scale,
                   given->written);
      }
      draft_.remark(Standing::kUsed, given->written, key);
    }
    check_watermarks();
  }

  void check_watermarks() const {
    const auto value = [&](const char* key) {
      const MooncakeJson found = draft_.at(fmt::format("{}.store.{}", at_, key));
      return found.is_number() ? std::optional<double>(found.get<double>()) : std::nullopt;
    };
    const std::optional<double> low = value("ssd_low_watermark");
    if (!low || *low < value("ssd_high_watermark").value_or(kUsualHigh)) return;
    for (const std::string_view name :
         {"OFFLOAD_DISK_EVICTION_LOW_WATERMARK_RATIO", "DISK_EVICTION_LOW_WATERMARK_RATIO"}) {
      if (const StoreSetting* given = find_setting(variables_, name)) {
        refuse_setting(*given, "less than the high watermark");
      }
    }
  }

  /// No flag says how fast the network and the SSD are.
  void ways() {
    struct Way {
      const char* from;
      const char* to;
      int latency_us;
      const char* bandwidth;
    };
    constexpr Way kWays[] = {{"hbm", "store", 20, "20GB/s"},
                             {"store", "hbm", 20, "20GB/s"},
                             {"store", "ssd", 100, "5GB/s"},
                             {"ssd", "hbm", 100, "7GB/s"}};
    MooncakeJson links = MooncakeJson::array();
    for (const Way& way : kWays) {
      const bool of_ssd = std::string_view(way.from) == "ssd" || std::string_view(way.to) == "ssd";
      if (of_ssd && !draft_.has("tiers.1")) continue;
      links.push_back({{"name", fmt::format("{}-{}", way.from, way.to)},
                       {"from", way.from},
                       {"to", way.to},
                       {"kind", "affine"},
                       {"latency_us", way.latency_us},
                       {"bandwidth", way.bandwidth}});
    }
    draft_.set("links", std::move(links), "ASSUMED: no flag says how fast they are");
    draft_.remark(
        Standing::kAssumed, "links",
        draft_.has("tiers.1")
            ? "20 GB/s to the store and from it, 5 and 7 GB/s for its SSD: set links to yours"
            : "20 GB/s to the store and from it: set links to yours");
  }

  const EngineCall& call_;
  std::int64_t ranks_;
  Draft& draft_;
  StoreSettings variables_;
  StoreSettings client_;  ///< as in the file of a client
  std::string at_;
  std::int64_t total_ = 0;
  std::int64_t segments_ = 0;
  std::string origin_;
};

}  // namespace

std::span<const SettingRow> mooncake_variables() {
  return kVariableRows;
}

void read_mooncake_store(const EngineCall& call, const nlohmann::ordered_json& extra,
                         std::int64_t ranks, Draft& draft) {
  MooncakeReader(call, ranks, draft).behind(extra);
}

void read_vllm_mooncake(const EngineCall& call, std::int64_t ranks, Draft& draft) {
  MooncakeReader(call, ranks, draft).vllm();
}

void read_mooncake_alone(const EngineCall& call, Draft& draft) {
  MooncakeReader(call, 1, draft).alone();
}

}  // namespace spillway
