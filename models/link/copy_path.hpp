// The path between two neighbouring tiers: one copy engine per direction.
//
// Each engine serves its jobs one at a time, in order of submission, without preemption, as GPU
// copy engines do. While both directions are busy, each is slowed by its duplex factor (1 = the two
// do not disturb each other). Work left is kept in fixed point, 2^-16 ns: with factor 1 every
// completion is exact to the nanosecond.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "models/link/link_model.hpp"
#include "sim/event_queue.hpp"
#include "sim/observer.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

enum class Direction : std::uint8_t { kDown, kUp };  ///< away from the GPU (D2H), towards it (H2D)
constexpr std::size_t index_of(Direction d) {
  return static_cast<std::size_t>(d);
}

/// Told when a transfer has ended, in the phase kTransferDone of that instant.
class TransferListener {
 public:
  virtual void on_transfer_done(Direction direction, std::uint32_t job) = 0;

 protected:
  ~TransferListener() = default;
};

/// One direction of a path.
struct LaneSpec {
  std::uint32_t link = 0;  ///< its number in observations and results
  std::unique_ptr<LinkModel> model;
  /// Share of its own speed that a direction keeps while the other is busy; in (0, 1].
  double duplex_factor = 1;
};

class CopyPath final : public EventHandler {
 public:
  CopyPath(EventQueue& queue, LaneSpec down, LaneSpec up, Observer& observer,
           TransferListener& listener);

  /// Queues a job behind the earlier ones of its direction. `job` is the listener's own number.
  void submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies);
  bool idle() const { return lanes_[0].jobs.empty() && lanes_[1].jobs.empty(); }

  void on_event(EventPayload payload) override;

 private:
  struct Job {
    std::uint32_t number = 0;
    Bytes payload;
    std::uint32_t copies = 0;
    Duration work{};  ///< service time alone on the link
    Time submitted{};
    Time started{};
  };
  struct Lane {
    std::uint32_t link = 0;
    std::unique_ptr<LinkModel> model;
    std::int64_t slowed = 0;  ///< speed while the other lane is busy
    std::int64_t speed = 0;   ///< 2^-16 ns of work per ns, now
    std::int64_t left = 0;    ///< work of the front job, 2^-16 ns
    Time since{};             ///< when `left` was true
    std::uint32_t epoch = 0;  ///< tells the scheduled end from those that no longer hold
    RingQueue<Job> jobs;      ///< the front one is being served
  };

  std::int64_t speed_of(Direction direction) const;
  void start_front(Direction direction);
  void retime(Direction direction);
  void schedule_end(Direction direction);
  void complete(Direction direction);

  EventQueue& queue_;
  Observer& observer_;
  TransferListener& listener_;
  std::array<Lane, 2> lanes_;
};

}  // namespace spillway
