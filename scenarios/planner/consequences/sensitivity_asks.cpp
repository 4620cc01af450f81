#include "scenarios/planner/consequences/sensitivity_asks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "scenarios/planner/runs/trial_runner.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kRunsPerFactor = 12;  // that answering everything takes, about

}  // namespace

SensitivityAsks::SensitivityAsks(const PlanCells& cells, const std::vector<Factor>& factors,
                                 std::vector<std::uint32_t> replicates, WhatIfBatch run,
                                 std::uint64_t most_runs)
    : cells_(cells),
      factors_(factors),
      replicates_(std::move(replicates)),
      run_(std::move(run)),
      most_runs_(most_runs) {
  KV_ASSERT(!replicates_.empty(), "no replicate to ask");
  if (most_runs_ == 0) return;
  const std::uint64_t each = kRunsPerFactor * (factors_.size() + 1);
  const auto most = static_cast<std::size_t>(std::max<std::uint64_t>(1, most_runs_ / each));
  if (replicates_.size() > most) replicates_.resize(most);
}

bool SensitivityAsks::affordable(std::size_t asks) const {
  return most_runs_ == 0 || runs_ + asks * replicates_.size() <= most_runs_;
}

WhatIf SensitivityAsks::what_if(const Ask& ask, std::uint32_t replicate, bool verdict_only) const {
  WhatIf run{*cells_.scenarios[static_cast<std::size_t>(ask.point)]};
  run.replicate = replicate;
  run.verdict_only = verdict_only;
  run.base = cells_.scenarios[static_cast<std::size_t>(ask.point)];
  run.change = "nothing";
  if (ask.factor != kNoFactor) {
    factors_[ask.factor].apply(ask.at, run);
    run.change = fmt::format("{} x {}", factors_[ask.factor].name, ask.at);
  }
  return run;
}

void SensitivityAsks::learn(std::vector<Ask> asks, bool verdict_only) {
  std::set<Ask> seen;
  std::erase_if(asks, [&](const Ask& a) { return known_.contains(a) || !seen.insert(a).second; });
  while (!asks.empty() && !affordable(asks.size())) {
    asks.pop_back();
    out_of_runs_ = true;
  }
  if (asks.empty() || out_of_time_) return;
  std::vector<WhatIf> runs;
  // A run that is cut says at least how many miss; that is enough where it decides alone.
  const bool may_cut = verdict_only && replicates_.size() == 1;
  for (const Ask& ask : asks) {
    for (const std::uint32_t r : replicates_) runs.push_back(what_if(ask, r, may_cut));
  }
  std::vector<WhatIfAnswer> answers;
  try {
    answers = run_(runs);
  } catch (const OutOfTime&) {
    out_of_time_ = true;
    return;
  }
  KV_ASSERT(answers.size() == runs.size(), "{} answers to {} runs", answers.size(), runs.size());
  runs_ += runs.size();
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const auto point = static_cast<std::size_t>(asks[i].point);
    known_[asks[i]] =
        outcome_of(cells_.scenarios[point]->slo,
                   std::span(answers).subspan(i * replicates_.size(), replicates_.size()));
  }
}

const WhatIfOutcome* SensitivityAsks::find(const Ask& ask) const {
  const auto at = known_.find(ask);
  return at == known_.end() ? nullptr : &at->second;
}

}  // namespace spillway
