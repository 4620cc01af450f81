// Measured kernel efficiencies by GPU.
//
// Products: time = overhead + (compute^p + memory^p)^(1/p), fitted on some widths and scored on
// others of ai-dynamo/aiconfigurator's BF16 tables (held-out error 5.8% H100, 6.1% H200, 6.3% B200,
// 7.9% A100, 9.4% L40S, 6.7% RTX PRO 6000). Attention of H100, A100 and L40S: our fit of the same
// project's attention tables, head dim 128, 16 heads and more (mean error: prefill 17%, 9%, 14%,
// mostly kernels below 30 us; decode 14%, 17%, 26%); their tables hold no cached prefix, so the
// wave form's behaviour there is carried over from the two GPUs below. RTX 4090 and RTX PRO 6000:
// fits of casys-kaist/LLMServingSim's kernel profiles, cached prefixes included (steps within 5%).
// H200 and B200 share Hopper's attention numbers, scaled by peak rate: assumed.
#include <algorithm>
#include <array>

#include "models/compute/step_cost.hpp"

namespace spillway {

namespace {

struct KernelRow {
  std::string_view gpu;
  KernelCoefficients kernels;
  std::string_view source;
};

// Norms, rotary embedding and activation: not measured, at the memory's rate; the GPUs with large
// L2 caches faster (RTX 4090: its LLMServingSim profile at 2,048 tokens; RTX PRO 6000 alike).
constexpr double kElementwise = 1;
constexpr double kElementwiseCached = 1.45;
constexpr double kMixedAda = 0.52;      // RTX 4090
constexpr double kMixedDefault = 0.40;  // RTX PRO 6000: 0.36-0.41

constexpr std::array<KernelRow, 7> kRows = {{
    {"H100-SXM5-80GB",
     {3.5, 0.81, 0.87, 3.2, 10.2, 6.6, 560, 11.9, 0.81, 0.14, kMixedDefault, kElementwise},
     "aiconfigurator h100_sxm kernel tables (vLLM 0.24)"},
    {"H200-SXM-141GB",
     {3.9, 0.81, 0.83, 3.5, 10.2, 6.6, 560, 11.9, 0.81, 0.14, kMixedDefault, kElementwise},
     "aiconfigurator h200_sxm products; attention as H100 (assumed)"},
    {"B200-SXM-180GB",
     {3.5, 0.72, 0.79, 2.3, 10.2, 3.3, 560, 11.9, 0.81, 0.14, kMixedDefault, kElementwise},
     "aiconfigurator b200_sxm products; attention as H100, scaled by peak rate (assumed)"},
    {"A100-SXM4-80GB",
     {5.6, 0.85, 0.76, 1.7, 6.7, 19.9, 264, 18.6, 0.67, 0.22, kMixedDefault, kElementwise},
     "aiconfigurator a100_sxm kernel tables (vLLM 0.14)"},
    {"L40S-48GB",
     {0.1, 0.64, 0.79, 2.2, 2.9, 26.0, 195, 11.5, 0.83, 0.13, kMixedAda, kElementwise},
     "aiconfigurator l40s kernel tables (vLLM 0.24)"},
    {"RTX-PRO-6000-Server-96GB",
     {1.9, 0.79, 0.84, 1.7, 0, 21.8, 0, 14.7, 0.73, 0, kMixedDefault, kElementwiseCached},
     "LLMServingSim RTXPRO6000 profile (vLLM 0.19)"},
    {"RTX4090-24GB",
     {1.0, 1.0, 0.90, 2.2, 0, 32.9, 0, 9.0, 0.84, 0, kMixedAda, kElementwiseCached},
     "LLMServingSim RTX4090 profile (vLLM 0.19)"},
}};

// Middle of the measured GPUs, for those nobody measured.
constexpr KernelCoefficients kGeneric = {3.5, 0.78, 0.82, 2.4,           8,           0, 300,
                                         12,  0.77, 0.15, kMixedDefault, kElementwise};
// 64 queries x one key x head dim 128: four operations each, at 60% of an SM's peak.
constexpr double kTileFlops = 4.0 * 64 * 128;
constexpr double kGenericTileEfficiency = 0.60;

}  // namespace

KernelSource kernel_coefficients(const GpuSpec& gpu) {
  const std::string_view measured = gpu.like.empty() ? gpu.name : gpu.like;
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](const KernelRow& r) { return r.gpu == measured; });
  if (row != kRows.end()) return {row->kernels, true, row->source};
  KernelCoefficients kernels = kGeneric;
  const double per_sm = gpu.bf16_tflops * 1e12 / gpu.sm_count;
  kernels.prefill_key_ns = kTileFlops / (per_sm * kGenericTileEfficiency) * 1e9;
  return {kernels, false, "middle of the measured GPUs (H100, A100, L40S, RTX 4090, ...)"};
}

std::string_view host_overhead_source() {
  return "vLLM 0.19 decode steps beyond their kernels on RTX PRO 6000, Llama-3.1-8B: +0.7 ms "
         "(casys-kaist/LLMServingSim); sampler 1.1 us per sequence";
}

}  // namespace spillway
