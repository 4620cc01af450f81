// Published copy rates, pinned host memory, as tables over copy size and copy count.
//
// Batched DMA on an H100 (cuMemcpyBatchAsync H2D, vllm-project/vllm PR 42212) gives the sizes up to
// 64 KiB: rates stay at 4-7 GB/s below 24 KiB and jump between 24 and 28 KiB. 2 MiB blocks move at
// about 50 GB/s, both directions together at 83.4 (vllm-project.github.io 2026-01-08: so each keeps
// 83%); the largest copies at 55.4 up and 55.1 down (H200, stas00/ml-engineering
// network/README.md). No D2H table is published: the small sizes are taken to be the same. Slower
// links cap the same table at their own large-copy rates: PCIe 4 24.8 up and 25.0 down (A100), 18.6
// of 26.0 when both run (nvbandwidth README); NVLink-C2C 375 up and 297 down (GH200) and 175 of 359
// when both run (GB300). A job costs 7 us to submit (DualPath, arXiv 2602.21548: 5-7 us a call).
#include "models/link/defaults.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace spillway {

namespace {

constexpr double kKiB = 1024;
constexpr double kSmallSizes[] = {4 * kKiB, 8 * kKiB, 16 * kKiB, 24 * kKiB, 28 * kKiB, 64 * kKiB};
constexpr double kCounts[] = {10'000, 50'000, 100'000};
constexpr double kBatchedH100[3][6] = {{6.8, 6.8, 7.1, 25.8, 27.5, 38.8},
                                       {4.0, 5.2, 6.3, 6.7, 39.9, 51.4},
                                       {3.8, 5.3, 6.3, 6.9, 44.1, 51.8}};
constexpr double kBlockSize = 2048 * kKiB;
constexpr double kHugeSize = 512 * 1024 * kKiB;
constexpr Duration kSubmit = std::chrono::microseconds(7);

/// `block`: the rate of 2 MiB copies; `huge`: of the largest.
RateTable table(double block, double huge, std::string_view source) {
  RateTable out;
  out.job_latency = kSubmit;
  out.copy_bytes.assign(std::begin(kSmallSizes), std::end(kSmallSizes));
  out.copy_bytes.push_back(kBlockSize);
  out.copy_bytes.push_back(kHugeSize);
  out.copies.assign(std::begin(kCounts), std::end(kCounts));
  for (const auto& row : kBatchedH100) {
    for (const double rate : row) out.gbs.push_back(std::min(rate, block));
    out.gbs.push_back(block);
    out.gbs.push_back(huge);
  }
  out.source = std::string(source);
  return out;
}

}  // namespace

HostLinkDefault default_host_link(const GpuSpec& gpu) {
  switch (gpu.host_link) {
    case HostLink::kPcie5: {
      constexpr std::string_view kSource =
          "PCIe 5 x16 as published for H100/H200 (vLLM PR 42212, vLLM blog 2026-01-08, "
          "ml-engineering)";
      return {table(50, 55.1, kSource), table(50, 55.4, kSource), 0.834, 0.834};
    }
    case HostLink::kPcie4: {
      constexpr std::string_view kSource =
          "PCIe 4 x16 as published for A100 (nvbandwidth); small copies as on H100 (assumed)";
      return {table(25.0, 25.0, kSource), table(24.8, 24.8, kSource), 0.715, 0.715};
    }
    case HostLink::kC2c: {
      constexpr std::string_view kSource =
          "NVLink-C2C as published for GH200 and GB300; small copies as on H100 (assumed)";
      return {table(297, 297, kSource), table(375, 375, kSource), 0.48, 0.48};
    }
  }
  return {};
}

}  // namespace spillway
