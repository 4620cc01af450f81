#include "scenarios/planner/what_if.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>
#include <utility>

#include "models/compute/step_cost.hpp"
#include "scenarios/parallel.hpp"
#include "sim/error.hpp"

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
  Duration collective_time(std::uint64_t tokens) override {
    return scaled(cost_->collective_time(tokens));
  }

 private:
  /// Whole millions apart from the rest, so that no product leaves 63 bits.
  Duration scaled(Duration time) const {
    const std::int64_t ns = time.count();
    return Duration(ns / kParts * parts_ + ((ns % kParts) * parts_ + kParts - 1) / kParts);
  }

  std::unique_ptr<StepCost> cost_;
  std::int64_t parts_;
};

using Key = std::tuple<std::uint32_t, double, double, double, double>;

Key key_of(const WhatIf& run) {
  const GrowthChoice& g = run.growth;
  return {run.replicate, g.rate, g.context, g.reuse, g.tenants};
}

/// A grown replicate, made by the first run that needs it and dropped after the last.
struct Grown {
  std::once_flag once;
  std::optional<Workload> workload;
  std::atomic<std::uint32_t> users{0};
};

WhatIfAnswer answer(const WhatIf& run, const Workload& workload) {
  TrialOptions options;
  options.stop_when_decided = run.verdict_only;
  if (run.compute_time != 1) {
    options.simulation.cost = [&run] {
      return make_scaled_cost(run.scenario.make_cost(), run.compute_time);
    };
  }
  return {run_trial(run.scenario, workload, options), ""};
}

}  // namespace

std::unique_ptr<StepCost> make_scaled_cost(std::unique_ptr<StepCost> cost, double factor) {
  return std::make_unique<ScaledCost>(std::move(cost), factor);
}

WhatIfBatch what_if_runs(WhatIfSource source, unsigned threads, std::function<void()> done) {
  return
      [source = std::move(source), threads, done = std::move(done)](std::span<const WhatIf> runs) {
        std::vector<Key> keys;
        for (const WhatIf& run : runs) {
          if (run.growth.any()) keys.push_back(key_of(run));
        }
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        std::vector<Grown> grown(keys.size());
        const auto slot = [&](const WhatIf& run) -> Grown& {
          const auto at = std::lower_bound(keys.begin(), keys.end(), key_of(run));
          return grown[static_cast<std::size_t>(at - keys.begin())];
        };
        for (const WhatIf& run : runs) {
          if (run.growth.any()) ++slot(run).users;
        }
        std::vector<WhatIfAnswer> out(runs.size());
        parallel_for(runs.size(), threads, [&](std::size_t i) {
          const WhatIf& run = runs[i];
          try {
            if (run.growth.any()) {
              Grown& mine = slot(run);
              std::call_once(mine.once, [&] {
                mine.workload = source.grow(source.replicate(run.replicate), run.growth);
              });
              out[i] = answer(run, *mine.workload);
            } else {
              out[i] = answer(run, source.replicate(run.replicate));
            }
          } catch (const InputError& error) {
            out[i].refused = error.what();
          }
          if (run.growth.any() && --slot(run).users == 0) slot(run).workload.reset();
          if (done) done();
        });
        return out;
      };
}

}  // namespace spillway
