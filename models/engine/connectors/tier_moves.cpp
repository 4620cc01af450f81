#include "models/engine/connectors/tier_moves.hpp"

#include <algorithm>

#include "models/compute/forward_cost.hpp"

namespace spillway {

TierMoves::TierMoves(const OffloadConfig& config, TransferJobs& jobs,
                     std::unique_ptr<TransferPath> path)
    : jobs_(jobs),
      config_(config),
      wait_(config.load, config.layers, jobs),
      path_(std::move(path)) {
  jobs_.attach(*path_);
}

void TierMoves::count(const std::vector<std::uint32_t>& jobs, std::uint32_t& number,
                      std::uint32_t& copies) const {
  number += static_cast<std::uint32_t>(jobs.size());
  for (const std::uint32_t job : jobs) copies += jobs_[job].blocks * config_.copies_per_block;
}

void TierMoves::load(const StepPlan& plan, const StepTransfers& transfers, Time now) {
  flushed_ = now;
  const Duration before = work_.compute;
  work_ = {};
  work_.lookups = plan.lookups;
  // The host goes ahead of the GPU by a step.
  work_.cover = config_.async_scheduling ? before : Duration(0);
  count(transfers.stores, work_.jobs, work_.copies);
  count(transfers.loads, work_.jobs, work_.copies);
  count(transfers.behind, work_.late_jobs, work_.late_copies);
  wait_.begin(transfers.loads, !plan.items.empty());
}

Duration TierMoves::begin_forward(const StepPlan&, Time now, Duration compute) {
  work_.compute = compute_ = compute;
  told_ = false;
  own_ = connector_time(config_.costs, work_);
  work_.took = own_;
  connector_ += own_;
  wait_.begin_forward(now + own_, compute);
  return own_;
}

std::optional<Time> TierMoves::new_end(Time now) {
  if (told_) return std::nullopt;
  const std::optional<Time> end = wait_.forward_end(now);
  if (!end) return end;
  told_ = true;
  const Duration late = *end - flushed_ - compute_ - own_;
  stalls_ += late.count() > 0 ? 1 : 0;
  stall_ += late;
  return end;
}

void TierMoves::report(EngineStats& stats) const {
  stats.load_stalls = stalls_;
  stats.load_stall = stall_;
  stats.connector = connector_;
}

SlowedMoves::SlowedMoves(TierMoves moves, const CopyInterference& interference, ForwardCost& cost)
    : TierMoves(std::move(moves)), clock_(interference), cost_(cost) {}

/// Decodes are bound by memory, what prefills add to them by compute; the connector's own time is
/// the host's, which copies do not slow.
Duration SlowedMoves::begin_forward(const StepPlan& plan, Time now, Duration compute) {
  const Duration memory = std::min(cost_.of_decodes(plan), compute);
  const Duration later = TierMoves::begin_forward(plan, now, compute);
  left_ = {compute - memory + later, memory};
  return later;
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
  return computes ? clock_.start(now, left_, jobs_.busy()) : *end;
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
