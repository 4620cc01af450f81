// Runs trials for a plan: many at once, on replicates that cells share, with what was run before
// taken from a cache.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenarios/experiment/trial.hpp"
#include "scenarios/scenario.hpp"

namespace spillway {

/// The workload itself, in the place of a replicate's number.
inline constexpr std::uint32_t kWorkloadItself = ~std::uint32_t{0};

/// One run to make. Cells that differ in anything see the same replicate under the same number, as
/// far as their workloads are described alike.
struct TrialRequest {
  const Scenario* scenario = nullptr;  ///< with the tier's capacity set
  std::uint32_t replicate = kWorkloadItself;
  bool may_cut = false;  ///< the verdict is all that is needed
  /// In place of the scenario's step cost. Such a run is not cached.
  std::function<std::unique_ptr<StepCost>()> cost{};
};

/// The runs of a batch, in its order. May be called again from where it returned, not from several
/// threads. Throws Interrupted when the user wants it to end.
using TrialBatch = std::function<std::vector<Trial>(std::span<const TrialRequest>)>;

/// The user ended it; what was done is in the cache, where there is one.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

struct TrialRunnerOptions {
  unsigned threads = 1;
  std::uint32_t replicates = 1;  ///< numbers are below this
  ReadProgress reading{};
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
  std::function<bool()> interrupted{};
};

class TrialRunner {
 public:
  explicit TrialRunner(TrialRunnerOptions options);
  ~TrialRunner();

  /// The workload of `scenario` is this one, which outlives the runner.
  void give(const Scenario& scenario, const Workload& workload);
  /// Opened now where it is not yet.
  const Workload& workload(const Scenario& scenario);
  std::vector<Trial> run(std::span<const TrialRequest> requests);
  /// So many runs are still to come, for the progress.
  void expect(std::uint64_t runs) { expected_ = done_ + runs; }

  std::uint64_t done() const { return done_; }
  /// How replicates of this workload come about, and whether they are resamples.
  std::string method(const Scenario& scenario);
  bool resampled(const Scenario& scenario);

 private:
  class Group;
  Group& group(const Scenario& scenario);
  Trial run_one(const TrialRequest& request, Group& group);

  TrialRunnerOptions options_;
  std::map<std::string, std::unique_ptr<Group>> groups_;  ///< by how the workload is described
  std::uint64_t done_ = 0;
  std::uint64_t expected_ = 0;
};

/// Scenarios for which this is equal have the same workload, and the same replicates of it.
std::string workload_identity(const Scenario& scenario);

}  // namespace spillway
