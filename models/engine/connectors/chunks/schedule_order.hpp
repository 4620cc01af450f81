// The order in which vLLM's output of a schedule names requests: new ones, those that were running,
// resumed ones (vllm/v1/core/sched/output.py). A plan has running ones first.
#pragma once

#include <algorithm>

#include "models/requests/active_request.hpp"
#include "models/requests/step_plan.hpp"

namespace spillway {

/// `admitted(request)`: it was in this pass; asked before the first visit(item, admitted).
template <class Admitted, class Visit>
void in_schedule_order(const StepPlan& plan, const RequestPool& requests, Admitted admitted,
                       Visit visit) {
  const auto end = plan.items.end();
  const auto behind = std::find_if(plan.items.begin(), end,
                                   [&](const auto& item) { return admitted(item.request); });
  const auto is_new = [&](const auto& item) { return requests[item.request].preemptions == 0; };
  for (auto it = behind; it != end; ++it) {
    if (is_new(*it)) visit(*it, true);
  }
  for (auto it = plan.items.begin(); it != behind; ++it) visit(*it, false);
  for (auto it = behind; it != end; ++it) {
    if (!is_new(*it)) visit(*it, true);
  }
}

}  // namespace spillway
