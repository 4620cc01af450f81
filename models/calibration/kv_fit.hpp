// A key-value server as limits per direction, from reads and writes by value size and number of
// clients: what models/tier takes for a tier of kind kv.
//
// Clients that each have one value in flight wait `latency` together, then their bytes flow: each
// at no more than `slot`, all at no more than `total`, in equal parts. So N clients move N values
// in latency + bytes x max(1 / slot, N / total).
//
// - The latency is measured: EXISTS takes all that a command takes besides the bytes of a value. It
//   cannot be told from the rates alone, since larger values fall out of the processor's caches.
// - slot and total are least squares of the logarithm of the rate; there is no closed form, for the
//   larger of two terms is not linear.
// - For the same caches, one rate for all sizes and numbers of clients is up to twofold off on one
//   machine. So a simulation takes the table: what was measured over size and clients.
//
// Model: clients in step, whose values begin together, have exactly the measured rate. Clients out
// of step wait while others flow: at a latency of a third of a round they have some 10% more.
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

/// GB/s of all clients while `clients` values of `bytes` flow, behind their latency, so that they
/// reach the rate in the table. Precondition: the table is not empty.
double kv_flow_rate(const FitRecord& fit, double bytes, double clients);

/// Adds what the valid cells say:
///   kv/read, kv/write  latency_us, slot_gbs, total_gbs, and the table of measured rates over
///              size and clients. Errors of the fitted cells are those of the three figures; the
///              held-out size is predicted by the table of the others
///   kv/mixed   utilization (share of the reads' rate alone + share of the writes'),
///              one_at_a_time (1: below 1.5, reads and writes take each other's time; else 0)
///   kv/lookup, kv/ping  latency_us, p90_us, p99_us of EXISTS and PING
void fit_kv(const std::vector<KvCell>& cells, std::vector<FitRecord>& fits);

}  // namespace spillway
