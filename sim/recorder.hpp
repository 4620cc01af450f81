// The observer that accumulates what a RunResult is made of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/histogram.hpp"
#include "sim/observer.hpp"
#include "sim/request_targets.hpp"
#include "sim/result.hpp"
#include "sim/series.hpp"
#include "sim/ttft_record.hpp"

namespace spillway {

class Recorder final : public Observer {
 public:
  /// `targets` are those that goodput counts against.
  Recorder(std::uint32_t tiers, std::uint32_t links, RequestTargets targets);

  /// The link is a medium: many flows at once, so that it is busy by what it moves of what it
  /// could.
  void set_medium(std::uint32_t link, BytesPerSecond capacity) {
    links_[link].capacity = capacity.value();
  }

  /// Measuring ends then: throughputs are per second up to it, where requests were cut off by it.
  void set_end(Time end) { end_ = end; }

  void on_step(const StepRecord& record) override;
  void on_token_gap(Duration gap, std::uint32_t count) override;
  void on_request(const RequestRecord& record) override;
  void on_transfer(const TransferRecord& record) override;
  void on_tier_change(const TierChange& change) override;
  void on_preemption(Time now, RequestId request) override;
  void on_cold_decode(std::uint64_t millionths) override;

  /// How long `link` had any transfer, where several run side by side: their sum tells too much.
  void set_busy(std::uint32_t link, Duration busy) { links_[link].busy = busy; }

  /// Everything the observations tell: counts, latencies, throughputs, tier levels in blocks of
  /// `block_bytes`, link use and series. Names, capacities and hit counts are the caller's.
  RunResult result(std::int64_t block_bytes) const;

 private:
  struct Level {
    std::uint32_t used = 0;
    std::uint32_t peak = 0;
    Time since{};
    double block_seconds = 0;
    std::uint64_t stored = 0;
    std::uint64_t evicted = 0;
    BinnedSeries series;
  };
  struct Lane {
    std::int64_t bytes = 0;
    std::uint64_t transfers = 0;
    Duration busy{};
    double capacity = 0;  ///< of a medium
    BinnedSeries series;
    ReachCount extrapolated;
    ReachCount across_step;
  };
  static void advance(Level& level, Time now);
  static void count(ReachCount& reach, const TransferRecord& record);

  RunResult counts_;  ///< what is counted as it happens; result() adds the rest
  RequestTargets targets_;
  std::vector<Level> tiers_;
  std::vector<Lane> links_;
  LatencySamples ttft_;
  TtftRecord ttft_stages_;
  LatencySamples tpot_;
  LatencySamples itl_;
  LatencySamples e2el_;
  LatencySamples queue_time_;
  LatencySamples client_queue_time_;
  LatencySamples cold_;  ///< blocks a token, each a millisecond: the same statistics
  BinnedSeries running_;
  BinnedSeries waiting_;
  BinnedSeries tokens_;
  BinnedSeries preempted_;
  std::vector<Time> step_ends_;        ///< of the last step of each engine
  Time first_arrival_ = Time::max();   ///< of any request
  Time first_measured_ = Time::max();  ///< of those behind the warm-up
  Time last_finish_{};
  Time end_ = Time::max();
  bool cut_ = false;  ///< a request was not sent, or not counted, for the end had come
  Time last_event_{};
  std::array<std::uint64_t, kRequestStatuses> by_status_{};
  std::array<std::map<std::string, std::uint64_t>, kRequestStatuses> reasons_;
  std::array<std::uint64_t, kMaxTiers> cached_tokens_{};
  std::uint64_t good_ = 0;
};

}  // namespace spillway
