// SLO targets that no run of this workload can mean: in another unit, or about no request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/note.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;
struct SloTarget;

/// What requests take on an idle server whose caches hold every prefix that came before: no run is
/// faster. By request, in milliseconds.
class IdleTimes {
 public:
  /// Precondition: the workload has requests.
  IdleTimes(const Scenario& scenario, const Workload& workload);

  /// One decode step of the request with the median prompt.
  double step_ms() const { return step_ms_; }
  /// The time to a first token that the share `share` of requests stays within.
  double ttft_ms(double share) const;

 private:
  /// Prompt tokens that no earlier request brought, and those before them.
  struct Prompt {
    std::uint32_t fresh;
    std::uint32_t cached;
  };

  const Scenario& s_;
  std::vector<Prompt> prompts_;  ///< fresh ones ascending
  double step_ms_ = 0;
};

/// Of a target that is a small fraction of what an idle server takes, and reasonable as seconds:
/// what it says, what the server takes and what to write. Nothing where it may be meant.
std::optional<Note> slo_in_seconds(const SloTarget& target, const IdleTimes& idle);
/// Of each target of the scenario.
Notes slo_in_seconds(const Scenario& scenario, const Workload& workload);

/// Throws InputError (exit 2) for a target that is about no request of the workload: it would be
/// met by nothing. The SLO of one tenant that sends none, the time between tokens where every
/// answer is one token, cold reads where none are counted.
void check_slo_applies(const Scenario& scenario, const Workload& workload);

/// Of percentiles above which not one request of the workload lies: how many it has, how many the
/// percentile needs, and what to give. Empty: none.
std::optional<Note> few_for_percentile(const Scenario& scenario, const Workload& workload);

}  // namespace spillway
