// tiers[].device: what a storage tier is made of, with the published figures of its kind where the
// scenario gives none. Every default is named in the notes, with its source.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "sim/catalogue.hpp"
#include "sim/decimal.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr double kMostUs = 1e9;
constexpr std::int64_t kMostSlots = 1 << 16;
constexpr Key kDeviceKeys[] = {
    rate_key("read_bandwidth", "Read rate of the drive. fs, object, kv: of this client."),
    rate_key("write_bandwidth", "Write rate of the drive. fs, object, kv: of this client."),
    rate_key("connection_limit", "object, kv: rate of one connection."),
    rate_key("client_limit", "fs, object, kv: rate of this client in each direction."),
    rate_key("aggregate_limit", "fs, object: rate of all clients together in each direction."),
    rate_key("server_limit", "kv: rate of the server."),
    number_key("read_latency_us", 0, kMostUs, "Latency of one read before its bytes flow."),
    number_key("write_latency_us", 0, kMostUs, "Latency of one write before its bytes flow."),
    object_key("read_tail", ScenarioKeys::kTail,
               "Quantiles of the read latency, in place of read_latency_us."),
    object_key("write_tail", ScenarioKeys::kTail,
               "Quantiles of the write latency, in place of write_latency_us."),
    integer_key("queue_depth", 1, kMostSlots, "nvme: operations in flight."),
    integer_key("threads", 1, kMostSlots, "fs: threads."),
    integer_key("connections", 1, kMostSlots, "object, kv: connections."),
    integer_key("n_read_threads", 1, kMostSlots,
                "nvme or fs as a secondary tier: threads that take reads first.", "16 there"),
    integer_key("n_write_threads", 1, kMostSlots,
                "nvme or fs as a secondary tier: threads that take writes first.", "16 there"),
    integer_key("io_threads", 1, kMostSlots, "object or kv as a secondary tier: threads.",
                "4 there"),
    number_key("lookup_us", 0, 1e9, "Secondary tier: time to find out whether one chunk is there.",
               "0"),
    number_key("read_preferring", 0, 1, "fs: share of the threads that take reads first."),
    flag_key("single_threaded", "kv: whether the server works on one command at a time."),
    integer_key("chunk_tokens", 1, 1 << 20, "Tokens whose KV one operation moves.",
                "one engine block"),
    size_key("write_cache", "nvme: bytes written at the full rate."),
    number_key("endurance_tbw", 0.001, 1e6, "nvme: rated endurance in terabytes written."),
    size_key("drive_capacity", "nvme: capacity of the whole drive.", "the capacity of the tier"),
    rate_key("sustained_write_bandwidth", "nvme: write rate once write_cache is full."),
    rate_key("cache_drain_bandwidth", "nvme: rate at which the cache empties between writes.",
             "sustained_write_bandwidth"),
    integer_key("clients", 0, 100'000, "fs, object, kv: other clients that do what this one does.",
                "0"),
    list_of(text_key("through", "Media that its transfers cross, such as a NIC.")),
    flag_key("direct", "nvme, fs: whether device and GPU copy without host memory between them.")};
constexpr Key kTailKeys[] = {
    required(number_key("p50_us", 0, kMostUs, "Median latency of one operation.")),
    number_key("p90_us", 0, kMostUs, "90th percentile.", "p50_us"),
    number_key("p99_us", 0, kMostUs, "99th percentile.", "p90_us"),
    number_key("p999_us", 0, kMostUs, "99.9th percentile.", "p99_us")};

/// Which kinds a key of `device` means something to; the keys not listed fit all.
struct KindKeys {
  Names key;
  std::initializer_list<StorageKind> kinds;
};
constexpr StorageKind kNvme = StorageKind::kNvme;
constexpr StorageKind kFs = StorageKind::kFs;
constexpr StorageKind kObject = StorageKind::kObject;
constexpr StorageKind kKv = StorageKind::kKv;
const KindKeys kOnly[] = {
    {"connection_limit", {kObject, kKv}},
    {"client_limit", {kFs, kObject, kKv}},
    {"aggregate_limit", {kFs, kObject}},
    {"server_limit", {kKv}},
    {"queue_depth", {kNvme}},
    {"threads", {kFs}},
    {"connections", {kObject, kKv}},
    {"n_read_threads", {kFs, kNvme}},
    {"n_write_threads", {kFs, kNvme}},
    {"io_threads", {kObject, kKv}},
    {"read_preferring", {kFs}},
    {"single_threaded", {kKv}},
    {"write_cache", {kNvme}},
    {"sustained_write_bandwidth", {kNvme}},
    {"cache_drain_bandwidth", {kNvme}},
    {"endurance_tbw", {kNvme}},
    {"drive_capacity", {kNvme}},
    {"clients", {kFs, kObject, kKv}},
    {"direct", {kNvme, kFs}},
};

void refuse_other_kinds(const ObjectReader& device, StorageKind kind) {
  for (const KindKeys& row : kOnly) {
    if (!device.told(row.key)) continue;
    if (std::find(row.kinds.begin(), row.kinds.end(), kind) != row.kinds.end()) continue;
    std::string kinds;
    for (const StorageKind k : row.kinds) {
      kinds += fmt::format("{}{}", kinds.empty() ? "" : " or ", name_of(k));
    }
    device.fail(row.key, fmt::format("expected only with a tier of kind {}, found with {}", kinds,
                                     name_of(kind)));
  }
}

// vLLM's threads (vllm/v1/kv_offload/tiering/fs/manager.py, obj/manager.py).
constexpr std::uint32_t kFileThreads = 16;  // of each sort
constexpr std::uint32_t kObjectThreads = 4;

/// Keys that a tier behind another says in other words, or not at all.
constexpr Names kNotBehind[] = {"queue_depth", "threads",      "connections",
                                "direct",      "chunk_tokens", "read_preferring"};

/// Reads one tier's device, and notes the defaults that it takes.
class DeviceReader {
 public:
  DeviceReader(const ObjectReader& tier, const StorageTier& which, Scenario& s)
      : device_(tier.object("device", ScenarioKeys::kDevice)),
        name_(which.name),
        behind_(which.behind),
        s_(s) {
    const StorageKind kind = which.kind;
    out_.spec = default_storage(kind);
    out_.chunk_tokens = default_chunk_tokens(kind);
    // What calibrate measures is a local drive.
    if (kind == kNvme && s.hardware) {
      measured_ = use_storage(*s.hardware, out_.spec);
      if (measured_.empty()) {
        s.notes.push_back(scenario_note("profile-without-storage",
                                        {{"hardware", s.hardware->name}, {"tier", name_}}));
      }
    }
    if (kind == kKv && s.hardware) {
      measured_ = use_kv_server(*s.hardware, out_.spec, out_.lookup);
      if (!behind_) {
        std::erase(measured_, "lookup_us");
        out_.lookup = Duration(0);
      }
    }
  }

  StorageChoice read() {
    StorageSpec& spec = out_.spec;
    if (device_) {
      refuse_other_kinds(*device_, spec.kind);
      refuse_other_places();
      read_rates();
      read_latency("read_latency_us", "read_tail", spec.read.latency);
      read_latency("write_latency_us", "write_tail", spec.write.latency);
      if (!behind_) read_slots();
      read_drive();
      out_.clients = static_cast<std::uint32_t>(device_->integer("clients").value_or(0));
      out_.direct = device_->boolean("direct").value_or(false);
      out_.through = read_through(*device_, s_);
      spec.one_at_a_time = device_->boolean("single_threaded").value_or(spec.one_at_a_time);
      assign(out_.chunk_tokens, device_->integer("chunk_tokens"));
    }
    if (behind_) {
      read_threads();
      out_.chunk_tokens = s_.engine.block_tokens * s_.engine.blocks_per_chunk;
    }
    spec.operation_bytes = operation_bytes();
    if (spec.kind == kKv && !measured_.empty()) take_measured_rates();
    note_defaults();
    if (out_.clients > 0) {
      s_.notes.push_back(
          scenario_note("device-shared", {{"tier", name_}, {"clients", out_.clients}}));
    }
    return out_;
  }

 private:
  /// A limit that the scenario gives holds for all sizes, so the measured ones do not.
  void take_measured_rates() {
    if (given("server_limit") || given("connection_limit")) return;
    const auto range = use_kv_rates(*s_.hardware, out_.spec);
    if (!range) return;
    s_.notes.push_back(
        scenario_note("kv-beyond-profile", {{"tier", name_},
                                            {"value_bytes", out_.spec.operation_bytes.count()},
                                            {"from_bytes", range->first.count()},
                                            {"to_bytes", range->second.count()},
                                            {"hardware", s_.hardware->name}}));
  }

  void refuse_other_places() const {
    if (behind_) {
      for (const Names key : kNotBehind) {
        device_->refuse({key},
                        "expected only with the tier next to HBM; behind host memory jobs are done "
                        "by n_read_threads and n_write_threads (nvme, fs) or io_threads (object, "
                        "kv), in files of one chunk");
      }
    } else {
      device_->refuse({"n_read_threads", "n_write_threads", "io_threads", "lookup_us"},
                      "expected only with a tier behind one of kind dram");
    }
  }

  /// Behind host memory a thread does one job at a time, its files one after the other.
  void read_threads() {
    StorageSpec& spec = out_.spec;
    const bool files = spec.kind == kFs || spec.kind == kNvme;
    const auto threads = [&](Names key, std::uint32_t otherwise) {
      const auto given = device_ ? device_->integer(key) : std::nullopt;
      if (given) return static_cast<std::uint32_t>(*given);
      note_default(key, fmt::to_string(otherwise), files ? "vLLM fs tier" : "vLLM obj tier");
      return otherwise;
    };
    spec.whole_jobs = true;
    spec.read_first =
        threads(files ? "n_read_threads" : "io_threads", files ? kFileThreads : kObjectThreads);
    spec.slots = spec.read_first + (files ? threads("n_write_threads", kFileThreads) : 0);
    if (!device_) return;
    if (const auto us = device_->number("lookup_us")) out_.lookup = duration_of(*us);
  }

  /// One operation moves what host memory holds of its tokens, all ranks' parts (vLLM's fs tier
  /// writes a row of its CPU pool); directly, one rank's.
  Bytes operation_bytes() const {
    const EngineConfig& c = s_.engine;
    const Bytes block = out_.direct ? s_.rank_block_bytes() : s_.tier_block_bytes();
    if (behind_ || out_.chunk_tokens == 0) return block * std::int64_t{c.blocks_per_chunk};
    if (s_.world() == 1) return s_.model->kv_bytes_per_token * out_.chunk_tokens;
    return Bytes(ceil_div(block.count() * out_.chunk_tokens, std::int64_t{c.block_tokens}));
  }

  void read_rate(Names key, std::initializer_list<std::int64_t*> targets) {
    const auto text = device_->text(key, ObjectReader::kRate);
    if (!text) return;
    const std::int64_t rate = parse_bandwidth(*text, device_->where(key));
    for (std::int64_t* target : targets) *target = rate;
  }

  void read_rates() {
    StorageLane& read = out_.spec.read;
    StorageLane& write = out_.spec.write;
    read_rate("aggregate_limit", {&read.total_rate, &write.total_rate});
    read_rate("server_limit", {&read.total_rate, &write.total_rate});
    read_rate("client_limit", {&read.client_rate, &write.client_rate});
    read_rate("connection_limit", {&read.slot_rate, &write.slot_rate});
    // A drive has one client; elsewhere a direction's own limit is this client's.
    const bool drive = out_.spec.kind == kNvme;
    read_rate("read_bandwidth", {drive ? &read.total_rate : &read.client_rate});
    read_rate("write_bandwidth", {drive ? &write.total_rate : &write.client_rate});
  }

  static Duration duration_of(double us) {
    const Decimal d = decimal_of(us);
    return Duration(-floor_scaled({-d.digits, d.exponent}, 3));  // rounded up
  }

  void read_latency(Names fixed, Names tail, LatencyQuantiles& target) {
    if (const auto us = device_->number(fixed)) {
      if (device_->has(tail)) device_->fail(tail, fmt::format("expected either this or {}", fixed));
      target = LatencyQuantiles::constant(duration_of(*us));
    }
    const auto table = device_->object(tail, ScenarioKeys::kTail);
    if (!table) return;
    double last = table->require_number("p50_us");
    std::string_view last_key = "p50_us";
    target = LatencyQuantiles::constant(duration_of(last));
    const auto quantile = [&](Names key, std::initializer_list<Duration*> from_here) {
      const auto us = table->number(key);
      if (!us) return;
      if (*us < last) {
        table->fail(key, fmt::format("expected at least {} ({}), found {}", last_key, last, *us));
      }
      last = *us;
      last_key = key;
      for (Duration* d : from_here) *d = duration_of(*us);
    };
    quantile("p90_us", {&target.p90, &target.p99, &target.p999});
    quantile("p99_us", {&target.p99, &target.p999});
    quantile("p999_us", {&target.p999});
  }

  void read_slots() {
    StorageSpec& spec = out_.spec;
    for (const Names key : {"queue_depth", "threads", "connections"}) {
      const auto slots = device_->integer(key);
      if (!slots) continue;
      const double share = static_cast<double>(spec.read_first) / spec.slots;
      spec.slots = static_cast<std::uint32_t>(*slots);
      spec.read_first = readers(share);
    }
    if (const auto share = device_->number("read_preferring")) {
      spec.read_first = readers(*share);
    }
  }

  /// At least one thread takes reads first, as in llm-d.
  std::uint32_t readers(double share) const {
    const double slots = out_.spec.slots;
    return static_cast<std::uint32_t>(std::max(1.0, std::floor(share * slots)));
  }

  void read_drive() {
    StorageSpec& spec = out_.spec;
    if (const auto tbw = device_->number("endurance_tbw")) {
      spec.rated_writes = Bytes(static_cast<std::int64_t>(*tbw * 1e12));
    }
    if (const auto size = device_->text("drive_capacity", ObjectReader::kSize)) {
      out_.drive_bytes = parse_bytes(*size, device_->where("drive_capacity"));
      if (out_.drive_bytes == Bytes(0)) device_->fail("drive_capacity", "expected more than 0");
    }
    const auto cache = device_->text("write_cache", ObjectReader::kSize);
    const auto sustained = device_->text("sustained_write_bandwidth", ObjectReader::kRate);
    if (!cache) {
      device_->refuse({"sustained_write_bandwidth", "cache_drain_bandwidth"},
                      "expected only with write_cache, the bytes written at the full rate before");
      return;
    }
    if (!sustained) {
      device_->missing("sustained_write_bandwidth", "the rate of writes once write_cache is full");
    }
    WriteCacheSpec w;
    w.capacity = parse_bytes(*cache, device_->where("write_cache"));
    w.sustained_rate = parse_bandwidth(*sustained, device_->where("sustained_write_bandwidth"));
    if (w.sustained_rate > spec.write.total_rate) {
      device_->fail("sustained_write_bandwidth",
                    fmt::format("expected at most write_bandwidth ({} bytes/s), found {}",
                                spec.write.total_rate, *sustained));
    }
    w.drain_rate = w.sustained_rate;
    if (const auto drain = device_->text("cache_drain_bandwidth", ObjectReader::kRate)) {
      w.drain_rate = parse_bandwidth(*drain, device_->where("cache_drain_bandwidth"));
    } else {
      s_.notes.push_back(scenario_note("cache-drain-default", {{"tier", name_}}));
    }
    spec.write_cache = w;
  }

  bool given(Names key) const {
    if (!device_) return false;
    if (device_->has(key)) return true;
    if (key == "read_latency_us") return device_->has("read_tail");
    if (key == "write_latency_us") return device_->has("write_tail");
    if (key == "client_limit") {
      return device_->has("read_bandwidth") && device_->has("write_bandwidth");
    }
    return false;
  }

  std::string value_of(Names key) const {
    const StorageSpec& spec = out_.spec;
    const auto rate = [](std::int64_t r) {
      return fmt::format("{:g} GB/s", static_cast<double>(r) / 1e9);
    };
    const auto us = [](Duration d) {
      return fmt::format("{:g}", static_cast<double>(d.count()) / 1e3);
    };
    if (key == "read_bandwidth") return rate(spec.read.total_rate);
    if (key == "write_bandwidth") return rate(spec.write.total_rate);
    if (key == "connection_limit") return rate(spec.read.slot_rate);
    if (key == "client_limit") {
      return measured(key) ? "that of its connections"
                           : rate(default_storage(spec.kind).read.client_rate);
    }
    if (key == "server_limit" && spec.read.total_rate != spec.write.total_rate) {
      return fmt::format("{} for reads, {} for writes", rate(spec.read.total_rate),
                         rate(spec.write.total_rate));
    }
    if (key == "aggregate_limit" || key == "server_limit") return rate(spec.read.total_rate);
    if (key == "lookup_us") return us(out_.lookup);
    if (key == "read_latency_us") return us(spec.read.latency.p50);
    if (key == "write_latency_us") return us(spec.write.latency.p50);
    if (key == "chunk_tokens") return fmt::to_string(out_.chunk_tokens);
    if (key == "read_preferring")
      return fmt::format("{:g}", static_cast<double>(spec.read_first) / spec.slots);
    if (key == "single_threaded") return spec.one_at_a_time ? "true" : "false";
    return fmt::to_string(spec.slots);  // queue_depth, threads, connections
  }

  bool measured(Names key) const {
    return std::find(measured_.begin(), measured_.end(), key) != measured_.end();
  }

  NoteFigures of_profile(Names key) const {
    return {
        {"tier", name_}, {"key", key}, {"value", value_of(key)}, {"hardware", s_.hardware->name}};
  }

  void note_default(Names key, const std::string& value, Names source) {
    s_.notes.push_back(scenario_note(
        "tier-default", {{"tier", name_}, {"key", key}, {"value", value}, {"source", source}}));
  }

  void note_defaults() {
    for (const StorageSource& row : storage_sources(out_.spec.kind)) {
      if (behind_ && std::find(std::begin(kNotBehind), std::end(kNotBehind), row.key) !=
                         std::end(kNotBehind)) {
        continue;
      }
      if (!note_measured(row.key) && !given(row.key)) {
        note_default(row.key, value_of(row.key), row.source);
      }
    }
    // Keys without a published figure.
    for (const Names key : {"connection_limit", "lookup_us"}) {
      if (out_.spec.kind == kKv) note_measured(key);
    }
  }

  /// Whether the hardware profile has a figure of that key.
  bool note_measured(Names key) {
    if (!measured(key)) return false;
    s_.notes.push_back(given(key) ? scenario_note("tier-over-profile", of_profile(key))
                                  : scenario_note("tier-from-profile", of_profile(key)));
    return true;
  }

  std::optional<ObjectReader> device_;
  std::string name_;
  bool behind_;
  Scenario& s_;
  StorageChoice out_;
  std::vector<std::string_view> measured_;  ///< keys whose figure the hardware profile gives
};

}  // namespace

const KeyTable ScenarioKeys::kDevice = kDeviceKeys;
const KeyTable ScenarioKeys::kTail = kTailKeys;

StorageChoice read_storage(const ObjectReader& tier, const StorageTier& which, Scenario& s) {
  return DeviceReader(tier, which, s).read();
}

}  // namespace spillway
