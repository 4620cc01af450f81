#include "models/compute/kernel_choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace spillway {

const ProductKernels* choose_products(const ComputeProfile& profile, bool fp8) {
  const auto of = [&](std::string_view dtype) -> const ProductKernels* {
    const auto at =
        std::find_if(profile.products.begin(), profile.products.end(),
                     [&](const ProductKernels& kernels) { return kernels.dtype == dtype; });
    return at == profile.products.end() ? nullptr : &*at;
  };
  if (profile.products.empty()) return nullptr;
  if (const ProductKernels* same = of(fp8 ? "fp8" : "bf16")) return same;
  const ProductKernels* bf16 = of("bf16");
  return bf16 != nullptr ? bf16 : &profile.products.front();
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
