#include "models/calibration/measured_steps.hpp"

#include <algorithm>

#include "models/calibration/ratio_fit.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

// A table of fewer shapes than this is of one model, and tells about these shapes only.
constexpr std::size_t kManyStepShapes = 16;

RatioTable times_of(const std::vector<CountRow>& rows) {
  std::vector<RatioPoint> points;
  for (const CountRow& row : rows) points.push_back({{row.count, 1, 1}, row.us, 1});
  return RatioTable(median_grid(points, {1, 1, 1}, {0, 1, 2}));
}

}  // namespace

MeasuredKernels::MeasuredKernels(const KernelTables& tables)
    : elementwise_(times_of(tables.elementwise)), sampler_(times_of(tables.sampler)) {
  for (const auto& [dtype, rows] : tables.products) {
    Products& products = products_[dtype];
    std::vector<RatioPoint> points;
    for (const ProductRow& row : rows) {
      points.push_back({{row.inputs, row.outputs, row.rows}, row.us, 1});
      products.shapes.insert({row.inputs, row.outputs});
      products.least = {std::min(products.least.first, row.inputs),
                        std::min(products.least.second, row.outputs)};
      products.most = {std::max(products.most.first, row.inputs),
                       std::max(products.most.second, row.outputs)};
      products.most_rows = std::max(products.most_rows, row.rows);
    }
    products.times = RatioTable(median_grid(points, {1, 1, 1}, {2, 1, 0}));
  }
}

bool MeasuredKernels::knows(const std::string& dtype, const std::pair<double, double>& shape,
                            double rows) const {
  const auto at = products_.find(dtype);
  if (at == products_.end() || rows > at->second.most_rows) return false;
  const Products& p = at->second;
  if (p.shapes.size() < kManyStepShapes) return p.shapes.contains(shape);
  return shape.first >= p.least.first && shape.first <= p.most.first &&
         shape.second >= p.least.second && shape.second <= p.most.second;
}

bool MeasuredKernels::measured(const std::string& dtype,
                               const std::pair<double, double>& shape) const {
  const auto at = products_.find(dtype);
  return at != products_.end() && at->second.shapes.contains(shape);
}

double MeasuredKernels::product_us(const std::string& dtype, const std::pair<double, double>& shape,
                                   double rows) const {
  return products_.at(dtype).times.at({shape.first, shape.second, rows});
}

double MeasuredKernels::elementwise_us(double tokens) const {
  return elementwise_.empty() ? 0 : elementwise_.at({tokens, 1, 1});
}

double MeasuredKernels::sampler_us(double sequences) const {
  return sampler_.empty() ? 0 : sampler_.at({sequences, 1, 1});
}

PredictedKernels::PredictedKernels(const ComputeProfile& profile, const GpuSpec& gpu,
                                   const LayerPasses& layer)
    : profile_(&profile),
      layer_(layer),
      memory_rate_(gpu.memory_gbs * 1e9),
      elementwise_(profile.elementwise) {
  for (const ProductKernels& kernels : profile.products) {
    products_.emplace(kernels.dtype, ProductPredictor(kernels, gpu));
  }
}

double PredictedKernels::product_us(const std::string& dtype,
                                    const std::pair<double, double>& shape, double rows) {
  return products_.at(dtype).us({rows, shape.first, shape.second});
}

double PredictedKernels::elementwise_us(double tokens) const {
  const double form =
      1e6 * elementwise_seconds({profile_->elementwise_us, profile_->elementwise_efficiency},
                                layer_, tokens, memory_rate_);
  return elementwise_.empty() ? form : form * elementwise_.at({tokens});
}

double PredictedKernels::sampler_us(double sequences) const {
  return profile_->sampler_us + profile_->sequence_us * sequences;
}

}  // namespace spillway
