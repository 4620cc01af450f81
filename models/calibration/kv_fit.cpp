#include "models/calibration/kv_fit.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/fit_table.hpp"
#include "models/calibration/least_squares.hpp"

namespace spillway {

namespace {

constexpr std::size_t kFewestCells = 3;  ///< for two figures
/// Reads and writes at once: 1 where each takes the other's time, 2 where neither feels the other.
constexpr double kShared = 1.5;

/// What one value's bytes take of the time of a command; more than that would leave no rate.
constexpr double kMostLatency = 0.9;

/// Least time of a value alone, where that was measured.
double least_value_us(const std::vector<KvCell>& cells) {
  double out = 1e9;
  for (const KvCell& cell : cells) {
    out = std::min(out, static_cast<double>(cell.bytes) * cell.clients / cell.gbs * 1e-3);
  }
  return out;
}

KvLimits fit_limits(const std::vector<KvCell>& cells, double latency_us) {
  double top = 0;
  double alone = 0;
  for (const KvCell& cell : cells) {
    top = std::max(top, cell.gbs);
    if (cell.clients == 1) alone = std::max(alone, cell.gbs);
  }
  if (alone == 0) alone = top;
  const Parameter parameters[] = {{"slot_gbs", alone * 1.1, alone * 0.2, alone * 20},
                                  {"total_gbs", top * 0.9, top * 0.2, top * 2}};
  std::vector<double> measured;
  for (const KvCell& cell : cells) measured.push_back(cell.gbs);
  const std::vector<double> out =
      fit_bounded(parameters, measured, [&](std::span<const double> p, std::size_t i) {
        return kv_rate({latency_us, p[0], p[1]}, static_cast<double>(cells[i].bytes),
                       cells[i].clients);
      });
  return {latency_us, out[0], out[1]};
}

/// Rates over size and clients; where no cell stands, what the limits say.
FitTable table_of(const std::vector<KvCell>& cells, const KvLimits& limits) {
  std::map<std::pair<double, double>, double> measured;
  std::set<double> sizes;
  std::set<double> clients;
  for (const KvCell& cell : cells) {
    measured[{cell.clients, static_cast<double>(cell.bytes)}] = cell.gbs;
    sizes.insert(static_cast<double>(cell.bytes));
    clients.insert(cell.clients);
  }
  FitTable out;
  out.x.assign(sizes.begin(), sizes.end());
  out.y.assign(clients.begin(), clients.end());
  for (const double n : clients) {
    for (const double bytes : sizes) {
      const auto at = measured.find({n, bytes});
      out.measured.push_back(at != measured.end());
      out.values.push_back(at != measured.end() ? at->second : kv_rate(limits, bytes, n));
    }
  }
  return out;
}

FitRecord fit_values(const std::vector<KvCell>& cells, double command_us) {
  FitRecord out;
  out.form = "limits";
  out.cells = static_cast<std::uint32_t>(cells.size());
  std::set<std::int64_t> sizes;
  for (const KvCell& cell : cells) sizes.insert(cell.bytes);
  out.from = static_cast<double>(*sizes.begin());
  out.to = static_cast<double>(*sizes.rbegin());
  const double latency_us = std::min(command_us, kMostLatency * least_value_us(cells));
  const KvLimits all = fit_limits(cells, latency_us);
  out.params = {
      {"latency_us", latency_us}, {"slot_gbs", all.slot_gbs}, {"total_gbs", all.total_gbs}};
  out.table = table_of(cells, all);
  std::vector<double> errors;
  for (const KvCell& cell : cells) {
    const double rate = kv_rate(all, static_cast<double>(cell.bytes), cell.clients);
    errors.push_back(percent_off(rate, cell.gbs));
  }
  score_seen(out, errors);

  const std::set<std::int64_t> held = held_out_of(sizes);
  std::vector<KvCell> kept;
  for (const KvCell& cell : cells) {
    if (!held.contains(cell.bytes)) kept.push_back(cell);
  }
  if (held.empty() || kept.size() < kFewestCells) return out;
  const FitTable part = table_of(kept, fit_limits(kept, latency_us));
  errors.clear();
  for (const KvCell& cell : cells) {
    if (!held.contains(cell.bytes)) continue;
    const double rate = value_at(part, static_cast<double>(cell.bytes), cell.clients);
    errors.push_back(percent_off(rate, cell.gbs));
  }
  score_unseen(out, errors);
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

double kv_flow_rate(const FitRecord& fit, double bytes, double clients) {
  const double round_us = clients * bytes / value_at(fit.table, bytes, clients) * 1e-3;
  const auto latency = fit.params.find("latency_us");
  const double latency_us =
      latency == fit.params.end() ? 0 : std::min(latency->second, kMostLatency * round_us);
  return clients * bytes / (round_us - latency_us) * 1e-3;
}

void fit_kv(const std::vector<KvCell>& cells, std::vector<FitRecord>& fits) {
  const KvCell* exists = find_cell(cells, "exists", 0, 1);
  const double command_us = exists == nullptr ? 0 : exists->lat_p50_us;
  for (const std::string op : {"read", "write"}) {
    std::vector<KvCell> own;
    for (const KvCell& cell : cells) {
      if (cell.op == op && cell.bytes > 0) own.push_back(cell);
    }
    if (own.size() < kFewestCells) continue;
    fits.push_back(fit_values(own, command_us));
    fits.back().target = "kv/" + op;
  }
  fit_mixed(cells, fits);
  fit_command(cells, "exists", "kv/lookup", fits);
  fit_command(cells, "ping", "kv/ping", fits);
}

}  // namespace spillway
