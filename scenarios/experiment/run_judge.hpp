// Judges a run against the SLO once it has ended: its requests that arrived behind the warm-up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/experiment/target_meaning.hpp"
#include "scenarios/experiment/trial.hpp"
#include "sim/note.hpp"
#include "sim/observer.hpp"
#include "sim/request_targets.hpp"
#include "sim/result.hpp"

namespace spillway {

struct RunVerdict {
  std::vector<TargetSample> targets;  ///< in the order of the scenario's slo
  double attainment = 0;
  bool met = false;                ///< every target by its figure, and every request done
  Notes notes;  ///< targets that are missed in their worst hour only
};

class RunJudge final : public Observer {
 public:
  RunJudge(const Scenario& scenario, const Workload& workload);

  void on_request(const RequestRecord& record) override;
  void on_token_gap(Duration gap, std::uint32_t count) override;
  void on_cold_decode(std::uint64_t millionths) override;

  /// A warm-up that is found after the run ends here at the latest: half of the requests are judged
  /// whatever the run looks like.
  Time latest_warm_up() const { return arrival_at(0.5); }
  /// When the request arrived before which this share of all did.
  Time arrival_at(double share) const;

  /// The requests that arrived at `from` or later. Figures of tokens are the whole run's, `run`,
  /// as these are told without their time.
  RunVerdict judge(const RunResult& run, Time from) const;

 private:
  /// What is kept of a measured request.
  struct Seen {
    Time arrival;
    Time scheduled;
    Time first_token;
    Time finish;
    std::uint32_t request;
    RequestStatus status;
  };
  struct Tokens {
    std::uint64_t judged = 0;
    std::uint64_t missed = 0;
  };

  RequestRecord record_of(const Seen& seen) const;
  void add_token(TargetMeaning::Figure figure, double value, std::uint64_t count);
  void judge_shares(Time from, RunVerdict& out) const;
  void judge_figures(const RunResult& run, Time from, RunVerdict& out) const;

  const Scenario& s_;
  const Workload& workload_;
  std::vector<TargetMeaning> targets_;
  RequestTargets latency_;
  std::vector<Tokens> tokens_;  ///< by target
  std::vector<Seen> seen_;      ///< in the order of their ends
};

}  // namespace spillway
