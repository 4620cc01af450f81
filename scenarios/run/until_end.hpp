// What observers are told of a run that is measured up to an instant: a benchmark tool that stops
// after some seconds counts the requests that ended before.
//
// Model: the run goes on until its last request ends, so that figures of steps, tiers and links
// include that tail.
#pragma once

#include "sim/event_queue.hpp"
#include "sim/observer.hpp"

namespace spillway {

/// A request that completes later is marked as one of the warm-up: it counts in no figure.
class UntilEnd final : public Observer {
 public:
  UntilEnd(Observer& inner, const EventQueue& queue, Time end)
      : inner_(inner), queue_(queue), end_(end) {}

  void on_step(const StepRecord& r) override { inner_.on_step(r); }
  void on_token_gap(Duration gap, std::uint32_t count) override {
    if (queue_.now() <= end_) inner_.on_token_gap(gap, count);
  }
  void on_request(const RequestRecord& r) override {
    if (r.status != RequestStatus::kCompleted || r.finish <= end_) return inner_.on_request(r);
    RequestRecord late = r;
    late.warmup = true;
    inner_.on_request(late);
  }
  void on_transfer(const TransferRecord& r) override { inner_.on_transfer(r); }
  void on_tier_change(const TierChange& c) override { inner_.on_tier_change(c); }
  void on_preemption(Time now, RequestId request) override { inner_.on_preemption(now, request); }
  void on_cold_decode(std::uint64_t millionths) override { inner_.on_cold_decode(millionths); }
  void on_needed_blocks(const NeededBlocks& n) override { inner_.on_needed_blocks(n); }

 private:
  Observer& inner_;
  const EventQueue& queue_;
  Time end_;
};

}  // namespace spillway
