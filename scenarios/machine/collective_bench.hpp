// How long collectives between the GPUs of this machine take, by NVIDIA's nccl-tests.
//
// A cell is one call of `all_reduce_perf` on the first 2, 4, ... GPUs over all sizes: starting NCCL
// takes longer than most of its collectives. Its lines are captured in CUDA graphs, as engines
// replay their steps. Nothing links NCCL.
#pragma once

#include <string>
#include <vector>

#include "scenarios/machine/bench.hpp"
#include "scenarios/machine/gpu_bench.hpp"

namespace spillway {

/// The table that a program of nccl-tests prints, line by line. Its header names the columns, which
/// differ between versions; lines of another kind are notes of the program.
class NcclTable {
 public:
  /// False where the line cannot be part of such a table; problem() says why.
  bool take(const std::string& line);
  const std::vector<CollectivePoint>& points() const { return points_; }
  const std::string& problem() const { return problem_; }
  /// The last line that is not of the table, which may be an error.
  const std::string& last_note() const { return last_note_; }

 private:
  bool take_row(const std::vector<std::string>& words);

  std::size_t columns_ = 0;
  std::size_t time_ = 0;   ///< first column of that name: out of place
  std::size_t wrong_ = 0;  ///< of the same half; 0: not among them
  std::vector<CollectivePoint> points_;
  std::string problem_;
  std::string last_note_;
};

class CollectiveBench final : public Bench {
 public:
  /// `gpus` is planned before this bench, and outlives it.
  CollectiveBench(const GpuBench& gpus, GpuHarnessOptions options)
      : gpus_(gpus), options_(std::move(options)) {}

  std::string_view name() const override { return "collectives"; }
  std::vector<CellPlan> plan(const BenchLimits& limits, std::vector<std::string>& missing) override;
  nlohmann::json measure(const CellPlan& cell) override;

 private:
  std::string read_table(ChildProcess& child, std::vector<CollectivePoint>& points) const;

  const GpuBench& gpus_;
  GpuHarnessOptions options_;
  BenchLimits limits_;
  std::string program_;
};

}  // namespace spillway
