#include "models/calibration/kv_fit.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/least_squares.hpp"

namespace spillway {

namespace {

constexpr std::size_t kFewestCells = 4;  ///< for three figures
/// Reads and writes at once: 1 where each takes the other's time, 2 where neither feels the other.
constexpr double kShared = 1.5;

KvLimits fit_limits(const std::vector<KvCell>& cells) {
  double top = 0;
  double alone = 0;
  double least_us = 1e9;  // of one value alone
  for (const KvCell& cell : cells) {
    top = std::max(top, cell.gbs);
    if (cell.clients > 1) continue;
    alone = std::max(alone, cell.gbs);
    least_us = std::min(least_us, static_cast<double>(cell.bytes) / cell.gbs * 1e-3);
  }
  if (alone == 0) alone = top;
  if (least_us == 1e9) least_us = 1e3;
  // A value alone is no faster than its connection; the server no slower than its best cell nearly.
  const Parameter parameters[] = {{"latency_us", least_us * 0.2, 0.1, least_us},
                                  {"slot_gbs", alone * 1.2, alone * 0.5, alone * 20},
                                  {"total_gbs", top, top * 0.5, top * 2}};
  std::vector<double> measured;
  for (const KvCell& cell : cells) measured.push_back(cell.gbs);
  const std::vector<double> out =
      fit_bounded(parameters, measured, [&](std::span<const double> p, std::size_t i) {
        return kv_rate({p[0], p[1], p[2]}, static_cast<double>(cells[i].bytes), cells[i].clients);
      });
  return {out[0], out[1], out[2]};
}

std::vector<double> errors_of(const KvLimits& limits, const std::vector<KvCell>& cells) {
  std::vector<double> out;
  for (const KvCell& cell : cells) {
    out.push_back(
        percent_off(kv_rate(limits, static_cast<double>(cell.bytes), cell.clients), cell.gbs));
  }
  return out;
}

FitRecord fit_values(const std::vector<KvCell>& cells) {
  FitRecord out;
  out.form = "limits";
  out.cells = static_cast<std::uint32_t>(cells.size());
  std::set<std::int64_t> sizes;
  for (const KvCell& cell : cells) sizes.insert(cell.bytes);
  out.from = static_cast<double>(*sizes.begin());
  out.to = static_cast<double>(*sizes.rbegin());
  const KvLimits all = fit_limits(cells);
  out.params = {
      {"latency_us", all.latency_us}, {"slot_gbs", all.slot_gbs}, {"total_gbs", all.total_gbs}};
  score_seen(out, errors_of(all, cells));

  const std::set<std::int64_t> held = held_out_of(sizes);
  std::vector<KvCell> kept;
  std::vector<KvCell> unseen;
  for (const KvCell& cell : cells) (held.contains(cell.bytes) ? unseen : kept).push_back(cell);
  if (unseen.empty() || kept.size() < kFewestCells) return out;
  score_unseen(out, errors_of(fit_limits(kept), unseen));
  return out;
}

const KvCell* find_cell(const std::vector<KvCell>& cells, std::string_view op, std::int64_t bytes,
                        std::uint32_t clients) {
  const auto it = std::find_if(cells.begin(), cells.end(), [&](const KvCell& cell) {
    return cell.op == op && cell.bytes == bytes && cell.clients == clients;
  });
  return it == cells.end() ? nullptr : &*it;
}

void fit_mixed(const std::vector<KvCell>& cells, std::vector<FitRecord>& fits) {
  for (const KvCell& cell : cells) {
    if (cell.op != "mixed") continue;
    const KvCell* read = find_cell(cells, "read", cell.bytes, cell.clients);
    const KvCell* write = find_cell(cells, "write", cell.bytes, cell.clients);
    if (read == nullptr || write == nullptr) continue;
    FitRecord out;
    out.target = "kv/mixed";
    out.form = "share";
    out.cells = 3;
    const double used = cell.read_gbs / read->gbs + (cell.gbs - cell.read_gbs) / write->gbs;
    out.params = {{"utilization", used}, {"one_at_a_time", used < kShared ? 1.0 : 0.0}};
    fits.push_back(std::move(out));
    return;
  }
}

void fit_command(const std::vector<KvCell>& cells, std::string_view op, const char* target,
                 std::vector<FitRecord>& fits) {
  const KvCell* cell = find_cell(cells, op, 0, 1);
  if (cell == nullptr) return;
  FitRecord out;
  out.target = target;
  out.form = "quantiles";
  out.cells = 1;
  out.params = {
      {"latency_us", cell->lat_p50_us}, {"p90_us", cell->lat_p90_us}, {"p99_us", cell->lat_p99_us}};
  fits.push_back(std::move(out));
}

}  // namespace

double kv_rate(const KvLimits& limits, double bytes, double clients) {
  const double flow_us = bytes * std::max(1 / limits.slot_gbs, clients / limits.total_gbs) * 1e-3;
  return clients * bytes / (limits.latency_us + flow_us) * 1e-3;
}

void fit_kv(const std::vector<KvCell>& cells, std::vector<FitRecord>& fits) {
  for (const std::string op : {"read", "write"}) {
    std::vector<KvCell> own;
    for (const KvCell& cell : cells) {
      if (cell.op == op && cell.bytes > 0) own.push_back(cell);
    }
    if (own.size() < kFewestCells) continue;
    fits.push_back(fit_values(own));
    fits.back().target = "kv/" + op;
  }
  fit_mixed(cells, fits);
  fit_command(cells, "exists", "kv/lookup", fits);
  fit_command(cells, "ping", "kv/ping", fits);
}

}  // namespace spillway
