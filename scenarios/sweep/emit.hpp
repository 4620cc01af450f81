// A campaign as a file for somebody else's scheduler. Text only: nothing is started.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scenarios/sweep/slurm.hpp"

namespace spillway {

struct EmitOptions {
  std::string folder;    ///< of the campaign, absolute
  std::string identity;  ///< hash of what is run, part of names
  std::uint32_t shards = 0;
  std::uint32_t max_running = 0;  ///< at a time; 0: all
  std::string program;            ///< what runs a shard
  SlurmRequest request;           ///< memory counts for Kubernetes too
  std::string image;              ///< of Kubernetes' container
  std::string claim;              ///< PersistentVolumeClaim that holds the campaign
  std::string claim_path;         ///< of the campaign, below the claim's root
};

/// An Indexed Job, one shard an index: a shard is tried again where its node was lost, and given up
/// at once where it says that its input is wrong.
std::string kubernetes_job(const EmitOptions& options);
/// A script for GNU parallel whose job log makes a second start go on where the first one ended.
std::string parallel_script(const EmitOptions& options);
/// A script for sbatch.
std::string slurm_script(const EmitOptions& options);

/// "4G" as Kubernetes writes it: "4Gi". Slurm counts in units of 1024, and in M where none is
/// given. Throws InputError (exit 2).
std::string kubernetes_memory(std::string_view slurm);

}  // namespace spillway
