#include "models/compute/expert_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/compute/kernel_choice.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

/// What the largest of so many normal numbers exceeds their mean by, in standard deviations
/// (H. L. Harter, Biometrika 48, 1961, table 1).
struct LargestRow {
  std::uint32_t numbers;
  double deviations;
};
constexpr std::array<LargestRow, 9> kLargest = {{{1, 0},
                                                 {2, 0.5642},
                                                 {4, 1.0294},
                                                 {8, 1.4236},
                                                 {16, 1.7660},
                                                 {32, 2.0697},
                                                 {64, 2.3437},
                                                 {128, 2.5946},
                                                 {256, 2.8269}}};

/// Linear between them; beyond the last, the last.
double largest_of(std::uint32_t numbers) {
  const auto above = std::find_if(kLargest.begin(), kLargest.end(),
                                  [&](const LargestRow& row) { return row.numbers >= numbers; });
  if (above == kLargest.end()) return kLargest.back().deviations;
  if (above->numbers == numbers) return above->deviations;
  const LargestRow& below = *(above - 1);
  const double share = double(numbers - below.numbers) / double(above->numbers - below.numbers);
  return below.deviations + share * (above->deviations - below.deviations);
}

double beta_second(double experts, double per_token) {
  return kGateShape * (experts - per_token) / per_token;
}

}  // namespace

ExpertChoice::ExpertChoice(std::int32_t experts, std::int32_t per_token)
    : experts_(experts), per_token_(per_token) {
  KV_ASSERT(per_token >= 1 && experts >= per_token, "{} of {} experts a token", per_token, experts);
}

double ExpertChoice::picked(std::uint64_t tokens) {
  const double second = beta_second(experts_, per_token_);
  while (missed_.size() <= tokens) {
    const auto n = static_cast<double>(missed_.size() - 1);
    missed_.push_back(missed_.back() * (second + n) / (kGateShape + second + n));
  }
  return experts_ * (1 - missed_[tokens]);
}

double ExpertChoice::picked_on_busiest(std::uint64_t tokens, std::uint32_t ranks) {
  const double all = picked(tokens);
  if (ranks == 1) return all;
  // Whether an expert is picked is an event of its own; ranks differ by their sum.
  const double held = experts_ / ranks;
  const double share = all / experts_;
  const double more = largest_of(ranks) * std::sqrt(held * share * (1 - share));
  return std::min({all / ranks + more, held, static_cast<double>(tokens) * per_token_});
}

double ExpertChoice::most_rows(std::uint32_t ranks) const {
  if (ranks == 1) return 1;
  const double mean = per_token_ / experts_;
  const double sum = kGateShape + beta_second(experts_, per_token_);
  const double variance = mean * (1 - mean) / (sum + 1);
  // Of the mean of an expert, over the mean of those that a rank has.
  const double deviation = std::sqrt(variance * ranks / experts_) / mean;
  return std::min(1 + largest_of(ranks) * deviation, static_cast<double>(ranks));
}

ExpertTime::ExpertTime(const ComponentsCost& p, const WeightFormat& format)
    : choice_(p.model->experts, p.model->experts_per_token),
      per_token_(p.model->experts_per_token),
      parts_(p.shards.whole_experts ? p.shards.expert_ranks() : 1),
      hidden_(p.model->hidden),
      width_(p.model->expert_intermediate /
             double(p.shards.whole_experts ? 1 : p.shards.expert_ranks())),
      weight_bytes_(format.bytes) {
  const ProductUnits units = product_units(*p.gpu, format, true);
  peaks_ = product_peaks(*p.gpu, units.fp8);
  form_ = form_of(expert_kernels(p.kernels, ""));
  if (p.profile != nullptr) use_profile(*p.profile, units.fp8);
  form_.flop_efficiency *= units.flop_share;
}

void ExpertTime::use_profile(const ComputeProfile& profile, bool fp8) {
  if (const ExpertKernels* measured = choose_experts(profile, fp8)) {
    form_ = form_of(*measured);
    ratio_ = RatioTable(measured->ratios);
  } else if (const ProductKernels* products = choose_products(profile, fp8)) {
    form_ = form_of(*products);
    form_.overhead_us = kExpertLayerUs;
  }
}

double ExpertTime::seconds(std::uint64_t tokens) {
  if (tokens >= known_.size()) known_.resize(tokens + 1, 0);
  double& known = known_[tokens];
  if (known > 0) return known;
  const double rows = static_cast<double>(tokens) * per_token_ / parts_ * choice_.most_rows(parts_);
  const double activated = choice_.picked_on_busiest(tokens, parts_);
  known = experts_seconds(form_, {rows, activated, hidden_, width_}, peaks_, weight_bytes_);
  if (!ratio_.empty()) known *= ratio_.at({rows, activated});
  return known;
}

}  // namespace spillway
