// Tells, while a run goes on, that some target can no longer be met: whatever is to come.
//
// Sure, not likely: misses so far against all requests that may be judged in the end. A percentile
// is decided when its misses exceed its share of all of these, and by so much that neither the
// share nor the interpolated figure can meet it any more; a mean when the sum so far is more than
// the target for each of these; the rejected share as a percentile. Rates are never decided early.
//
// Where the warm-up is found after the run (warm_up.hpp), nobody knows yet who is judged. But the
// warm-up takes half of the requests at most, so that those behind half of the others count; and
// the run cannot turn out cold-limited once its largest tier has been full in time.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/experiment/target_meaning.hpp"
#include "scenarios/experiment/trial.hpp"
#include "sim/observer.hpp"
#include "sim/request_targets.hpp"

namespace spillway {

class WarmUpWatch;

class DecisionWatch final : public Observer {
 public:
  /// Judged is what arrives at `from` or later or, where `warm` is given, behind the warm-up that
  /// it finds after the run.
  DecisionWatch(const Scenario& scenario, const Workload& workload, Time from,
                const WarmUpWatch* warm);

  void on_request(const RequestRecord& record) override;
  void on_token_gap(Duration gap, std::uint32_t count) override;
  void on_cold_decode(std::uint64_t millionths) override;

  bool decided() const;
  /// What each x is at least (at most, where the target is a minimum), by what has happened.
  std::vector<TargetSample> bounds() const;
  /// At most that share of requests meets every latency target, whatever is to come.
  double attainment() const;

 private:
  struct Running {
    double most = 0;           ///< requests, tokens, or what a rate counts, in the end
    std::uint64_t judged = 0;  ///< requests for sure, so far
    std::uint64_t misses = 0;
    double sum = 0;         ///< of a mean
    double miss_above = 0;  ///< the target, or what a histogram cannot take for it
  };

  /// What one request adds to `most`.
  double weight(const TargetMeaning& target, RequestId request) const;
  void leave_out(const RequestRecord& record);
  void judge(const RequestRecord& record);
  void add_tokens(TargetMeaning::Figure figure, double value, std::uint64_t count);
  bool is_decided(std::size_t target) const;
  double bound_of(std::size_t target) const;

  const Workload& workload_;
  std::vector<TargetMeaning> targets_;
  RequestTargets latency_;
  const WarmUpWatch* warm_;
  Time from_;                     ///< who arrives then or later is judged for sure
  std::vector<Running> running_;  ///< by target
  std::uint64_t most_ = 0;        ///< requests that may be judged in the end
  std::uint64_t judged_ = 0;      ///< of these, for sure, so far
  std::uint64_t good_ = 0;        ///< of these, that meet every latency target
  std::uint64_t ended_ = 0;
  Time latest_{};  ///< arrival so far
  Time first_judged_ = Time::max();
  Time last_finish_{};
  bool decided_ = false;
};

}  // namespace spillway
