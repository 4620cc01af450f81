#include "models/calibration/confidence.hpp"

#include <Eigen/Dense>
#include <cmath>

namespace spillway {

std::vector<double> deviations(std::span<const std::vector<double>> slopes, double noise,
                               std::span<const double> prior) {
  const auto count = static_cast<Eigen::Index>(prior.size());
  // In units of each prior, so that parameters of any size stand beside one another.
  const Eigen::VectorXd unit = Eigen::Map<const Eigen::VectorXd>(prior.data(), count);
  Eigen::MatrixXd information = Eigen::MatrixXd::Identity(count, count);
  for (const std::vector<double>& slope : slopes) {
    const Eigen::VectorXd row =
        Eigen::Map<const Eigen::VectorXd>(slope.data(), count).cwiseProduct(unit) / noise;
    information += row * row.transpose();
  }
  const Eigen::MatrixXd covariance =
      information.ldlt().solve(Eigen::MatrixXd::Identity(count, count));
  std::vector<double> out;
  for (Eigen::Index k = 0; k < count; ++k) out.push_back(std::sqrt(covariance(k, k)) * unit(k));
  return out;
}

}  // namespace spillway
