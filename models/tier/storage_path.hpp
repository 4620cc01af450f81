// The path between HBM and a storage tier: over the GPU's host link and through host memory, one
// hop after the other (a job is written when all of it has come down, and goes up when all of it
// has been read), or directly between device and GPU.
#pragma once

#include <optional>

#include "models/link/copy_path.hpp"
#include "models/tier/storage_device.hpp"

namespace spillway {

/// The way between HBM and host memory.
struct HostLanes {
  LaneSpec down;
  LaneSpec up;
  PathMedia media;
};

class StoragePath final : public TransferPath, private TransferListener, private StorageListener {
 public:
  /// `host_link`: none where the device reaches the GPU's memory itself.
  StoragePath(EventQueue& queue, Fabric& fabric, const StorageDeviceConfig& device,
              std::optional<HostLanes> host_link, Observer& observer, TransferListener& listener);

  void submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies) override;
  bool idle() const override { return device_.idle() && (!host_ || host_->idle()); }

  const StorageDevice& device() const { return device_; }

 private:
  struct Job {
    Bytes payload;
    std::uint32_t copies = 0;
  };
  void on_load_service(std::uint32_t job, bool begins) override {
    listener_.on_load_service(job, begins);
  }
  void on_read_service(std::uint32_t job, bool begins) override {
    listener_.on_load_service(job, begins);
  }
  void on_transfer_done(Direction direction, std::uint32_t job) override;
  void on_storage_done(StorageOp op, std::uint32_t job) override;

  TransferListener& listener_;
  StorageDevice device_;
  std::optional<CopyPath> host_;
  std::vector<Job> jobs_;  ///< by the listener's number
};

}  // namespace spillway
