// vLLM's kernel on H100, without a CUDA graph: the unit test table of sgl-project/sglang pull
// request 2904 (January 2025), rows made ascending in size. Other GPUs: what exceeds the floor is
// scaled by the nominal rate of their links (assumed).
#include "models/compute/small_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/compute/collective.hpp"
#include "models/compute/compute_profile.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::size_t kPoints = 5;
constexpr std::array<double, kPoints> kSizes = {4 << 10, 32 << 10, 256 << 10, 512 << 10, 1 << 20};

struct ReduceRow {
  std::uint32_t workers;
  std::array<double, kPoints> us;
};
constexpr ReduceRow kReduceRows[] = {
    {2, {8.7, 8.7, 12.9, 17.7, 26.6}},
    {4, {8.5, 9.2, 20.6, 26.9, 40.2}},
    {8, {9.3, 11.8, 24.1, 30.4, 45.0}},
};

/// Both collectives of every layer, wherever the tensor is small.
class WithSmallReduces final : public StepCost {
 public:
  WithSmallReduces(std::unique_ptr<StepCost> cost, const ComponentsCost& p)
      : cost_(std::move(cost)),
        reduce_(*p.gpu, p.shards.tensor),
        token_bytes_(2.0 * p.model->hidden),
        reduces_(kReducesPerLayer * double(p.shards.stages) *
                 double(stage_layers(p.model->layers, p.shards))) {
    if (p.profile != nullptr) reduces_ *= p.profile->scales.collectives;
  }

  Duration step_time(const StepShape& shape) override {
    std::uint64_t tokens = shape.decodes;
    for (const PrefillChunk& chunk : shape.prefills) tokens += chunk.tokens;
    return cost_->step_time(shape) - saved(tokens);
  }

  Duration collective_time(std::uint64_t tokens) override {
    return cost_->collective_time(tokens) - saved(tokens);
  }

 private:
  Duration saved(std::uint64_t tokens) {
    const double bytes = static_cast<double>(tokens) * token_bytes_;
    if (!reduce_.covers(bytes)) return Duration(0);
    const Duration own(static_cast<std::int64_t>(reduces_ * reduce_.seconds(bytes) * 1e9));
    return std::max(Duration(0), cost_->collective_time(tokens) - own);
  }

  std::unique_ptr<StepCost> cost_;
  SmallReduce reduce_;
  double token_bytes_;
  double reduces_;
};

}  // namespace

SmallReduce::SmallReduce(const GpuSpec& gpu, std::uint32_t workers) {
  KV_ASSERT(workers >= 2 && workers <= kMostCollectiveRanks, "an all-reduce of {} ranks", workers);
  if (gpu.peer_gbs <= 0) return;
  const ReduceRow& row = *std::find_if(std::begin(kReduceRows), std::end(kReduceRows),
                                       [&](const ReduceRow& r) { return r.workers >= workers; });
  us_ = row.us.data();
  scale_ = kH100Peer / gpu.peer_gbs;
  source_ = fmt::format(
      "up to 1 MiB vLLM's own kernel on {} H100 (sgl-project/sglang pull request "
      "2904){}",
      row.workers,
      scale_ == 1 ? std::string()
                  : fmt::format(", what exceeds its floor of {} us times {:.2f} "
                                "(assumed)",
                                us_[0], scale_));
}

bool SmallReduce::covers(double bytes) const {
  return us_ != nullptr && bytes <= kSizes.back();
}

double SmallReduce::seconds(double bytes) const {
  KV_ASSERT(covers(bytes), "a tensor of {} bytes", bytes);
  const auto above = std::lower_bound(kSizes.begin(), kSizes.end(), bytes);
  const auto i = static_cast<std::size_t>(above - kSizes.begin());
  double us = us_[i];
  if (i > 0) {
    const double share = det::log2(bytes / kSizes[i - 1]) / det::log2(kSizes[i] / kSizes[i - 1]);
    us = us_[i - 1] * det::pow(us_[i] / us_[i - 1], share);
  }
  return (us_[0] + (us - us_[0]) * scale_) * 1e-6;
}

std::unique_ptr<StepCost> with_small_reduces(std::unique_ptr<StepCost> cost,
                                             const ComponentsCost& parameters) {
  if (parameters.shards.tensor == 1) return cost;
  return std::make_unique<WithSmallReduces>(std::move(cost), parameters);
}

}  // namespace spillway
