#include "models/compute/product_time.hpp"

#include "models/compute/kernel_choice.hpp"

namespace spillway {

namespace {

bool fp8_products(const ComponentsCost& p, double weight_bytes) {
  return weight_bytes < kFp8WeightBytes && !p.bf16_products;
}

}  // namespace

ProductTime::ProductTime(const ComponentsCost& p, double weight_bytes)
    : weight_bytes_(weight_bytes),
      peaks_(product_peaks(*p.gpu, fp8_products(p, weight_bytes))),
      form_{p.kernels.gemm_overhead_us, p.kernels.flop_efficiency, p.kernels.byte_efficiency,
            p.kernels.gemm_norm} {
  if (p.profile == nullptr) return;
  measured_ = choose_products(*p.profile, fp8_products(p, weight_bytes));
  if (measured_ != nullptr) form_ = form_of(*measured_);
  form_.flop_efficiency /= p.profile->scales.compute;
  form_.byte_efficiency /= p.profile->scales.memory;
}

ProductTime::Matrix ProductTime::matrix(double inputs, double outputs) const {
  Matrix out{inputs, outputs, {}};
  const bool any = inputs > 0 && outputs > 0;  // a model may lack a matrix
  if (measured_ != nullptr && any) out.ratio = ProductRatio(measured_->curves, inputs, outputs);
  return out;
}

double ProductTime::seconds(const Matrix& matrix, double rows, double groups) const {
  const double form =
      product_seconds(form_, {rows, matrix.inputs, matrix.outputs, groups}, peaks_, weight_bytes_);
  return measured_ == nullptr ? form : form * matrix.ratio.at(rows);
}

}  // namespace spillway
