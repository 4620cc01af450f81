// How long ranks take to exchange a tensor: all-reduce, all-gather, reduce-scatter, all-to-all, by
// the links between their GPUs.
//
//   NVLink          measured medians of vLLM's all-reduce, by GPU and number of ranks
//   PCIe            latency + traffic / bandwidth, as measured on the user's machine or published
//   several nodes   within each node, then between nodes over a NIC for each GPU, then within again
//
// Traffic is what one GPU sends: of a ring over p ranks, 2 (p - 1) / p of the tensor for an
// all-reduce and half of that for the others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue/gpu_spec.hpp"

namespace spillway {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,      ///< its bytes: of the gathered tensor
  kReduceScatter,  ///< of the tensor before
  kAllToAll,       ///< of what one rank holds before
};

/// A line through NCCL's all-reduces on the user's machine (nccl-tests, in a CUDA graph).
struct MeasuredReduce {
  std::uint32_t ranks = 2;
  double latency_us = 0;
  double rate = 0;  ///< bytes/s that one GPU sends
};

/// What a scenario says of the ways between GPUs; whatever is absent follows from the GPU.
struct CollectiveSettings {
  enum class Path : std::uint8_t { kNvlink, kPcie };
  enum class Algorithm : std::uint8_t {
    kRing,
    kOneShot,  ///< each rank sends all of it to every other, at once
  };
  std::optional<Path> path{};
  std::optional<double> latency_us{};  ///< of one collective of few bytes
  std::optional<double> bandwidth{};   ///< bytes/s that one GPU sends
  Algorithm algorithm = Algorithm::kRing;
  std::uint32_t gpus_per_node = 8;
  std::optional<double> nic_latency_us{};  ///< of one exchange between nodes
  std::optional<double> nic_bandwidth{};   ///< bytes/s of one GPU's NIC
  std::vector<MeasuredReduce> measured{};  ///< ascending ranks; the keys above win
  std::string measured_by{};               ///< the profile that has them
};
inline constexpr std::string_view kCollectivePaths[] = {"nvlink", "pcie"};
inline constexpr std::string_view kCollectiveAlgorithms[] = {"ring", "one-shot"};

/// Two workstation GPUs on PCIe 5 without NVLink take about 20 us + bytes / 16 GB/s. Eight
/// RTX 4090 take 42 us of few bytes (NVIDIA/nccl issue 1530). Between these: a line over the steps
/// of a ring. NCCL through host memory is as fast as with peer access there (NVIDIA/nccl-tests
/// issue 74: A40), and its two channels, not the generation of PCIe, bound the rate
/// (voipmonitor/rtx6kpro, optimization/nccl-tuning.md: 22 GB/s of two channels, 38 to 41 of eight;
/// tinygrad/open-gpu-kernel-modules issue 36: 26 GB/s on PCIe 4 with peer access, 256 MiB and up).
inline constexpr double kPcieBaseUs = 16.3;
inline constexpr double kPcieStepUs = 1.85;
inline constexpr double kPcieBandwidth = 16e9;
/// NCCL's own estimates (NVIDIA/nccl, src/graph/tuning.cc: baseLat and hwLat of NET, Simple).
inline constexpr double kNicBaseUs = 8.4;
inline constexpr double kNicStepUs = 14.0;
/// One 400 Gb/s NIC for each GPU, as in DGX H100 and B200 (their data sheets).
inline constexpr double kNicBandwidth = 50e9;

inline constexpr std::uint32_t kMostCollectiveRanks = 256;

class Collectives {
 public:
  /// Precondition: 2 <= ranks <= kMostCollectiveRanks; ranks divide into whole nodes, or one.
  Collectives(const GpuSpec& gpu, std::uint32_t ranks, const CollectiveSettings& settings = {});

  /// `captured`: replayed in a CUDA graph, whose buffers all ranks know.
  double seconds(Collective kind, double bytes, bool captured = true) const;
  /// On such a GPU, so many ranks, by the path that is used.
  bool measured() const { return measured_; }
  /// Of the figures, and how they were carried over where not measured.
  const std::string& source() const { return source_; }

  static constexpr std::size_t kPoints = 14;
  using Times = std::array<double, kPoints>;  ///< us, at the sizes of the tables

 private:
  double within_node(Collective kind, double bytes, bool captured) const;
  double measured_reduce(double bytes) const;
  void over_nvlink(const GpuSpec& gpu);
  void over_pcie();
  const MeasuredReduce* nearest_measured() const;
  void between_nodes();

  CollectiveSettings settings_;
  std::uint32_t local_;  ///< ranks of one node
  std::uint32_t nodes_;
  std::optional<Times> times_;  ///< of an all-reduce in one node; else affine
  double latency_us_ = 0;
  double bandwidth_ = 0;
  bool measured_ = false;
  std::string source_;
};

}  // namespace spillway
