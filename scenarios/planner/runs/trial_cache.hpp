// Trials that were run before, by content key: a plan that is asked again, or that was interrupted,
// runs only what is new.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/experiment/run_key.hpp"
#include "scenarios/experiment/run_store.hpp"
#include "scenarios/experiment/trial.hpp"
#include "sim/note.hpp"

namespace spillway {

class TrialCache {
 public:
  /// Reads what `folder` has. Throws InputError (exit 7).
  explicit TrialCache(const std::string& folder);

  /// What is asked for, as a key. `seed` of the scenario is that before replication.
  struct Question {
    std::uint64_t trace = 0;  ///< content hash; 0 where the workload is generated
    std::optional<std::uint32_t> replicate;
    bool may_cut = false;
    /// What differs from the scenario in words and figures that say all of it; empty: nothing.
    std::string change{};
    std::uint32_t length = 1;  ///< of the replicate, times the usual one
  };
  /// A whole trial, or, where it may be cut, one that was.
  std::optional<Trial> find(const Scenario& scenario, const Question& question) const;
  /// From any thread.
  void keep(const Scenario& scenario, const Question& question, const Trial& trial);
  /// What was wrong with the folder's files, for the user.
  const Notes& notes() const { return store_.report().notes; }

 private:
  std::string folder_;
  RunStore store_;
};

}  // namespace spillway
