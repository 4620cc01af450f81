// The path between HBM and a storage tier: over the GPU's host link and through host memory, one
// hop after the other (a job is written when all ranks' parts of it have come down, and goes up
// when all of it has been read), or directly between device and GPU, where each rank moves its own
// part, bounded by its own link.
//
// Where ranks hold the same, one copy is stored. By way of the host it is read once and copied to
// every rank; directly, every rank reads it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/link/host_path.hpp"
#include "models/tier/network.hpp"
#include "models/tier/storage_device.hpp"

namespace spillway {

struct StoragePathConfig {
  /// One; of each rank where device and GPUs exchange data directly.
  std::vector<StorageClientConfig> clients;
  std::optional<HostLanes> host;  ///< none: directly
  std::uint32_t copies = 1;       ///< parts of ranks that storage holds
};

class StoragePath final : public TransferPath, private TransferListener, private StorageListener {
 public:
  StoragePath(EventQueue& queue, Network& network, StoragePathConfig config, Observer& observer,
              TransferListener& listener);

  /// `payload` and `copies` are those of one rank.
  void submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies) override;
  bool idle() const override;

  const std::vector<std::unique_ptr<StorageDevice>>& devices() const { return devices_; }

 private:
  struct Job {
    Bytes payload;
    std::uint32_t copies = 0;
    std::uint32_t parts = 0;  ///< with devices, that have not ended
  };
  void store(std::uint32_t job);
  void on_load_service(std::uint32_t job, bool begins) override {
    listener_.on_load_service(job, begins);
  }
  void on_read_service(std::uint32_t job, bool begins) override {
    listener_.on_load_service(job, begins);
  }
  void on_transfer_done(Direction direction, std::uint32_t job) override;
  void on_storage_done(StorageOp op, std::uint32_t job) override;

  TransferListener& listener_;
  std::vector<std::unique_ptr<StorageDevice>> devices_;
  std::unique_ptr<TransferPath> host_;
  std::uint32_t copies_;
  std::vector<Job> jobs_;  ///< by the listener's number
};

}  // namespace spillway
