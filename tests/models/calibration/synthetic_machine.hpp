// The cells that a calibration of a known machine would find: every law is written here, so that a
// test can compare what was fitted with what was put in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "models/calibration/profile.hpp"
#include "sim/rng.hpp"

namespace spillway::test {

/// An H100 host: 52 GB/s up and 50 down, two NUMA nodes, one NVMe drive.
struct SyntheticMachine {
  double noise = 0.02;  ///< standard deviation of every time, relative
  std::uint64_t seed = 1;

  static double copy_us(const std::string& dir, double bytes, double n) {
    const double per_us = dir == "h2d" ? 52e3 : 50e3;
    return 8 + n * (1.2 + bytes / per_us);
  }
  /// 70 us an operation, 2.5 GB/s of its own, 7 GB/s (writes: 5) of all together.
  static double storage_gbs(const std::string& op, double bytes, double depth) {
    return std::min(op == "read" ? 7.0 : 5.0, depth * bytes / (70 + bytes / 2.5e3) * 1e-3);
  }

  HardwareProfile profile() const {
    HardwareProfile p;
    p.name = "synthetic";
    p.created = "2026-11-21T12:00:00Z";
    p.command = "spillway calibrate --budget 10min";
    p.budget_s = 600;
    p.spent_s = 590;
    p.machine.cpu = "a processor";
    p.machine.cores = 16;
    p.machine.memory_bytes = std::int64_t{256} << 30;
    p.machine.numa = {{0, "0-7", std::int64_t{128} << 30}, {1, "8-15", std::int64_t{128} << 30}};
    GpuFacts gpu;
    gpu.uuid = "GPU-0";
    gpu.name = "NVIDIA H100 80GB HBM3";
    gpu.numa = 0;
    gpu.link_gen = gpu.link_gen_max = 5;
    gpu.link_width = gpu.link_width_max = 16;
    gpu.memory_bytes = 85520809984;
    gpu.sm_count = 132;
    p.machine.gpus = {gpu};
    p.machine.driver = "575.57";

    Stream random(seed, "synthetic");
    const auto near = [&](double value) { return value * (1 + noise * random.normal()); };
    const auto spread = [&](double us) {
      Spread out;
      out.med_us = near(us);
      out.p10_us = out.med_us * (1 - 1.28 * noise);
      out.p90_us = out.med_us * (1 + 1.28 * noise);
      out.p99_us = out.med_us * (1 + 2.33 * noise);
      out.cv = noise;
      out.samples = 20;
      return out;
    };
    const auto copy = [&](const std::string& dir, std::int64_t bytes, std::uint32_t n) {
      CopyCell cell;
      cell.dir = dir;
      cell.numa = 0;
      cell.api = "memcpy_async";
      cell.mem = "host_alloc";
      cell.pattern = "contiguous";
      cell.bytes = bytes;
      cell.n = n;
      cell.time = spread(copy_us(dir, double(bytes), n));
      return cell;
    };
    for (const std::string dir : {"h2d", "d2h"}) {
      for (std::int64_t bytes = 4096; bytes <= 64 << 20; bytes *= 2) {
        for (const std::uint32_t n : {1U, 16U, 64U, 256U}) {
          if (bytes * n <= 1 << 30) p.copy.push_back(copy(dir, bytes, n));
        }
      }
      // Ungated: 5 us a call on the host and 2 us a batch; the device waits for the host.
      for (const std::uint32_t n : {1U, 64U, 1000U, 10000U}) {
        for (const std::int64_t bytes : {4096, 65536}) {
          CopyCell cell = copy(dir, bytes, n);
          cell.gated = false;
          cell.submit_us = near(2 + 5.0 * n);
          cell.time = spread(std::max(2 + 5.0 * n, copy_us(dir, double(bytes), n)));
          p.copy.push_back(cell);
        }
      }
      // From the other node a fifth longer.
      for (const std::int64_t bytes : {65536, 2 << 20}) {
        CopyCell cell = copy(dir, bytes, 64);
        cell.numa = 1;
        cell.time = spread(1.25 * copy_us(dir, double(bytes), 64));
        p.copy.push_back(cell);
      }
    }
    for (const double ratio : {0.5, 1.0, 2.0}) {  // both at once: 0.7 up, 0.9 down
      ContentionCell cell;
      cell.kind = "duplex";
      const auto bytes = static_cast<std::int64_t>(ratio * 1048576);
      cell.actors = {{"h2d", 0, bytes, 64, 52, near(0.7 * 52)},
                     {"d2h", 0, 1048576, 64, 50, near(0.9 * 50)}};
      p.contention.push_back(cell);
    }
    for (const std::uint32_t threads : {1U, 4U, 8U, 16U}) {
      DramCell cell;
      cell.op = "copy";
      cell.threads = threads;
      cell.bytes = 1 << 30;
      cell.gbs = near(std::min(12.0 * threads, 140.0));
      cell.time = spread(2e9 / cell.gbs * 1e-3);
      p.dram.push_back(cell);
    }
    for (const std::string op : {"read", "write"}) {
      for (std::int64_t bytes = 4096; bytes <= 4 << 20; bytes *= 4) {
        for (const std::uint32_t qd : {1U, 4U, 16U, 64U}) {
          StorageCell cell;
          cell.fs = "ext4";
          cell.engine = "io_uring";
          cell.op = op;
          cell.bytes = bytes;
          cell.qd = qd;
          cell.gbs = near(storage_gbs(op, double(bytes), qd));
          cell.lat_p50_us = qd * double(bytes) / cell.gbs * 1e-3;
          cell.lat_p90_us = cell.lat_p50_us + 20;
          cell.lat_p99_us = cell.lat_p50_us + 120;
          cell.lat_p999_us = cell.lat_p50_us + 900;
          cell.operations = 1000;
          p.storage.push_back(cell);
        }
      }
    }
    for (int i = 0; i < 12; ++i) {  // a cache of 6 GB, 1.2 GB/s behind it
      StorageCell cell;
      cell.fs = "ext4";
      cell.engine = "io_uring";
      cell.op = "sustained_write";
      cell.bytes = 1 << 20;
      cell.qd = 32;
      cell.after_bytes = std::int64_t{1'000'000'000} * i;
      cell.gbs = near(i < 6 ? 5.0 : 1.2);
      p.storage.push_back(cell);
    }
    for (const std::int64_t gib : {1, 4}) {
      RegistrationCell cell;
      cell.method = "host_register";
      cell.bytes = gib << 30;
      cell.seconds = 0.05 + 0.1 * double(cell.bytes) * 1e-9;
      p.registration.push_back(cell);
    }
    return p;
  }
};

}  // namespace spillway::test
