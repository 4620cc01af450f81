// Which cells of a GPU are worth measuring, and in which order a budget should take them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/calibration/profile.hpp"
#include "scenarios/machine/bench.hpp"

namespace spillway {

struct GpuCellsInput {
  std::vector<GpuFacts> gpus;
  std::string dtype = "bf16";     ///< of GEMM cells
  bool batch = true;              ///< the runtime has cudaMemcpyBatchAsync
  std::int64_t memory_bytes = 0;  ///< host memory at once
  std::vector<int> numa_nodes;    ///< of the machine; empty: not known
  double cell_limit_s = 0.1;      ///< for the samples of one cell
};

/// Seconds that the samples of one cell may take, for a whole calibration of `budget_s`.
double gpu_cell_limit_s(double budget_s);

/// Most important first: a sparse link curve, both directions at once, HBM and a few products;
/// other ways to copy, and copies beside kernels; then all of that at full density, patterns, kinds
/// of host memory, several streams and GPUs. Every cell is listed; the budget decides how far they
/// come.
std::vector<CellPlan> list_gpu_cells(const GpuCellsInput& input);

}  // namespace spillway
