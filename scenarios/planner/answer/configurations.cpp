#include "scenarios/planner/answer/configurations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/planner/consequences/factors.hpp"
#include "scenarios/planner/runs/trial_runner.hpp"
#include "scenarios/planner/selection/target_margin.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

/// One request at a time: each waits until the one before has its answer.
void send_one_by_one(Scenario& s) {
  s.workload->arrival.kind = ArrivalConfig::Kind::kClosedLoop;
  s.workload->arrival.concurrency = 1;
  s.workload->arrival.horizon = Time::max();
  s.workload->warmup = Time{};
  s.fleet->replicas = 1;  // the others would be idle
}

void lift_bounds(Scenario& s) {
  if (s.tier) s.tier->capacity = {Capacity::Kind::kUnbounded, 0};
}

bool sets(std::span<const KeyChange> changes, std::string_view key) {
  return std::any_of(changes.begin(), changes.end(),
                     [&](const KeyChange& change) { return change.key == key; });
}

}  // namespace

bool bounds_latency(const SloTarget& target) {
  if (target.at_least) return false;
  for (const std::string_view figure : {"ttft", "tpot", "itl", "e2el"}) {
    if (target.name.find(fmt::format("_{}_", figure)) != std::string::npos) return true;
  }
  return false;
}

Scenario Configurations::scenario(int cell, std::span<const KeyChange> changes) const {
  const PlanCell& base = space_.cells[static_cast<std::size_t>(cell)];
  JsonSource source = source_;
  for (const auto& [key, value] : space_.variants[base.variant].values) {
    source.set(fmt::format("{}={}", key, value), "plan.search");
  }
  for (const KeyChange& change : changes) {
    source.set(fmt::format("{}={}", change.key, change.to), "a change that was tried");
  }
  Scenario out = load_scenario(source);
  if (out.tier && base.scenario.tier && !sets(changes, "tiers.0.capacity")) {
    out.tier->capacity = base.scenario.tier->capacity;
  }
  return out;
}

WhatIf Configurations::what_if(int cell, const Configuration& asked) const {
  WhatIf out;
  out.scenario = asked.changes.empty() ? space_.cells[static_cast<std::size_t>(cell)].scenario
                                       : scenario(cell, asked.changes);
  if (asked.alone) send_one_by_one(out.scenario);
  if (asked.alone || asked.unbounded) lift_bounds(out.scenario);
  if (asked.load != 1) scale_rate(out.scenario, asked.load);
  if (asked.copy_rate != 1) {
    scale_links(out.scenario, asked.copy_rate);
    scale_storage(out.scenario, asked.copy_rate);
  }
  out.compute_time = asked.compute_time;
  out.growth.context = asked.context;
  out.growth.rate = asked.sessions;
  out.verdict_only = asked.verdict_only;
  return out;
}

std::vector<TriedChange> Configurations::run(int cell, std::span<const Configuration> asked,
                                             std::span<const std::uint32_t> replicates) {
  static constexpr std::uint32_t kItself[] = {kWorkloadItself};
  const std::span<const std::uint32_t> on = replicates.empty() ? kItself : replicates;
  std::vector<TriedChange> out(asked.size());
  std::vector<WhatIf> runs;
  std::vector<std::size_t> first(asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    out[i].kind = asked[i].kind;
    out[i].changes = asked[i].changes;
    out[i].replicates = static_cast<std::uint32_t>(replicates.size());
    first[i] = runs.size();
    try {
      const WhatIf one = what_if(cell, asked[i]);
      for (const std::uint32_t replicate : on) {
        runs.push_back(one);
        runs.back().replicate = replicate;
      }
    } catch (const InputError& error) {
      out[i].refused = error.what();
    }
  }
  runs_ += runs.size();
  const std::vector<WhatIfAnswer> answers = run_(runs);
  KV_ASSERT(answers.size() == runs.size(), "{} answers to {} runs", answers.size(), runs.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!out[i].refused.empty()) continue;
    judge(asked[i], runs[first[i]].scenario.slo, std::span(answers).subspan(first[i], on.size()),
          out[i]);
  }
  return out;
}

void Configurations::judge(const Configuration& asked, const std::vector<SloTarget>& slo,
                           std::span<const WhatIfAnswer> answers, TriedChange& out) const {
  const WhatIfOutcome outcome = outcome_of(slo, answers);
  if (!outcome.refused.empty()) {
    out.refused = outcome.refused;
    return;
  }
  out.met = true;
  bool first = true;
  for (std::size_t t = 0; t < slo.size(); ++t) {
    // Alone nothing is said about rates: nobody asks for more.
    if (asked.alone && !bounds_latency(slo[t])) continue;
    const TargetOutcome& found = outcome.targets[t];
    TriedTarget target{slo[t].name, slo[t].tenant, slo[t].at_least,
                       found.value, slo[t].target, found.met};
    double margin = found.margin;
    if (asked.alone) {
      // A floor is of those that are served: whom no server takes is another matter.
      target.met = target.value <= target.limit;
      margin = target_margin(
          {target.value, target.limit, false, target.value, target.limit, target.met});
    }
    out.margin = first ? margin : std::min(out.margin, margin);
    first = false;
    out.met = out.met && target.met;
    out.targets.push_back(std::move(target));
  }
  if (by_itself_ && !asked.alone && answers.size() == 1) {
    out.met = out.met && answers.front().trial->met;
  }
}

}  // namespace spillway
