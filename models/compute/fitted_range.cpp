// Which steps were behind a fit.
#include <algorithm>

#include "models/compute/compute_profile.hpp"

namespace spillway {

namespace {

double new_prompt_tokens(const StepShape& shape) {
  return static_cast<double>(shape.prompt_tokens());
}

double held_by_one(const StepShape& shape) {
  return static_cast<double>(shape.decode_context) / shape.decodes;
}

}  // namespace

void FittedRange::Span::add(double value) {
  least = known() ? std::min(least, value) : value;
  most = std::max(most, value);
}

bool FittedRange::Span::holds(double value) const {
  return value >= least && value <= most;
}

void FittedRange::add(const StepShape& shape) {
  if (shape.decodes > 0) {
    decodes.add(shape.decodes);
    context.add(held_by_one(shape));
  }
  if (!shape.prefills.empty()) prefill_tokens.add(new_prompt_tokens(shape));
}

bool FittedRange::holds(const StepShape& shape) const {
  if (shape.decodes > 0 && !(decodes.holds(shape.decodes) && context.holds(held_by_one(shape)))) {
    return false;
  }
  return shape.prefills.empty() || prefill_tokens.holds(new_prompt_tokens(shape));
}

}  // namespace spillway
