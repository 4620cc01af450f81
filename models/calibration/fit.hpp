// What a calibration's cells mean for the models: one record per curve, ceiling or factor, each
// with its errors on cells it has seen and on sizes it has not.
//
// Targets (the parts of a name are separated by "/"):
//   copy/DIR/API/MEM/PATTERN   table, GB/s over copy size and copies submitted together
//   submit/API                 per_job_us, per_copy_us of the host thread
//   duplex/DIR                 factor: share of its rate that DIR keeps while the other runs
//   streams/DIR                factor_K: rate of K streams over that of one
//   gpus/DIR                   ceiling_gbs of all GPUs together, saturated (1: the sum fell short)
//   numa/NODE/DIR              factor: rate from that node over that of the GPU's own
//   gpu/INDEX/DIR              factor: rate of that GPU over that of the first
//   interference/KERNEL/DIR/API   copy_factor, kernel_factor
//   dram/OP/NODE               ceiling_gbs, one_thread_gbs, threads (that reach 90%)
//   hbm/GPU/OP                 gbs
//   registration/METHOD/PAGE   fixed_s, s_per_gb
//   storage/OP, storage/sustained_write   see storage_fit.hpp
//   kv/read, kv/write, kv/lookup, kv/ping, kv/mixed   see kv_fit.hpp
//   collective/OP/RANKS        latency_us, gbs: what one GPU sends per second in a ring
//   gemm/GPU/DTYPE, attention/GPU/prefill, attention/GPU/decode   see compute_fit.hpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/profile.hpp"

namespace spillway {

struct FitReport {
  std::vector<FitRecord> fits;
  std::vector<std::string> warnings;  ///< cells named; what is impossible is left out of the fits
};

FitReport fit_profile(const HardwareProfile& profile);

/// nullptr where `target` was not fitted.
const FitRecord* find_fit(const std::vector<FitRecord>& fits, std::string_view target);

/// The target of a copy cell's table.
std::string copy_target(const CopyCell& cell);

}  // namespace spillway
