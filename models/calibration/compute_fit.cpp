#include "models/calibration/compute_fit.hpp"

#include <fmt/format.h>

#include <set>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/least_squares.hpp"

namespace spillway {

namespace {

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
  for (const GemmCell& cell : cells) {
    measured.push_back(cell.time.med_us);
    group.push_back(static_cast<double>(cell.n));
  }
  return fit_and_score(
      "roofline", kParameters, measured, group,
      [&](std::span<const double> p, std::size_t i) {
        const GemmCell& cell = cells[i];
        const ProductShape shape = {static_cast<double>(cell.m), static_cast<double>(cell.k),
                                    static_cast<double>(cell.n)};
        return 1e6 *
               product_seconds({p[0], p[1], p[2], p[3]}, shape, peaks, weight_bytes(cell.dtype));
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
  std::vector<PrefillCall> calls;
  for (const AttentionCell& cell : cells) {
    measured.push_back(cell.time.med_us);
    group.push_back(cell.q_tokens);
    calls.emplace_back(cell.q_heads).add(cell.q_tokens, cell.cached, cell.sequences);
  }
  return fit_and_score(
      "waves", kParameters, measured, group,
      [&](std::span<const double> p, std::size_t i) {
        return 1e6 * prefill_seconds({p[0], p[1], p[2]}, calls[i], peaks.sm_count);
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
  std::vector<double> bytes;
  for (const AttentionCell& cell : cells) {
    measured.push_back(cell.time.med_us);
    group.push_back(cell.cached);
    const double keys = static_cast<double>(cell.sequences) * (cell.cached + cell.q_tokens);
    bytes.push_back(keys * 2 * cell.kv_heads * cell.head_dim * kActivationBytes);
  }
  return fit_and_score(
      "bytes", kParameters, measured, group,
      [&](std::span<const double> p, std::size_t i) {
        return 1e6 * decode_seconds({p[0], p[1], p[2]}, cells[i].sequences, bytes[i], peaks.memory);
      },
      warnings);
}

}  // namespace spillway
