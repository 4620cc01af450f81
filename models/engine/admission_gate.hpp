// What stands between arrivals and the queue where an admission policy is set: it keeps the figures
// that the policy decides from, asks it, and knows when a request has waited too long.
//
// A request counts from its admission to its end. Its prompt counts as queued work until steps have
// covered it, hits included; a preempted one's counts again.
#pragma once

#include <cstdint>
#include <memory>

#include "models/requests/step_plan.hpp"
#include "policies/admission_policy.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

/// Prompt tokens worked off, and the time in which there were any to work off. Older figures fade:
/// both halve whenever the time exceeds kMemory, and count no more after kForget without prompts.
class PrefillMeter {
 public:
  static constexpr Duration kMemory = std::chrono::seconds(4);
  static constexpr Duration kForget = std::chrono::seconds(10);

  /// Time has come to `now`, with `queued` tokens waiting since the call before.
  void advance(Time now, std::uint64_t queued);
  void add(std::uint64_t tokens) { rate_.tokens += tokens; }
  /// As of the last advance().
  PrefillRate rate() const { return now_ - active_ > kForget ? PrefillRate{} : rate_; }

 private:
  PrefillRate rate_;
  Time now_{};
  Time active_{};  ///< when tokens last were queued
};

class AdmissionGate {
 public:
  /// Without a policy it is open, and knows nothing.
  AdmissionGate(std::unique_ptr<AdmissionPolicy> policy, RequestPool& requests);
  bool open() const { return policy_ == nullptr; }

  /// Whether the request, whose sequence may need `blocks`, enters now: kNone, or why it does not.
  Reason ask(const ActiveRequest& r, std::uint64_t blocks, std::uint32_t running,
             std::uint32_t waiting, Time now);
  /// It entered. Precondition: ask() said so at this instant.
  void enter(Handle h, std::uint64_t blocks, Time now);
  /// It ended, in whatever way. Without effect on one that never entered.
  void leave(ActiveRequest& r, Time now);

  void on_preempted(const StepPlan& plan, Time now);
  /// A step has ended, and its tokens are not collected yet.
  void on_step_end(const StepPlan& plan, Time now);

  /// When the next request that still waits has waited too long; Time::max(): none.
  Time next_deadline();
  /// The first request that still waits and whose time has come, if any; it is not named again.
  bool take_expired(Time now, Handle& out);

 private:
  struct Deadline {
    Time at{};
    Handle handle{};
    RequestId request{};
  };

  bool still_waits(const Deadline& deadline) const;
  void set_left(ActiveRequest& r, std::uint32_t left);

  std::unique_ptr<AdmissionPolicy> policy_;
  RequestPool& requests_;
  Duration longest_wait_;
  std::uint64_t committed_blocks_ = 0;
  std::uint64_t queued_tokens_ = 0;
  PrefillMeter meter_;
  RingQueue<Deadline> deadlines_;  ///< in order, as every request may wait equally long
};

}  // namespace spillway
