// The path between HBM and a storage tier: over the GPU's host link and through host memory, one
// hop after the other (a job is written when all of it has come down, and goes up when all of it
// has been read), or directly between device and GPU.
#pragma once

#include <optional>
#include <utility>

#include "models/link/copy_path.hpp"
#include "models/tier/storage_device.hpp"

namespace spillway {

class StoragePath final : public TransferPath, private TransferListener, private StorageListener {
 public:
  /// `down` and `up`: the host link; none where the device reaches the GPU's memory itself.
  StoragePath(EventQueue& queue, const StorageDeviceConfig& device,
              std::optional<std::pair<LaneSpec, LaneSpec>> host_link, const PathMedia& media,
              Observer& observer, TransferListener& listener);

  void submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies) override;
  bool idle() const override { return device_.idle() && (!host_ || host_->idle()); }

  const StorageDevice& device() const { return device_; }

 private:
  struct Job {
    Bytes payload;
    std::uint32_t copies = 0;
  };
  void on_transfer_done(Direction direction, std::uint32_t job) override;
  void on_storage_done(StorageOp op, std::uint32_t job) override;

  TransferListener& listener_;
  StorageDevice device_;
  std::optional<CopyPath> host_;
  std::vector<Job> jobs_;  ///< by the listener's number
};

}  // namespace spillway
