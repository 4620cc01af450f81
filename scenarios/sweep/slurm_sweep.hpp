// A campaign run as job arrays of Slurm, as `spillway sweep run --runner slurm` does.
//
// What counts is which runs lie in the campaign, never what Slurm says: an array is submitted for
// the shards that lack some, watched until its tasks have ended, and submitted again for what is
// still missing, as long as each array brings something. Slurm itself runs a task again whose node
// was lost (--requeue).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/sweep/slurm.hpp"

namespace spillway {

/// Runs of a campaign that are there, and the shards that lack some, ascending from 1.
struct ShardSurvey {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::vector<std::uint32_t> lacking;
};

/// The campaign, as far as Slurm's engine has to know it.
struct SlurmCampaign {
  std::string folder;        ///< absolute; every node sees it there
  std::string identity;      ///< hash of what is run, part of the job's name
  std::uint32_t shards = 0;  ///< that it is divided into
  std::function<ShardSurvey()> survey;
};

struct SlurmOptions {
  SlurmRequest request;
  std::uint32_t max_running = 0;  ///< tasks at a time; 0: as many as Slurm likes
  std::uint32_t arrays = 5;       ///< submitted at most
  bool submit_only = false;
  double silence_s = 600;      ///< how long Slurm may leave questions unanswered
  double poll_s = 10;          ///< between two looks, at most
  std::function<bool()> stop;  ///< whether to cancel and return
};

struct SlurmNews {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string text;  ///< of the array: "job 17: 3 tasks run, 5 wait (Resources)"
};

struct SlurmEnd {
  ShardSurvey survey;
  bool stopped = false;              ///< as options.stop asked
  std::vector<std::string> jobs;     ///< numbers of what was submitted
  std::vector<std::string> remarks;  ///< what went wrong, and what to do about it
};

/// Throws InputError: exit 2 where Slurm is absent or rejects the job, or where an array of this
/// campaign still runs; exit 7 where Slurm does not answer. Nothing is left behind then.
SlurmEnd run_on_slurm(const SlurmCampaign& campaign, const SlurmOptions& options,
                      const std::function<void(const SlurmNews&)>& tell);

/// The name of the jobs of a campaign: of what is run, and where it is kept.
std::string slurm_job_name(const SlurmCampaign& campaign);

/// What a task does: the shards t, t + TASKS, t + 2 TASKS, ... of its number t, from 1 on, because
/// Slurm allows only MaxArraySize - 1 of them. Its arguments are: program, campaign, shards, tasks.
std::string slurm_task_script();

}  // namespace spillway
