// What a storage tier is made of: limits per direction, operations in flight, wear.
//
// One plain struct for all kinds, so that one path serves them; a file per kind (nvme, shared_fs,
// object_store, kv_server) fills in what is published about it, with its source. An operation (one
// page run, file, object or value) holds a slot while its latency passes and its bytes flow; bytes
// flow no faster than the slot, this client and the whole device allow. Queueing for slots and
// sharing of limits live in models/link.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/tier/tail_latency.hpp"
#include "sim/units.hpp"

namespace spillway {

enum class StorageKind : std::uint8_t { kNvme, kFs, kObject, kKv };

/// The kinds in the order of the enumeration, as scenarios write them.
inline constexpr std::string_view kStorageKinds[] = {"nvme", "fs", "object", "kv"};
constexpr std::string_view name_of(StorageKind kind) {
  return kStorageKinds[static_cast<std::size_t>(kind)];
}

/// One direction of a device. Rates in bytes/s; 0: no limit of this sort.
struct StorageLane {
  std::int64_t total_rate = 0;   ///< shared by all clients
  std::int64_t client_rate = 0;  ///< of this host
  std::int64_t slot_rate = 0;    ///< of one operation
  LatencyQuantiles latency;      ///< of one operation, before its bytes flow
  /// Shared by all clients with 1, 2, ... operations whose bytes flow, the last for more; fs,
  /// object, kv only. Empty: total_rate, however many; else that is the highest of these.
  std::vector<std::int64_t> rate_by_flows{};

  /// Of all clients with so many operations whose bytes flow; 0: no limit.
  std::int64_t total_rate_of(std::uint32_t flows) const;
};

/// Writes run at the full rate until `capacity` is full, then at `sustained_rate`.
struct WriteCacheSpec {
  Bytes capacity{0};
  std::int64_t sustained_rate = 0;
  std::int64_t drain_rate = 0;  ///< how fast it empties while no write runs
};

struct StorageSpec {
  StorageKind kind = StorageKind::kNvme;
  StorageLane read;
  StorageLane write;
  std::uint32_t slots = 1;  ///< operations in flight: queue depth, threads, connections
  /// Of these, the ones that take a waiting read before a waiting write; the others the reverse.
  std::uint32_t read_first = 1;
  Bytes operation_bytes{0};    ///< what one operation moves
  bool one_at_a_time = false;  ///< the server works on one operation, whatever its clients send
  bool whole_jobs = false;     ///< one slot does all of a job, one operation after the other
  std::optional<WriteCacheSpec> write_cache;
  Bytes rated_writes{0};  ///< that the drive is sold to endure; 0: not known
};

/// Where a default comes from.
struct StorageSource {
  std::string_view key;     ///< of the scenario
  std::string_view source;  ///< "assumed" where nobody publishes a figure
};

/// What `kind` is taken to be until a scenario says otherwise. `operation_bytes` is left at 0.
StorageSpec default_storage(StorageKind kind);
/// `spec` where the device and the GPU exchange data without the host: what crosses the GPU's link
/// at `down` and `up` as well, in one hop that both bound.
StorageSpec direct_storage(StorageSpec spec, BytesPerSecond down, BytesPerSecond up);
/// What stands behind its figures, by the scenario key that replaces them.
std::vector<StorageSource> storage_sources(StorageKind kind);
/// Tokens whose KV one operation moves; 0: one engine block.
std::uint32_t default_chunk_tokens(StorageKind kind);

// ---- closed forms, also what the tests hold the simulated path to

/// One operation of `bytes` alone on the device, at the median latency.
Duration operation_time(const StorageLane& lane, Bytes bytes);
/// Bytes/s with `depth` operations of `bytes` kept in flight: grows with depth until a limit binds.
double rate_at_depth(const StorageLane& lane, Bytes bytes, std::uint32_t depth);
/// The least depth at which a shared limit binds (Qsat); 0 where none does.
std::uint32_t saturation_depth(const StorageLane& lane, Bytes bytes);

/// The lowest of the limits that are set; 0 where none is.
std::int64_t lowest_rate(std::initializer_list<std::int64_t> rates);
/// Bytes at a rate, rounded up to a nanosecond; no time where the rate is 0 (no limit).
Duration time_at_rate(Bytes bytes, std::int64_t rate);

}  // namespace spillway
