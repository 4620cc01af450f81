#include "scenarios/run/binding.hpp"

#include <algorithm>

#include "reports/notes/run_notes.hpp"

namespace spillway {

namespace {

constexpr double kBusyLink = 0.8;     // of the time: the planner's measure, too
constexpr double kMuchStalled = 0.2;  // of the time of steps
constexpr double kMuchQueued = 0.2;   // of the time, with requests waiting
constexpr double kMostly = 0.5;       // of the time in which requests wait
constexpr double kBusyGpu = 0.9;

double ratio(Duration part, Duration whole) {
  return whole.count() == 0
             ? 0
             : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

}  // namespace

void BindingWatch::on_step(const StepRecord& record) {
  const Duration lasted = record.end - record.start;
  computing_ += lasted;
  stalled_ += record.stall;
  last_ = std::max(last_, record.end);
  if (record.waiting == 0) return;
  queued_ += lasted;
  starved_ += record.starved ? lasted : Duration(0);
  const bool crowded = record.running >= max_num_seqs_;
  crowded_ += crowded ? lasted : Duration(0);
  const bool spare = !record.starved && !crowded && record.scheduled_tokens < step_tokens_;
  loading_ += spare ? lasted : Duration(0);
}

void BindingWatch::on_request(const RequestRecord& record) {
  if (record.arrival != kNever) first_ = std::min(first_, record.arrival);
}

/// Of the time from the first arrival to the last step's end, an average engine's.
double BindingWatch::share(Duration part) const {
  return last_ > first_ ? ratio(part, (last_ - first_) * engines_) : 0;
}

BindingResource BindingWatch::find(const RunResult& run) const {
  for (const LinkResult& link : run.links) {
    if (link.busy_fraction < kBusyLink) continue;
    return {link.name,
            run_note("link-limits", {{"link", link.name}, {"busy_share", link.busy_fraction}})};
  }
  const auto busiest = std::max_element(
      run.links.begin(), run.links.end(),
      [](const LinkResult& a, const LinkResult& b) { return a.busy_fraction < b.busy_fraction; });
  if (const double stalled = ratio(stalled_, computing_); stalled >= kMuchStalled) {
    return {busiest == run.links.end() ? "transfers" : busiest->name,
            run_note("transfers-limit", {{"stalled_share", stalled}})};
  }
  const double queued = share(queued_);
  const double busy = share(computing_);
  if (queued >= kMuchQueued) {
    const double starved = ratio(starved_, queued_);
    const double crowded = ratio(crowded_, queued_);
    const double loading = ratio(loading_, queued_);
    if (starved >= kMostly && starved >= crowded) {
      return {"hbm",
              run_note("hbm-limits", {{"queued_share", queued}, {"starved_share", starved}})};
    }
    if (crowded >= kMostly) {
      return {"max_num_seqs",
              run_note("batch-limits", {{"queued_share", queued}, {"full_share", crowded}})};
    }
    if (loading >= kMostly && !run.swap && busiest != run.links.end()) {
      return {busiest->name, run_note("loads-limit", {{"queued_share", queued},
                                                      {"loading_share", loading},
                                                      {"link", busiest->name},
                                                      {"busy_share", busiest->busy_fraction}})};
    }
    if (busy >= kBusyGpu) {
      return {"compute",
              run_note("compute-limits", {{"queued_share", queued}, {"busy_share", busy}})};
    }
  }
  for (std::size_t i = 1; i < run.tiers.size(); ++i) {
    const TierResult& tier = run.tiers[i];
    if (tier.store_failures == 0) continue;
    if (tier.chunks) {
      return {tier.name, run_note("no-room-limits",
                                  {{"tier", tier.name}, {"chunks", tier.store_failures}})};
    }
    return {tier.name,
            run_note("pins-limit", {{"tier", tier.name}, {"stores", tier.store_failures}})};
  }
  return {"none", run_note("nothing-limits", {{"queued_share", queued}, {"busy_share", busy}})};
}

}  // namespace spillway
