#include "models/calibration/plausible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/catalogue/gpu_device.hpp"

namespace spillway {

namespace {

// Raw rates of one PCIe lane by generation, after encoding, in GB/s: what no payload exceeds.
constexpr double kLaneGbs[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
constexpr double kC2cGbs = 450;  ///< NVLink-C2C, each way
/// Above every host of today: 12 channels of DDR5-8800 a socket, two sockets, are 1.7 TB/s.
constexpr double kHostMemoryGbs = 2'000;
constexpr double kSlack = 1.03;  ///< clocks drift, peaks are rounded
/// A copy engine may outrun the processor's own copies, by less than this where many cores run.
constexpr double kBeyondCores = 1.5;
constexpr std::uint32_t kManyCores = 8;
constexpr double kDirectLatencyUs = 1;

std::string size_name(std::int64_t bytes) {
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

const GpuFacts* gpu_of(const HardwareProfile& profile, int index) {
  for (const GpuFacts& gpu : profile.machine.gpus) {
    if (gpu.index == index) return &gpu;
  }
  return nullptr;
}

class Checker {
 public:
  explicit Checker(const HardwareProfile& profile) : p_(profile) {}

  std::vector<Implausible> take() {
    check_dram();
    check_copies();
    check_contention();
    check_hbm();
    check_compute();
    check_storage();
    check_kv();
    check_collectives();
    return std::move(out_);
  }

 private:
  void complain(const char* section, std::size_t index, std::string what) {
    out_.push_back({section, index, std::move(what)});
  }
  bool positive(const char* section, std::size_t index, const std::string& name, double value,
                const char* unit) {
    if (value > 0) return true;
    complain(section, index, fmt::format("{}: {:.6g} {}; expected more than 0", name, value, unit));
    return false;
  }
  void at_most(const char* section, std::size_t index, const std::string& name, double gbs,
               double limit, const std::string& of) {
    if (gbs <= limit) return;
    complain(section, index,
             fmt::format("{}: {:.4g} GB/s, above the {:.4g} GB/s of {}", name, gbs, limit, of));
  }

  void check_dram() {
    for (std::size_t i = 0; i < p_.dram.size(); ++i) {
      const DramCell& cell = p_.dram[i];
      if (!cell.state.valid) continue;
      const std::string name =
          fmt::format("dram {} node {}, {} threads", cell.op, cell.numa, cell.threads);
      if (!positive("dram", i, name, cell.gbs, "GB/s")) continue;
      at_most("dram", i, name, cell.gbs, kHostMemoryGbs, "any host memory");
      const bool all = cell.threads >= std::max(p_.machine.cores, kManyCores);
      if (all && cell.gbs <= kHostMemoryGbs) dram_gbs_ = std::max(dram_gbs_, cell.gbs);
    }
  }

  void check_copies() {
    for (std::size_t i = 0; i < p_.copy.size(); ++i) {
      const CopyCell& cell = p_.copy[i];
      if (!cell.state.valid || !positive("copy", i, name_of(cell), cell.time.med_us, "us"))
        continue;
      const double gbs = static_cast<double>(cell.bytes) * cell.n / cell.time.med_us * 1e-3;
      check_link(i, name_of(cell), cell.gpu, gbs);
    }
  }
  void check_link(std::size_t i, const std::string& name, int gpu, double gbs) {
    const GpuFacts* facts = gpu_of(p_, gpu);
    const double limit = facts == nullptr ? kC2cGbs : link_limit_gbs(*facts);
    if (gbs > limit * kSlack) {
      at_most("copy", i, name, gbs, limit, "the link");
    } else if (dram_gbs_ > 0) {
      at_most("copy", i, name, gbs, dram_gbs_ * kBeyondCores, "one and a half times its DRAM");
    }
  }

  void check_contention() {
    for (std::size_t i = 0; i < p_.contention.size(); ++i) {
      const ContentionCell& cell = p_.contention[i];
      if (!cell.state.valid) continue;
      for (const ContentionActor& actor : cell.actors) {
        const std::string name =
            fmt::format("contention {} {} gpu {}", cell.kind, actor.dir, actor.gpu);
        if (!positive("contention", i, name, actor.alone_gbs, "GB/s alone") ||
            !positive("contention", i, name, actor.together_gbs, "GB/s together")) {
          continue;
        }
        const GpuFacts* facts = gpu_of(p_, actor.gpu);
        const double limit = facts == nullptr ? kC2cGbs : link_limit_gbs(*facts);
        at_most("contention", i, name, std::max(actor.alone_gbs, actor.together_gbs),
                limit * kSlack, "the link");
      }
    }
  }

  void check_hbm() {
    for (std::size_t i = 0; i < p_.hbm.size(); ++i) {
      const HbmCell& cell = p_.hbm[i];
      const std::string name = fmt::format("hbm {} of {}", cell.op, size_name(cell.bytes));
      if (!cell.state.valid || !positive("hbm", i, name, cell.gbs, "GB/s")) continue;
      const GpuSpec* spec = spec_of(cell.gpu);
      // What fits the L2 may be faster than the memory behind it.
      constexpr std::int64_t kBeyondL2 = std::int64_t{512} << 20;
      if (spec == nullptr || cell.bytes < kBeyondL2) continue;
      at_most("hbm", i, name, cell.gbs, spec->memory_gbs * kSlack, "the memory of this GPU");
    }
  }

  void check_compute() {
    for (std::size_t i = 0; i < p_.gemm.size(); ++i) {
      const GemmCell& cell = p_.gemm[i];
      const std::string name =
          fmt::format("gemm {} {} x {} x {}", cell.dtype, cell.m, cell.n, cell.k);
      if (!cell.state.valid || !positive("gemm", i, name, cell.time.med_us, "us")) continue;
      const GpuSpec* spec = spec_of(cell.gpu);
      if (spec == nullptr) continue;
      const double peak = std::max(spec->fp8_tflops, spec->bf16_tflops);
      const double tflops = 2.0 * static_cast<double>(cell.m) * static_cast<double>(cell.n) *
                            static_cast<double>(cell.k) / cell.time.med_us * 1e-6;
      if (tflops <= peak * kSlack) continue;
      complain("gemm", i,
               fmt::format("{}: {:.4g} TFLOP/s, above the {:.4g} of this GPU", name, tflops, peak));
    }
    for (std::size_t i = 0; i < p_.attention.size(); ++i) {
      const AttentionCell& cell = p_.attention[i];
      if (!cell.state.valid) continue;
      positive("attention", i,
               fmt::format("attention {} {} x {} behind {}", cell.op, cell.sequences, cell.q_tokens,
                           cell.cached),
               cell.time.med_us, "us");
    }
  }

  void check_storage() {
    for (std::size_t i = 0; i < p_.storage.size(); ++i) {
      const StorageCell& cell = p_.storage[i];
      const std::string name = name_of(cell);
      if (!cell.state.valid || !positive("storage", i, name, cell.gbs, "GB/s")) continue;
      const double host = dram_gbs_ > 0 ? dram_gbs_ * kBeyondCores : kHostMemoryGbs;
      at_most("storage", i, name, cell.gbs, host, "the memory it is read into");
      if (cell.direct && cell.lat_p50_us > 0 && cell.lat_p50_us < kDirectLatencyUs) {
        complain("storage", i,
                 fmt::format("{}: {:.3g} us an operation; no device answers within "
                             "{} us, a cache did",
                             name, cell.lat_p50_us, kDirectLatencyUs));
      }
    }
  }

  void check_kv() {
    for (std::size_t i = 0; i < p_.kv.size(); ++i) {
      const KvCell& cell = p_.kv[i];
      if (!cell.state.valid) continue;
      const std::string name =
          fmt::format("kv {} of {}, {} clients", cell.op, size_name(cell.bytes), cell.clients);
      if (cell.bytes == 0) {
        positive("kv", i, name, cell.time.med_us, "us");
      } else if (positive("kv", i, name, cell.gbs, "GB/s")) {
        at_most("kv", i, name, cell.gbs, kHostMemoryGbs, "any host memory");
      }
    }
  }

  void check_collectives() {
    for (std::size_t i = 0; i < p_.collective.size(); ++i) {
      const CollectiveCell& cell = p_.collective[i];
      if (!cell.state.valid) continue;
      const GpuSpec* spec = spec_of(0);
      for (const CollectivePoint& point : cell.points) {
        const std::string name = fmt::format("collective {} of {} ranks, {}", cell.op, cell.ranks,
                                             size_name(point.bytes));
        if (!positive("collective", i, name, point.time_us, "us")) break;
        // Each GPU reads its tensor at least once.
        const double gbs = static_cast<double>(point.bytes) / point.time_us * 1e-3;
        if (spec == nullptr || gbs <= spec->memory_gbs * kSlack) continue;
        at_most("collective", i, name, gbs, spec->memory_gbs, "the memory of this GPU");
        break;
      }
    }
  }

  const GpuSpec* spec_of(int gpu) const {
    const GpuFacts* facts = gpu_of(p_, gpu);
    return facts == nullptr ? nullptr : gpu_of_device(facts->name, facts->memory_bytes);
  }

  const HardwareProfile& p_;
  double dram_gbs_ = 0;
  std::vector<Implausible> out_;
};

}  // namespace

double link_limit_gbs(const GpuFacts& gpu) {
  const GpuSpec* spec = gpu_of_device(gpu.name, gpu.memory_bytes);
  if (spec != nullptr && spec->host_link == HostLink::kC2c) return kC2cGbs;
  const auto generations = static_cast<int>(std::size(kLaneGbs)) - 1;
  const int generation = std::max(gpu.link_gen, gpu.link_gen_max);
  if (generation < 1) {  // not known: the widest of the newest
    return kLaneGbs[generations] * 16;
  }
  const int width = std::max({gpu.link_width, gpu.link_width_max, 1});
  return kLaneGbs[std::min(generation, generations)] * width;
}

std::string name_of(const CopyCell& cell) {
  return fmt::format("copy {} {} {} {}, {} x {}", cell.dir, cell.api, cell.mem, cell.pattern,
                     size_name(cell.bytes), cell.n);
}

std::string name_of(const StorageCell& cell) {
  return fmt::format("storage {} of {}, depth {}, {} jobs", cell.op, size_name(cell.bytes), cell.qd,
                     cell.jobs);
}

std::vector<Implausible> implausible_cells(const HardwareProfile& profile) {
  return Checker(profile).take();
}

}  // namespace spillway
