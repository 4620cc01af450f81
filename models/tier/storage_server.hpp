// What the clients of a storage tier share: a drive, or a server, with its rates. A client's slots,
// latencies and own limits are its own (storage_device.hpp).
//
// The bytes of a drive go one task after another at its rate, whatever the depth and whoever
// submits; those of other kinds flow side by side, by fair shares.
// Model: reads and writes of a drive do not slow each other down. Those of a server that works on
// one command at a time share the rate of the faster direction; the slower one keeps its own limit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/link/lane.hpp"
#include "models/tier/storage_spec.hpp"
#include "models/tier/write_cache.hpp"

namespace spillway {

enum class StorageOp : std::uint8_t { kRead, kWrite };
constexpr std::size_t index_of(StorageOp op) {
  return static_cast<std::size_t>(op);
}

struct StorageServerSpec {
  StorageSpec spec;
  std::uint32_t clients = 1;  ///< that are simulated
  /// Further ones that do what these do, at the same times: all get equal parts of the limits.
  std::uint32_t others = 0;
};

class StorageServer {
 public:
  StorageServer(EventQueue& queue, Fabric& fabric, const LaidMedia& media,
                const StorageServerSpec& spec);
  // Stations keep a pointer to the cache.
  StorageServer(const StorageServer&) = delete;
  StorageServer& operator=(const StorageServer&) = delete;

  /// The hop in which bytes leave or enter it, of a client whose tasks are at the station `slots`;
  /// `media` of the client come first. A drive has a station of its own, behind `slots`.
  std::vector<Hop> hops(StorageOp op, StationId slots, std::vector<MediumId> media,
                        std::span<const std::uint32_t> through) const;
  /// Bytes go to or from it, in order of submission.
  void count(StorageOp op, Bytes bytes) {
    (op == StorageOp::kRead ? wear_.read : wear_.written) += bytes;
  }

  const StorageSpec& spec() const { return spec_; }
  const StorageLane& lane(StorageOp op) const {
    return op == StorageOp::kRead ? spec_.read : spec_.write;
  }
  bool is_drive() const { return spec_.kind == StorageKind::kNvme; }
  /// The most that the simulated clients get together; 0: no limit.
  std::int64_t share(StorageOp op) const { return shares_[index_of(op)]; }

  const DeviceWear& wear() const { return wear_; }
  /// Spent writing at the sustained rate; 0 without a write cache.
  Duration slow_writes() const { return cache_ ? cache_->slow() : Duration(0); }

  EventQueue& queue() const { return queue_; }
  Fabric& fabric() const { return fabric_; }

 private:
  void lay_limits(std::uint32_t clients, std::uint32_t others);
  std::vector<std::int64_t> share_by_flows(const StorageLane& lane, std::uint32_t clients,
                                           std::uint32_t others) const;

  EventQueue& queue_;
  Fabric& fabric_;
  const LaidMedia& media_;
  StorageSpec spec_;
  std::array<std::int64_t, 2> shares_{};
  std::optional<WriteCache> cache_;
  std::array<StationId, 2> drive_{};
  std::array<std::optional<MediumId>, 2> limits_;  ///< of each direction
  /// Of both, where one thread serves them; of the rate of the faster one.
  std::optional<MediumId> both_;
  DeviceWear wear_;
};

/// What `simulated` clients get of the limits over all, with `others` that do the same; and the
/// most that one of them gets. 0: no limit.
std::int64_t shared_part(std::int64_t total_rate, std::uint32_t others,
                         std::uint32_t simulated = 1);
std::int64_t client_share(const StorageLane& lane, std::uint32_t others,
                          std::uint32_t simulated = 1);

}  // namespace spillway
