#include "scenarios/planner/consequences/counterfactuals.hpp"

#include <fmt/format.h>

#include <functional>

#include "reports/notes/plan_notes.hpp"
#include "scenarios/planner/consequences/factors.hpp"
#include "scenarios/planner/judgement/plan_facts.hpp"
#include "scenarios/planner/runs/trial_runner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

struct Change {
  const char* kind;
  std::string words;
  std::function<void(WhatIf&)> apply;
};

/// Rates of links, media and storage doubled, latencies halved.
void double_links(Scenario& s) {
  scale_links(s, 2);
  scale_storage(s, 2);
  for (auto* link : {&s.down, &s.up}) {
    if (*link) (*link)->latency /= 2;
  }
  for (LinkChoice& link : s.rank_links) link.latency /= 2;
}

void double_hbm(Scenario& s) {
  s.engine.num_gpu_blocks += s.engine.usable_blocks();
}

bool has_tier(const Scenario& s) {
  return s.tier && (s.tier->capacity.kind == Capacity::Kind::kUnbounded ||
                    s.tier_blocks(s.tier->capacity) > 0);
}

/// Those that the scenario has a use for, what is asked first first.
std::vector<Change> changes_of(const Scenario& s) {
  std::vector<Change> out;
  const bool clients = s.workload->arrival.kind == ArrivalConfig::Kind::kClosedLoop;
  out.push_back({"load", clients ? "half the clients" : "half the load",
                 [](WhatIf& run) { scale_rate(run.scenario, 0.5); }});
  out.push_back(
      {"compute", "twice the compute speed", [](WhatIf& run) { run.compute_time = 0.5; }});
  out.push_back({"hbm", "twice the blocks in HBM", [](WhatIf& run) { double_hbm(run.scenario); }});
  if (s.tier && s.tier->capacity.kind != Capacity::Kind::kUnbounded) {
    out.push_back({"capacity", fmt::format("a {} without bound", s.tier->name), [](WhatIf& run) {
                     run.scenario.tier->capacity = {Capacity::Kind::kUnbounded, 0};
                   }});
  }
  if (has_tier(s)) {
    out.push_back(
        {"bandwidth", "links twice as fast", [](WhatIf& run) { double_links(run.scenario); }});
  }
  if (s.admission.name() != "always") {
    out.push_back({"admission", fmt::format("no {}", s.admission.text()),
                   [](WhatIf& run) { run.scenario.admission = AdmissionChoice(); }});
  }
  out.push_back({"admission", fmt::format("{} places in the batch", 2 * s.engine.max_num_seqs),
                 [](WhatIf& run) { run.scenario.engine.max_num_seqs *= 2; }});
  KV_ASSERT(out.size() < kCounterfactualRuns, "{} changes", out.size());
  return out;
}

Counterfactual row_of(const char* kind, std::string change, const WhatIfOutcome& outcome,
                      std::size_t target) {
  return {kind, std::move(change), outcome.targets[target].value, outcome.margin, outcome.met};
}

}  // namespace

std::optional<Counterfactuals> find_counterfactuals(const CounterfactualQuestion& question) {
  const PlanResult& plan = question.cells.plan;
  if (plan.recommended >= 0 || plan.points.empty() || question.most_runs == 1) return std::nullopt;
  const auto at = static_cast<std::size_t>(judged_point(plan));
  if (plan.points[at].cold_limited) return std::nullopt;
  const Scenario& scenario = *question.cells.scenarios[at];
  std::vector<Change> changes = changes_of(scenario);
  Counterfactuals out;
  out.cell = cell_name(plan.points[at]);
  if (question.most_runs > 0 && changes.size() + 1 > question.most_runs) {
    changes.resize(question.most_runs - 1);
    out.notes.push_back(plan_note("changes-by-runs", {{"changes", changes.size()}}));
  }
  std::vector<WhatIf> runs;
  runs.push_back({scenario, {}, 1, kWorkloadItself, false});
  for (const Change& change : changes) {
    runs.push_back(runs.front());
    change.apply(runs.back());
  }
  const std::vector<WhatIfAnswer> answers = question.run(runs);
  KV_ASSERT(answers.size() == runs.size(), "{} answers to {} runs", answers.size(), runs.size());
  const auto outcome = [&](std::size_t i) {
    return outcome_of(scenario.slo, std::span(answers).subspan(i, 1));
  };
  const WhatIfOutcome base = outcome(0);
  if (!base.refused.empty() || (base.met && plan.undecided)) return std::nullopt;
  out.target = target_label(scenario.slo[base.tightest].name, scenario.slo[base.tightest].tenant);
  out.base = row_of("", "as it is", base, base.tightest);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const WhatIfOutcome changed = outcome(i + 1);
    if (changed.refused.empty()) {
      out.all.push_back(row_of(changes[i].kind, changes[i].words, changed, base.tightest));
    } else {
      out.notes.push_back(
          plan_note("change-refused", {{"change", changes[i].words}, {"why", changed.refused}}));
    }
  }
  return out;
}

}  // namespace spillway
