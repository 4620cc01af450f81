// The path between two neighbouring tiers: one copy engine per direction, each serving its jobs one
// at a time, in order of submission, without preemption, as GPU copy engines do. While both
// directions are busy, each is slowed by its duplex factor (1 = the two do not disturb each other).
// All queueing is the fabric's; this lays out two of its routes: a host thread that submits copies
// where that costs anything, the copy engine, and the media it shares with others.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/link/fabric.hpp"
#include "models/link/link_model.hpp"
#include "models/link/neighbours.hpp"
#include "sim/event_queue.hpp"
#include "sim/observer.hpp"

namespace spillway {

enum class Direction : std::uint8_t { kDown, kUp };  ///< away from the GPU (D2H), towards it (H2D)
constexpr std::size_t index_of(Direction d) {
  return static_cast<std::size_t>(d);
}

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

/// One direction of a path.
struct LaneSpec {
  std::uint32_t link = 0;  ///< its number in observations and results
  std::unique_ptr<LinkModel> model;
  /// Share of its own speed that a direction keeps while the other is busy; in (0, 1].
  double duplex_factor = 1;
  Duration submit{0};                    ///< of the host thread, for each copy; 0: none to model
  std::vector<std::uint32_t> through{};  ///< places in PathMedia::media
  std::uint32_t clients = 1;             ///< that use these media alike, this engine among them
};

/// What transfers cross besides their own copy engine.
struct MediumSpec {
  std::int64_t bytes_per_second = 0;
  std::uint32_t link = kNoLink;  ///< its number in observations and results
  bool fifo = false;             ///< first come, first served, instead of fair shares
};
struct PathMedia {
  std::vector<MediumSpec> media;
  std::uint64_t seed = 1;  ///< of the delays by which other clients lag
};

class CopyPath final : public TransferPath, private RouteListener {
 public:
  CopyPath(EventQueue& queue, Fabric& fabric, LaneSpec down, LaneSpec up, Observer& observer,
           TransferListener& listener, const PathMedia& media = {});

  /// Queues a job behind the earlier ones of its direction. `job` is the listener's own number.
  void submit(Direction direction, std::uint32_t job, Bytes payload,
              std::uint32_t copies) override {
    ++in_flight_;
    fabric_.submit(routes_[index_of(direction)], job, payload, copies, *this);
    neighbours_.repeat(index_of(direction), payload, copies);
  }
  bool idle() const override { return in_flight_ == 0; }

 private:
  void add_client(const std::array<LaneSpec, 2>& lanes, std::uint32_t client);
  RouteId route_of(std::size_t lane, const LaneSpec& spec, StationId engine,
                   std::optional<StationId> thread);
  void on_route_service(RouteId route, std::uint32_t job, bool begins) override {
    if (route == routes_[1]) listener_.on_load_service(job, begins);
  }
  void on_route_done(RouteId route, std::uint32_t job) override {
    --in_flight_;
    listener_.on_transfer_done(route == routes_[0] ? Direction::kDown : Direction::kUp, job);
  }

  struct Medium {
    std::optional<MediumId> fair;
    StationId fifo{};
  };
  std::array<std::unique_ptr<LinkModel>, 2> models_;
  Fabric& fabric_;
  Observer& observer_;
  Neighbours neighbours_;
  TransferListener& listener_;
  std::vector<Medium> media_;
  std::array<RouteId, 2> routes_{};
  std::uint32_t in_flight_ = 0;
};

}  // namespace spillway
