#include "models/tier/storage_path.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

StoragePath::StoragePath(EventQueue& queue, Network& network, StoragePathConfig config,
                         Observer& observer, TransferListener& listener)
    : listener_(listener), copies_(config.copies) {
  KV_ASSERT(config.clients.size() == 1 || !config.host, "{} clients behind host memory",
            config.clients.size());
  KV_ASSERT(config.host || copies_ == 1 || copies_ == config.clients.size(),
            "{} copies of {} ranks", copies_, config.clients.size());
  StorageListener& self = *this;  // a private base, which make_unique does not see
  for (const StorageClientConfig& client : config.clients) {
    devices_.push_back(
        std::make_unique<StorageDevice>(network.server(client.server), client, observer, self));
  }
  if (!config.host) return;
  host_ = make_host_path(queue, network.fabric(), network.media(), std::move(*config.host),
                         observer, *this);
}

bool StoragePath::idle() const {
  return std::all_of(devices_.begin(), devices_.end(), [](const auto& d) { return d->idle(); }) &&
         (host_ == nullptr || host_->idle());
}

void StoragePath::submit(Direction direction, std::uint32_t job, Bytes payload,
                         std::uint32_t copies) {
  if (jobs_.size() <= job) jobs_.resize(job + 1);
  jobs_[job] = {payload, copies, 1};
  if (direction == Direction::kDown) {
    if (host_ == nullptr) return store(job);
    return host_->submit(Direction::kDown, job, payload, copies);
  }
  if (host_ != nullptr) {
    return devices_[0]->submit(StorageOp::kRead, job, payload * std::int64_t{copies_});
  }
  jobs_[job].parts = static_cast<std::uint32_t>(devices_.size());
  for (const auto& device : devices_) device->submit(StorageOp::kRead, job, payload);
}

/// What has come down, or what the GPUs hand over themselves: the first for all, or each its part.
void StoragePath::store(std::uint32_t job) {
  const Bytes payload = jobs_[job].payload;
  if (host_ != nullptr || copies_ == 1) {
    return devices_[0]->submit(StorageOp::kWrite, job, payload * std::int64_t{copies_});
  }
  jobs_[job].parts = copies_;
  for (const auto& device : devices_) device->submit(StorageOp::kWrite, job, payload);
}

void StoragePath::on_transfer_done(Direction direction, std::uint32_t job) {
  if (direction == Direction::kUp) return listener_.on_transfer_done(direction, job);
  store(job);
}

void StoragePath::on_storage_done(StorageOp op, std::uint32_t job) {
  if (--jobs_[job].parts > 0) return;
  if (op == StorageOp::kWrite) return listener_.on_transfer_done(Direction::kDown, job);
  if (host_ == nullptr) return listener_.on_transfer_done(Direction::kUp, job);
  host_->submit(Direction::kUp, job, jobs_[job].payload, jobs_[job].copies);
}

}  // namespace spillway
