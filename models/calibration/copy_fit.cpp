#include "models/calibration/copy_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/calibration/fit.hpp"
#include "models/calibration/fit_errors.hpp"
#include "models/calibration/fit_table.hpp"
#include "models/calibration/grid_fit.hpp"
#include "models/calibration/least_squares.hpp"
#include "models/calibration/plausible.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostFalls = 5;  ///< complaints of one table

double spread_of(const Spread& time) {
  return time.p90_us > 0 ? std::max(0.0, (time.p90_us - time.p10_us) / (2 * time.med_us)) : time.cv;
}

double rate_of(const CopyCell& cell) {
  return static_cast<double>(cell.bytes) * cell.n / cell.time.med_us * 1e-3;
}

/// The node whose cells make the tables of `gpu`: its own, else the one with most cells.
int node_of(const HardwareProfile& p, int gpu) {
  std::map<int, std::size_t> cells;
  for (const CopyCell& cell : p.copy) {
    if (cell.gpu == gpu) ++cells[cell.numa];
  }
  for (const GpuFacts& facts : p.machine.gpus) {
    if (facts.index == gpu && cells.contains(facts.numa)) return facts.numa;
  }
  int best = -1;
  std::size_t most = 0;
  for (const auto& [node, count] : cells) {
    if (count <= most) continue;
    most = count;
    best = node;
  }
  return best;
}

/// What the device takes for the copies of an ungated cell, submission aside: its gated times grow
/// straight on with the count. No longer than all of it took.
double device_us(const CopyCell& cell, const std::vector<const CopyCell*>& gated) {
  const CopyCell* last = nullptr;
  const CopyCell* before = nullptr;
  for (const CopyCell* other : gated) {
    if (other->bytes != cell.bytes) continue;
    if (last == nullptr || other->n > last->n) {
      before = last;
      last = other;
    } else if (before == nullptr || other->n > before->n) {
      before = other;
    }
  }
  if (before == nullptr || last->n == before->n || cell.n < last->n) return cell.time.med_us;
  const double slope = (last->time.med_us - before->time.med_us) / (last->n - before->n);
  return std::min(cell.time.med_us, last->time.med_us + slope * (cell.n - last->n));
}

/// Gated cells; ungated ones only for counts that no gated cell of the group reaches, because the
/// queue of a stream ends before.
std::vector<GridCell> grid_of(const std::vector<const CopyCell*>& cells) {
  std::vector<const CopyCell*> gated;
  std::uint32_t most = 0;
  for (const CopyCell* cell : cells) {
    if (!cell->gated) continue;
    gated.push_back(cell);
    most = std::max(most, cell->n);
  }
  std::vector<GridCell> out;
  for (const CopyCell* cell : cells) {
    if (!cell->gated && cell->n <= most) continue;
    out.push_back({static_cast<double>(cell->bytes), static_cast<double>(cell->n),
                   cell->gated ? cell->time.med_us : device_us(*cell, gated), spread_of(cell->time),
                   name_of(*cell)});
  }
  return out;
}

void fit_submission(const HardwareProfile& p, std::vector<FitRecord>& fits) {
  // A full queue makes the host wait for the device: the size that waits least tells the cost.
  std::map<std::string, std::map<std::uint32_t, double>> least;
  for (const CopyCell& cell : p.copy) {
    if (cell.gated || cell.submit_us <= 0 || cell.stream_count > 1) continue;
    const auto [it, fresh] = least[cell.api].try_emplace(cell.n, cell.submit_us);
    if (!fresh) it->second = std::min(it->second, cell.submit_us);
  }
  for (const auto& [api, by_count] : least) {
    std::vector<std::pair<double, double>> points;
    for (const auto& [n, us] : by_count) points.emplace_back(n, us);
    FitRecord record = fit_line(points);
    record.target = "submit/" + api;
    record.params = {{"per_job_us", record.params["fixed"]},
                     {"per_copy_us", record.params["slope"]}};
    fits.push_back(std::move(record));
  }
}

}  // namespace

FitRecord fit_line(const std::vector<std::pair<double, double>>& points) {
  double most_slope = 0;
  double least_y = points.front().second;
  std::vector<double> measured;
  FitRecord out;
  out.form = "affine";
  out.from = out.to = points.front().first;
  for (const auto& [x, y] : points) {
    measured.push_back(y);
    most_slope = std::max(most_slope, y / x);
    least_y = std::min(least_y, y);
    out.from = std::min(out.from, x);
    out.to = std::max(out.to, x);
  }
  // With one x only, all of it is the slope: a fixed part cannot be told apart.
  const bool one = out.from == out.to;
  const double most_fixed = one ? least_y * 1e-9 : least_y * 2;
  const Parameter parameters[] = {{"fixed", most_fixed / 4, 0, most_fixed},
                                  {"slope", most_slope / 2, most_slope * 1e-6, most_slope * 1.5}};
  const auto predict = [&](std::span<const double> p, std::size_t i) {
    return p[0] + p[1] * points[i].first;
  };
  const std::vector<double> fitted = fit_bounded(parameters, measured, predict);
  out.params = {{"fixed", one ? 0 : fitted[0]}, {"slope", fitted[1]}};
  out.cells = static_cast<std::uint32_t>(points.size());
  std::vector<double> errors;
  for (std::size_t i = 0; i < points.size(); ++i) {
    errors.push_back(percent_off(predict(fitted, i), measured[i]));
  }
  score_seen(out, errors);
  return out;
}

void fit_copies(const HardwareProfile& p, std::vector<FitRecord>& fits,
                std::vector<std::string>& warnings) {
  if (p.copy.empty()) return;
  int first = p.copy.front().gpu;
  for (const CopyCell& cell : p.copy) first = std::min(first, cell.gpu);
  const int node = node_of(p, first);

  std::map<std::string, std::vector<const CopyCell*>> groups;
  for (const CopyCell& cell : p.copy) {
    if (cell.gpu != first || cell.numa != node || cell.stream_count > 1) continue;
    groups[copy_target(cell)].push_back(&cell);
  }
  for (const auto& [target, cells] : groups) {
    const std::vector<GridCell> grid = grid_of(cells);
    if (grid.empty()) continue;
    GridFit fit = fit_grid(grid);
    fit.record.target = target;
    const std::size_t shown = std::min(fit.warnings.size(), kMostFalls);
    for (std::size_t i = 0; i < shown; ++i) {
      warnings.push_back(fmt::format("{}: {}", target, fit.warnings[i]));
    }
    if (shown < fit.warnings.size()) {
      warnings.push_back(
          fmt::format("{}: {} more such pairs", target, fit.warnings.size() - shown));
    }
    fits.push_back(std::move(fit.record));
  }
  fit_submission(p, fits);

  // Everything else against the tables.
  std::map<std::string, std::map<std::string, std::vector<double>>> factors;
  for (const CopyCell& cell : p.copy) {
    const bool home = cell.gpu == first && cell.numa == node;
    if ((home && cell.stream_count <= 1) || !cell.gated) continue;
    const FitRecord* table = find_fit(fits, copy_target(cell));
    if (table == nullptr || !within(table->table, double(cell.bytes), cell.n)) continue;
    const double share = rate_of(cell) / value_at(table->table, double(cell.bytes), cell.n);
    if (home) {
      factors["streams/" + cell.dir][fmt::format("factor_{}", cell.stream_count)].push_back(share);
    } else if (cell.gpu == first) {
      factors[fmt::format("numa/{}/{}", cell.numa, cell.dir)]["factor"].push_back(share);
    } else if (cell.stream_count <= 1) {
      factors[fmt::format("gpu/{}/{}", cell.gpu, cell.dir)]["factor"].push_back(share);
    }
  }
  for (const auto& [target, params] : factors) {
    FitRecord record;
    record.target = target;
    record.form = "factor";
    for (const auto& [name, values] : params) {
      record.params[name] = median_of(values);
      record.cells += static_cast<std::uint32_t>(values.size());
    }
    fits.push_back(std::move(record));
  }
}

}  // namespace spillway
