// Matrix products of one model on one rank: the form, by a profile's ratios where there is one.
#pragma once

#include "models/compute/kernel_forms.hpp"
#include "models/compute/ratio_grid.hpp"

namespace spillway {

class ProductTime {
 public:
  /// A weight matrix, with what was measured of its shape.
  struct Matrix {
    double inputs;
    double outputs;
    ProductRatio ratio;
  };

  /// By weights of `format`, by which kernels and peak rate are chosen; `experts`: of experts.
  ProductTime(const ComponentsCost& p, const WeightFormat& format, bool experts = false);

  Matrix matrix(double inputs, double outputs) const;
  double seconds(const Matrix& matrix, double rows) const;

 private:
  double weight_bytes_;
  PeakRates peaks_;
  ProductForm form_;
  const ProductKernels* measured_ = nullptr;
};

}  // namespace spillway
