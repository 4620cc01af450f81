// A worker: one process that makes the runs of a shard, one after the other, and keeps each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/sweep/campaign.hpp"
#include "sim/note.hpp"

namespace spillway {

struct WorkerOptions {
  Shard shard;
  bool steal = false;  ///< when its shard is done, take others that no worker has
  /// Asked often; true ends the work with what is done so far.
  std::function<bool()> stop;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< of its shard
};

struct WorkerOutcome {
  std::uint64_t made = 0;    ///< runs, now
  std::uint64_t failed = 0;  ///< of these, ended in an error that is kept as their result
  std::uint64_t broken = 0;  ///< ended in a defect of ours, and are not kept
  std::uint64_t found = 0;   ///< runs of its shard that were done before
  bool stopped = false;      ///< as options.stop asked
  bool taken = false;        ///< another worker has the shard: nothing was done
  Notes notes;
};

/// Throws InputError: exit 2 where a file of the experiment has changed since it was planned, 7
/// where a run cannot be kept; what was kept before stays.
WorkerOutcome work(const Campaign& campaign, const WorkerOptions& options);

}  // namespace spillway
