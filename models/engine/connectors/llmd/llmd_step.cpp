#include "models/engine/connectors/llmd/llmd_step.hpp"

namespace spillway {

void LlmdStep::start(const StepTransfers& transfers) {
  transfers_ = &transfers;
  submitted_ = clear_ = called_ = false;
  asked_ = connector_.take_lookup_time();
  all_asked_ += asked_;
  if (asked_ == Duration(0)) return submit();
  place_.queue.schedule(place_.queue.now() + asked_, Phase::kStepStart, place_.rank, *this, {});
}

/// Jobs may end as they are submitted or cancelled: the engine asks then, and is told to wait.
void LlmdStep::submit() {
  connector_.jobs().submit_stores(transfers_->stores);
  threads_->cancel(connector_.flushed());
  submitted_ = true;
  clear_ = transfers_->fences_pending == 0;
}

bool LlmdStep::flushed(const StepPlan&, const StepTransfers& transfers) {
  if (clear_ || !submitted_ || called_ || transfers.fences_pending > 0) return clear_;
  called_ = true;
  place_.queue.schedule(place_.queue.now(), Phase::kStepStart, place_.rank, *this, {});
  return false;
}

void LlmdStep::on_event(EventPayload) {
  if (submitted_) {
    clear_ = true;
  } else {
    submit();
  }
  if (clear_) place_.waiter.on_step_progress();
}

void LlmdStep::load(const StepPlan& plan, const StepTransfers& transfers, Time) {
  work_ = {};
  work_.lookups = plan.lookups;
  work_.took = asked_;
  for (const auto* jobs : {&transfers.stores, &transfers.loads}) {
    work_.jobs += static_cast<std::uint32_t>(jobs->size());
    for (const std::uint32_t job : *jobs) work_.copies += connector_.jobs()[job].blocks;
  }
  submitting_ = true;
  connector_.jobs().submit_loads(transfers.loads);
  submitting_ = false;
}

}  // namespace spillway
