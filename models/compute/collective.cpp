// NVLink: medians of vLLM 0.20's all-reduce of BF16 tensors in a CUDA graph, its own kernel where
// it takes the tensor and NCCL beyond, on 2, 4 and 8 GPUs (ai-dynamo/aiconfigurator,
// campaign_checkpoints/{a100,h100,b200}_sxm/custom_allreduce_perf.txt, Apache-2.0; its sizes count
// elements of 2 bytes). The same tables without a graph: 1.05 to 1.21 times as long from 8 MiB on,
// a copy into the shared buffer; smaller
// tensors wait for the host, which a step's own overhead has. On Blackwell vLLM fuses small
// all-reduces with the norm behind them (FlashInfer): the same project's allreduce_rms_perf.txt,
// B300 x 8, 5.9 us + 1.76 us for each MiB that a GPU sends, carried over to 2 and 4 ranks up to
// the 14 MiB that were measured.
//
// NCCL's rate on the user's machine takes the place of the published one, times above the floor
// stretch with it. Small tensors keep the published time: nccl-tests does not have the engine's own
// kernel for them, and NCCL takes longer.
//
// Model: the other collectives move half of an all-reduce's bytes, and take its floor and half of
// the rest; what overlaps with compute is nothing.
#include "models/compute/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::array<double, Collectives::kPoints> kSizesKib = {
    16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
constexpr double kKib = 1 << 10;

constexpr double kEagerFactor = 1.16;
constexpr double kEagerBytes = 8192 * kKib;

struct CollectiveRow {
  std::uint32_t ranks;
  Collectives::Times us;
};
struct NvlinkTable {
  std::string_view gpu;
  double peer_gbs;  ///< nominal, each way
  CollectiveRow rows[3];
};
// clang-format off
constexpr NvlinkTable kNvlink[] = {
    {"A100", 300,
     {{2, {5.27, 5.55, 5.81, 6.44, 7.89, 10.67, 15.14, 25.65,
           86.97, 128.4, 223.5, 393.6, 752.8, 1442.2}},
      {4, {5.93, 6.45, 7.76, 10.21, 14.53, 18.10, 26.15, 41.59,
           118.4, 182.9, 293.4, 549.0, 1011.1, 1941.8}},
      {8, {6.83, 8.30, 11.03, 17.14, 19.52, 21.51, 28.25, 45.48,
           141.5, 225.9, 371.4, 605.1, 1168.5, 2187.7}}}},
    {"H100", 450,
     {{2, {4.50, 4.54, 4.76, 5.22, 6.36, 8.41, 12.39, 20.19,
           44.88, 81.93, 156.5, 253.9, 468.5, 886.6}},
      {4, {4.91, 5.26, 5.82, 7.13, 11.19, 12.71, 18.48, 30.40,
           53.31, 98.41, 175.3, 325.1, 619.1, 1180.8}},
      {8, {5.22, 6.32, 7.80, 11.49, 12.27, 15.01, 19.27, 30.71,
           50.65, 92.34, 177.7, 321.9, 575.3, 1088.5}}}},
    {"B200", 900,
     {{2, {5.9, 6.0, 6.1, 6.3, 6.8, 7.7, 9.4, 13.0,
           20.0, 57.10, 86.84, 155.2, 281.8, 528.9}},
      {4, {6.0, 6.2, 6.6, 7.2, 8.6, 11.2, 16.5, 27.1,
           43.38, 67.18, 123.5, 187.7, 354.5, 677.8}},
      {8, {5.9, 6.3, 7.0, 8.5, 11.8, 16.56, 19.94, 26.05,
           38.18, 62.33, 110.7, 223.5, 395.9, 714.6}}}},
};
// clang-format on

/// Of the tensor, what one GPU sends, times the rate.
double sent(Collective kind, CollectiveSettings::Algorithm algorithm, double ranks) {
  const double others = ranks - 1;
  const bool reduce = kind == Collective::kAllReduce;
  if (algorithm == CollectiveSettings::Algorithm::kOneShot) return reduce ? others : others / ranks;
  return (reduce ? 2 : 1) * others / ranks;
}

/// What one GPU sends per second at the end of a table, in bytes.
double last_rate(const CollectiveRow& row) {
  constexpr std::size_t kLast = Collectives::kPoints - 1;
  const double bytes = (kSizesKib[kLast] - kSizesKib[kLast - 1]) * kKib;
  return sent(Collective::kAllReduce, CollectiveSettings::Algorithm::kRing, row.ranks) * bytes /
         (row.us[kLast] - row.us[kLast - 1]) * 1e6;
}

/// The newest whose links are no faster; the oldest for slower ones.
const NvlinkTable& nvlink_table(const GpuSpec& gpu) {
  for (const NvlinkTable& table : kNvlink) {
    if (gpu.name.starts_with(table.gpu)) return table;
  }
  const NvlinkTable* best = &kNvlink[0];
  for (const NvlinkTable& table : kNvlink) {
    if (table.peer_gbs <= gpu.peer_gbs) best = &table;
  }
  return *best;
}

}  // namespace

Collectives::Collectives(const GpuSpec& gpu, std::uint32_t ranks,
                         const CollectiveSettings& settings)
    : settings_(settings),
      local_(std::min(ranks, settings.gpus_per_node)),
      nodes_(ranks / local_) {
  KV_ASSERT(ranks >= 2 && ranks <= kMostCollectiveRanks && nodes_ * local_ == ranks,
            "{} ranks on nodes of {}", ranks, settings.gpus_per_node);
  using Path = CollectiveSettings::Path;
  const bool own_figures = settings.latency_us && settings.bandwidth;
  const Path path = settings.path.value_or(gpu.peer_gbs > 0 ? Path::kNvlink : Path::kPcie);
  if (path == Path::kNvlink && gpu.peer_gbs > 0 && !own_figures && local_ > 1) {
    over_nvlink(gpu);
  } else {
    over_pcie();
  }
  if (nodes_ > 1) between_nodes();
}

/// Of as many ranks, else of the next that are more, else of the most.
const MeasuredReduce* Collectives::nearest_measured() const {
  const auto& all = settings_.measured;
  if (all.empty()) return nullptr;
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const MeasuredReduce& m) { return m.ranks >= local_; });
  return at != all.end() ? &*at : &all.back();
}

void Collectives::over_nvlink(const GpuSpec& gpu) {
  const NvlinkTable& table = nvlink_table(gpu);
  const CollectiveRow* row = &table.rows[2];
  for (const CollectiveRow& r : table.rows) {
    if (r.ranks >= local_) {
      row = &r;
      break;
    }
  }
  times_ = row->us;
  const MeasuredReduce* own = settings_.bandwidth ? nullptr : nearest_measured();
  const double rate = settings_.bandwidth ? *settings_.bandwidth / 1e9 : gpu.peer_gbs;
  const double slower = own != nullptr ? last_rate(*row) / own->rate : table.peer_gbs / rate;
  const double floor = settings_.latency_us.value_or(row->us.front());
  for (double& t : *times_) t = floor + std::max(0.0, t - row->us.front()) * slower;
  measured_ = gpu.name.starts_with(table.gpu) && row->ranks == local_ && !settings_.latency_us &&
              !settings_.bandwidth;
  source_ = fmt::format("vLLM 0.20 all-reduce of {} {} over NVLink (ai-dynamo/aiconfigurator)",
                        row->ranks, table.gpu);
  if (!measured_) {
    source_ += fmt::format(", assumed for {} x {}: times above the floor of {:.1f} us x {:.2f}",
                           local_, gpu.name, row->us.front(), slower);
  }
  if (own != nullptr) {
    source_ += fmt::format("; NCCL sends {:.0f} GB/s on {} ranks (measured by {})", own->rate / 1e9,
                           own->ranks, settings_.measured_by);
    measured_ = measured_ && own->ranks == local_;
  }
}

void Collectives::over_pcie() {
  // Of a ring: a line over its steps.
  const auto published_us = [](std::uint32_t ranks) {
    return kPcieBaseUs + kPcieStepUs * 2 * (ranks - 1);
  };
  const bool given = settings_.latency_us && settings_.bandwidth;
  const MeasuredReduce* own = given ? nullptr : nearest_measured();
  double latency_us = published_us(local_);
  if (own != nullptr) latency_us *= own->latency_us / published_us(own->ranks);
  latency_us_ = settings_.latency_us.value_or(latency_us);
  bandwidth_ = settings_.bandwidth.value_or(own != nullptr ? own->rate : kPcieBandwidth);
  measured_ = given || (own != nullptr && own->ranks == local_);
  std::string from = given                  ? "given"
                     : settings_.latency_us ? "latency given, rate published"
                     : settings_.bandwidth  ? "rate given, latency published"
                                            : "published figures of GPUs on PCIe without NVLink";
  if (own != nullptr) {
    from = fmt::format("measured by {}", settings_.measured_by);
    if (own->ranks != local_)
      from += fmt::format(" on {} ranks, assumed for {}", own->ranks, local_);
  }
  source_ =
      fmt::format("{:.0f} us + bytes / {:.0f} GB/s ({})", latency_us_, bandwidth_ / 1e9, from);
}

void Collectives::between_nodes() {
  if (!settings_.nic_latency_us) {
    settings_.nic_latency_us = kNicBaseUs + kNicStepUs * 2 * (nodes_ - 1);
  }
  const bool given = settings_.nic_bandwidth.has_value();
  if (!given) settings_.nic_bandwidth = kNicBandwidth;
  measured_ = false;
  source_ += fmt::format(
      "; between {} nodes {:.0f} us + bytes / {:.0f} GB/s of a NIC for each "
      "GPU ({})",
      nodes_, *settings_.nic_latency_us, *settings_.nic_bandwidth / 1e9,
      given ? "given" : "assumed");
}

double Collectives::measured_reduce(double bytes) const {
  const Times& us = *times_;
  const double kib = bytes / kKib;
  if (kib <= kSizesKib.front()) return us.front() * 1e-6;
  if (kib >= kSizesKib.back()) {
    const double slope =
        (us[kPoints - 1] - us[kPoints - 2]) / (kSizesKib[kPoints - 1] - kSizesKib[kPoints - 2]);
    return (us.back() + (kib - kSizesKib.back()) * slope) * 1e-6;
  }
  const auto above = std::upper_bound(kSizesKib.begin(), kSizesKib.end(), kib);
  const auto i = static_cast<std::size_t>(above - kSizesKib.begin()) - 1;
  const double from = det::log2(kSizesKib[i]);
  const double share = (det::log2(kib) - from) / (det::log2(kSizesKib[i + 1]) - from);
  const double low = det::log2(us[i]);
  return det::exp2(low + share * (det::log2(us[i + 1]) - low)) * 1e-6;
}

double Collectives::within_node(Collective kind, double bytes, bool captured) const {
  if (local_ == 1) return 0;
  if (!times_) {
    return latency_us_ * 1e-6 + sent(kind, settings_.algorithm, local_) * bytes / bandwidth_;
  }
  double seconds = measured_reduce(bytes);
  if (kind != Collective::kAllReduce) {
    const double floor = times_->front() * 1e-6;
    seconds = floor + (seconds - floor) / 2;
  }
  return captured || bytes < kEagerBytes ? seconds : seconds * kEagerFactor;
}

double Collectives::seconds(Collective kind, double bytes, bool captured) const {
  double seconds = within_node(kind, bytes, captured);
  if (nodes_ > 1) {
    // Each GPU exchanges its share of the node's tensor with its peers on the other nodes.
    const double share = sent(kind, CollectiveSettings::Algorithm::kRing, nodes_) * bytes / local_;
    seconds += *settings_.nic_latency_us * 1e-6 + share / *settings_.nic_bandwidth;
  }
  return seconds;
}

}  // namespace spillway
