// What a fit varies: parameters with bounds, what is believed of them before any data, and how far
// the form itself may err.
#pragma once

#include <utility>
#include <vector>

#include "models/calibration/least_squares.hpp"

namespace spillway {

class FitForm {
 public:
  FitForm() = default;
  FitForm(std::vector<Parameter> parameters, std::vector<double> priors, double form_error)
      : parameters_(std::move(parameters)), priors_(std::move(priors)), form_error_(form_error) {}

  /// With physical bounds; start is what is believed before any data.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Standard deviations of that belief.
  const std::vector<double>& priors() const { return priors_; }
  std::vector<double> start() const {
    std::vector<double> out;
    for (const Parameter& p : parameters_) out.push_back(p.start);
    return out;
  }
  /// Standard deviation of the logarithm by which the form errs on steps of one class.
  double form_error() const { return form_error_; }

 protected:
  std::vector<Parameter> parameters_;
  std::vector<double> priors_;
  double form_error_ = 0;
};

}  // namespace spillway
