#include "models/calibration/compute_fit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/least_squares.hpp"
#include "sim/det_math.hpp"

namespace spillway {

namespace {

constexpr double kActivationBytes = 2;
constexpr double kTileQueries = 64;

double weight_bytes(const std::string& dtype) {
  if (dtype.starts_with("fp8") || dtype.starts_with("e4m3") || dtype.starts_with("int8")) return 1;
  return dtype.starts_with("fp32") || dtype.starts_with("tf32") ? 4 : 2;
}

using Prediction = std::function<double(std::span<const double>, std::size_t)>;

/// Fits all cells; scores a fit that saw none of those whose `group` is every third one.
FitRecord fit_and_score(std::string form, std::span<const Parameter> parameters,
                        const std::vector<double>& measured, const std::vector<double>& group,
                        const Prediction& predict, std::vector<std::string>& warnings) {
  FitRecord out;
  out.form = std::move(form);
  out.cells = static_cast<std::uint32_t>(measured.size());
  const std::vector<double> all = fit_bounded(parameters, measured, predict);
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    out.params[std::string(parameters[k].name)] = all[k];
    if (!parameters[k].on_bound(all[k])) continue;
    warnings.push_back(fmt::format("{} ends on the bound {:.4g} of what is possible ({} to {})",
                                   parameters[k].name, all[k], parameters[k].low,
                                   parameters[k].high));
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    errors.push_back(percent_off(predict(all, i), measured[i]));
  }
  score_seen(out, errors);

  const std::set<double> distinct(group.begin(), group.end());
  out.from = *distinct.begin();
  out.to = *distinct.rbegin();
  const std::set<double> held = held_out_of(distinct);
  std::vector<std::size_t> kept;
  std::vector<double> kept_measured;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (held.contains(group[i])) continue;
    kept.push_back(i);
    kept_measured.push_back(measured[i]);
  }
  if (held.empty() || kept.size() <= parameters.size()) return out;
  const std::vector<double> part =
      fit_bounded(parameters, kept_measured,
                  [&](std::span<const double> p, std::size_t i) { return predict(p, kept[i]); });
  errors.clear();
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (held.contains(group[i])) errors.push_back(percent_off(predict(part, i), measured[i]));
  }
  score_unseen(out, errors);
  return out;
}

}  // namespace

FitRecord fit_gemm(const std::vector<GemmCell>& cells, const PeakRates& peaks,
                   std::vector<std::string>& warnings) {
  constexpr Parameter kParameters[] = {{"gemm_overhead_us", 3, 0, 50},
                                       {"flop_efficiency", 0.7, 0.001, 1},
                                       {"byte_efficiency", 0.8, 0.001, 1},
                                       {"gemm_norm", 2, 1, 8}};
  std::vector<double> measured;
  std::vector<double> group;
  std::vector<double> compute_us;
  std::vector<double> memory_us;
  for (const GemmCell& cell : cells) {
    const auto m = static_cast<double>(cell.m);
    const auto n = static_cast<double>(cell.n);
    const auto k = static_cast<double>(cell.k);
    measured.push_back(cell.time.med_us);
    group.push_back(n);
    compute_us.push_back(2 * m * n * k / peaks.flops * 1e6);
    memory_us.push_back((n * k * weight_bytes(cell.dtype) + m * (n + k) * kActivationBytes) /
                        peaks.memory * 1e6);
  }
  return fit_and_score(
      "roofline", kParameters, measured, group,
      [&](std::span<const double> p, std::size_t i) {
        const double compute = compute_us[i] / p[1];
        const double memory = memory_us[i] / p[2];
        return p[0] + det::norm(compute, memory, p[3]);
      },
      warnings);
}

FitRecord fit_prefill(const std::vector<AttentionCell>& cells, const PeakRates& peaks,
                      std::vector<std::string>& warnings) {
  constexpr Parameter kParameters[] = {{"prefill_us", 8, 0, 100},
                                       {"prefill_key_ns", 15, 0.1, 2000},
                                       {"prefill_lead_keys", 100, 0, 2000}};
  std::vector<double> measured;
  std::vector<double> group;
  std::vector<double> waves;
  std::vector<double> keys;
  for (const AttentionCell& cell : cells) {
    measured.push_back(cell.time.med_us);
    group.push_back(cell.q_tokens);
    const double tiles = cell.q_heads * cell.sequences * std::ceil(cell.q_tokens / kTileQueries);
    waves.push_back(std::ceil(tiles / peaks.sm_count));
    keys.push_back(cell.cached + cell.q_tokens / 2.0);
  }
  return fit_and_score(
      "waves", kParameters, measured, group,
      [&](std::span<const double> p, std::size_t i) {
        return p[0] + waves[i] * (keys[i] + p[2]) * p[1] * 1e-3;
      },
      warnings);
}

FitRecord fit_decode(const std::vector<AttentionCell>& cells, const PeakRates& peaks,
                     std::vector<std::string>& warnings) {
  constexpr Parameter kParameters[] = {{"decode_us", 10, 0.1, 100},
                                       {"decode_efficiency", 0.7, 0.001, 1},
                                       {"decode_sequence_us", 0.1, 0, 10}};
  std::vector<double> measured;
  std::vector<double> group;
  std::vector<double> read_us;
  for (const AttentionCell& cell : cells) {
    measured.push_back(cell.time.med_us);
    group.push_back(cell.cached);
    const double keys = static_cast<double>(cell.sequences) * (cell.cached + cell.q_tokens);
    const double bytes = keys * 2 * cell.kv_heads * cell.head_dim * kActivationBytes;
    read_us.push_back(bytes / peaks.memory * 1e6);
  }
  return fit_and_score(
      "bytes", kParameters, measured, group,
      [&](std::span<const double> p, std::size_t i) {
        const double read = read_us[i] / p[1];
        return std::sqrt(p[0] * p[0] + read * read) + cells[i].sequences * p[2];
      },
      warnings);
}

}  // namespace spillway
