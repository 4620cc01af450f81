// `spillway sweep run --runner slurm`: its options, and what it says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/commands/command.hpp"
#include "scenarios/sweep/campaign.hpp"
#include "scenarios/sweep/slurm_sweep.hpp"
#include "scenarios/sweep/survey.hpp"

namespace spillway {

/// As typed; what is empty or 0 was not.
struct SlurmFlags {
  std::uint32_t shards = 0;
  std::uint32_t max_running = 0;
  std::uint32_t arrays = 5;
  std::string partition;
  std::string memory;
  std::string time;
  std::vector<std::string> sbatch;
  bool submit_only = false;

  SlurmRequest request() const { return {partition, memory, time, sbatch}; }
};

/// --shards, --max-running, --partition, --mem, --time, --sbatch: also what sweep emit takes.
void add_array_options(Verb& command, SlurmFlags& flags);
/// Those, --submit-only and --arrays.
void add_slurm_options(Verb& command, SlurmFlags& flags);
/// Throws InputError (exit 2) where one of these options was typed for another engine.
void refuse_slurm_options(const Verb& command);

/// Shards that a campaign of so many runs is divided into where --shards does not say.
std::uint32_t default_shards(std::uint64_t runs);

/// Runs what the campaign lacks on Slurm, with progress; the survey looks as it goes, and `stop` is
/// asked often. Throws as run_on_slurm() does.
SlurmEnd sweep_on_slurm(const Campaign& campaign, CampaignSurvey& survey, const SlurmFlags& flags,
                        bool quiet, const std::function<bool()>& stop);

}  // namespace spillway
