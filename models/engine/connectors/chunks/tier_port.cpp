#include "models/engine/connectors/chunks/tier_port.hpp"

namespace spillway {

TierPort::TierPort(Network& network, const PortConfig& config, Settlement& settlement,
                   EventQueue& queue, Observer& observer, PortListener& listener)
    : network_(network),
      config_(config),
      settlement_(settlement),
      queue_(queue),
      observer_(observer),
      listener_(listener) {
  if (config.lanes) return;
  StorageListener& self = *this;  // a private base, which make_unique does not see
  device_ = std::make_unique<StorageDevice>(network.server(config.client.server), config.client,
                                            observer, self);
}

void TierPort::submit(StorageOp op, std::uint32_t job, Bytes bytes, std::uint32_t operations) {
  const std::uint32_t own = make_job(op, job, bytes);
  ++under_way_;
  ++jobs_under_way_[index_of(op)];
  if (device_ != nullptr) return device_->submit(op, own, bytes, operations);
  network_.fabric().submit(network_.lane(config_.lane[index_of(op)]), own, bytes, 1, *this);
}

std::uint32_t TierPort::make_job(StorageOp op, std::uint32_t number, Bytes bytes) {
  const std::uint32_t job = jobs_.take();
  jobs_[job] = {op, number, settlement_.next_number(), bytes, queue_.now(), queue_.now()};
  return job;
}

void TierPort::on_storage_done(StorageOp, std::uint32_t job) {
  settlement_.add(jobs_[job].order, *this, job);
}

void TierPort::on_route_service(RouteId, std::uint32_t job, bool begins) {
  if (begins) jobs_[job].started = queue_.now();
}

/// The lane is nobody's own, so its clients tell of what they moved.
void TierPort::on_route_done(RouteId, std::uint32_t job) {
  const Job& j = jobs_[job];
  const std::uint32_t link =
      j.op == StorageOp::kRead ? config_.client.read_link : config_.client.write_link;
  observer_.on_transfer({link, j.bytes, 1, j.submitted, j.started, queue_.now(), Reach::kInside});
  settlement_.add(j.order, *this, job);
}

void TierPort::settle(std::uint32_t job) {
  const StorageOp op = jobs_[job].op;
  --under_way_;
  --jobs_under_way_[index_of(op)];
  jobs_.release(job);
  listener_.on_port_done(op, jobs_[job].number);
}

}  // namespace spillway
