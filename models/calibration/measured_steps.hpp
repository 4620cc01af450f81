// Steps of a dense model put together from kernels: from measured ones, and from a profile's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "models/calibration/kernel_predictor.hpp"
#include "models/calibration/kernel_tables.hpp"
#include "models/calibration/layer_shapes.hpp"

namespace spillway {

/// A table's own times, interpolated in logarithms where a shape stands between measured ones.
class MeasuredKernels {
 public:
  explicit MeasuredKernels(const KernelTables& tables);

  /// Whether the table tells about that shape, up to so many rows.
  bool knows(const std::string& dtype, const std::pair<double, double>& shape, double rows) const;
  bool measured(const std::string& dtype, const std::pair<double, double>& shape) const;
  double product_us(const std::string& dtype, const std::pair<double, double>& shape,
                    double rows) const;
  double elementwise_us(double tokens) const;  ///< of one layer; 0 where not measured
  double sampler_us(double sequences) const;

 private:
  struct Products {
    RatioTable times;  ///< over inputs, outputs, rows
    std::set<std::pair<double, double>> shapes;
    std::pair<double, double> least{1e300, 1e300};
    std::pair<double, double> most{0, 0};
    double most_rows = 0;
  };
  std::map<std::string, Products> products_;
  RatioTable elementwise_;
  RatioTable sampler_;
};

/// A profile's times of the same kernels.
class PredictedKernels {
 public:
  /// `profile` outlives it.
  PredictedKernels(const ComputeProfile& profile, const GpuSpec& gpu, const LayerPasses& layer);

  double product_us(const std::string& dtype, const std::pair<double, double>& shape, double rows);
  double elementwise_us(double tokens) const;
  double sampler_us(double sequences) const;

 private:
  const ComputeProfile* profile_;
  LayerPasses layer_;
  double memory_rate_;
  std::map<std::string, ProductPredictor> products_;
  RatioTable elementwise_;
};

/// One step: all layers, and the output head where its product was measured.
template <class Kernels>
double step_us(Kernels& kernels, const ModelSpec& model, const LayerShapes& shapes,
               const std::string& dtype, bool elementwise, bool head, double tokens, double sampled,
               double attention_us) {
  double layer = attention_us;
  for (const auto& shape : {shapes.qkv, shapes.output, shapes.up, shapes.down}) {
    layer += kernels.product_us(dtype, shape, tokens);
  }
  if (elementwise) layer += kernels.elementwise_us(tokens);
  double out = layer * model.layers;
  if (head) out += kernels.product_us(dtype, shapes.head, sampled) + kernels.sampler_us(sampled);
  return out;
}

}  // namespace spillway
