#include "models/compute/product_time.hpp"

#include "models/compute/kernel_choice.hpp"

namespace spillway {

ProductTime::ProductTime(const ComponentsCost& p, const WeightFormat& format, bool experts)
    : weight_bytes_(format.bytes),
      form_{p.kernels.gemm_overhead_us, p.kernels.flop_efficiency, p.kernels.byte_efficiency,
            p.kernels.gemm_norm} {
  const ProductUnits units = product_units(*p.gpu, format, experts);
  peaks_ = product_peaks(*p.gpu, units.fp8);
  measured_ = p.profile == nullptr ? nullptr : choose_products(*p.profile, units.fp8);
  if (measured_ != nullptr) form_ = form_of(*measured_);
  form_.flop_efficiency *= units.flop_share;
  if (p.profile == nullptr) return;
  form_.flop_efficiency /= p.profile->scales.compute;
  form_.byte_efficiency /= p.profile->scales.memory;
}

ProductTime::Matrix ProductTime::matrix(double inputs, double outputs) const {
  Matrix out{inputs, outputs, {}};
  const bool any = inputs > 0 && outputs > 0;  // a model may lack a matrix
  if (measured_ != nullptr && any) out.ratio = ProductRatio(measured_->curves, inputs, outputs);
  return out;
}

double ProductTime::seconds(const Matrix& matrix, double rows) const {
  const double form =
      product_seconds(form_, {rows, matrix.inputs, matrix.outputs}, peaks_, weight_bytes_);
  return measured_ == nullptr ? form : form * matrix.ratio.at(rows);
}

}  // namespace spillway
