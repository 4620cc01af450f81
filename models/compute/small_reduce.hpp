// vLLM's own all-reduce, which takes the place of NCCL's for small tensors: what decodes of several
// ranks wait for.
#pragma once

#include <memory>
#include <string>

#include "models/compute/step_cost.hpp"

namespace spillway {

/// Behind attention, and behind the feed-forward layer.
inline constexpr double kReducesPerLayer = 2;

/// One all-reduce of a small tensor among the ranks of one node.
class SmallReduce {
 public:
  /// Precondition: 2 <= workers <= kMostCollectiveRanks.
  SmallReduce(const GpuSpec& gpu, std::uint32_t workers);

  /// False beyond what was measured, and where GPUs have no links of their own.
  bool covers(double bytes) const;
  /// Precondition: covers(bytes).
  double seconds(double bytes) const;
  const std::string& source() const { return source_; }

 private:
  const double* us_ = nullptr;
  double scale_ = 1;  ///< of what exceeds the floor
  std::string source_;
};

/// `cost`, made from `parameters`, with that all-reduce wherever it is the faster one.
std::unique_ptr<StepCost> with_small_reduces(std::unique_ptr<StepCost> cost,
                                             const ComponentsCost& parameters);

}  // namespace spillway
