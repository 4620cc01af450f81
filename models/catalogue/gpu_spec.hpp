// GPUs: memory as the driver reports it, peak rates, host link, and what was measured about their
// kernels. Rates are dense (no sparsity); GB = 1e9 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

enum class HostLink : std::uint8_t { kPcie4, kPcie5, kC2c };

/// Of tensor cores: which kernels an engine takes for narrow weights.
enum class Generation : std::uint8_t { kOther, kAmpere, kAda, kHopper, kBlackwell };

struct GpuSpec {
  std::string_view name;
  std::int64_t memory_bytes;  ///< what the driver reports, the figure to size from
  bool memory_is_label;       ///< not established: the label on the box times 1e9
  double memory_gbs;
  double bf16_tflops;
  double fp8_tflops;  ///< 0: none
  std::int32_t sm_count;
  HostLink host_link;
  double peer_gbs;  ///< to other GPUs of the node, each way; 0: by way of the host
  Generation generation = Generation::kOther;
  std::string_view like = {};  ///< the GPU whose kernels it runs alike; empty: its own
  double l2_mib = 0;           ///< cache between SMs and memory; 0: not known

  BytesPerSecond memory_bandwidth() const { return BytesPerSecond(memory_gbs * 1e9); }
};

std::span<const GpuSpec> gpu_specs();
std::string_view gpu_specs_source();

/// By full name, alias ("H100", "A100"), or a suffix that only one GPU has.
/// Throws InputError (exit 2) listing what is known.
const GpuSpec& find_gpu(std::string_view name, const SourceRef& where);

}  // namespace spillway
