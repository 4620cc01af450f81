// The observer behind `--output kind=openmetrics`: what engines' counters and histograms need over
// time and a result does not keep. Memory is bounded: all of it lies in bins.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reports/ops/engine_metrics.hpp"
#include "sim/observer.hpp"
#include "sim/series.hpp"

namespace spillway {

/// What engines export as histograms.
inline constexpr std::array kLatencySignals = {Signal::kTtft, Signal::kTpot, Signal::kItl,
                                               Signal::kE2e, Signal::kQueueTime};

/// Observations of a latency, counted by value and time.
class BinnedHistogram {
 public:
  /// `bounds`: upper bounds in seconds, ascending; one bucket more is beyond the last.
  explicit BinnedHistogram(std::vector<double> bounds);
  void add(Time at, Duration value, std::uint32_t count = 1);

  const std::vector<double>& bounds() const { return bounds_; }
  const BinnedSeries& bucket(std::size_t i) const { return counts_[i]; }
  const BinnedSeries& seconds() const { return seconds_; }

 private:
  std::vector<double> bounds_;
  std::vector<BinnedSeries> counts_;
  BinnedSeries seconds_;
};

/// As a server's own counters it counts requests of the warm-up, too; rejected and failed ones not.
class MetricLog final : public Observer {
 public:
  MetricLog();

  void on_step(const StepRecord& record) override;
  void on_token_gap(Duration gap, std::uint32_t count) override;
  void on_request(const RequestRecord& record) override;
  void on_transfer(const TransferRecord& record) override;
  void on_tier_change(const TierChange& change) override;
  void on_preemption(Time now, RequestId request) override;

  /// Of one of kLatencySignals; its bounds are those of all engines together.
  const BinnedHistogram& latency(Signal signal) const { return latencies_[index_of(signal)]; }
  const BinnedSeries& prompt_tokens() const { return prompt_tokens_; }
  /// Of these found in a tier (0: HBM) at the first admission.
  const BinnedSeries& cached_tokens(std::size_t tier) const { return cached_tokens_[tier]; }
  const BinnedSeries& stored_blocks(std::size_t tier) const { return stored_[tier]; }
  const BinnedSeries& evicted_blocks(std::size_t tier) const { return evicted_[tier]; }
  /// Evenly from a request's first token to its last.
  const BinnedSeries& output_tokens() const { return output_tokens_; }
  const BinnedSeries& finished() const { return finished_; }
  const BinnedSeries& preemptions() const { return preemptions_; }
  /// Of a link's transfers, each from its start to its end.
  const BinnedSeries& transfer_seconds(std::size_t link) const { return of_link(link).seconds; }
  const BinnedSeries& transfer_bytes(std::size_t link) const { return of_link(link).bytes; }

 private:
  struct Transfers {
    BinnedSeries seconds;
    BinnedSeries bytes;
  };
  static std::size_t index_of(Signal signal);
  void observe(Signal signal, Time at, Duration value, std::uint32_t count = 1) {
    latencies_[index_of(signal)].add(at, value, count);
  }
  const Transfers& of_link(std::size_t link) const;

  std::vector<BinnedHistogram> latencies_;  ///< as kLatencySignals
  BinnedSeries prompt_tokens_;
  std::array<BinnedSeries, kMaxTiers> cached_tokens_;
  std::array<BinnedSeries, kMaxTiers> stored_;
  std::array<BinnedSeries, kMaxTiers> evicted_;
  BinnedSeries output_tokens_;
  BinnedSeries finished_;
  BinnedSeries preemptions_;
  std::vector<Transfers> transfers_;
  Time now_{};
};

}  // namespace spillway
