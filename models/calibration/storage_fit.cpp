#include "models/calibration/storage_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/grid_fit.hpp"
#include "models/calibration/least_squares.hpp"

namespace spillway {

namespace {

constexpr double kSaturated = 0.9;  ///< of the highest rate counts as all of it
constexpr double kDrop = 0.75;      ///< sustained writes below this share of the first: cache full

double depth_of(const StorageCell& cell) {
  return static_cast<double>(cell.qd) * cell.jobs;
}

/// GB/s of `depth` operations of `bytes` in flight.
double limited_rate(std::span<const double> p, double bytes, double depth) {
  const double us = p[1] + bytes / p[2] * 1e-3;
  return std::min(p[0], depth * bytes / us * 1e-3);
}

std::vector<double> fit_limits(const std::vector<StorageCell>& cells) {
  double top = 0;
  double alone = 0;
  double least_us = 1e9;
  for (const StorageCell& cell : cells) {
    top = std::max(top, cell.gbs);
    if (depth_of(cell) > 1) continue;
    alone = std::max(alone, cell.gbs);
    least_us = std::min(least_us, static_cast<double>(cell.bytes) / cell.gbs * 1e-3);
  }
  if (alone == 0) alone = top;
  if (least_us == 1e9) least_us = 100;
  // An operation alone cannot be faster than its slot, the device no slower than its best cell.
  const Parameter parameters[] = {
      {"total_gbs", top * 0.98, top * 0.5, top * 1.1},
      {"latency_us", least_us * 0.8, 0.1, std::max(1.0, least_us * 1.5)},
      {"slot_gbs", alone * 1.2, alone * 0.5, alone * 20}};
  std::vector<double> measured;
  for (const StorageCell& cell : cells) measured.push_back(cell.gbs);
  return fit_bounded(parameters, measured, [&](std::span<const double> p, std::size_t i) {
    return limited_rate(p, static_cast<double>(cells[i].bytes), depth_of(cells[i]));
  });
}

/// The fixed part's tail: what a lone operation of the smallest block waits beyond its median.
void add_tail(const std::vector<StorageCell>& cells, FitRecord& out) {
  const StorageCell* smallest = nullptr;
  for (const StorageCell& cell : cells) {
    if (depth_of(cell) > 1 || cell.lat_p50_us <= 0) continue;
    if (smallest == nullptr || cell.bytes < smallest->bytes) smallest = &cell;
  }
  const double fixed = out.params["latency_us"];
  const auto tail = [&](double quantile_us) {
    if (smallest == nullptr) return fixed;
    return fixed + std::max(0.0, quantile_us - smallest->lat_p50_us);
  };
  out.params["p90_us"] = tail(smallest == nullptr ? 0 : smallest->lat_p90_us);
  out.params["p99_us"] =
      std::max(out.params["p90_us"], tail(smallest == nullptr ? 0 : smallest->lat_p99_us));
  out.params["p999_us"] =
      std::max(out.params["p99_us"], tail(smallest == nullptr ? 0 : smallest->lat_p999_us));
}

void add_saturation(const std::vector<StorageCell>& cells, FitRecord& out) {
  std::int64_t largest = 0;
  std::int64_t least = cells.front().bytes;
  for (const StorageCell& cell : cells) {
    largest = std::max(largest, cell.bytes);
    least = std::min(least, cell.bytes);
  }
  std::map<double, double> by_depth;  // of the largest block
  double iops = 0;
  for (const StorageCell& cell : cells) {
    if (cell.bytes == largest) {
      double& best = by_depth[depth_of(cell)];
      best = std::max(best, cell.gbs);
    }
    if (cell.bytes == least) iops = std::max(iops, cell.gbs * 1e9 / static_cast<double>(least));
  }
  double top = 0;
  for (const auto& [depth, gbs] : by_depth) top = std::max(top, gbs);
  for (const auto& [depth, gbs] : by_depth) {
    if (gbs < kSaturated * top) continue;
    out.params["saturation_depth"] = depth;
    break;
  }
  out.params["iops"] = iops;
}

}  // namespace

FitRecord fit_storage(const std::vector<StorageCell>& cells) {
  FitRecord out;
  std::vector<GridCell> grid;
  for (const StorageCell& cell : cells) {
    const double depth = depth_of(cell);
    const auto bytes = static_cast<double>(cell.bytes);
    grid.push_back({bytes, depth, depth * bytes / cell.gbs * 1e-3, 0, ""});
  }
  out.table = fit_grid(grid).record.table;
  out.form = "limits";
  out.cells = static_cast<std::uint32_t>(cells.size());
  const std::vector<double> all = fit_limits(cells);
  out.params = {{"total_gbs", all[0]}, {"latency_us", all[1]}, {"slot_gbs", all[2]}};
  add_tail(cells, out);
  add_saturation(cells, out);

  const auto error = [](std::span<const double> p, const StorageCell& cell) {
    return percent_off(limited_rate(p, static_cast<double>(cell.bytes), depth_of(cell)), cell.gbs);
  };
  std::vector<double> errors;
  std::set<std::int64_t> sizes;
  for (const StorageCell& cell : cells) {
    errors.push_back(error(all, cell));
    sizes.insert(cell.bytes);
  }
  score_seen(out, errors);
  out.from = static_cast<double>(*sizes.begin());
  out.to = static_cast<double>(*sizes.rbegin());

  const std::set<std::int64_t> held = held_out_of(sizes);
  std::vector<StorageCell> kept;
  for (const StorageCell& cell : cells) {
    if (!held.contains(cell.bytes)) kept.push_back(cell);
  }
  if (held.empty() || kept.size() < 4) return out;
  const std::vector<double> part = fit_limits(kept);
  errors.clear();
  for (const StorageCell& cell : cells) {
    if (held.contains(cell.bytes)) errors.push_back(error(part, cell));
  }
  score_unseen(out, errors);
  return out;
}

FitRecord fit_sustained(const std::vector<StorageCell>& cells) {
  std::vector<StorageCell> ordered = cells;
  std::stable_sort(ordered.begin(), ordered.end(), [](const StorageCell& a, const StorageCell& b) {
    return a.after_bytes < b.after_bytes;
  });
  FitRecord out;
  out.form = "two rates";
  out.cells = static_cast<std::uint32_t>(ordered.size());
  out.from = static_cast<double>(ordered.front().after_bytes);
  out.to = static_cast<double>(ordered.back().after_bytes);
  // The cache is full where the rate falls below the share and never comes back.
  const double first = ordered.front().gbs;
  std::size_t full = ordered.size();
  while (full > 0 && ordered[full - 1].gbs < kDrop * first) --full;
  std::vector<double> before;
  std::vector<double> behind;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    (i < full ? before : behind).push_back(ordered[i].gbs);
  }
  out.params["burst_gbs"] = median_of(before);
  out.params["sustained_gbs"] = behind.empty() ? out.params["burst_gbs"] : median_of(behind);
  out.params["cache_bytes"] = behind.empty() ? 0 : static_cast<double>(ordered[full].after_bytes);
  std::vector<double> errors;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    errors.push_back(
        percent_off(out.params[i < full ? "burst_gbs" : "sustained_gbs"], ordered[i].gbs));
  }
  score_seen(out, errors);
  return out;
}

}  // namespace spillway
