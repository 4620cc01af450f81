// What the targets of an SLO are about, request by request.
//
// A percentile is judged by the share of requests that miss it, everything else by the figure
// itself. A run that meets a percentile by its own figure does so by the share, too, but for one
// request: with numpy's interpolation p_q <= T leaves at most ceil((1 - q)(n - 1)) of n requests
// above T, where the share allows (1 - q) n.
//
// A request that is not completed misses the latency targets that are about it; a rejected one
// whose rejection a target bounds is left out of them instead. tpot is of answers of two tokens or
// more; itl and cold reads are of tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "scenarios/scenario/sections/slo.hpp"
#include "sim/observer.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

class TargetMeaning {
 public:
  enum class Figure : std::uint8_t { kTtft, kTpot, kE2el, kItl, kCold, kRejected, kRate };

  TargetMeaning(const SloTarget& target, const Workload& workload);

  const SloTarget& target() const { return *target_; }
  Figure figure() const { return figure_; }
  bool percentile() const { return allowed_ > 0; }
  /// The share that may miss a percentile, else the target itself.
  double limit() const { return percentile() ? allowed_ : target_->target; }

  /// A figure of each request by itself.
  bool of_requests() const { return figure_ <= Figure::kE2el; }
  bool of_tokens() const { return figure_ == Figure::kItl || figure_ == Figure::kCold; }
  /// Whether a request counts for it, if it ends one way or another.
  bool is_about(RequestId request) const;
  /// The figure of a completed request, in ms. Precondition: of_requests().
  double value_of(const RequestRecord& record) const;
  bool missed_by(const RequestRecord& record) const {
    return record.status != RequestStatus::kCompleted || value_of(record) > target_->target;
  }

 private:
  const SloTarget* target_;
  const Workload* workload_;
  Figure figure_ = Figure::kRate;
  double allowed_ = 0;
  std::uint32_t tenant_ = 0;  ///< where the target names one
};

/// Whether a trial's figure of this target is a share of requests: those that miss a percentile, or
/// that are rejected.
bool is_share(const SloTarget& target);

std::vector<TargetMeaning> meanings_of(const Scenario& scenario, const Workload& workload);

/// Whether a target bounds how many requests like this one are rejected: its rejection is then no
/// failure.
bool rejection_allowed(const std::vector<TargetMeaning>& targets, RequestId request);

}  // namespace spillway
