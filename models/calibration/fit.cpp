#include "models/calibration/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/calibration/compute_fit.hpp"
#include "models/calibration/copy_fit.hpp"
#include "models/calibration/fit_errors.hpp"
#include "models/calibration/kv_fit.hpp"
#include "models/calibration/plausible.hpp"
#include "models/calibration/storage_fit.hpp"
#include "models/catalogue/gpu_device.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostComplaints = 8;  ///< of one sort

/// The profile without what cannot be or was not valid.
HardwareProfile usable(const HardwareProfile& profile, std::vector<std::string>& warnings) {
  HardwareProfile out = profile;
  std::map<std::string, std::set<std::size_t>> bad;
  std::size_t said = 0;
  for (const Implausible& cell : implausible_cells(profile)) {
    bad[cell.section].insert(cell.index);
    if (++said <= kMostComplaints) {
      warnings.push_back(fmt::format("left out of the fits, cannot be: {}", cell.what));
    }
  }
  if (said > kMostComplaints) {
    warnings.push_back(
        fmt::format("left out of the fits: {} more such cells", said - kMostComplaints));
  }
  const auto keep = [&](const char* section, auto& rows) {
    const auto& indexes = bad[section];
    std::size_t i = 0;
    std::size_t invalid = 0;
    std::erase_if(rows, [&](const auto& row) {
      if (!row.state.valid) ++invalid;
      return indexes.contains(i++) || !row.state.valid;
    });
    if (invalid == 0) return;
    warnings.push_back(
        fmt::format("{}: {} cells are not valid and left out of the fits", section, invalid));
  };
  keep("copy", out.copy);
  keep("contention", out.contention);
  keep("interference", out.interference);
  keep("hbm", out.hbm);
  keep("gemm", out.gemm);
  keep("attention", out.attention);
  keep("dram", out.dram);
  keep("registration", out.registration);
  keep("storage", out.storage);
  keep("kv", out.kv);
  keep("collective", out.collective);
  return out;
}

FitRecord factor_record(std::string target, const std::vector<double>& values) {
  FitRecord out;
  out.target = std::move(target);
  out.form = "factor";
  out.cells = static_cast<std::uint32_t>(values.size());
  const double middle = median_of(values);
  out.params = {{"factor", middle},
                {"least", *std::min_element(values.begin(), values.end())},
                {"most", *std::max_element(values.begin(), values.end())}};
  std::vector<double> errors;
  for (const double value : values) errors.push_back(percent_off(middle, value));
  score_seen(out, errors);
  return out;
}

void fit_contention(const HardwareProfile& p, std::vector<FitRecord>& fits) {
  std::map<std::string, std::vector<double>> duplex;
  std::map<std::string, std::map<std::size_t, std::vector<double>>> streams;
  struct Together {
    double most = 0;
    double alone = 0;
    std::uint32_t cells = 0;
  };
  std::map<std::string, Together> gpus;
  for (const ContentionCell& cell : p.contention) {
    double alone = 0;
    double together = 0;
    std::set<std::string> directions;
    for (const ContentionActor& actor : cell.actors) {
      alone += actor.alone_gbs;
      together += actor.together_gbs;
      directions.insert(actor.dir);
    }
    if (cell.actors.empty()) continue;
    const std::string dir = directions.size() > 1 ? "mixed" : *directions.begin();
    if (cell.kind == "duplex") {
      for (const ContentionActor& actor : cell.actors) {
        duplex[actor.dir].push_back(std::min(1.0, actor.together_gbs / actor.alone_gbs));
      }
    } else if (cell.kind == "streams") {
      const double one = alone / static_cast<double>(cell.actors.size());
      streams[dir][cell.actors.size()].push_back(together / one);
    } else if (cell.kind == "gpus") {
      Together& all = gpus[dir];
      ++all.cells;
      if (together <= all.most) continue;
      all.most = together;
      all.alone = alone;
    }
  }
  for (const auto& [dir, values] : duplex) fits.push_back(factor_record("duplex/" + dir, values));
  for (const auto& [dir, by_count] : streams) {
    const std::string target = "streams/" + dir;
    if (find_fit(fits, target) != nullptr) continue;  // from copy cells, which say more
    FitRecord record;
    record.target = target;
    record.form = "factor";
    for (const auto& [count, values] : by_count) {
      record.params[fmt::format("factor_{}", count)] = median_of(values);
      record.cells += static_cast<std::uint32_t>(values.size());
    }
    fits.push_back(std::move(record));
  }
  for (const auto& [dir, all] : gpus) {
    FitRecord record;
    record.target = "gpus/" + dir;
    record.form = "ceiling";
    record.cells = all.cells;
    constexpr double kAll = 0.95;
    record.params = {{"ceiling_gbs", all.most},
                     {"alone_gbs", all.alone},
                     {"saturated", all.most < kAll * all.alone ? 1.0 : 0.0}};
    fits.push_back(std::move(record));
  }
}

void fit_interference(const HardwareProfile& p, std::vector<FitRecord>& fits) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> groups;
  for (const InterferenceCell& cell : p.interference) {
    auto& [copy, kernel] =
        groups[fmt::format("interference/{}/{}/{}", cell.kernel, cell.dir, cell.api)];
    copy.push_back(cell.copy_factor);
    kernel.push_back(cell.kernel_factor);
  }
  for (const auto& [target, values] : groups) {
    FitRecord record;
    record.target = target;
    record.form = "factor";
    record.cells = static_cast<std::uint32_t>(values.first.size());
    record.params = {{"copy_factor", median_of(values.first)},
                     {"kernel_factor", median_of(values.second)}};
    fits.push_back(std::move(record));
  }
}

void fit_memory(const HardwareProfile& p, std::vector<FitRecord>& fits) {
  std::map<std::pair<std::string, int>, std::vector<const DramCell*>> dram;
  for (const DramCell& cell : p.dram) dram[{cell.op, cell.numa}].push_back(&cell);
  for (const auto& [key, cells] : dram) {
    FitRecord record;
    record.target = fmt::format("dram/{}/{}", key.first, key.second);
    record.form = "ceiling";
    record.cells = static_cast<std::uint32_t>(cells.size());
    std::int64_t largest = 0;  // smaller arrays may live in a cache
    for (const DramCell* cell : cells) largest = std::max(largest, cell->bytes);
    std::map<std::uint32_t, double> by_threads;
    for (const DramCell* cell : cells) {
      if (cell->bytes < largest) continue;
      double& gbs = by_threads[cell->threads];
      gbs = std::max(gbs, cell->gbs);
    }
    double ceiling = 0;
    for (const auto& [threads, gbs] : by_threads) ceiling = std::max(ceiling, gbs);
    record.params["ceiling_gbs"] = ceiling;
    if (by_threads.contains(1)) record.params["one_thread_gbs"] = by_threads.at(1);
    constexpr double kMost = 0.9;
    for (const auto& [threads, gbs] : by_threads) {
      if (gbs < kMost * ceiling) continue;
      record.params["threads"] = threads;
      break;
    }
    record.from = by_threads.begin()->first;
    record.to = by_threads.rbegin()->first;
    fits.push_back(std::move(record));
  }

  std::map<std::pair<int, std::string>, const HbmCell*> hbm;
  for (const HbmCell& cell : p.hbm) {
    const HbmCell*& largest = hbm[{cell.gpu, cell.op}];
    if (largest == nullptr || cell.bytes > largest->bytes) largest = &cell;
  }
  for (const auto& [key, cell] : hbm) {
    FitRecord record;
    record.target = fmt::format("hbm/{}/{}", key.first, key.second);
    record.form = "ceiling";
    record.params["gbs"] = cell->gbs;
    record.cells = 1;
    fits.push_back(std::move(record));
  }

  std::map<std::string, std::vector<std::pair<double, double>>> registration;
  for (const RegistrationCell& cell : p.registration) {
    registration[fmt::format("registration/{}/{}", cell.method, cell.page_bytes)].emplace_back(
        static_cast<double>(cell.bytes) * 1e-9, cell.seconds);
  }
  for (const auto& [target, points] : registration) {
    FitRecord record = fit_line(points);
    record.target = target;
    record.params = {{"fixed_s", record.params["fixed"]}, {"s_per_gb", record.params["slope"]}};
    fits.push_back(std::move(record));
  }
}

void fit_storages(const HardwareProfile& p, std::vector<FitRecord>& fits) {
  for (const std::string op : {"read", "write"}) {
    std::vector<StorageCell> cells;
    for (const StorageCell& cell : p.storage) {
      if (cell.op == op && cell.direct) cells.push_back(cell);
    }
    if (cells.empty()) {  // a file system without O_DIRECT
      for (const StorageCell& cell : p.storage) {
        if (cell.op == op && cell.cold) cells.push_back(cell);
      }
    }
    if (cells.empty()) continue;
    fits.push_back(fit_storage(cells));
    fits.back().target = "storage/" + op;
  }
  std::vector<StorageCell> sustained;
  for (const StorageCell& cell : p.storage) {
    if (cell.op == "sustained_write") sustained.push_back(cell);
  }
  if (sustained.empty()) return;
  fits.push_back(fit_sustained(sustained));
  fits.back().target = "storage/sustained_write";
}

/// Of the bytes of a tensor, those that each GPU sends in a ring over `ranks`, in GB.
double ring_gb(std::int64_t bytes, std::uint32_t ranks) {
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) * 1e-9;
}

void fit_collectives(const HardwareProfile& p, std::vector<FitRecord>& fits) {
  constexpr std::size_t kFewestSizes = 4;  // two parameters, and a size held out
  for (const CollectiveCell& cell : p.collective) {
    std::set<std::int64_t> sizes;
    for (const CollectivePoint& point : cell.points) sizes.insert(point.bytes);
    if (sizes.size() < kFewestSizes) continue;
    const std::set<std::int64_t> held_out = held_out_of(sizes);
    using Points = std::vector<std::pair<double, double>>;  // GB sent, us
    Points all;
    Points seen;
    Points unseen;
    for (const CollectivePoint& point : cell.points) {
      const std::pair<double, double> at = {ring_gb(point.bytes, cell.ranks), point.time_us};
      all.push_back(at);
      (held_out.contains(point.bytes) ? unseen : seen).push_back(at);
    }
    FitRecord record = fit_line(all);
    FitRecord trial = fit_line(seen);
    std::vector<double> errors;
    for (const auto& [gb, us] : unseen) {
      errors.push_back(percent_off(trial.params["fixed"] + trial.params["slope"] * gb, us));
    }
    score_unseen(record, errors);
    record.target = fmt::format("collective/{}/{}", cell.op, cell.ranks);
    record.from = static_cast<double>(*sizes.begin());
    record.to = static_cast<double>(*sizes.rbegin());
    record.params = {{"latency_us", record.params["fixed"]}, {"gbs", 1e6 / record.params["slope"]}};
    fits.push_back(std::move(record));
  }
}

/// Runs `fit` and says of each of its warnings which target it is about.
template <class Fit>
void add(std::vector<FitRecord>& fits, std::vector<std::string>& warnings, std::string target,
         const Fit& fit) {
  std::vector<std::string> own;
  FitRecord record = fit(own);
  record.target = std::move(target);
  for (const std::string& warning : own) {
    warnings.push_back(fmt::format("{}: {}", record.target, warning));
  }
  fits.push_back(std::move(record));
}

void fit_compute(const HardwareProfile& p, std::vector<FitRecord>& fits,
                 std::vector<std::string>& warnings) {
  constexpr std::size_t kFewest = 6;  // cells a fit of a few parameters needs
  for (const GpuFacts& gpu : p.machine.gpus) {
    std::map<std::string, std::vector<GemmCell>> gemms;
    for (const GemmCell& cell : p.gemm) {
      if (cell.gpu == gpu.index) gemms[cell.dtype].push_back(cell);
    }
    std::map<std::string, std::vector<AttentionCell>> attentions;
    for (const AttentionCell& cell : p.attention) {
      if (cell.gpu == gpu.index && cell.op != "mixed") attentions[cell.op].push_back(cell);
    }
    if (gemms.empty() && attentions.empty()) continue;
    const GpuSpec* spec = gpu_of_device(gpu.name, gpu.memory_bytes);
    if (spec == nullptr) {
      warnings.push_back(fmt::format(
          "no fit of kernels: the peak rates of \"{}\" are not in the catalogue (list gpus)",
          gpu.name));
      continue;
    }
    const int sms = gpu.sm_count > 0 ? gpu.sm_count : spec->sm_count;
    for (const auto& [dtype, cells] : gemms) {
      if (cells.size() < kFewest) continue;
      const bool fp8 = dtype.starts_with("fp8") || dtype.starts_with("e4m3");
      const PeakRates peaks = {(fp8 ? spec->fp8_tflops : spec->bf16_tflops) * 1e12,
                               spec->memory_gbs * 1e9, sms};
      if (peaks.flops == 0) continue;
      add(fits, warnings, fmt::format("gemm/{}/{}", gpu.index, dtype),
          [&, &rows = cells](std::vector<std::string>& own) { return fit_gemm(rows, peaks, own); });
    }
    const PeakRates peaks = {spec->bf16_tflops * 1e12, spec->memory_gbs * 1e9, sms};
    for (const auto& [op, cells] : attentions) {
      if (cells.size() < kFewest || (op != "prefill" && op != "decode")) continue;
      add(fits, warnings, fmt::format("attention/{}/{}", gpu.index, op),
          [&, prefill = op == "prefill", &rows = cells](std::vector<std::string>& own) {
            return prefill ? fit_prefill(rows, peaks, own) : fit_decode(rows, peaks, own);
          });
    }
  }
}

}  // namespace

FitReport fit_profile(const HardwareProfile& profile) {
  FitReport out;
  const HardwareProfile p = usable(profile, out.warnings);
  fit_copies(p, out.fits, out.warnings);
  fit_contention(p, out.fits);
  fit_interference(p, out.fits);
  fit_memory(p, out.fits);
  fit_storages(p, out.fits);
  fit_kv(p.kv, out.fits);
  fit_collectives(p, out.fits);
  fit_compute(p, out.fits, out.warnings);
  return out;
}

const FitRecord* find_fit(const std::vector<FitRecord>& fits, std::string_view target) {
  const auto it = std::find_if(fits.begin(), fits.end(),
                               [&](const FitRecord& fit) { return fit.target == target; });
  return it == fits.end() ? nullptr : &*it;
}

std::string copy_target(const CopyCell& cell) {
  return fmt::format("copy/{}/{}/{}/{}", cell.dir, cell.api, cell.mem, cell.pattern);
}

}  // namespace spillway
