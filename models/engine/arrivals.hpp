// When requests reach the server: at the trace's times, as a Poisson process, or in a closed loop.
#pragma once

#include <cstdint>

#include "sim/decimal.hpp"
#include "sim/event_queue.hpp"
#include "sim/rng.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// Where requests go: an engine, or a router before several.
class RequestSink {
 public:
  virtual void submit(RequestId request) = 0;

 protected:
  ~RequestSink() = default;
};

/// Told when a request has left the server, completed or not.
class RequestEndListener {
 public:
  virtual void on_request_end(RequestId request) = 0;

 protected:
  ~RequestEndListener() = default;
};

struct ArrivalConfig {
  enum class Kind : std::uint8_t {
    kTrace,       ///< recorded times divided by `speed`, the trace's origin kept
    kPoisson,     ///< `rate_per_s` x speed, exponential gaps
    kClosedLoop,  ///< `concurrency` clients; a successor arrives when a request ends
  };
  Kind kind = Kind::kTrace;
  Decimal speed{1, 0};
  double rate_per_s = 1;
  std::uint32_t concurrency = 1;
  std::uint64_t seed = 1;
};

/// Feeds the workload's requests to a sink, in file order, one pending event at a time.
class Arrivals final : public EventHandler, public RequestEndListener {
 public:
  Arrivals(EventQueue& queue, const Workload& workload, const ArrivalConfig& config,
           RequestSink& sink);

  void start();
  std::uint32_t submitted() const { return next_; }

  void on_event(EventPayload payload) override;
  void on_request_end(RequestId request) override;

 private:
  Time time_of(RequestId request);
  void schedule_next();

  EventQueue& queue_;
  const Workload& workload_;
  ArrivalConfig config_;
  RequestSink& sink_;
  Stream gaps_;
  Time poisson_clock_{};
  std::uint32_t next_ = 0;       ///< requests submitted so far
  std::uint32_t scheduled_ = 0;  ///< arrivals that have an event, submitted ones included
};

}  // namespace spillway
