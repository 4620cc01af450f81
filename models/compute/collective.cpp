// The constants are reduced from microsoft/vidur @ 7d47513363ec, data/profiling/network/
// {a100,h100}_dgx/all_reduce.csv (MIT): medians of 994 sizes from 2 KiB to 64 MiB, for 2, 4 and 8
// workers on one node. The first is the median of all sizes up to 1 MiB, which scatter between
// 7 and 66 us without order; the others are a piecewise linear fit in logarithms that minimises
// absolute error, made ascending. Against the whole tables: median error 0.6 to 2.5%, 90th
// percentile above 1 MiB at most 9.7%, median up to 1 MiB 3 to 34%.
//
// Model: what vLLM's own all-reduce for small tensors saves against NCCL is not in these tables.
#include "models/compute/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::array<double, AllReduce::kPoints> kSizesMib = {1,  2,  4,  6,  8, 12,
                                                              16, 24, 32, 48, 64};
constexpr double kMib = 1 << 20;

struct CollectiveRow {
  std::uint32_t workers;
  AllReduce::Times us;
};
constexpr CollectiveRow kA100[] = {
    {2, {54.0, 58.5, 62.4, 81.7, 93.6, 119.7, 139.9, 192.5, 243.2, 340.1, 431.8}},
    {4, {42.0, 53.0, 83.7, 114.7, 125.4, 177.5, 201.0, 264.1, 322.0, 465.8, 604.4}},
    {8, {40.0, 67.3, 96.4, 122.6, 151.8, 207.5, 271.1, 368.5, 399.9, 552.7, 683.8}},
};
constexpr CollectiveRow kH100[] = {
    {2, {39.0, 41.8, 43.0, 43.0, 44.5, 59.8, 74.3, 105.8, 134.9, 190.2, 246.3}},
    {4, {42.0, 42.0, 48.5, 50.5, 62.0, 76.7, 92.5, 129.1, 167.9, 243.9, 317.5}},
    {8, {32.0, 39.5, 50.6, 62.1, 78.8, 100.3, 116.6, 159.4, 196.6, 273.4, 348.0}},
};
// The nominal rate of the links that these were measured on, GB/s each way.
constexpr double kA100Peer = 300;

/// Nominal rate between two GPUs without links of their own: the way to the host.
double host_peer_gbs(HostLink link) {
  return link == HostLink::kPcie4 ? 31.5 : 63.0;
}

}  // namespace

const std::array<double, AllReduce::kPoints>& AllReduce::sizes_mib() {
  return kSizesMib;
}

double AllReduce::seconds(double bytes) const {
  const double mib = bytes / kMib;
  if (mib <= kSizesMib.front()) return us_.front() * 1e-6;
  if (mib >= kSizesMib.back()) {
    const double slope =
        (us_[kPoints - 1] - us_[kPoints - 2]) / (kSizesMib[kPoints - 1] - kSizesMib[kPoints - 2]);
    return (us_.back() + (mib - kSizesMib.back()) * slope) * 1e-6;
  }
  const auto above = std::upper_bound(kSizesMib.begin(), kSizesMib.end(), mib);
  const auto i = static_cast<std::size_t>(above - kSizesMib.begin()) - 1;
  const double from = det::log2(kSizesMib[i]);
  const double share = (det::log2(mib) - from) / (det::log2(kSizesMib[i + 1]) - from);
  const double low = det::log2(us_[i]);
  return det::exp2(low + share * (det::log2(us_[i + 1]) - low)) * 1e-6;
}

CollectiveSource all_reduce_of(const GpuSpec& gpu, std::uint32_t workers) {
  KV_ASSERT(workers >= 2 && workers <= kMostCollectiveRanks, "an all-reduce of {} ranks", workers);
  const bool a100 = gpu.name.starts_with("A100-SXM");
  const bool h100 = gpu.name.starts_with("H100-SXM");
  const double peer = gpu.peer_gbs > 0 ? gpu.peer_gbs : host_peer_gbs(gpu.host_link);
  const bool newer = h100 || (!a100 && peer >= kH100Peer);
  const auto& rows = newer ? kH100 : kA100;
  const CollectiveRow& row =
      *std::find_if(std::begin(rows), std::end(rows),
                    [&](const CollectiveRow& r) { return r.workers >= workers; });
  AllReduce::Times us = row.us;
  const double slower = (newer ? kH100Peer : kA100Peer) / peer;
  for (double& t : us) t = row.us.front() + (t - row.us.front()) * slower;

  const bool measured = (a100 || h100) && row.workers == workers;
  std::string source =
      fmt::format("NCCL all-reduce of {} GPUs of a {} DGX (microsoft/vidur @ 7d47513363ec)",
                  row.workers, newer ? "H100" : "A100");
  if (!measured) {
    source += fmt::format(", assumed for {} x {}: what exceeds its floor of {:.0f} us times {:.2f}",
                          workers, gpu.name, row.us.front(), slower);
  }
  return {AllReduce(us), measured, std::move(source)};
}

}  // namespace spillway
