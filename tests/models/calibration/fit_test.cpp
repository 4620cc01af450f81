// A whole calibration of a known machine: what was put into its cells comes back as fits.
#include "models/calibration/fit.hpp"

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/fit_table.hpp"
#include "models/calibration/plausible.hpp"
#include "models/catalogue/gpu_device.hpp"
#include "tests/models/calibration/synthetic_machine.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Catch::Matchers::Contains;

double param(const FitReport& report, const std::string& target, const std::string& name) {
  const FitRecord* fit = find_fit(report.fits, target);
  INFO(target << " " << name);
  REQUIRE(fit != nullptr);
  REQUIRE(fit->params.contains(name));
  return fit->params.at(name);
}

TEST_CASE("a calibrated machine is recovered", "[models][fit]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    SyntheticMachine machine;
    machine.seed = seed;
    const FitReport report = fit_profile(machine.profile());
    for (const std::string& warning : report.warnings) UNSCOPED_INFO(warning);
    CHECK(report.warnings.empty());

    for (const std::string dir : {"h2d", "d2h"}) {
      const FitRecord* copies =
          find_fit(report.fits, "copy/" + dir + "/memcpy_async/host_alloc/contiguous");
      REQUIRE(copies != nullptr);
      CHECK(copies->held_out >= 15);
      CHECK(copies->held_out_median <= 5);
      CHECK(copies->held_out_p95 <= 10);
      // 100 copies of 100 KB, in no cell: 8 + 100 (1.2 + 1.92) = 320 us.
      CHECK(percent_off(value_at(copies->table, 100e3, 100),
                        1e7 / machine.copy_us(dir, 100e3, 100) * 1e-3) < 5);
      // More copies than the gate holds: the device's part of ungated cells, not the host's 5 us.
      CHECK(percent_off(value_at(copies->table, 65536, 10000),
                        655.36e6 / machine.copy_us(dir, 65536, 10000) * 1e-3) < 5);
      CHECK(param(report, "numa/1/" + dir, "factor") == Approx(0.8).epsilon(0.06));
    }
    CHECK(param(report, "submit/memcpy_async", "per_copy_us") == Approx(5).epsilon(0.05));
    CHECK(param(report, "submit/memcpy_async", "per_job_us") == Approx(2).margin(1));
    CHECK(param(report, "duplex/h2d", "factor") == Approx(0.7).epsilon(0.04));
    CHECK(param(report, "duplex/d2h", "factor") == Approx(0.9).epsilon(0.04));
    CHECK(param(report, "dram/copy/0", "ceiling_gbs") == Approx(140).epsilon(0.06));
    CHECK(param(report, "dram/copy/0", "one_thread_gbs") == Approx(12).epsilon(0.06));
    CHECK(param(report, "dram/copy/0", "threads") == 16);
    CHECK(param(report, "storage/read", "total_gbs") == Approx(7).epsilon(0.04));
    CHECK(param(report, "storage/read", "latency_us") == Approx(70).epsilon(0.06));
    CHECK(param(report, "storage/read", "slot_gbs") == Approx(2.5).epsilon(0.1));
    CHECK(param(report, "storage/read", "p99_us") == Approx(190).epsilon(0.06));
    CHECK(param(report, "storage/read", "p999_us") == Approx(970).epsilon(0.06));
    CHECK(param(report, "storage/write", "total_gbs") == Approx(5).epsilon(0.04));
    CHECK(find_fit(report.fits, "storage/read")->held_out_median <= 5);
    CHECK(find_fit(report.fits, "storage/read")->held_out_p95 <= 10);
    CHECK(param(report, "storage/sustained_write", "burst_gbs") == Approx(5).epsilon(0.04));
    CHECK(param(report, "storage/sustained_write", "sustained_gbs") == Approx(1.2).epsilon(0.04));
    CHECK(param(report, "storage/sustained_write", "cache_bytes") == 6e9);
    CHECK(param(report, "registration/host_register/4096", "s_per_gb") ==
          Approx(0.1).epsilon(0.01));
  }
}

TEST_CASE("several GPUs behind one root stop at its ceiling", "[models][fit]") {
  HardwareProfile p;
  const auto together = [](int gpus, double each) {
    ContentionCell cell;
    cell.kind = "gpus";
    for (int i = 0; i < gpus; ++i) cell.actors.push_back({"h2d", i, 1 << 20, 64, 50, each});
    return cell;
  };
  p.contention = {together(2, 49), together(4, 30)};  // 98, then 120 of 200
  const FitReport report = fit_profile(p);
  CHECK(param(report, "gpus/h2d", "ceiling_gbs") == Approx(120));
  CHECK(param(report, "gpus/h2d", "saturated") == 1);
  p.contention.pop_back();
  CHECK(param(fit_profile(p), "gpus/h2d", "saturated") == 0);
}

/// All-reduces that take 12 us x ranks and send at 16 GB/s, over 8 KiB to 256 MiB.
CollectiveCell all_reduces(std::uint32_t ranks) {
  CollectiveCell cell;
  cell.op = "all_reduce";
  cell.ranks = ranks;
  for (std::int64_t bytes = 8 << 10; bytes <= 256 << 20; bytes *= 2) {
    const double sent = 2.0 * (ranks - 1) / ranks * double(bytes);
    cell.points.push_back({bytes, 12.0 * ranks + sent / 16e3});
  }
  return cell;
}

TEST_CASE("collectives come back as latency and rate", "[models][fit]") {
  HardwareProfile p;
  p.collective = {all_reduces(2), all_reduces(4)};
  p.collective.push_back(all_reduces(8));
  p.collective.back().state.valid = false;
  FitReport report = fit_profile(p);
  CHECK(param(report, "collective/all_reduce/2", "latency_us") == Approx(24).epsilon(1e-3));
  CHECK(param(report, "collective/all_reduce/4", "latency_us") == Approx(48).epsilon(1e-3));
  CHECK(param(report, "collective/all_reduce/4", "gbs") == Approx(16).epsilon(1e-3));
  const FitRecord* four = find_fit(report.fits, "collective/all_reduce/4");
  CHECK(four->held_out == 5);  // of 16 sizes: the 2nd, 5th, 8th, 11th and 14th
  CHECK(four->held_out_p95 < 0.1);
  CHECK(four->to == 256 << 20);
  CHECK(find_fit(report.fits, "collective/all_reduce/8") == nullptr);
  // 64 MiB in 10 us: 6,711 GB/s, where the memory of an L40S reads 864.
  p.machine.gpus.resize(1);
  p.machine.gpus[0].name = "NVIDIA L40S";
  p.machine.gpus[0].memory_bytes = std::int64_t{48} << 30;
  p.collective[1].points.back().time_us = 10;
  report = fit_profile(p);
  CHECK(find_fit(report.fits, "collective/all_reduce/2") != nullptr);
  CHECK(find_fit(report.fits, "collective/all_reduce/4") == nullptr);
}

TEST_CASE("what cannot be is named and left out", "[models][fit]") {
  SyntheticMachine machine;
  HardwareProfile p = machine.profile();
  CHECK(implausible_cells(p).empty());
  const auto complaints = [&] {
    std::string out;
    for (const Implausible& cell : implausible_cells(p)) {
      out += cell.section + "/" + std::to_string(cell.index) + ": " + cell.what + "\n";
    }
    return out;
  };
  // 1 MiB in 10 us are 105 GB/s; a link of 16 lanes of generation 5 carries 63.
  p.copy[0].bytes = 1 << 20;
  p.copy[0].n = 1;
  p.copy[0].time.med_us = 10;
  CHECK_THAT(complaints(), Contains("copy/0: copy h2d memcpy_async host_alloc contiguous, 1 MiB x "
                                    "1: 104.9 GB/s, above the 63.01 GB/s of the link"));
  p.copy[1].time.med_us = 0;
  CHECK_THAT(complaints(), Contains("copy/1") && Contains("0 us; expected more than 0"));
  p.storage[0].lat_p50_us = 0.4;
  CHECK_THAT(complaints(), Contains("storage/0") && Contains("a cache did"));
  p.dram[0].gbs = 5000;
  CHECK_THAT(complaints(), Contains("dram/0") && Contains("above the 2000 GB/s"));
  p.gemm.resize(1);
  p.gemm[0].dtype = "bf16";
  p.gemm[0].m = p.gemm[0].n = p.gemm[0].k = 8192;
  p.gemm[0].time.med_us = 400;  // 1.1e12 operations: 2,749 TFLOP/s
  CHECK_THAT(complaints(), Contains("gemm/0") && Contains("2749 TFLOP/s, above the 1979"));
  const FitReport report = fit_profile(p);
  CHECK(report.warnings.size() == 5);
  CHECK_THAT(report.warnings[0], Contains("left out of the fits, cannot be: "));
  // Marked as invalid, they are nobody's business.
  p.copy[0].state.valid = p.copy[1].state.valid = p.storage[0].state.valid = false;
  p.dram[0].state.valid = p.gemm[0].state.valid = false;
  CHECK(complaints().empty());
}

TEST_CASE("an empty profile has no fits", "[models][fit]") {
  const FitReport report = fit_profile({});
  CHECK(report.fits.empty());
  CHECK(report.warnings.empty());
}

TEST_CASE("drivers' names lead to the catalogue", "[models][fit]") {
  const auto found = [](const char* device, std::int64_t gb) {
    const GpuSpec* spec = gpu_of_device(device, gb * 1'000'000'000);
    return std::string(spec == nullptr ? "" : spec->name);
  };
  CHECK(found("NVIDIA H100 80GB HBM3", 85) == "H100-SXM5-80GB");
  CHECK(found("NVIDIA H100 PCIe", 85) == "H100-PCIe-80GB");
  CHECK(found("NVIDIA H100 NVL", 100) == "H100-NVL-94GB");
  CHECK(found("NVIDIA H200", 150) == "H200-SXM-141GB");
  CHECK(found("NVIDIA A100-SXM4-40GB", 42) == "A100-SXM4-40GB");
  CHECK(found("NVIDIA A100 80GB PCIe", 85) == "A100-PCIe-80GB");
  CHECK(found("NVIDIA GeForce RTX 4090", 25) == "RTX4090-24GB");
  CHECK(found("NVIDIA RTX PRO 6000 Blackwell Server Edition", 102) == "RTX-PRO-6000-Server-96GB");
  CHECK(found("NVIDIA L4", 24) == "L4-24GB");
  CHECK(found("NVIDIA L40S", 48) == "L40S-48GB");
  CHECK(found("NVIDIA B200", 192) == "B200-SXM-180GB");
  CHECK(found("NVIDIA GB200", 186) == "GB200 (per GPU)");
  CHECK(found("Tesla T4", 16) == "");
}

}  // namespace
}  // namespace spillway::test
