#include "models/calibration/kernel_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/form_fit.hpp"
#include "models/calibration/kernel_predictor.hpp"
#include "models/calibration/product_curves.hpp"
#include "models/calibration/ratio_fit.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

// Heads x sequences closer than this are one point of an axis.
constexpr double kSpacing = 1.18;
constexpr double kAllDistinct = 1.02;

using ProductParameter = FormParameter<ProductKernels>;
constexpr ProductParameter kProductParameters[] = {
    {{"overhead_us", 3, 0, 50},
     &ProductKernels::overhead_us,
     "small products take no longer than their bytes and operations",
     "products take a fixed time that no launch explains"},
    {{"flop_efficiency", 0.7, 0.001, 1},
     &ProductKernels::flop_efficiency,
     "large products reach next to nothing of the peak rate: is the data type the right one?",
     "large products reach the data sheet's rate or more: the clock is above the data sheet's"},
    {{"byte_efficiency", 0.8, 0.001, 1},
     &ProductKernels::byte_efficiency,
     "thin products reach next to nothing of the bandwidth",
     "thin products read faster than memory: weights stay in the L2 cache between calls"},
    {{"norm", 2, 1, 8},
     &ProductKernels::norm,
     "computing and reading add up instead of overlapping, or mid-sized products are slower than "
     "any overlap explains",
     "computing and reading overlap fully"}};

using ExpertParameter = FormParameter<ExpertKernels>;
constexpr ExpertParameter kExpertParameters[] = {
    {{"overhead_us", 30, 0, 200},
     &ExpertKernels::overhead_us,
     "gate and choice of experts take no time",
     "gate and choice of experts take a fixed time that no launch explains"},
    {{"flop_efficiency", 0.6, 0.001, 1},
     &ExpertKernels::flop_efficiency,
     "experts of many rows reach next to nothing of the peak rate: is the data type the right one?",
     "experts reach the data sheet's rate or more: the clock is above the data sheet's"},
    {{"byte_efficiency", 0.8, 0.001, 1},
     &ExpertKernels::byte_efficiency,
     "experts of few rows reach next to nothing of the bandwidth",
     "experts' weights are read faster than memory: they stay in the L2 cache between calls"},
    {{"norm", 2, 1, 8},
     &ExpertKernels::norm,
     "computing and reading add up instead of overlapping, or experts of some rows are slower than "
     "any overlap explains",
     "computing and reading overlap fully"}};

using AttentionParameter = FormParameter<AttentionKernels>;
constexpr AttentionParameter kPrefillParameters[] = {
    {{"prefill_us", 8, 0, 100},
     &AttentionKernels::prefill_us,
     "a call costs no more than its waves",
     "a call takes a fixed time that no launch explains"},
    {{"prefill_key_ns", 15, 0.1, 2000},
     &AttentionKernels::prefill_key_ns,
     "keys cost next to nothing",
     "keys are slower than on any GPU known"},
    {{"prefill_lead_keys", 100, 0, 2000},
     &AttentionKernels::prefill_lead_keys,
     "a wave has no start-up",
     "waves take longer to start than 2,000 keys would"}};
constexpr AttentionParameter kDecodeParameters[] = {
    {{"decode_us", 10, 0.1, 100},
     &AttentionKernels::decode_us,
     "a call costs no more than the bytes it reads",
     "a call takes a fixed time that no launch explains"},
    {{"decode_efficiency", 0.7, 0.001, 1},
     &AttentionKernels::decode_efficiency,
     "KV is read at next to nothing of the bandwidth",
     "KV is read faster than memory: it stays in the L2 cache between calls"},
    {{"decode_sequence_us", 0.1, 0, 10},
     &AttentionKernels::decode_sequence_us,
     "sequences cost no more than the bytes they hold",
     "sequences cost more than 10 us each, whatever they hold"}};
constexpr AttentionParameter kMixedParameters[] = {
    {{"mixed_factor", 0.45, 0, 4},
     &AttentionKernels::mixed_factor,
     "decodes beside a prefill are no slower than alone",
     "decodes beside a prefill are slower than their query heads explain"}};

/// Errors over the rows that were fitted.
template <class Row, class Form, class Us>
void score_rows(FitScore& score, const std::vector<Row>& rows, Form&& form_us, Us&& us) {
  double off = 0;
  double form_off = 0;
  double bias = 0;
  for (const Row& row : rows) {
    const double predicted = us(row);
    off += percent_off(predicted, row.us);
    form_off += percent_off(form_us(row), row.us);
    bias += 100 * (predicted - row.us) / row.us;
  }
  const auto count = static_cast<double>(rows.size());
  score.points = static_cast<std::uint32_t>(rows.size());
  score.mape = off / count;
  score.form_mape = form_off / count;
  score.bias = bias / count;
}

class KernelFitter {
 public:
  KernelFitter(const KernelTables& tables, const KernelFitOptions& options)
      : tables_(tables), options_(options), usual_(kernel_coefficients(*tables.gpu)) {}

  ComputeProfile fit() {
    out_.gpu = std::string(tables_.gpu->name);
    if (tables_.model != nullptr) out_.model = std::string(tables_.model->name);
    out_.tensor_parallel = tables_.tensor_parallel;
    for (const auto& [dtype, rows] : tables_.products) {
      if (!rows.empty()) fit_products(dtype, rows);
    }
    for (const auto& [key, rows] : tables_.attention) fit_attention(key, rows);
    for (const auto& [dtype, rows] : tables_.experts) {
      if (!rows.empty()) fit_experts(dtype, rows);
    }
    fit_elementwise();
    fit_sampler();
    fill_absent();
    return std::move(out_);
  }

 private:
  FitScore* begin_score(const std::string& part) {
    if (!options_.scores) return nullptr;
    out_.scores.push_back({});
    out_.scores.back().part = part;
    return &out_.scores.back();
  }

  /// The score of a part in the fit that this one starts at.
  const FitScore* before(const std::string& part) const {
    if (options_.start == nullptr) return nullptr;
    for (const FitScore& score : options_.start->scores) {
      if (score.part == part) return &score;
    }
    return nullptr;
  }

  /// Whether a part has rows enough; where it matters, refuses one that has not.
  bool enough(const std::string& part, std::size_t rows, std::size_t parameters, RowSource from) {
    const std::size_t needed = least_rows(parameters);
    if (rows >= needed || !options_.scores) return rows >= needed;
    throw InputError(
        Fault::kTrace, {tables_.files.at(from.file), 0, ""},
        fmt::format("{}: {} points are too few to fit; expected at least {}", part, rows, needed));
  }

  /// Once forms and ratios are known.
  template <class Row>
  void score_attention(FitScore* score, const AttentionKernels& kernels,
                       const std::vector<Row>& rows) {
    if (score == nullptr) return;
    const AttentionPredictor fitted(kernels, *tables_.gpu);
    score_rows(
        *score, rows, [&](const Row& row) { return fitted.form_us(row); },
        [&](const Row& row) { return fitted.us(row); });
  }

  void warn(std::string text) {
    if (options_.scores) out_.warnings.push_back(std::move(text));
  }

  void fit_products(const std::string& dtype, const std::vector<ProductRow>& rows);
  void fit_experts(const std::string& dtype, const std::vector<ExpertRow>& rows);
  void fit_attention(const std::pair<std::string, std::uint32_t>& key, const AttentionRows& rows);
  void fit_prefill(AttentionKernels& kernels, const std::string& part,
                   const std::vector<PrefillRow>& rows, const AttentionKernels* start);
  void fit_decode(AttentionKernels& kernels, const std::string& part,
                  const std::vector<DecodeRow>& rows, const AttentionKernels* start);
  void fit_mixed(AttentionKernels& kernels, const std::string& part,
                 const std::vector<MixedRow>& rows, const AttentionKernels* start);
  void fit_elementwise();
  void fit_sampler();
  void fill_absent();

  const KernelTables& tables_;
  const KernelFitOptions& options_;
  KernelSource usual_;
  ComputeProfile out_;
};

void KernelFitter::fit_products(const std::string& dtype, const std::vector<ProductRow>& rows) {
  const std::string part = "products/" + dtype;
  if (!enough(part, rows.size(), std::size(kProductParameters), rows.front().from)) return;
  ProductKernels kernels = product_kernels(usual_.kernels, dtype);
  const ProductKernels* start = nullptr;
  if (options_.start != nullptr) {
    for (const ProductKernels& k : options_.start->products) {
      if (k.dtype == dtype) start = &k;
    }
  }
  FitScore* score = begin_score(part);
  const PeakRates peaks = product_peaks(*tables_.gpu, dtype == "fp8");
  const double weight_bytes = weight_bytes_of(dtype);
  fit_part(kernels, std::span<const ProductParameter>(kProductParameters), rows, start,
           before(part), score, out_.warnings, [&](const ProductKernels& k, const ProductRow& row) {
             return 1e6 * product_seconds(form_of(k), {row.rows, row.inputs, row.outputs}, peaks,
                                          weight_bytes);
           });
  const ProductPredictor form(kernels, *tables_.gpu);
  ProductRatios ratios;
  for (const ProductRow& row : rows) {
    ratios[{row.inputs, row.outputs}][row.rows] = row.us / form.form_us(row);
  }
  kernels.curves = product_curves(ratios);
  if (score != nullptr) {
    ProductPredictor fitted(kernels, *tables_.gpu);
    score_rows(
        *score, rows, [&](const ProductRow& row) { return form.form_us(row); },
        [&](const ProductRow& row) { return fitted.us(row); });
  }
  out_.products.push_back(std::move(kernels));
}

void KernelFitter::fit_experts(const std::string& dtype, const std::vector<ExpertRow>& rows) {
  const std::string part = "experts/" + dtype;
  if (!enough(part, rows.size(), std::size(kExpertParameters), rows.front().from)) return;
  ExpertKernels kernels = expert_kernels(usual_.kernels, dtype);
  const ExpertKernels* start = nullptr;
  if (options_.start != nullptr) {
    for (const ExpertKernels& k : options_.start->experts) {
      if (k.dtype == dtype) start = &k;
    }
  }
  FitScore* score = begin_score(part);
  fit_part(kernels, std::span<const ExpertParameter>(kExpertParameters), rows, start, before(part),
           score, out_.warnings, [&](const ExpertKernels& k, const ExpertRow& row) {
             return ExpertPredictor(k, *tables_.gpu).form_us(row);
           });
  const ExpertPredictor form(kernels, *tables_.gpu);
  std::vector<RatioPoint> points;
  for (const ExpertRow& row : rows) {
    points.push_back({{row.rows, row.activated, 1}, row.us / form.form_us(row), 1});
  }
  // Experts decide more than rows do, which matter where they are many.
  RatioGrid grid = fit_grid(points, {kAllDistinct, kAllDistinct, 1}, {2, 0, 1});
  grid.axes.pop_back();
  kernels.ratios = std::move(grid);
  if (score != nullptr) {
    const ExpertPredictor fitted(kernels, *tables_.gpu);
    score_rows(
        *score, rows, [&](const ExpertRow& row) { return form.form_us(row); },
        [&](const ExpertRow& row) { return fitted.us(row); });
  }
  out_.experts.push_back(std::move(kernels));
}

void KernelFitter::fit_attention(const std::pair<std::string, std::uint32_t>& key,
                                 const AttentionRows& rows) {
  if (rows.prefill.empty() && rows.decode.empty()) return;
  AttentionKernels kernels = attention_kernels(usual_.kernels, key.first);
  kernels.head_dim = key.second;
  const AttentionKernels* start = nullptr;
  if (options_.start != nullptr) {
    for (const AttentionKernels& k : options_.start->attention) {
      if (k.kv_dtype == key.first && k.head_dim == key.second) start = &k;
    }
  }
  const std::string part = fmt::format("attention/{}/{}", key.first, key.second);
  fit_prefill(kernels, part + "/prefill", rows.prefill, start);
  fit_decode(kernels, part + "/decode", rows.decode, start);
  fit_mixed(kernels, part + "/mixed", rows.mixed, start);
  out_.attention.push_back(std::move(kernels));
}

/// Apart for heads one to one, whose kernels pack no query heads of a group together.
template <class Row>
std::array<std::vector<RatioPoint>, 2> by_kind(const std::vector<Row>& rows,
                                               const AttentionPredictor& form,
                                               std::array<double, 3> (*at)(const Row&)) {
  std::array<std::vector<RatioPoint>, 2> out;
  for (const Row& row : rows) {
    out[row.q_heads == row.kv_heads ? 1 : 0].push_back({at(row), row.us / form.form_us(row), 1});
  }
  return out;
}

void KernelFitter::fit_prefill(AttentionKernels& kernels, const std::string& part,
                               const std::vector<PrefillRow>& rows, const AttentionKernels* start) {
  if (rows.empty()) {
    warn(fmt::format("{}: not measured; as {}", part, usual_.source));
    return;
  }
  if (!enough(part, rows.size(), std::size(kPrefillParameters), rows.front().from)) return;
  FitScore* score = begin_score(part);
  const double sms = tables_.gpu->sm_count;
  fit_part(kernels, std::span<const AttentionParameter>(kPrefillParameters), rows, start,
           before(part), score, out_.warnings,
           [&](const AttentionKernels& k, const PrefillRow& row) {
             PrefillCall call(row.q_heads);
             call.add(row.tokens, row.cached, row.chunks);
             return 1e6 * prefill_seconds(prefill_form(k), call, sms);
           });
  const AttentionPredictor form(kernels, *tables_.gpu);
  const auto points = by_kind<PrefillRow>(rows, form, [](const PrefillRow& row) {
    return std::array{row.q_heads * row.chunks, row.tokens, row.cached};
  });
  constexpr std::array kAxes = {kSpacing, kAllDistinct, kAllDistinct};
  constexpr std::array<std::size_t, 3> kFill = {0, 2, 1};
  kernels.prefill = fit_grid(points[0], kAxes, kFill);
  kernels.prefill_mha = fit_grid(points[1], kAxes, kFill);
  score_attention(score, kernels, rows);
}

void KernelFitter::fit_decode(AttentionKernels& kernels, const std::string& part,
                              const std::vector<DecodeRow>& rows, const AttentionKernels* start) {
  if (rows.empty()) {
    warn(fmt::format("{}: not measured; as {}", part, usual_.source));
    return;
  }
  if (!enough(part, rows.size(), std::size(kDecodeParameters), rows.front().from)) return;
  FitScore* score = begin_score(part);
  const double memory = tables_.gpu->memory_gbs * 1e9;
  const double token_bytes = 2 * kernels.head_dim * weight_bytes_of(kernels.kv_dtype);
  fit_part(kernels, std::span<const AttentionParameter>(kDecodeParameters), rows, start,
           before(part), score, out_.warnings,
           [&](const AttentionKernels& k, const DecodeRow& row) {
             const double bytes = row.sequences * row.held * row.kv_heads * token_bytes;
             return 1e6 * decode_seconds(decode_form(k), row.sequences, bytes, memory);
           });
  const AttentionPredictor form(kernels, *tables_.gpu);
  auto points = by_kind<DecodeRow>(rows, form, [](const DecodeRow& row) {
    return std::array{row.kv_heads * row.sequences, row.held, row.kv_heads};
  });
  // One to one, KV heads decide nothing that heads x sequences do not.
  for (RatioPoint& point : points[1]) point.at[2] = 1;
  constexpr std::array kAxes = {kSpacing, kAllDistinct, kAllDistinct};
  constexpr std::array<std::size_t, 3> kFill = {2, 0, 1};
  kernels.decode = fit_grid(points[0], kAxes, kFill);
  kernels.decode_mha = fit_grid(points[1], kAxes, kFill);
  score_attention(score, kernels, rows);
}

void KernelFitter::fit_mixed(AttentionKernels& kernels, const std::string& part,
                             const std::vector<MixedRow>& rows, const AttentionKernels* start) {
  if (rows.empty()) return;
  if (!enough(part, rows.size(), std::size(kMixedParameters), rows.front().from)) return;
  FitScore* score = begin_score(part);
  kernels.mixed_measured = true;
  const AttentionPredictor pure(kernels, *tables_.gpu);
  std::vector<double> prefill;
  std::vector<double> decode;
  for (const MixedRow& row : rows) {
    prefill.push_back(pure.us(prefill_part(row)));
    decode.push_back(pure.us(decode_part(row)));
  }
  fit_part(kernels, std::span<const AttentionParameter>(kMixedParameters), rows, start,
           before(part), score, out_.warnings, [&](const AttentionKernels& k, const MixedRow& row) {
             const auto i = static_cast<std::size_t>(&row - rows.data());
             return prefill[i] +
                    decode[i] * mixed_slowdown(k.mixed_factor, row.q_heads / row.kv_heads);
           });
  const AttentionPredictor form(kernels, *tables_.gpu);
  std::vector<RatioPoint> points;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MixedRow& row = rows[i];
    const double added = form.mixed_decode_us(row);
    // What decodes add is a difference: where the prefill is most of the call, it says little.
    points.push_back({{row.kv_heads * row.decodes, row.held, row.tokens},
                      std::max(row.us - prefill[i], 0.0) / added,
                      added / row.us});
  }
  kernels.mixed = fit_grid(points, {kSpacing, kAllDistinct, kAllDistinct}, {2, 0, 1});
  score_attention(score, kernels, rows);
}

/// The rate that the largest batches show, and how much more smaller ones take.
void KernelFitter::fit_elementwise() {
  const std::vector<CountRow>& rows = tables_.elementwise;
  if (rows.empty()) return;
  if (!enough("elementwise", rows.size(), 1, rows.front().from)) return;
  const double memory = tables_.gpu->memory_gbs * 1e9;
  const LayerPasses layer = table_passes(*tables_.model, tables_.tensor_parallel);
  const CountRow& largest =
      *std::max_element(rows.begin(), rows.end(),
                        [](const CountRow& a, const CountRow& b) { return a.count < b.count; });
  const double launches = layer.kernels * out_.elementwise_us;
  const double at_peak = 1e6 * elementwise_seconds({0, 1}, layer, largest.count, memory);
  // Few tokens are launches alone, and tell nothing of a rate.
  if (largest.us > 2 * launches) {
    out_.elementwise_efficiency = rounded(at_peak / (largest.us - launches));
  }
  const auto form_us = [&](const CountRow& row) {
    return 1e6 * elementwise_seconds({out_.elementwise_us, out_.elementwise_efficiency}, layer,
                                     row.count, memory);
  };
  constexpr double kTokenSpacing = 1.1;
  std::vector<RatioPoint> points;
  for (const CountRow& row : rows) points.push_back({{row.count, 1, 1}, row.us / form_us(row), 1});
  const RatioGrid grid = fit_grid(points, {kTokenSpacing, 1, 1}, {0, 1, 2});
  out_.elementwise = {{grid.axes[0]}, grid.ratios};
  if (FitScore* score = begin_score("elementwise")) {
    const RatioTable ratio(out_.elementwise);
    score->parameters["elementwise_efficiency"] = {out_.elementwise_efficiency,
                                                   out_.elementwise_efficiency,
                                                   out_.elementwise_efficiency, false};
    score_rows(*score, rows, form_us,
               [&](const CountRow& row) { return form_us(row) * ratio.at({row.count}); });
  }
}

void KernelFitter::fit_sampler() {
  const std::vector<CountRow>& rows = tables_.sampler;
  if (rows.empty()) return;
  constexpr FormParameter<ComputeProfile> kParameters[] = {
      {{"sampler_us", 20, 0, 1000},
       &ComputeProfile::sampler_us,
       "sampling has no fixed part",
       "sampling takes a fixed time that no launch explains"},
      {{"sequence_us", 1, 0, 100},
       &ComputeProfile::sequence_us,
       "sequences cost nothing to sample",
       "sequences cost more to sample than on any GPU known"}};
  if (!enough("sampler", rows.size(), std::size(kParameters), rows.front().from)) return;
  FitScore* score = begin_score("sampler");
  const auto us = [](const ComputeProfile& p, const CountRow& row) {
    return p.sampler_us + p.sequence_us * row.count;
  };
  ComputeProfile sampled;
  fit_part(sampled, std::span<const FormParameter<ComputeProfile>>(kParameters), rows,
           options_.start, before("sampler"), score, out_.warnings, us);
  out_.sampler_us = sampled.sampler_us;
  out_.sequence_us = sampled.sequence_us;
  const auto fitted = [&](const CountRow& row) { return us(out_, row); };
  if (score != nullptr) score_rows(*score, rows, fitted, fitted);
}

/// What no table told is the GPU's published coefficients, and said so.
void KernelFitter::fill_absent() {
  const KernelCoefficients& usual = usual_.kernels;
  if (out_.products.empty()) {
    out_.products.push_back(product_kernels(usual, "bf16"));
    warn(fmt::format("products: not measured; as {}", usual_.source));
  }
  if (out_.attention.empty()) {
    out_.attention.push_back(attention_kernels(usual, "bf16"));
    warn(fmt::format("attention: not measured; as {}", usual_.source));
  }
  if (tables_.elementwise.empty()) {
    out_.elementwise_us = usual.elementwise_us;
    out_.elementwise_efficiency = usual.elementwise_efficiency;
    warn("norms, rotary and activation: not measured; bytes of the model's widths at the memory's "
         "rate");
  }
}

}  // namespace

ComputeProfile fit_kernels(const KernelTables& tables, const KernelFitOptions& options) {
  KV_ASSERT(tables.gpu != nullptr, "kernel tables of no GPU");
  return KernelFitter(tables, options).fit();
}

}  // namespace spillway
