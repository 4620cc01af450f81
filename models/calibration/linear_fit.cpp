#include "models/calibration/linear_fit.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "sim/error.hpp"

namespace spillway {

LinearFit fit_linear(std::span<const double> x, std::size_t columns, std::span<const double> y) {
  KV_ASSERT(!y.empty() && x.size() == y.size() * columns, "a table of another size");
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto rows = static_cast<Eigen::Index>(y.size());
  const auto width = static_cast<Eigen::Index>(columns);
  const Eigen::Map<const Rows> table(x.data(), rows, width);
  const Eigen::Map<const Eigen::VectorXd> right(y.data(), rows);
  const Eigen::VectorXd best = table.completeOrthogonalDecomposition().solve(right);
  const double variance = (right - table * best).squaredNorm() / static_cast<double>(rows);
  const Eigen::MatrixXd squares = table.transpose() * table;
  const Eigen::MatrixXd inverse = squares.completeOrthogonalDecomposition().pseudoInverse();
  LinearFit out;
  for (Eigen::Index k = 0; k < width; ++k) {
    out.value.push_back(best(k));
    out.error.push_back(std::sqrt(variance * inverse(k, k)));
  }
  return out;
}

}  // namespace spillway
