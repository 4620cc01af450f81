// How long the ranks of one node take to sum a tensor: NCCL's all-reduce, from measured medians.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "models/catalogue/gpu_spec.hpp"

namespace spillway {

inline constexpr double kH100Peer = 450;  ///< nominal, GB/s each way

/// Interpolated in logarithms of size and time; below the first size the first time holds, beyond
/// the last the rate between the last two.
class AllReduce {
 public:
  static constexpr std::size_t kPoints = 11;
  using Times = std::array<double, kPoints>;  ///< us, at sizes_mib()
  static const std::array<double, kPoints>& sizes_mib();

  explicit AllReduce(const Times& us) : us_(us) {}
  double seconds(double bytes) const;

 private:
  Times us_;
};

struct CollectiveSource {
  AllReduce reduce;
  bool measured;       ///< on such a GPU, with so many workers
  std::string source;  ///< of the figures, and how they were carried over where not measured
};

/// GPUs of one node whose collectives were measured, at most.
inline constexpr std::uint32_t kMostCollectiveRanks = 8;

/// Precondition: 2 <= workers <= kMostCollectiveRanks.
CollectiveSource all_reduce_of(const GpuSpec& gpu, std::uint32_t workers);

}  // namespace spillway
