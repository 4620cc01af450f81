#include "models/engine/connectors/tier_moves.hpp"

#include <algorithm>

#include "models/compute/forward_cost.hpp"

namespace spillway {

TierMoves::TierMoves(LoadSemantics semantics, std::uint32_t layers, TransferJobs& jobs,
                     std::unique_ptr<TransferPath> path)
    : jobs_(jobs), wait_(semantics, layers, jobs), path_(std::move(path)) {
  jobs_.attach(*path_);
}

void TierMoves::load(const StepPlan& plan, const StepTransfers& transfers, Time now) {
  flushed_ = now;
  wait_.begin(transfers.loads, !plan.items.empty());
}

Duration TierMoves::begin_forward(const StepPlan&, Time now, Duration compute) {
  compute_ = compute;
  told_ = false;
  wait_.begin_forward(now, compute);
  return Duration(0);
}

std::optional<Time> TierMoves::new_end(Time now) {
  if (told_) return std::nullopt;
  const std::optional<Time> end = wait_.forward_end(now);
  if (!end) return end;
  told_ = true;
  const Duration late = *end - flushed_ - compute_;
  stalls_ += late.count() > 0 ? 1 : 0;
  stall_ += late;
  return end;
}

void TierMoves::report(EngineStats& stats) const {
  stats.load_stalls = stalls_;
  stats.load_stall = stall_;
}

SlowedMoves::SlowedMoves(TierMoves moves, const CopyInterference& interference, ForwardCost& cost)
    : TierMoves(std::move(moves)), clock_(interference), cost_(cost) {}

/// Decodes are bound by memory, what prefills add to them by compute.
Duration SlowedMoves::begin_forward(const StepPlan& plan, Time now, Duration compute) {
  const Duration memory = std::min(cost_.of_decodes(plan), compute);
  work_ = {compute - memory, memory};
  return TierMoves::begin_forward(plan, now, compute);
}

/// A transfer that begins or ends while the step computes leaves less or more of it.
std::optional<Time> SlowedMoves::new_end(Time now) {
  const bool computes = compute_.count() > 0;
  if (undisturbed_ != kNever) {
    return computes ? clock_.retime(now, jobs_.busy()) : std::nullopt;
  }
  const std::optional<Time> end = TierMoves::new_end(now);
  if (!end) return end;
  undisturbed_ = *end;
  return computes ? clock_.start(now, work_, jobs_.busy()) : *end;
}

void SlowedMoves::end(const StepTransfers& transfers, Time now) {
  if (undisturbed_ != kNever) harm_ += now - undisturbed_;
  undisturbed_ = kNever;
  TierMoves::end(transfers, now);
}

void SlowedMoves::report(EngineStats& stats) const {
  TierMoves::report(stats);
  stats.copy_harm = harm_;
}

}  // namespace spillway
