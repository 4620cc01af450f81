// The path between two neighbouring tiers: one copy engine per direction, each serving its jobs one
// at a time, in order of submission, without preemption, as GPU copy engines do. While both
// directions are busy, each is slowed by its duplex factor (1 = the two do not disturb each other).
// All queueing is the fabric's; this lays out two of its routes: a host thread that submits copies
// where that costs anything, the copy engine, and the media it shares with others.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/link/lane.hpp"
#include "models/link/link_model.hpp"
#include "models/link/neighbours.hpp"
#include "sim/event_queue.hpp"
#include "sim/observer.hpp"

namespace spillway {

class TransferListener {
 public:
  /// Some station on the way up has begun to serve a part of the transfer, or has handed it on.
  /// Nothing may be submitted here.
  virtual void on_load_service(std::uint32_t /*job*/, bool /*begins*/) {}
  /// A transfer has ended, in the phase kTransferDone of that instant.
  virtual void on_transfer_done(Direction direction, std::uint32_t job) = 0;

 protected:
  ~TransferListener() = default;
};

/// The way between HBM and the tier below, whatever it crosses.
class TransferPath {
 public:
  virtual ~TransferPath() = default;
  /// `job` is the listener's own number, used by no other job in progress.
  virtual void submit(Direction direction, std::uint32_t job, Bytes payload,
                      std::uint32_t copies) = 0;
  virtual bool idle() const = 0;
};

class CopyPath final : public TransferPath, private RouteListener {
 public:
  /// `seed`: of the delays by which other clients of its media lag.
  CopyPath(EventQueue& queue, Fabric& fabric, LaneSpec down, LaneSpec up, Observer& observer,
           TransferListener& listener, const LaidMedia& media = {}, std::uint64_t seed = 1);

  /// Queues a job behind the earlier ones of its direction. `job` is the listener's own number.
  void submit(Direction direction, std::uint32_t job, Bytes payload,
              std::uint32_t copies) override {
    ++in_flight_;
    fabric_.submit(routes_[index_of(direction)], job, payload, copies, *this);
    neighbours_.repeat(index_of(direction), payload, copies);
  }
  bool idle() const override { return in_flight_ == 0; }

 private:
  void add_client(const std::array<LaneSpec, 2>& lanes, std::uint32_t client,
                  const LaidMedia& media, Observer& observer);
  void on_route_service(RouteId route, std::uint32_t job, bool begins) override {
    if (route == routes_[1]) listener_.on_load_service(job, begins);
  }
  void on_route_done(RouteId route, std::uint32_t job) override {
    --in_flight_;
    listener_.on_transfer_done(route == routes_[0] ? Direction::kDown : Direction::kUp, job);
  }

  std::array<std::unique_ptr<LinkModel>, 2> models_;
  Fabric& fabric_;
  Neighbours neighbours_;
  TransferListener& listener_;
  std::array<RouteId, 2> routes_{};
  std::uint32_t in_flight_ = 0;
};

}  // namespace spillway
