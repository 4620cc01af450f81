#include "models/link/copy_path.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace spillway {

namespace {
constexpr std::int64_t kFullSpeed = std::int64_t{1} << 16;

Direction other(Direction d) {
  return d == Direction::kDown ? Direction::kUp : Direction::kDown;
}
}  // namespace

CopyPath::CopyPath(EventQueue& queue, LaneSpec down, LaneSpec up, Observer& observer,
                   TransferListener& listener)
    : queue_(queue), observer_(observer), listener_(listener) {
  const auto set_up = [](Lane& lane, LaneSpec& spec) {
    KV_ASSERT(spec.duplex_factor > 0 && spec.duplex_factor <= 1, "duplex factor {}",
              spec.duplex_factor);
    lane.link = spec.link;
    lane.model = std::move(spec.model);
    lane.slowed =
        static_cast<std::int64_t>(std::floor(spec.duplex_factor * static_cast<double>(kFullSpeed)));
  };
  set_up(lanes_[0], down);
  set_up(lanes_[1], up);
}

void CopyPath::submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies) {
  Lane& lane = lanes_[index_of(direction)];
  lane.jobs.push_back(
      {job, payload, copies, lane.model->service_time(payload, copies), queue_.now(), Time{}});
  if (lane.jobs.size() > 1) return;
  start_front(direction);
  retime(other(direction));
}

std::int64_t CopyPath::speed_of(Direction direction) const {
  const bool disturbed = !lanes_[index_of(other(direction))].jobs.empty();
  return disturbed ? lanes_[index_of(direction)].slowed : kFullSpeed;
}

void CopyPath::start_front(Direction direction) {
  Lane& lane = lanes_[index_of(direction)];
  lane.jobs.front().started = queue_.now();
  lane.left = lane.jobs.front().work.count() * kFullSpeed;
  lane.since = queue_.now();
  lane.speed = speed_of(direction);
  schedule_end(direction);
}

/// The other lane became busy or idle: what is left takes longer or shorter from now on.
void CopyPath::retime(Direction direction) {
  Lane& lane = lanes_[index_of(direction)];
  if (lane.jobs.empty() || lane.speed == speed_of(direction)) return;
  lane.left -= (queue_.now() - lane.since).count() * lane.speed;
  lane.since = queue_.now();
  lane.speed = speed_of(direction);
  schedule_end(direction);
}

void CopyPath::schedule_end(Direction direction) {
  Lane& lane = lanes_[index_of(direction)];
  const Duration rest(ceil_div(std::max<std::int64_t>(lane.left, 0), lane.speed));
  queue_.schedule(queue_.now() + rest, Phase::kTransferDone, *this,
                  {static_cast<std::uint16_t>(direction), 0, ++lane.epoch});
}

void CopyPath::on_event(EventPayload payload) {
  const auto direction = static_cast<Direction>(payload.kind);
  if (payload.subject == lanes_[index_of(direction)].epoch) complete(direction);
}

void CopyPath::complete(Direction direction) {
  Lane& lane = lanes_[index_of(direction)];
  const Job job = lane.jobs.front();
  lane.jobs.pop_front();
  ++lane.epoch;
  if (!lane.jobs.empty()) {
    start_front(direction);
  } else {
    retime(other(direction));
  }
  observer_.on_transfer(
      {lane.link, job.payload, job.copies, job.submitted, job.started, queue_.now()});
  listener_.on_transfer_done(direction, job.number);
}

}  // namespace spillway
