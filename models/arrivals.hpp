// When requests are due, and when they reach the server.
//
// A request is due
//   at its recorded time / speed (kTrace),
//   at the next instant of a Poisson process of `rate_per_s` x speed (kPoisson),
//   when one of `concurrency` clients is free (kClosedLoop).
// With `wait`, a request that waited for answers in the trace is due when all of these requests
// have ended here (completed, failed or rejected: the client has an answer or an error) plus its
// recorded think time, which `speed` does not scale. Where the pause is not recorded: at that end
// or its recorded time / speed, whichever is later; that time moves with its session's start where
// the run decides when sessions start. Arrivals then place session starts only: a Poisson rate
// counts these, and a free client of a closed loop takes a turn that is due before a new session.
//
// A request arrives when it is due, or, where `concurrency` requests are in flight already, once
// one of these has ended; requests that clients hold back go out in the order (due, request).
// A client is free `turnaround` after its answer has ended.
// Nothing due after the horizon is sent, nor the turns that would have waited for it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/decimal.hpp"
#include "sim/event_queue.hpp"
#include "sim/ids.hpp"
#include "sim/rng.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// Where requests go: an engine, or a router before several.
class RequestSink {
 public:
  /// `due`: when the client wanted to send it, now or earlier.
  virtual void submit(RequestId request, Time due) = 0;

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

/// Told of each token of an answer at the end of the step that computed it.
class TokenListener {
 public:
  virtual void on_token(RequestId request) = 0;

 protected:
  ~TokenListener() = default;
};

struct ArrivalConfig {
  enum class Kind : std::uint8_t { kTrace, kPoisson, kClosedLoop };
  Kind kind = Kind::kTrace;
  Decimal speed{1, 0};
  double rate_per_s = 1;
  std::uint32_t concurrency = 0;  ///< most requests in flight; 0: any number (not in a closed loop)
  Duration turnaround{};          ///< of a client, where `concurrency` limits them
  bool wait = false;              ///< turns wait for the answers they waited for in the trace
  Time horizon = Time::max();     ///< requests due later are not sent
  std::uint64_t seed = 1;
};

/// Feeds the workload's requests to a sink. Few events are pending: one for what is due next, and
/// those it has overtaken.
class Arrivals final : public EventHandler, public RequestEndListener {
 public:
  Arrivals(EventQueue& queue, const Workload& workload, const ArrivalConfig& config,
           RequestSink& sink);

  void start();
  std::uint32_t submitted() const { return submitted_; }

  void on_event(EventPayload payload) override;
  void on_request_end(RequestId request) override;

  enum class Fate : std::uint8_t {
    kSent,
    kUnsent,  ///< a client waits for an answer that never came
    kCut,     ///< by the horizon
  };
  /// After the last event: what became of each request.
  const std::vector<Fate>& fates();

 private:
  struct Due {
    Time at;
    RequestId request;
  };
  static constexpr Time kNoMore = Time::max();
  static bool later(const Due& a, const Due& b) {
    return a.at != b.at ? a.at > b.at : raw(a.request) > raw(b.request);
  }

  enum class Kind : std::uint16_t { kWake, kClientFree };

  bool closed() const { return config_.kind == ArrivalConfig::Kind::kClosedLoop; }
  bool waits(RequestId request) const { return config_.wait && !workload_.after(request).empty(); }
  bool client_free() const { return config_.concurrency == 0 || in_flight_ < config_.concurrency; }
  Time recorded(RequestId request) const;
  Time start_time(RequestId request);
  void next_start();
  void link_successors();
  void answer(RequestId request);
  Time turn_due(RequestId request) const;
  void free_client();
  bool take_due(Due& out);
  void send(const Due& due);
  void send_due();
  void wake_for_next();

  EventQueue& queue_;
  const Workload& workload_;
  ArrivalConfig config_;
  RequestSink& sink_;
  Stream gaps_;
  Time poisson_clock_{};
  Due start_{kNoMore, RequestId{0}};  ///< the next request that waits for nobody
  std::uint32_t scanned_ = 0;         ///< requests before this one have been start_, or wait
  std::uint32_t cut_from_;            ///< starts from here on are due after the horizon
  std::vector<Time> wakes_;           ///< pending events, the next one last
  std::vector<Fate> fates_;
  std::uint32_t submitted_ = 0;
  std::uint32_t in_flight_ = 0;
  bool sending_ = false;

  // With `wait` only.
  std::vector<Due> turns_;              ///< a heap of turns whose answers have come
  std::vector<std::uint32_t> awaited_;  ///< answers that a request still waits for
  std::vector<std::uint32_t> successors_begin_;
  std::vector<RequestId> successors_;
  std::vector<Duration> shift_;  ///< of the session against the recording; empty: none
};

}  // namespace spillway
