// Where the warm-up of a run ends, found after the fact from what the run did.
//
// The series are the hit ratio (cached tokens of the prompt tokens) and the load wait (seconds that
// steps stand still plus seconds that loads take, per request), by minute of arrival, or finer
// where a run has fewer than 200 minutes, but for bins of fewer than five requests on average.
// MSER-5 says where each becomes stationary. The floor is when the largest tier was full once:
// before that nothing was evicted for want of room, and sizes do not differ.
//
// A tier that is never full, or not before the middle of the arrivals, has no floor. That alone
// is no verdict: a tier that holds whatever the service reuses may stay half empty for ever. Where
// the hit ratio is stationary, or has stopped rising by a point in a quarter of the run, the run is
// as warm as it gets and MSER-5 alone decides. Else, and where there are too few bins to tell, what
// it shows is a cold cache: "cold-limited". A run without any hit is stationary whatever its
// length. Load waits that do not become stationary (an overload) are no cold cache and do not move
// the end. Nor do waits that begin higher than they go on: a cold cache has little to load, so that
// this is a burst, and leaving bursts out because they come early would flatter the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/observer.hpp"

namespace spillway {

struct Scenario;

/// The stable reason of a run that cannot be judged.
inline constexpr char kColdLimited[] = "cold-limited: trace too short for this size";

struct WarmUp {
  Time end{};  ///< requests that arrived earlier are not to be judged
  bool cold_limited = false;
  std::string note;            ///< how the end was found, one sentence
  std::optional<Time> floor;   ///< when the largest tier was full
  std::size_t bins = 0;        ///< observations of the hit ratio
  std::uint64_t requests = 0;  ///< seen in all
};

/// Watches one run; memory does not depend on its length.
class WarmUpWatch final : public Observer {
 public:
  explicit WarmUpWatch(const Scenario& scenario);

  void on_request(const RequestRecord& record) override;
  void on_step(const StepRecord& record) override;
  void on_transfer(const TransferRecord& record) override;
  void on_tier_change(const TierChange& change) override;

  /// While the run goes on: it cannot turn out cold-limited, whatever is to come.
  bool surely_warm() const;

 private:
  friend WarmUp find_warm_up(const WarmUpWatch& watch);
  static constexpr std::size_t kMostBins = 1 << 16;

  struct Bin {
    Time from{};
    double cached = 0;  ///< tokens
    double prompt = 0;  ///< tokens
    double wait_s = 0;
    std::uint32_t requests = 0;
  };
  struct Tier {
    std::string name;
    std::uint64_t capacity = 0;  ///< blocks; 0: it has no bound
    std::uint64_t stored = 0;
    std::optional<Time> full;
  };
  struct Floor {
    const Tier* largest = nullptr;  ///< of those that hold anything; absent: none does
    std::optional<Time> at;
  };
  Bin& bin_at(Time at);
  Floor floor() const;
  std::vector<Bin> series() const;

  std::optional<double> given_s_;  ///< workload.replication.warmup_s
  std::vector<bool> loads_;        ///< links that bring blocks up
  Duration width_ = std::chrono::milliseconds(125);
  std::vector<Bin> bins_;
  std::vector<Tier> tiers_;
  std::uint64_t requests_ = 0;
  std::uint64_t cached_ = 0;
  Time first_ = Time::max();  ///< arrival of what is measured
  Time last_{};
};

WarmUp find_warm_up(const WarmUpWatch& watch);

/// The end of a warm-up that the scenario gives.
inline Time warm_up_given(double seconds) {
  return time_at(static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace spillway
