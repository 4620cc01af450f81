#include "scenarios/planner/consequences/stress.hpp"

#include <fmt/format.h>

#include <functional>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "scenarios/planner/consequences/factors.hpp"
#include "scenarios/planner/consequences/restart_watch.hpp"
#include "scenarios/planner/runs/trial_runner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr int kForecastMonths[] = {3, 6, 12};
constexpr double kPeaks[] = {1.5, 2};

/// Something that may happen, and the run that tries it; none where it cannot be tried.
struct Event {
  StressRow row;
  std::function<void(WhatIf&)> apply{};
};

double grown_by(double per_month, int months) {
  double out = 1;
  for (int i = 0; i < months; ++i) out *= 1 + per_month;
  return out;
}

class StressFinder {
 public:
  explicit StressFinder(const StressQuestion& question)
      : q_(question),
        s_(*question.cells.scenarios[static_cast<std::size_t>(question.point)]),
        growth_(question.growth_per_month.value_or(kAssumedGrowthPerMonth)),
        skip_(question.workload.size() / 2),
        warm_(question.workload.size(), skip_),
        cold_(question.workload.size() - skip_) {}

  std::optional<PlanStress> find() {
    out_.cell = cell_name(q_.cells.plan.points[static_cast<std::size_t>(q_.point)]);
    out_.growth_per_month = growth_;
    out_.growth_assumed = !q_.growth_per_month;
    list_events();
    keep_to_budget();
    if (!ask()) return std::nullopt;
    for (Event& event : events_) out_.rows.push_back(std::move(event.row));
    add_notes();
    return std::move(out_);
  }

 private:
  void add(const char* kind, std::string name, std::string change,
           std::function<void(WhatIf&)> apply) {
    events_.push_back({{kind, std::move(name), std::move(change)}, std::move(apply)});
  }

  /// What needs no run, with the reason.
  void settle(const char* kind, std::string name, StressOutcome outcome, std::string reason) {
    StressRow row{kind, std::move(name), ""};
    row.outcome = outcome;
    row.reason = std::move(reason);
    events_.push_back({std::move(row)});
  }

  void list_events() {
    add("as-is", "as it is", "nothing", [this](WhatIf& run) { run.watch = &warm_; });
    const bool clients = s_.workload->arrival.kind == ArrivalConfig::Kind::kClosedLoop;
    const char* what = clients ? "clients and sessions" : "sessions";
    for (const int months : kForecastMonths) {
      const double factor = grown_by(growth_, months);
      if (factor == 1) continue;
      add("forecast", fmt::format("in {} months", months),
          fmt::format("{:.2f} times the {}", factor, what),
          [factor](WhatIf& run) { run.growth.rate = factor; });
      events_.back().row.growth = factor;
    }
    for (const double factor : kPeaks) {
      add("peak", fmt::format("peak x{:g}", factor), fmt::format("{:g} times the {}", factor, what),
          [factor](WhatIf& run) { run.growth.rate = factor; });
      events_.back().row.growth = factor;
    }
    list_loss();
    list_restart();
    list_devices();
  }

  void list_loss() {
    const std::uint32_t replicas = s_.fleet->replicas;
    const std::uint32_t lost = s_.host ? std::max(1U, s_.host->instances) : 1;
    const char* name = "one host lost";
    if (replicas <= lost) {
      settle("lost-host", name, StressOutcome::kDown,
             replicas == 1
                 ? std::string("there is one instance, and service stops until its host is back")
                 : fmt::format("all {} instances stand on one host", replicas));
      return;
    }
    add("lost-host", name,
        fmt::format("{} of {} instances, which take all sessions from the start", replicas - lost,
                    replicas),
        [left = replicas - lost](WhatIf& run) { run.scenario.fleet->replicas = left; });
  }

  void list_restart() {
    const char* name = "cold restart";
    if (skip_ == 0) {
      settle("cold-restart", name, StressOutcome::kNotAsked, "the workload has one request");
      return;
    }
    add("cold-restart", name, "all caches emptied half-way; judged on the requests behind that",
        [this](WhatIf& run) {
          run.skip = skip_;
          run.watch = &cold_;
        });
  }

  void list_devices() {
    const bool storage = (s_.tier && s_.tier->storage) || !s_.behind.empty();
    if (storage) {
      add("storage", "storage at half speed", "half the rates of storage, the same latencies",
          [](WhatIf& run) { scale_storage(run.scenario, 0.5); });
    } else {
      settle("storage", "storage at half speed", StressOutcome::kNotAsked, "there is no storage");
    }
    const bool used = s_.tier && (s_.tier->capacity.kind == Capacity::Kind::kUnbounded ||
                                  s_.tier_blocks(s_.tier->capacity) > 0);
    if (used) {
      add("link", "host link at half speed", "half the rates of links, the same latencies",
          [](WhatIf& run) { scale_links(run.scenario, 0.5); });
    } else {
      settle("link", "host link at half speed", StressOutcome::kNotAsked,
             "nothing is kept below HBM, so that no link carries anything");
    }
  }

  void keep_to_budget() {
    std::uint64_t runs = 0;
    for (Event& event : events_) {
      if (!event.apply || q_.most_runs == 0 || ++runs <= q_.most_runs) continue;
      event.apply = nullptr;
      event.row.reason = "plan.max_runs ends before it";
    }
  }

  bool ask() {
    std::vector<WhatIf> runs;
    std::vector<Event*> asked;
    for (Event& event : events_) {
      if (!event.apply) continue;
      runs.push_back({s_});
      runs.back().replicate = kWorkloadItself;
      runs.back().verdict_only = q_.verdict_only;
      event.apply(runs.back());
      asked.push_back(&event);
    }
    KV_ASSERT(runs.size() <= kStressRuns, "{} runs", runs.size());
    const std::vector<WhatIfAnswer> answers = q_.run(runs);
    KV_ASSERT(answers.size() == runs.size(), "{} answers to {} runs", answers.size(), runs.size());
    if (!answers.front().trial) return false;
    for (std::size_t i = 0; i < asked.size(); ++i) take(asked[i]->row, answers[i]);
    return true;
  }

  void take(StressRow& row, const WhatIfAnswer& answer) {
    const WhatIfOutcome outcome = outcome_of(s_.slo, std::span(&answer, 1));
    if (!outcome.refused.empty()) {
      row.reason = outcome.refused;
      return;
    }
    const SloTarget& target = s_.slo[outcome.tightest];
    row.outcome = outcome.met ? StressOutcome::kMet : StressOutcome::kMissed;
    row.target = target_label(target.name, target.tenant);
    row.value = outcome.targets[outcome.tightest].value;
    row.limit = target.target;
    row.at_least = target.at_least;
    row.margin = outcome.margin;
    if (row.kind == "cold-restart") out_.restart = cold_restart(warm_, cold_);
  }

  void add_notes() {
    const NoteFigures growth = {{"growth_share", growth_}};
    out_.notes.push_back(out_.growth_assumed ? plan_note("growth-assumed", growth)
                                             : plan_note("growth-given", growth));
    out_.notes.push_back(plan_note("stress-one-run"));
    if (s_.fleet->replicas > 1 && !s_.host) out_.notes.push_back(plan_note("one-instance-a-host"));
    if (s_.fleet->replicas > 1) out_.notes.push_back(plan_note("loss-from-the-start"));
    if ((s_.tier && s_.tier->storage) || !s_.behind.empty()) {
      out_.notes.push_back(plan_note("restart-empties-storage"));
    }
  }

  const StressQuestion& q_;
  const Scenario& s_;
  double growth_;
  std::uint32_t skip_;  ///< requests before the restart
  CacheWatch warm_;
  CacheWatch cold_;
  std::vector<Event> events_;
  PlanStress out_;
};

}  // namespace

std::optional<PlanStress> find_stress(const StressQuestion& question) {
  if (question.workload.empty()) return std::nullopt;
  return StressFinder(question).find();
}

}  // namespace spillway
