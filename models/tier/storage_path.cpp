#include "models/tier/storage_path.hpp"

namespace spillway {

StoragePath::StoragePath(EventQueue& queue, Fabric& fabric, const StorageDeviceConfig& device,
                         std::optional<HostLanes> host_link, Observer& observer,
                         TransferListener& listener)
    : listener_(listener), device_(queue, fabric, device, observer, *this) {
  if (host_link) {
    host_.emplace(queue, fabric, std::move(host_link->down), std::move(host_link->up), observer,
                  static_cast<TransferListener&>(*this), host_link->media);
  }
}

void StoragePath::submit(Direction direction, std::uint32_t job, Bytes payload,
                         std::uint32_t copies) {
  if (jobs_.size() <= job) jobs_.resize(job + 1);
  jobs_[job] = {payload, copies};
  if (direction == Direction::kUp) return device_.submit(StorageOp::kRead, job, payload);
  if (!host_) return device_.submit(StorageOp::kWrite, job, payload);
  host_->submit(Direction::kDown, job, payload, copies);
}

void StoragePath::on_transfer_done(Direction direction, std::uint32_t job) {
  if (direction == Direction::kUp) return listener_.on_transfer_done(direction, job);
  device_.submit(StorageOp::kWrite, job, jobs_[job].payload);
}

void StoragePath::on_storage_done(StorageOp op, std::uint32_t job) {
  if (op == StorageOp::kWrite) return listener_.on_transfer_done(Direction::kDown, job);
  if (!host_) return listener_.on_transfer_done(Direction::kUp, job);
  host_->submit(Direction::kUp, job, jobs_[job].payload, jobs_[job].copies);
}

}  // namespace spillway
