#include "models/compute/kernel_choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace spillway {

namespace {

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
  constexpr int kUsualWidth = 128;
  const double wanted = head_dim > 0 ? head_dim : kUsualWidth;
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
