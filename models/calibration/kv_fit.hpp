// A key-value server as limits per direction, from reads and writes by value size and number of
// clients: what models/tier takes for a tier of kind kv.
//
// Clients that each have one value in flight wait `latency` together, then their bytes flow: each
// at no more than `slot`, all at no more than `total`, in equal parts. So N clients move N values
// in latency + bytes x max(1 / slot, N / total). The three figures are least squares of the
// logarithm of that rate; there is no closed form, for the larger of two terms is not linear.
#pragma once

#include <cstdint>
#include <vector>

#include "models/calibration/profile.hpp"

namespace spillway {

struct KvLimits {
  double latency_us = 0;
  double slot_gbs = 0;
  double total_gbs = 0;
};

/// GB/s of `clients` with one value of `bytes` in flight each.
double kv_rate(const KvLimits& limits, double bytes, double clients);

/// Adds what the valid cells say:
///   kv/read, kv/write  latency_us, slot_gbs, total_gbs; held out: every third size
///   kv/mixed   utilization (share of the reads' rate alone + share of the writes'),
///              one_at_a_time (1: below 1.5, reads and writes take each other's time; else 0)
///   kv/lookup, kv/ping  latency_us, p90_us, p99_us of EXISTS and PING
void fit_kv(const std::vector<KvCell>& cells, std::vector<FitRecord>& fits);

}  // namespace spillway
