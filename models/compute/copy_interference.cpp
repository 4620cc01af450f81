#include "models/compute/copy_interference.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kFullSpeed = std::int64_t{1} << 32;

/// What the busy lanes take together.
double taken(const std::array<double, 2>& shares, BusyLanes busy) {
  return (busy[0] ? shares[0] : 0) + (busy[1] ? shares[1] : 0);
}

}  // namespace

bool CopyInterference::any() const {
  return taken(sm_share, {true, true}) > 0 || taken(hbm_share, {true, true}) > 0 ||
         memory_factor > 1;
}

double slowdown(const CopyInterference& interference, const StepWork& work, BusyLanes busy) {
  if (!busy[0] && !busy[1]) return 1;
  const auto compute = static_cast<double>(work.compute_bound.count());
  const auto memory = static_cast<double>(work.memory_bound.count());
  const double slower_compute = 1 / (1 - taken(interference.sm_share, busy));
  const double slower_memory =
      interference.memory_factor / (1 - taken(interference.hbm_share, busy));
  return (compute * slower_compute + memory * slower_memory) / (compute + memory);
}

Time StepClock::start(Time now, const StepWork& work, BusyLanes busy) {
  KV_ASSERT(work.whole().count() > 0, "a step of no time");
  work_ = work;
  left_ = static_cast<WideInt>(work.whole().count()) * kFullSpeed;
  return end_from(now, busy);
}

std::optional<Time> StepClock::retime(Time now, BusyLanes busy) {
  if (busy == busy_) return std::nullopt;
  left_ -= static_cast<WideInt>((now - since_).count()) * speed_;
  return end_from(now, busy);
}

/// Speeds are rounded up, so that an exact quotient stays exact when the rest is rounded up.
Time StepClock::end_from(Time now, BusyLanes busy) {
  since_ = now;
  busy_ = busy;
  const double full = static_cast<double>(kFullSpeed);
  speed_ = static_cast<std::int64_t>(std::ceil(full / slowdown(interference_, work_, busy)));
  const WideInt rest = std::max<WideInt>(left_, 0);
  return now + Duration(static_cast<std::int64_t>((rest + speed_ - 1) / speed_));
}

}  // namespace spillway
