// Runs trials for a plan: many at once, on replicates that cells share, with what was run before
// taken from a cache.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/experiment/replicates.hpp"
#include "scenarios/experiment/trial.hpp"
#include "scenarios/planner/runs/trial_cache.hpp"
#include "sim/note.hpp"

namespace spillway {

struct Scenario;

/// The workload itself, in the place of a replicate's number.
inline constexpr std::uint32_t kWorkloadItself = ~std::uint32_t{0};

/// One run to make. Cells that differ in anything see the same replicate under the same number, as
/// far as their workloads are described alike.
struct TrialRequest {
  const Scenario* scenario = nullptr;  ///< with the tier's capacity set
  std::uint32_t replicate = kWorkloadItself;
  bool may_cut = false;  ///< the verdict is all that is needed
  /// Times as long as usual; such replicates are drawn for each run and not kept.
  std::uint32_t length = 1;
  /// In place of the scenario's step cost. Such a run is not cached.
  std::function<std::unique_ptr<StepCost>()> cost{};
};

struct TrialRunnerOptions {
  unsigned threads = 1;
  std::string cache;             ///< folder; empty: none
  double budget_s = 0;           ///< of wall time; 0: none
  std::uint32_t replicates = 1;  ///< numbers are below this
  ReadProgress reading{};
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
  std::function<void(std::string_view)> phase{};
};

class TrialRunner {
 public:
  explicit TrialRunner(TrialRunnerOptions options);
  ~TrialRunner();

  /// The workload of `scenario` is this one, which outlives the runner.
  void give(const Scenario& scenario, const Workload& workload);
  /// Opened now where it is not yet.
  const Workload& workload(const Scenario& scenario);
  /// The runs of a batch, in its order; those on replicates without their RunResult. Where the time
  /// is over, those before the first that is missing. Not from several threads.
  std::vector<Trial> run(std::span<const TrialRequest> requests);
  /// The same for runs without which there is no plan: half a second beyond the time, then throws
  /// InputError (exit 5).
  std::vector<Trial> run_all(std::span<const TrialRequest> requests);
  /// A run that somebody else makes, of `scenario` with a change (TrialCache::Question): kept in
  /// the cache, and found there again. From any thread, once the workload is open.
  std::optional<Trial> recall(const Scenario& scenario, std::uint32_t replicate,
                              const std::string& change, bool may_cut);
  void keep(const Scenario& scenario, std::uint32_t replicate, const std::string& change,
            const Trial& trial);
  /// What the runs to come are for, for the progress.
  void begin(std::string_view phase) {
    if (options_.phase) options_.phase(phase);
  }
  /// So many runs are still to come, for the progress.
  void expect(std::uint64_t runs) { expected_ = done_ + runs; }
  /// A run that somebody else made, from any thread: counts.
  void ran_one();
  unsigned threads() const { return options_.threads; }
  /// Of options.budget_s.
  bool out_of_time() const;
  /// For SimulationOptions; empty where time is not limited.
  std::function<bool()> stop() const;
  /// Since the runner was made.
  double seconds() const;
  /// All runs that were announced, done ones among them.
  std::uint64_t expected() const { return expected_; }

  std::uint64_t done() const { return done_; }
  /// Of these, taken from the cache.
  std::uint64_t reused() const { return reused_; }
  Notes notes() const;
  /// How replicates of this workload come about.
  const Replicates& replicates(const Scenario& scenario);
  /// One of them, or the workload itself. From any thread, once the workload is open.
  const Workload& replicate(const Scenario& scenario, std::uint32_t index);

 private:
  class Group;
  Group& group(const Scenario& scenario);
  Trial run_one(const TrialRequest& request, Group& group);
  /// For what no answer can do without.
  static constexpr double kGraceS = 0.5;
  [[noreturn]] void fail_in_time(const std::string& before) const;

  TrialRunnerOptions options_;
  std::map<std::string, std::unique_ptr<Group>> groups_;  ///< by how the workload is described
  std::unique_ptr<TrialCache> cache_;
  std::chrono::steady_clock::time_point start_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> reused_{0};
  std::uint64_t expected_ = 0;
  double grace_s_ = kGraceS;  ///< beyond the budget; none once each size has run
};

}  // namespace spillway
