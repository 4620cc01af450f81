#include "scenarios/planner/consequences/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>

#include "models/compute/step_cost.hpp"
#include "scenarios/experiment/target_meaning.hpp"
#include "scenarios/machine/parallel.hpp"
#include "scenarios/planner/runs/trial_runner.hpp"
#include "scenarios/planner/selection/target_margin.hpp"
#include "scenarios/scenario/growth.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/error.hpp"
#include "traces/reshape/workload_rows.hpp"

namespace spillway {

namespace {

constexpr std::int64_t kParts = 1'000'000;  // a factor on time is exact to a millionth

class ScaledCost final : public StepCost {
 public:
  ScaledCost(std::unique_ptr<StepCost> cost, double factor)
      : cost_(std::move(cost)), parts_(static_cast<std::int64_t>(factor * kParts + 0.5)) {
    KV_ASSERT(parts_ > 0, "step times multiplied by {}", factor);
  }
  Duration step_time(const StepShape& shape) override { return scaled(cost_->step_time(shape)); }
  Duration group_time(std::span<const StepShape> shapes) override {
    return scaled(cost_->group_time(shapes));
  }
  Duration collective_time(const StepShape& shape, std::span<const StepShape> group) override {
    return scaled(cost_->collective_time(shape, group));
  }
  std::uint32_t window() const override { return cost_->window(); }

 private:
  /// Whole millions apart from the rest, so that no product leaves 63 bits.
  Duration scaled(Duration time) const {
    const std::int64_t ns = time.count();
    return Duration(ns / kParts * parts_ + ((ns % kParts) * parts_ + kParts - 1) / kParts);
  }

  std::unique_ptr<StepCost> cost_;
  std::int64_t parts_;
};

using Shape = std::tuple<std::uint32_t, double, double, double, double, std::uint32_t>;

Shape key_of(const WhatIf& run) {
  const GrowthChoice& g = run.growth;
  return {run.replicate, g.rate, g.context, g.reuse, g.tenants, run.skip};
}

bool kept(const WhatIf& run, const WhatIfSource& source) {
  return source.recall && !run.change.empty() && run.watch == nullptr;
}

/// Whether it runs on another workload than the replicate as it is.
bool reshaped(const WhatIf& run) {
  return run.growth.any() || run.skip > 0;
}

Workload reshape(const WhatIf& run, const Workload& workload, std::uint64_t seed) {
  if (run.skip == 0) return grown(workload, run.growth, seed);
  KV_ASSERT(!run.growth.any(), "a workload that grows and is cut");
  KV_ASSERT(run.skip < workload.size(), "{} of {} requests left out", run.skip, workload.size());
  std::vector<std::uint32_t> rows(workload.size() - run.skip);
  std::iota(rows.begin(), rows.end(), run.skip);
  return select_rows(workload, rows);
}

/// A replicate grown or cut, made by the first run that needs it and dropped after the last.
struct Grown {
  std::once_flag once;
  std::optional<Workload> workload;
  std::atomic<std::uint32_t> users{0};
};

WhatIfAnswer answer(const WhatIf& run, const Workload& workload, const WhatIfSource& source) {
  TrialOptions options;
  options.stop_when_decided = run.verdict_only;
  options.find_warm_up = run.replicate != kWorkloadItself;  // as the plan judges it
  if (run.compute_time != 1) {
    options.simulation.cost = [&run] {
      return make_scaled_cost(run.scenario.make_cost(), run.compute_time);
    };
  }
  options.simulation.stop = source.stop;
  if (run.watch != nullptr) options.simulation.observers.push_back(run.watch);
  Scenario scenario = run.scenario;
  if (source.seed_of) {
    scenario.seed = scenario.workload->arrival.seed = source.seed_of(run.replicate);
  }
  if (run.growth.any()) grow_arrivals(*scenario.workload, run.growth);
  return {run_trial(scenario, workload, options), ""};
}

/// Of one whole run by the figure as well: where requests are few, a percentile that keeps its
/// limit may leave one request more above it than the share allows.
bool met_in(const SloTarget& target, std::span<const WhatIfAnswer> answers, std::size_t index,
            double value, double x, double limit) {
  if (target.at_least) return x >= limit;
  if (x <= limit) return true;
  const Trial& trial = *answers.front().trial;
  if (answers.size() > 1 || trial.cut || !is_share(target)) return false;
  const auto judged = static_cast<double>(trial.targets[index].judged);
  return value <= target.target && x * judged <= limit * judged + 1;
}

/// Whether requests that do not complete are few enough for every target: a share counts them as
/// missed, another figure does not see them.
bool completes_enough(const std::vector<SloTarget>& slo, const Trial& trial) {
  if (trial.met || trial.run.completed == trial.run.requests) return true;
  return std::any_of(slo.begin(), slo.end(), [](const SloTarget& t) { return is_share(t); });
}

}  // namespace

std::unique_ptr<StepCost> make_scaled_cost(std::unique_ptr<StepCost> cost, double factor) {
  return std::make_unique<ScaledCost>(std::move(cost), factor);
}

WhatIfOutcome outcome_of(const std::vector<SloTarget>& slo, std::span<const WhatIfAnswer> answers) {
  KV_ASSERT(!answers.empty(), "nothing was answered");
  WhatIfOutcome out;
  out.margin = std::numeric_limits<double>::infinity();
  out.met = true;
  for (const WhatIfAnswer& answer : answers) {
    if (!answer.trial) return {0, false, 0, {}, answer.refused};
    KV_ASSERT(answer.trial->targets.size() == slo.size(), "{} samples of {} targets",
              answer.trial->targets.size(), slo.size());
  }
  const auto n = static_cast<double>(answers.size());
  for (std::size_t t = 0; t < slo.size(); ++t) {
    double x = 0;
    double value = 0;
    double limit = 0;
    for (const WhatIfAnswer& answer : answers) {
      x += answer.trial->targets[t].x / n;
      value += answer.trial->targets[t].value / n;
      limit = answer.trial->targets[t].limit;
    }
    const bool met = met_in(slo[t], answers, t, value, x, limit);
    const double margin = target_margin({value, slo[t].target, slo[t].at_least, x, limit, met});
    if (margin < out.margin) {
      out.margin = margin;
      out.tightest = t;
    }
    out.met = out.met && met;
    out.targets.push_back({value, margin, met});
  }
  if (answers.size() == 1) out.met = out.met && completes_enough(slo, *answers[0].trial);
  return out;
}

const std::string& cell_name(const PlanPoint& point) {
  return point.name.empty() ? point.capacity : point.name;
}

WhatIfBatch what_if_runs(WhatIfSource source, unsigned threads, std::function<void()> before,
                         std::function<void()> done) {
  return [source = std::move(source), threads, before = std::move(before),
          done = std::move(done)](std::span<const WhatIf> runs) {
    std::vector<Shape> keys;
    for (const WhatIf& run : runs) {
      if (reshaped(run)) keys.push_back(key_of(run));
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::vector<Grown> made(keys.size());
    const auto slot = [&](const WhatIf& run) -> Grown& {
      const auto at = std::lower_bound(keys.begin(), keys.end(), key_of(run));
      return made[static_cast<std::size_t>(at - keys.begin())];
    };
    for (const WhatIf& run : runs) {
      if (reshaped(run)) ++slot(run).users;
    }
    std::vector<WhatIfAnswer> out(runs.size());
    parallel_for(runs.size(), threads, [&](std::size_t i) {
      const WhatIf& run = runs[i];
      if (before) before();
      try {
        if (kept(run, source)) out[i].trial = source.recall(run);
        const bool known = out[i].trial.has_value();
        if (known) {
          // nothing to run
        } else if (reshaped(run)) {
          Grown& mine = slot(run);
          std::call_once(mine.once, [&] {
            mine.workload = reshape(run, source.replicate(run.replicate), source.seed);
          });
          out[i] = answer(run, *mine.workload, source);
        } else {
          out[i] = answer(run, source.replicate(run.replicate), source);
        }
        if (!known && kept(run, source)) source.keep(run, *out[i].trial);
      } catch (const InputError& error) {
        out[i].refused = error.what();
      } catch (const InternalError& error) {
        // The plan has its answer: a question beside it that fails is told and loses nothing.
        out[i].refused = fmt::format("internal error, please report it: {}", error.what());
      }
      if (reshaped(run) && --slot(run).users == 0) slot(run).workload.reset();
      if (done) done();
    });
    return out;
  };
}

}  // namespace spillway
