// Published copy rates, pinned host memory, by link and method.
//
// batch (cuMemcpyBatchAsync), as a table over copy size and count. On an H100, H2D
// (vllm-project/vllm PR 42212), sizes up to 64 KiB at 10,000 to 100,000 copies: rates stay at 4-7
// GB/s below 24 KiB and jump between 24 and 28 KiB. 2 MiB blocks move at about 50 GB/s, both
// directions together at 83.4 (vllm-project.github.io 2026-01-08: so each keeps 83%); the largest
// copies at 55.4 up and 55.1 down (H200, stas00/ml-engineering network/README.md); these hold for
// any number of copies. No D2H table is published: the small sizes are taken to be the same. Slower
// links cap the same table at their own large-copy rates: PCIe 4 24.8 up and 25.0 down (A100), 18.6
// of 26.0 when both run (nvbandwidth README); NVLink-C2C 375 up and 297 down (GH200) and 175 of 359
// when both run (GB300). A job costs 7 us to submit (DualPath, arXiv 2602.21548: 5-7 us a call).
//
// Below 10,000 copies nothing is published for small sizes, which is where most transfers lie: the
// rates of 10,000 are used and the result says that they were. MI300X loops and batches of 4,096
// copies (vllm PR 40549) suggest that small copies cost the same each, whatever their number. So
// does a measured H100 (scenarios/hardware/h100.json): with its submission a batch of 64 or 1,000
// copies of 4 KiB reaches 2 GB/s towards the GPU, one of 10,000 reaches 3.
//
// dma (a loop of cudaMemcpyAsync): each copy costs the host thread 5-7 us to submit, 6 here, while
// the engine moves what has been submitted; its rates are those of large copies. Below about 300
// KiB submission alone decides the time; between there and 2 MiB the engine's rate is not
// published.
//
// kernel (gather/scatter): one launch, then the rate of large copies at any fragment size. Both
// directions of 2 MB blocks together reach 68.5 GB/s on an H100 (same blog), so each keeps 68.5% of
// 50; one direction equals the copy engine (A10, nvbandwidth: 25.25 and 25.17). Where fragments are
// small and many it beats batched DMA by the ratio of that to the link (A30, vllm issue 57555: 3.0
// to 4.5 at 1,024 copies and more), where they are few it loses; that it keeps its rate at small
// sizes is an assumption. NVLink-C2C: 97 GB/s with a plain kernel (GB300, sglang PR 40278).
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

constexpr Duration kSubmitCopy = std::chrono::microseconds(6);

struct Rates {
  double block;  ///< of 2 MiB copies
  double huge;   ///< of the largest
};

RateTable large_copies(const Rates& rates, Duration job_latency) {
  RateTable out;
  out.job_latency = job_latency;
  out.copy_bytes = {kBlockSize, kHugeSize};
  out.copies = {1};
  out.gbs = {rates.block, rates.huge};
  out.any_count_from = 0;
  return out;
}

RateTable batched(const Rates& rates) {
  RateTable out;
  out.job_latency = kSubmit;
  out.copy_bytes.assign(std::begin(kSmallSizes), std::end(kSmallSizes));
  out.any_count_from = out.copy_bytes.size();
  out.copy_bytes.push_back(kBlockSize);
  out.copy_bytes.push_back(kHugeSize);
  out.copies.assign(std::begin(kCounts), std::end(kCounts));
  for (const auto& row : kBatchedH100) {
    for (const double rate : row) out.gbs.push_back(std::min(rate, rates.block));
    out.gbs.push_back(rates.block);
    out.gbs.push_back(rates.huge);
  }
  return out;
}

/// What is published of one kind of link.
struct LinkFacts {
  Rates down;
  Rates up;
  double duplex;
  std::string_view source;
  Rates kernel;
  double kernel_duplex;
  std::string_view large_source;  ///< of large copies, without the table
};

LinkFacts facts_of(HostLink link) {
  switch (link) {
    case HostLink::kPcie5:
      return {{50, 55.1},
              {50, 55.4},
              0.834,
              "PCIe 5 x16 as published for H100/H200 (vLLM PR 42212, vLLM blog 2026-01-08, "
              "ml-engineering)",
              {50, 50},
              0.685,
              "PCIe 5 x16 as published for H100/H200 (vLLM blog 2026-01-08, ml-engineering)"};
    case HostLink::kPcie4:
      return {{25.0, 25.0},
              {24.8, 24.8},
              0.715,
              "PCIe 4 x16 as published for A100 (nvbandwidth); small copies as on H100 (assumed)",
              {25.25, 25.25},
              0.715,
              "PCIe 4 x16 as published for A100 and A10 (nvbandwidth)"};
    case HostLink::kC2c:
      return {{297, 297},
              {375, 375},
              0.48,
              "NVLink-C2C as published for GH200 and GB300; small copies as on H100 (assumed)",
              {97, 97},
              0.48,
              "NVLink-C2C as published for GH200 and GB300"};
  }
  return {};
}

}  // namespace

std::optional<CopyMethod> copy_method(std::string_view name) {
  for (const CopyMethod method : {CopyMethod::kBatch, CopyMethod::kDma, CopyMethod::kKernel}) {
    if (name_of(method) == name) return method;
  }
  return std::nullopt;
}

std::string_view name_of(CopyMethod method) {
  switch (method) {
    case CopyMethod::kBatch:
      return "batch";
    case CopyMethod::kDma:
      return "dma";
    case CopyMethod::kKernel:
      return "kernel";
  }
  return "batch";
}

HostLinkDefault default_host_link(const GpuSpec& gpu, CopyMethod method) {
  const LinkFacts facts = facts_of(gpu.host_link);
  HostLinkDefault out;
  out.down_duplex = out.up_duplex = facts.duplex;
  std::string source(facts.source);
  switch (method) {
    case CopyMethod::kBatch:
      out.down = batched(facts.down);
      out.up = batched(facts.up);
      break;
    case CopyMethod::kDma:
      out.down = large_copies(facts.down, Duration(0));
      out.up = large_copies(facts.up, Duration(0));
      out.submit = kSubmitCopy;
      source = std::string(facts.large_source) + ", a loop of copies at 6 us of submission each";
      break;
    case CopyMethod::kKernel:
      out.down = large_copies(facts.kernel, kSubmit);
      out.up = large_copies(facts.kernel, kSubmit);
      out.down_duplex = out.up_duplex = facts.kernel_duplex;
      source = std::string(facts.large_source) + ", a gather kernel";
      break;
  }
  out.down.source = out.up.source = source;
  return out;
}

}  // namespace spillway
