#include "models/engine/arrivals.hpp"

#include <algorithm>

#include "sim/det_math.hpp"

namespace spillway {

Arrivals::Arrivals(EventQueue& queue, const Workload& workload, const ArrivalConfig& config,
                   RequestSink& sink)
    : queue_(queue),
      workload_(workload),
      config_(config),
      sink_(sink),
      gaps_(config.seed, "arrival-gaps") {}

void Arrivals::start() {
  const bool closed = config_.kind == ArrivalConfig::Kind::kClosedLoop;
  const std::uint32_t first = closed ? std::min(config_.concurrency, workload_.size()) : 1;
  for (std::uint32_t i = 0; i < first; ++i) schedule_next();
}

Time Arrivals::time_of(RequestId request) {
  switch (config_.kind) {
    case ArrivalConfig::Kind::kTrace:
      return time_at(floor_divided(nanoseconds_of(workload_.arrival(request)), config_.speed));
    case ArrivalConfig::Kind::kPoisson: {
      const double gap_s = gaps_.exponential(1 / config_.rate_per_s);
      poisson_clock_ +=
          Duration(floor_divided(static_cast<std::int64_t>(gap_s * 1e9), config_.speed));
      return poisson_clock_;
    }
    case ArrivalConfig::Kind::kClosedLoop:
      return queue_.now();
  }
  return queue_.now();
}

void Arrivals::schedule_next() {
  if (scheduled_ == workload_.size()) return;
  const RequestId request{scheduled_++};
  queue_.schedule(std::max(time_of(request), queue_.now()), Phase::kArrival, *this,
                  {0, 0, raw(request)});
}

void Arrivals::on_event(EventPayload payload) {
  ++next_;
  if (config_.kind != ArrivalConfig::Kind::kClosedLoop) schedule_next();
  sink_.submit(RequestId{payload.subject});
}

void Arrivals::on_request_end(RequestId) {
  if (config_.kind == ArrivalConfig::Kind::kClosedLoop) schedule_next();
}

}  // namespace spillway
