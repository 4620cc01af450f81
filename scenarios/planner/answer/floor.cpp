#include "scenarios/planner/answer/floor.hpp"

#include <algorithm>

#include "models/catalogue/gpu_spec.hpp"
#include "scenarios/planner/answer/changes.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

constexpr double kNoTime = 1e6;          // times the rate of links: copies that take none
constexpr double kShorterContext = 0.5;  // times the tokens of prompts and answers
constexpr double kLeastLoad = 1.0 / 64;
constexpr double kMostLoad = 4;
constexpr double kClose = 1.06;  // between what is borne and what is not

Configuration alone(ChangeKind kind, std::vector<KeyChange> changes) {
  Configuration out;
  out.kind = kind;
  out.changes = std::move(changes);
  out.alone = true;
  return out;
}

/// By target, the lower of two: the floor is below both.
void lower(std::vector<TriedTarget>& floor, const TriedChange& other) {
  if (!other.refused.empty()) return;
  for (std::size_t t = 0; t < floor.size(); ++t) {
    const TriedTarget& there = other.targets[t];
    if (there.value < floor[t].value || (there.met && !floor[t].met)) floor[t] = there;
  }
}

/// What is held back, larger chunks of prefill, more ranks, better GPUs, shorter contexts.
std::vector<Configuration> what_lowers(const Scenario& s) {
  std::vector<Configuration> out;
  for (KeyChange& change : held_back(s)) {
    out.push_back(alone(ChangeKind::kFlag, {std::move(change)}));
  }
  if (s.engine.long_prefill_token_threshold > 0) {
    out.push_back(
        alone(ChangeKind::kFlag, {{"engine.long_prefill_token_threshold",
                                   std::to_string(s.engine.long_prefill_token_threshold), "0"}}));
  }
  for (const std::uint32_t factor : {2U, 4U, 8U}) {
    const std::uint32_t now = s.engine.max_num_batched_tokens;
    out.push_back(alone(ChangeKind::kFlag, {{"engine.max_num_batched_tokens", std::to_string(now),
                                             std::to_string(now * factor)}}));
  }
  for (KeyChange& wider : wider_instances(s)) {
    out.push_back(alone(ChangeKind::kTensorParallel, {std::move(wider)}));
  }
  for (KeyChange& gpu : better_gpus(s)) out.push_back(alone(ChangeKind::kGpu, {std::move(gpu)}));
  Configuration shorter = alone(ChangeKind::kShorter, {});
  shorter.context = kShorterContext;
  out.push_back(std::move(shorter));
  return out;
}

}  // namespace

std::optional<PlanFloor> find_floor(Configurations& configurations, const Scenario& scenario,
                                    int cell, bool lowering) {
  if (std::none_of(scenario.slo.begin(), scenario.slo.end(), bounds_latency)) return std::nullopt;
  const Configuration idle = alone(ChangeKind::kFlag, {});
  const std::vector<TriedChange> first = configurations.run(cell, std::span(&idle, 1));
  if (!first.front().refused.empty()) return std::nullopt;
  PlanFloor out;
  if (scenario.gpu != nullptr) out.gpu = scenario.gpu->name;
  out.targets = first.front().targets;
  out.met = first.front().met;
  if (out.met || !lowering) return out;
  // Loads may take longer than computing the same again: the floor is below both.
  std::vector<Configuration> asked;
  asked.push_back(alone(ChangeKind::kFlag, {}));
  asked.back().copy_rate = kNoTime;
  for (Configuration& change : what_lowers(scenario)) asked.push_back(std::move(change));
  std::vector<TriedChange> tried = configurations.run(cell, asked);
  out.compute = tried.front().targets;
  lower(out.targets, tried.front());
  out.met = std::all_of(out.targets.begin(), out.targets.end(),
                        [](const TriedTarget& target) { return target.met; });
  if (out.met) return out;
  for (std::size_t i = 1; i < tried.size(); ++i) out.lowered.push_back(std::move(tried[i]));
  return out;
}

std::optional<PlanCeiling> find_ceiling(Configurations& configurations, const Scenario& scenario,
                                        int cell, double rate_per_s) {
  if (scenario.workload->arrival.kind == ArrivalConfig::Kind::kClosedLoop || rate_per_s <= 0) {
    return std::nullopt;
  }
  PlanCeiling out;
  const auto borne = [&](double load) {
    Configuration asked;
    asked.load = load;
    asked.unbounded = true;
    asked.verdict_only = true;
    ++out.runs;
    const TriedChange tried = configurations.run(cell, std::span(&asked, 1)).front();
    return tried.holds();
  };
  double low = 1;
  double high = 1;
  if (borne(1)) {
    while (high < kMostLoad && low == high) {
      high *= 2;
      if (borne(high)) low = high;
    }
    out.at_least = low == high;
  } else {
    while (low > kLeastLoad && low == high) {
      low /= 2;
      if (!borne(low)) high = low;
    }
    if (low == high) return out;  // not even the least that was tried
  }
  while (low < high && high / low > kClose) {
    const double middle = (low + high) / 2;
    (borne(middle) ? low : high) = middle;
  }
  out.load = low;
  out.requests_per_s = low * rate_per_s;
  return out;
}

}  // namespace spillway
