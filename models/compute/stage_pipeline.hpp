// Batches in a pipeline of stages, each of which has an equal share of the layers.
//
// A batch enters a stage when it has left the one before and the batch before it has left this one.
// The engine's worker is the first stage; its end here is the batch's end at the last.
//
// Model: stages are alike (the slowest stands for all), and handing activations over costs nothing.
// Every stage's copies between HBM and the tier below are submitted with those of the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

class StagePipeline {
 public:
  explicit StagePipeline(std::uint32_t stages) : free_(stages) {}
  /// A batch has ended when it leaves the worker.
  bool single() const { return free_.size() == 1; }

  /// A stage's share of a step, rounded up.
  Duration stage_time(Duration step) const {
    const auto stages = static_cast<std::int64_t>(free_.size());
    return Duration((step.count() + stages - 1) / stages);
  }

  /// A batch leaves the first stage now, having taken `stage` of its time there, and takes as long
  /// at each other. Returns when it leaves the last one.
  Time enter(Time now, Duration stage) {
    Time at = now;
    free_[0] = now;
    for (std::size_t i = 1; i < free_.size(); ++i) {
      at = std::max(at, free_[i]) + stage;
      free_[i] = at;
    }
    return at;
  }

 private:
  std::vector<Time> free_;  ///< by stage: when its last batch left it
};

}  // namespace spillway
