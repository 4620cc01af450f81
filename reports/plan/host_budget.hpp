// What one host's memory goes to at the cell that a plan speaks for, line by line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/format.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

struct Provenance;

/// What is not measured here. None of these is from a specification: they are places to start
/// from, and the report says so beside each.
inline constexpr double kSystemBytes =
    8 * kGiB;  ///< operating system, container runtime, monitoring
inline constexpr double kEngineBytes = 4 * kGiB;  ///< server and scheduler processes of one engine
inline constexpr double kRankBytes = 4 * kGiB;    ///< one worker process with its CUDA context
inline constexpr double kSpareShare = 0.10;  ///< of the sum, so that nothing is killed for a peak
/// Linux starts to write dirty pages back at this share of available memory
/// (vm.dirty_background_ratio, Documentation/admin-guide/sysctl/vm.rst).
inline constexpr double kDirtyShare = 0.10;

struct HostLine {
  std::string name;
  std::string arithmetic;  ///< "2 engines x 96 GiB"
  double bytes = 0;
  std::string from;       ///< where the figure comes from, or that it is assumed
  bool per_rank = false;  ///< lies where the GPU is; else spread over the nodes
};

struct HostBudget {
  std::vector<HostLine> lines;
  double need = 0;       ///< their sum
  double installed = 0;  ///< 0: not said
  double reserved = 0;   ///< host.reserved, for everything but pools
  bool host_said = false;
  std::uint32_t numa_nodes = 1;
  std::uint32_t engines = 1;         ///< on this host
  std::uint32_t ranks = 1;           ///< of one engine
  double pool = 0;                   ///< of one engine, in host memory; 0: the tier is none
  double block = 0;                  ///< bytes of a block of KV on one rank; 0: not known
  std::string cell;                  ///< what it is about; empty: nothing to budget
  std::string missing;               ///< why there is nothing
  std::vector<std::string> unknown;  ///< what could not be counted, and which key would tell
  std::string preset;                ///< of the engine

  /// Ranks whose GPU hangs on `node`, taken in turn.
  std::uint32_t ranks_on(std::uint32_t node) const;
  double on_node(const HostLine& line, std::uint32_t node) const;
};

HostBudget host_budget(const PlanResult& plan, const Provenance& provenance);

/// "for the KV cache alone; each host needs 140 GiB of memory in all (page Host)"; empty where
/// the planned tier takes no host memory.
std::string host_need(const HostBudget& host);

}  // namespace spillway
