// What a better policy could bring: prompts replayed against the tier's policy and the offline
// optimum.
#include <algorithm>

#include "models/cache_replay.hpp"
#include "scenarios/planner/judgement/parts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

constexpr std::uint64_t kMostReferences = 4'000'000;  // replayed for a bound: seconds

}  // namespace

/// Model: one cache of the larger tier's capacity, which is what inclusive tiers hold between them;
/// blocks in use and answers take no room, so that it is the difference that counts.
void find_policy_bound(PlanResult& plan, const PlanFacts& facts) {
  const Scenario& s = facts.scenario(facts.judged());
  const RunResult& run = facts.run(facts.judged());
  const Workload& workload = facts.workload();
  if (run.tiers.size() < 2 || run.tiers[1].unbounded || run.swap) return;
  if (workload.references() == 0 || workload.references() > kMostReferences) return;
  const std::uint64_t blocks = std::max(run.tiers[0].capacity_blocks, run.tiers[1].capacity_blocks);
  const std::uint64_t capacity = blocks * s.engine.block_tokens / workload.block_tokens();
  if (capacity == 0) return;
  const EvictionChoice optimum = parse_eviction("belady", {});
  PolicyNeeds needs = s.tier->eviction.needs();
  needs.future = true;
  const ReplayFacts replay_facts(workload, needs, Atomicity::kRequest);
  ReplaySetup setup;
  setup.capacity_blocks = capacity;
  setup.block_tokens = workload.block_tokens();
  setup.facts = &replay_facts;
  const auto share = [&](const EvictionChoice& choice) {
    CacheReplay replay(choice, setup);
    replay.run(workload.all());
    return static_cast<double>(replay.counts().prefix_hits) /
           static_cast<double>(workload.references());
  };
  try {
    plan.judgement.policy_bound =
        PolicyBound{facts.point(facts.judged()).name, s.tier->eviction.text(),
                    share(s.tier->eviction), share(optimum), facts.demand().reusable};
  } catch (const InputError&) {
    return;  // parameters that fit the tier's capacity and not this one
  }
}

}  // namespace spillway
