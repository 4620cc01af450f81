#include "models/compute/kernel_choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "models/compute/kernel_forms.hpp"

namespace spillway {

namespace {

// Weight-only kernels (Marlin) where products bind: 141 of 233 TFLOP/s that FP16 reaches on an A100
// (vllm-project/vllm PR 2497, Marlin's bench.py; tests/models/compute has the table).
// Model: of every GPU, and of weights in FP8 and FP4 that it has no units for.
constexpr double kMarlinFlopShare = 141.4 / 233;

/// Machete, of integers on Hopper alone, and not of experts: as fast as FP16 where products bind
/// (vllm-project/vllm PRs 7174 and 7701).
bool machete(const GpuSpec& gpu, const WeightFormat& format, bool experts) {
  return gpu.generation == Generation::kHopper && format.as == Multiplied::kWidened && !experts;
}

/// Of that type; else BF16's, else the first.
template <class Kernels>
const Kernels* of_type(const std::vector<Kernels>& all, bool fp8) {
  const auto of = [&](std::string_view dtype) -> const Kernels* {
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Kernels& kernels) { return kernels.dtype == dtype; });
    return at == all.end() ? nullptr : &*at;
  };
  if (all.empty()) return nullptr;
  if (const Kernels* same = of(fp8 ? "fp8" : "bf16")) return same;
  const Kernels* bf16 = of("bf16");
  return bf16 != nullptr ? bf16 : &all.front();
}

}  // namespace

ProductUnits product_units(const GpuSpec& gpu, const WeightFormat& format, bool experts) {
  if (format.as == Multiplied::kBf16 || machete(gpu, format, experts)) return {};
  const bool fp8 = format.as == Multiplied::kFp8 && gpu.fp8_tflops > 0;
  // Model: FP4 units run at the rate of FP8, as no source here has their own.
  const bool fp4 = format.as == Multiplied::kFp4 && gpu.generation == Generation::kBlackwell;
  if (fp8 || fp4) return {true, 1};
  return {false, kMarlinFlopShare};
}

const ProductKernels* choose_products(const ComputeProfile& profile, bool fp8) {
  return of_type(profile.products, fp8);
}

const ExpertKernels* choose_experts(const ComputeProfile& profile, bool fp8) {
  return of_type(profile.experts, fp8);
}

int kv_bits_of(std::string_view kv_dtype) {
  return kv_dtype == "fp8" ? 8 : 16;
}

const AttentionKernels* choose_attention(const ComputeProfile& profile, int kv_bits, int head_dim) {
  const double wanted = head_dim > 0 ? head_dim : kUsualHeadWidth;
  const auto distance = [&](const AttentionKernels& kernels) {
    const double width = kernels.head_dim;
    return std::tuple(std::abs(kv_bits_of(kernels.kv_dtype) - kv_bits),
                      std::max(width, wanted) / std::min(width, wanted));
  };
  const auto nearest =
      std::min_element(profile.attention.begin(), profile.attention.end(),
                       [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return nearest == profile.attention.end() ? nullptr : &*nearest;
}

}  // namespace spillway
