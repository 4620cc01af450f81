// Slurm through its own commands (sbatch, squeue, scontrol, scancel), without a shell between.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// What a user asks of Slurm for each task; empty: Slurm's default.
struct SlurmRequest {
  std::string partition;
  std::string memory;
  std::string time;
  std::vector<std::string> more;  ///< further options of sbatch, as they are
};

/// A job array: `script arguments...`, once for each of `tasks`.
struct SlurmArray {
  std::string name;
  std::string folder;  ///< where it runs; its output goes to logs/ in there
  std::string script;
  std::vector<std::string> arguments;
  std::vector<std::uint32_t> tasks;  ///< ascending
  std::uint32_t max_running = 0;     ///< at a time; 0: as many as Slurm likes
  SlurmRequest request;
};

struct SlurmTask {
  std::uint32_t index = 0;
  std::string state;   ///< RUNNING, PENDING, COMPLETED, FAILED, TIMEOUT, ...
  std::string reason;  ///< why it waits, or how it ended

  bool ended() const;  ///< and will not start again by itself
};

/// A job as sbatch names it: a number, and the cluster where there are several.
struct SlurmJobId {
  std::string number;
  std::string cluster;
};

class Slurm {
 public:
  /// Throws InputError (exit 2) where a command of Slurm is not installed.
  Slurm();

  /// An array's largest index and one more. Throws (exit 7) where Slurm does not answer.
  std::uint32_t max_array_size() const;
  /// Throws InputError with Slurm's own words: exit 2 where it rejects the job, exit 7 where it
  /// does not answer.
  SlurmJobId submit(const SlurmArray& array) const;
  /// The tasks of a job, as far as Slurm remembers them; none of a job that it has forgotten.
  /// Nothing at all while it does not answer.
  std::optional<std::vector<SlurmTask>> tasks(const SlurmJobId& job) const;
  /// Numbers of jobs of that name that wait or run. Throws (exit 7) where Slurm does not answer.
  std::vector<std::string> active(const std::string& name) const;
  void cancel(const SlurmJobId& job) const;
};

/// What to make of states that are failures: "raise --time".
std::string_view slurm_advice(std::string_view state);

/// "0-3,7,9-10".
std::string index_ranges(const std::vector<std::uint32_t>& ascending);

}  // namespace spillway
