#include "models/calibration/kernel_scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/measured_steps.hpp"
#include "models/calibration/shape_hash.hpp"
#include "sim/det_math.hpp"

namespace spillway {

namespace {

// A table of fewer product shapes than this is of one model: then token counts are held out.
constexpr std::size_t kManyShapes = 16;
constexpr double kLeastPromptTokens = 16;  // shorter chunks are decodes in all but name
constexpr double kMostSequences = 1024;    // as engines batch at most

/// Rows for which `keep` says yes.
template <class Keep>
KernelTables filtered(const KernelTables& tables, Keep&& keep) {
  KernelTables out = tables;
  const auto sift = [&](auto& rows) {
    std::erase_if(rows, [&](const auto& row) { return !keep(row); });
  };
  for (auto& [dtype, rows] : out.products) sift(rows);
  for (auto& [key, set] : out.attention) {
    sift(set.prefill);
    sift(set.decode);
    sift(set.mixed);
  }
  for (auto& [dtype, rows] : out.experts) sift(rows);
  sift(out.elementwise);
  sift(out.sampler);
  return out;
}

/// Signed errors in percent of measured times.
struct Errors {
  std::vector<double> off;

  void add(double predicted, double measured) {
    off.push_back(100 * (predicted - measured) / measured);
  }
  ErrorSummary summary() const {
    std::vector<double> sizes;
    for (const double e : off) sizes.push_back(std::abs(e));
    return summarise(sizes);
  }
  double bias() const {
    double sum = 0;
    for (const double e : off) sum += e;
    return off.empty() ? 0 : sum / static_cast<double>(off.size());
  }
};

FitScore& score_of(ComputeProfile& profile, const std::string& part) {
  for (FitScore& score : profile.scores) {
    if (score.part == part) return score;
  }
  profile.scores.push_back({});
  profile.scores.back().part = part;
  return profile.scores.back();
}

void put_unseen(ComputeProfile& profile, const std::string& part, const Errors& errors) {
  if (errors.off.empty()) return;
  FitScore& score = score_of(profile, part);
  const ErrorSummary unseen = errors.summary();
  score.held_out = static_cast<std::uint32_t>(errors.off.size());
  score.held_out_mape = unseen.mean;
  score.held_out_p95 = unseen.p95;
  if (score.points == 0) score.bias = errors.bias();
}

std::string shape_of(const ProductRow& r) {
  return fmt::format("{} x {} x {}", r.rows, r.inputs, r.outputs);
}
std::string shape_of(const PrefillRow& r) {
  return fmt::format("{} x {} new tokens behind {}, heads {}/{}", r.chunks, r.tokens, r.cached,
                     r.q_heads, r.kv_heads);
}
std::string shape_of(const DecodeRow& r) {
  return fmt::format("{} x {} held, heads {}/{}", r.sequences, r.held, r.q_heads, r.kv_heads);
}
std::string shape_of(const MixedRow& r) {
  return fmt::format("{} new tokens behind {} with {} x {} held, heads {}/{}", r.tokens, r.cached,
                     r.decodes, r.held, r.q_heads, r.kv_heads);
}
std::string shape_of(const ExpertRow& r) {
  return fmt::format("{} rows of {} experts, {} x {}", r.rows, r.activated, r.hidden, r.width);
}
std::string shape_of(const CountRow& r) {
  return fmt::format("{}", r.count);
}

constexpr double kSmallUs = 30;  // launches and tails are most of what such a kernel takes
constexpr double kTileRows = 64;
constexpr double kCacheBytes = 64e6;

std::string why_off(const ProductRow& r, const GpuSpec& gpu, double weight_bytes) {
  const double bytes = r.inputs * r.outputs * weight_bytes;
  const double beyond = r.rows - kTileRows * std::floor(r.rows / kTileRows);
  if (bytes < kCacheBytes && r.us < bytes / (gpu.memory_gbs * 1e3)) {
    return "weights stay in the L2 cache between calls";
  }
  if (r.us < kSmallUs) return fmt::format("below {} us: launch and tail decide", kSmallUs);
  if (r.rows > kTileRows && beyond > 0 && beyond <= 4) return "just beyond a tile of rows";
  return "";
}
template <class Row>
std::string why_off(const Row& r, const GpuSpec&, double) {
  if (r.us < kSmallUs) return fmt::format("below {} us: launch and tail decide", kSmallUs);
  return "";
}
std::string why_off(const PrefillRow& r, const GpuSpec& gpu, double) {
  if (r.us < kSmallUs) return fmt::format("below {} us: launch and tail decide", kSmallUs);
  const double tiles = r.chunks * r.q_heads * std::ceil(r.tokens / kTileQueries);
  const double waves = tiles / gpu.sm_count;
  if (waves < 4) return fmt::format("{:.1f} waves: the last one is partly empty", waves);
  return "";
}

/// Errors of every row of `tables` that `wanted` names, by a fit's predictors.
class RowScorer {
 public:
  RowScorer(const KernelTables& tables, const ComputeProfile& fit)
      : tables_(tables), fit_(fit), elementwise_(fit.elementwise) {}

  /// Calls `each(part, row, predicted_us, weight_bytes)`.
  template <class Wanted, class Each>
  void visit(Wanted&& wanted, Each&& each) const {
    for (const ProductKernels& kernels : fit_.products) {
      const auto rows = tables_.products.find(kernels.dtype);
      if (rows == tables_.products.end()) continue;
      ProductPredictor predictor(kernels, *tables_.gpu);
      for (const ProductRow& row : rows->second) {
        if (wanted(row)) {
          each("products/" + kernels.dtype, row, predictor.us(row), weight_bytes_of(kernels.dtype));
        }
      }
    }
    for (const AttentionKernels& kernels : fit_.attention) {
      const auto set = tables_.attention.find({kernels.kv_dtype, kernels.head_dim});
      if (set == tables_.attention.end()) continue;
      const AttentionPredictor predictor(kernels, *tables_.gpu);
      const std::string part = fmt::format("attention/{}/{}", kernels.kv_dtype, kernels.head_dim);
      const auto rows = [&](const char* kind, const auto& of) {
        for (const auto& row : of) {
          if (wanted(row)) each(part + kind, row, predictor.us(row), 2.0);
        }
      };
      if (!kernels.prefill.empty() || !kernels.prefill_mha.empty()) {
        rows("/prefill", set->second.prefill);
      }
      if (!kernels.decode.empty() || !kernels.decode_mha.empty()) {
        rows("/decode", set->second.decode);
      }
      if (!kernels.mixed.empty()) rows("/mixed", set->second.mixed);
    }
    for (const ExpertKernels& kernels : fit_.experts) {
      const auto rows = tables_.experts.find(kernels.dtype);
      if (rows == tables_.experts.end()) continue;
      const ExpertPredictor predictor(kernels, *tables_.gpu);
      for (const ExpertRow& row : rows->second) {
        if (wanted(row)) {
          each("experts/" + kernels.dtype, row, predictor.us(row), weight_bytes_of(kernels.dtype));
        }
      }
    }
    if (elementwise_.empty()) return;
    PredictedKernels kernels(fit_, *tables_.gpu,
                             table_passes(*tables_.model, tables_.tensor_parallel));
    for (const CountRow& row : tables_.elementwise) {
      if (wanted(row)) each("elementwise", row, kernels.elementwise_us(row.count), 2.0);
    }
  }

 private:
  const KernelTables& tables_;
  const ComputeProfile& fit_;
  RatioTable elementwise_;
};

/// Every third value of the argument that a table varies, by kind of row.
class HeldLengths {
 public:
  explicit HeldLengths(const KernelTables& tables) {
    std::set<double> outputs;
    std::set<double> rows;
    std::set<std::pair<double, double>> shapes;
    std::set<double> prompts;
    std::set<double> held;
    std::set<double> expert_rows;
    std::set<double> counts;
    for (const auto& [dtype, products] : tables.products) {
      for (const ProductRow& row : products) {
        outputs.insert(row.outputs);
        rows.insert(row.rows);
        shapes.insert({row.inputs, row.outputs});
      }
    }
    for (const auto& [key, set] : tables.attention) {
      for (const PrefillRow& row : set.prefill) prompts.insert(row.tokens);
      for (const DecodeRow& row : set.decode) held.insert(row.held);
    }
    for (const auto& [dtype, experts] : tables.experts) {
      for (const ExpertRow& row : experts) expert_rows.insert(row.rows);
    }
    for (const CountRow& row : tables.elementwise) counts.insert(row.count);
    by_width_ = shapes.size() >= kManyShapes;
    products_ = held_out_of(by_width_ ? outputs : rows);
    prompts_ = held_out_of(prompts);
    held_ = held_out_of(held);
    expert_rows_ = held_out_of(expert_rows);
    counts_ = held_out_of(counts);
  }

  bool holds(const ProductRow& row) const {
    return products_.contains(by_width_ ? row.outputs : row.rows);
  }
  bool holds(const PrefillRow& row) const { return prompts_.contains(row.tokens); }
  bool holds(const DecodeRow& row) const { return held_.contains(row.held); }
  bool holds(const MixedRow& row) const {
    return prompts_.contains(row.tokens) || held_.contains(row.held);
  }
  bool holds(const ExpertRow& row) const { return expert_rows_.contains(row.rows); }
  bool holds(const CountRow& row) const { return counts_.contains(row.count); }
  const char* name(const std::string& part) const {
    if (part.starts_with("products")) return by_width_ ? "/widths" : "/counts";
    return part == "elementwise" || part.starts_with("experts") ? "/counts" : "/lengths";
  }

 private:
  bool by_width_ = false;
  std::set<double> products_;
  std::set<double> prompts_;
  std::set<double> held_;
  std::set<double> expert_rows_;
  std::set<double> counts_;
};

/// A dense model of grouped or single query heads whose steps the tables can make up.
struct StepModel {
  const ModelSpec* spec;
  LayerShapes shapes;

  std::vector<std::pair<double, double>> products() const {
    return {shapes.qkv, shapes.output, shapes.up, shapes.down};
  }
};

class StepScorer {
 public:
  StepScorer(const KernelTables& tables, const MeasuredKernels& measured)
      : tables_(tables), measured_(measured) {}

  std::vector<StepModel> models(const std::string& dtype) const {
    std::vector<StepModel> out;
    if (tables_.model != nullptr) {
      add(dtype, *tables_.model, out);
    } else {
      for (const ModelSpec& model : model_specs()) add(dtype, model, out);
    }
    return out;
  }

  /// Errors of steps at the attention rows of `model` that `wanted` names; `each(kind, predicted,
  /// measured)`.
  template <class Wanted, class Each>
  void visit(const StepModel& model, const std::string& dtype, const ComputeProfile& fit,
             Wanted&& wanted, Each&& each) const {
    const auto rows =
        tables_.attention.find({"bf16", static_cast<std::uint32_t>(model.spec->head_dim)});
    const auto kernels =
        std::find_if(fit.attention.begin(), fit.attention.end(), [&](const AttentionKernels& k) {
          return k.kv_dtype == "bf16" && int(k.head_dim) == model.spec->head_dim;
        });
    const bool products = std::any_of(fit.products.begin(), fit.products.end(),
                                      [&](const ProductKernels& k) { return k.dtype == dtype; });
    if (rows == tables_.attention.end() || kernels == fit.attention.end() || !products) return;
    const AttentionPredictor attention(*kernels, *tables_.gpu);
    PredictedKernels predicted(fit, *tables_.gpu,
                               table_passes(*model.spec, tables_.tensor_parallel));
    const bool elementwise = !tables_.elementwise.empty();
    const auto step = [&](const char* kind, const auto& row, double tokens, double sampled) {
      if (row.q_heads != model.shapes.q_heads || row.kv_heads != model.shapes.kv_heads) return;
      if (sampled > kMostSequences || !wanted(row)) return;
      for (const auto& shape : model.products()) {
        if (!measured_.knows(dtype, shape, tokens)) return;
      }
      const bool head = measured_.measured(dtype, model.shapes.head);
      const auto us = [&](auto& kernels_of, double attention_us) {
        return step_us(kernels_of, *model.spec, model.shapes, dtype, elementwise, head, tokens,
                       sampled, attention_us);
      };
      each(kind, us(predicted, attention.us(row)), us(measured_, row.us));
    };
    for (const PrefillRow& row : rows->second.prefill) {
      if (row.tokens < kLeastPromptTokens) continue;
      step(row.cached > 0 ? "prefix" : "prefill", row, row.chunks * row.tokens, row.chunks);
    }
    for (const DecodeRow& row : rows->second.decode) {
      step("decode", row, row.sequences, row.sequences);
    }
    for (const MixedRow& row : rows->second.mixed) {
      step("mixed", row, row.tokens + row.decodes, row.decodes + 1);
    }
  }

 private:
  void add(const std::string& dtype, const ModelSpec& model, std::vector<StepModel>& out) const {
    if (model.is_moe() || model.is_mla() || model.sliding_layers > 0 || model.head_dim == 0 ||
        model.kv_layers != model.layers) {
      return;
    }
    const StepModel step = {&model, layer_shapes(model, tables_.tensor_parallel)};
    for (const auto& shape : step.products()) {
      if (!measured_.knows(dtype, shape, 1)) return;
    }
    const bool twin = std::any_of(out.begin(), out.end(), [&](const StepModel& other) {
      return other.products() == step.products() && other.shapes.q_heads == step.shapes.q_heads &&
             other.shapes.kv_heads == step.shapes.kv_heads;
    });
    if (!twin) out.push_back(step);
  }

  const KernelTables& tables_;
  const MeasuredKernels& measured_;
};

/// "steps/decode", or "steps/fp8/decode" with weights of another type than BF16.
std::string step_part(const std::string& dtype, const std::string& kind) {
  return dtype == "bf16" ? "steps/" + kind : fmt::format("steps/{}/{}", dtype, kind);
}

/// The tables without any product of the model's widths, or of those nearest to them, and without
/// attention of its heads.
KernelTables without_model(const KernelTables& tables, const StepModel& model) {
  std::set<double> measured;
  for (const auto& [dtype, rows] : tables.products) {
    for (const ProductRow& row : rows) {
      measured.insert(row.inputs);
      measured.insert(row.outputs);
    }
  }
  std::set<double> dropped;
  for (const auto& [inputs, outputs] : model.products()) {
    for (const double width : {inputs, outputs}) {
      dropped.insert(*std::min_element(measured.begin(), measured.end(), [&](double a, double b) {
        return std::abs(det::log2(a / width)) < std::abs(det::log2(b / width));
      }));
    }
  }
  const auto heads = [&](const auto& row) {
    return row.q_heads == model.shapes.q_heads && row.kv_heads == model.shapes.kv_heads;
  };
  return filtered(tables, [&](const auto& row) {
    if constexpr (requires { row.inputs; }) {
      return !dropped.contains(row.inputs) && !dropped.contains(row.outputs);
    } else if constexpr (requires { row.q_heads; }) {
      return !heads(row);
    } else {
      return true;
    }
  });
}

/// Products of one type, and the attention that models' steps take: all that a step needs.
KernelTables step_tables(const KernelTables& tables, const std::string& dtype, int head_dim) {
  KernelTables out = tables;
  std::erase_if(out.products, [&](const auto& entry) { return entry.first != dtype; });
  std::erase_if(out.attention, [&](const auto& entry) {
    return entry.first.first != "bf16" || int(entry.first.second) != head_dim;
  });
  return out;
}

void score_lengths(const KernelTables& tables, ComputeProfile& profile) {
  const HeldLengths held(tables);
  const ComputeProfile fit = fit_kernels(
      filtered(tables, [&](const auto& row) { return !held.holds(row); }), {&profile, false});
  std::map<std::string, Errors> errors;
  RowScorer(tables, fit)
      .visit([&](const auto& row) { return held.holds(row); },
             [&](const std::string& part, const auto& row, double predicted, double) {
               errors[part + held.name(part)].add(predicted, row.us);
             });
  for (const auto& [part, of] : errors) put_unseen(profile, part, of);
}

void score_steps(const KernelTables& tables, const MeasuredKernels& measured,
                 const ComputeProfile& fit, ComputeProfile& profile) {
  const StepScorer steps(tables, measured);
  for (const auto& [dtype, rows] : tables.products) {
    std::map<std::string, Errors> unseen;
    std::map<std::string, Errors> seen;
    for (const StepModel& model : steps.models(dtype)) {
      steps.visit(
          model, dtype, fit, [](const auto& row) { return held_out_row(row); },
          [&](const char* kind, double predicted, double us) { unseen[kind].add(predicted, us); });
      steps.visit(
          model, dtype, profile, [](const auto&) { return true; },
          [&](const char* kind, double predicted, double us) { seen[kind].add(predicted, us); });
    }
    for (const auto& [kind, errors] : seen) {
      FitScore& score = score_of(profile, step_part(dtype, kind));
      score.points = static_cast<std::uint32_t>(errors.off.size());
      score.mape = score.form_mape = errors.summary().mean;
      score.bias = errors.bias();
      put_unseen(profile, score.part, unseen[kind]);
    }
  }
}

/// Each model of the catalogue after a fit that saw nothing of its shapes.
void score_unseen_models(const KernelTables& tables, const MeasuredKernels& measured,
                         ComputeProfile& profile) {
  if (tables.model != nullptr || !tables.products.contains("bf16")) return;
  const StepScorer steps(tables, measured);
  for (const StepModel& model : steps.models("bf16")) {
    const KernelTables rest =
        without_model(step_tables(tables, "bf16", model.spec->head_dim), model);
    const ComputeProfile fit = fit_kernels(rest, {&profile, false});
    std::map<std::string, Errors> errors;
    steps.visit(
        model, "bf16", fit, [](const auto&) { return true; },
        [&](const char* kind, double predicted, double us) { errors[kind].add(predicted, us); });
    for (const auto& [kind, of] : errors) {
      put_unseen(profile, fmt::format("unseen model/{}/{}", model.spec->name, kind), of);
    }
  }
}

/// How far a call whose decodes hold unequal contexts is from one where each holds their mean.
void score_skew(const KernelTables& tables, ComputeProfile& profile) {
  for (const bool mixed : {false, true}) {
    Errors errors;
    for (const SkewRow& row : tables.skew) {
      if (row.mixed == mixed) errors.add(row.mean_us, row.skewed_us);
    }
    if (errors.off.empty()) continue;
    FitScore& score = score_of(profile, mixed ? "attention/skew/mixed" : "attention/skew");
    score.points = static_cast<std::uint32_t>(errors.off.size());
    score.mape = score.form_mape = errors.summary().mean;
    score.bias = errors.bias();
  }
}

}  // namespace

const FitScore* find_score(const ComputeProfile& profile, std::string_view part) {
  for (const FitScore& score : profile.scores) {
    if (score.part == part) return &score;
  }
  return nullptr;
}

std::vector<KernelPoint> score_kernels(const KernelTables& tables, ComputeProfile& profile,
                                       std::size_t worst) {
  const ComputeProfile fit = fit_kernels(
      filtered(tables, [](const auto& row) { return !held_out_row(row); }), {&profile, false});
  std::map<std::string, Errors> errors;
  std::map<std::string, std::vector<KernelPoint>> points;
  RowScorer(tables, fit)
      .visit([](const auto& row) { return held_out_row(row); },
             [&](const std::string& part, const auto& row, double predicted, double weight_bytes) {
               errors[part].add(predicted, row.us);
               points[part].push_back({part, shape_of(row), row.us, predicted, true, row.from,
                                       why_off(row, *tables.gpu, weight_bytes)});
             });
  for (const auto& [part, of] : errors) put_unseen(profile, part, of);
  score_lengths(tables, profile);
  if (!tables.products.empty() && !tables.attention.empty()) {
    const MeasuredKernels measured(tables);
    score_steps(tables, measured, fit, profile);
    score_unseen_models(tables, measured, profile);
  }
  score_skew(tables, profile);
  std::vector<KernelPoint> out;
  for (auto& [part, of] : points) {
    const auto off = [](const KernelPoint& p) {
      return percent_off(p.predicted_us, p.measured_us);
    };
    std::stable_sort(of.begin(), of.end(),
                     [&](const KernelPoint& a, const KernelPoint& b) { return off(a) > off(b); });
    of.resize(std::min(of.size(), worst));
    std::move(of.begin(), of.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace spillway
