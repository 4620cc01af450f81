#include "models/compute/forward_cost.hpp"

#include <algorithm>

#include "models/requests/step_plan.hpp"

namespace spillway {

ForwardCost::ForwardCost(std::unique_ptr<StepCost> cost, std::uint32_t kept_tokens,
                         bool collectives)
    : cost_(std::move(cost)),
      kept_tokens_(kept_tokens > 0 ? kept_tokens : ~std::uint32_t{0}),
      window_(cost_->window()),
      collectives_(collectives) {}

Duration ForwardCost::of(const StepPlan& plan) {
  const StepShape shape = shape_of(plan);
  count(shape, {&shape, 1});
  return cost_->step_time(shape);
}

void ForwardCost::count(const StepShape& shape, std::span<const StepShape> group) {
  if (collectives_) collective_ += cost_->collective_time(shape, group);
}

StepShape ForwardCost::shape_of(const StepPlan& plan) {
  StepShape shape;
  chunks_.clear();
  for (const ScheduledTokens& item : plan.items) {
    if (item.tokens == 1) {
      ++shape.decodes;
      shape.decode_context += std::min(item.computed + 1, kept_tokens_);
    } else {
      chunks_.push_back({item.tokens, std::min(item.computed, kept_tokens_)});
    }
    shape.sampled += item.samples ? 1 : 0;
  }
  shape.prefills = chunks_;
  if (window_ > 0) shape.windowed_context = windowed(plan);
  return shape;
}

/// Of all decodes of the plan, what layers of sliding attention read.
std::uint64_t ForwardCost::windowed(const StepPlan& plan) const {
  const std::uint32_t most = std::min(kept_tokens_, window_);
  std::uint64_t out = 0;
  for (const ScheduledTokens& item : plan.items) {
    if (item.tokens == 1) out += std::min(item.computed + 1, most);
  }
  return out;
}

Duration ForwardCost::of_decodes(const StepPlan& plan) {
  StepShape decodes;
  for (const ScheduledTokens& item : plan.items) {
    if (item.tokens > 1) continue;
    ++decodes.decodes;
    decodes.decode_context += item.computed + 1;
    decodes.sampled += item.samples ? 1 : 0;
  }
  if (window_ > 0) decodes.windowed_context = windowed(plan);
  return decodes.decodes > 0 ? cost_->step_time(decodes) : Duration(0);
}

}  // namespace spillway
