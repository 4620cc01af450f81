// The cheapest change, where verdicts are made up so that the right one is known.
#include "scenarios/planner/answer/remedies.hpp"

#include "scenarios/planner/runs/trial_runner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/planner/planned_cells.hpp"

namespace spillway::test {
namespace {

/// Of the requests 1% may miss; `missed` says how many do with a run's settings.
using Missed = std::function<double(const WhatIf&)>;

class Rig {
 public:
  explicit Rig(Missed missed, const std::vector<std::string>& settings = {})
      : source_(source_with(settings)),
        space_(make_search_space(plan_variants(source_),
                                 [this](const Scenario&) -> const Workload& { return workload_; })),
        missed_(std::move(missed)) {
    for (const PlanCell& cell : space_.cells) plan_.points.emplace_back().capacity = cell.capacity;
  }

  Remedies find(std::vector<std::uint32_t> replicates = {}, std::uint64_t most_runs = 0) {
    Configurations trials = configurations();
    return find_remedies({plan_, space_, trials, workload_, std::move(replicates), most_runs}, 1);
  }

  /// For a plan that recommends 4 GiB: settings with which 0 GiB does.
  std::optional<TriedChange> cheaper(std::vector<std::uint32_t> replicates = {}) {
    plan_.recommended = 1;
    Configurations trials = configurations();
    return find_cheaper({plan_, space_, trials, workload_, std::move(replicates), 0}, 0);
  }

  /// For a plan that recommends 4 GiB, with 1.8 times the sessions.
  std::optional<TriedChange> for_growth(const std::optional<TriedChange>& next) {
    plan_.recommended = 1;
    Configurations trials = configurations();
    return find_for_growth({plan_, space_, trials, workload_, {20, 21}, 0, 1.8}, 1, next);
  }

 private:
  static JsonSource source_with(const std::vector<std::string>& settings) {
    JsonSource out = JsonSource::from_text("s.json", joined(reference_lines()));
    for (const std::string& one : settings) out.set(one);
    return out;
  }

  Configurations configurations() {
    return Configurations(
        source_, space_,
        [this](std::span<const WhatIf> runs) {
          std::vector<WhatIfAnswer> out;
          for (const WhatIf& run : runs) {
            Trial trial;
            const double x = missed_(run);
            trial.met = x <= 0.01;
            trial.targets = {{x, 0.01, 100, trial.met ? 1500 : 2000 * (1 + 10 * x)}};
            out.push_back({std::move(trial), ""});
          }
          return out;
        },
        false);
  }

  Workload workload_ = repeating(100, 5, 1000, 1);
  JsonSource source_;
  SearchSpace space_;
  Missed missed_;
  PlanResult plan_;
};

std::string assignments_of(const TriedChange& tried) {
  std::string out;
  for (const KeyChange& change : tried.changes) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", change.key, change.to);
  }
  return out;
}

TEST_CASE("a setting that meets the SLO goes before replicas that do as well",
          "[scenarios][planner]") {
  Rig rig([](const WhatIf& run) {
    const bool few = run.scenario.engine.max_num_batched_tokens <= 512;
    return few || run.scenario.fleet->replicas >= 2 ? 0.0 : 0.5;
  });
  const Remedies found = rig.find();
  REQUIRE(found.remedy);
  CHECK(found.remedy->kind == ChangeKind::kFlag);
  CHECK(found.remedy->changes.size() == 1);
  // 256 meets it as well, and is further from what is configured.
  CHECK(assignments_of(*found.remedy) == "engine.max_num_batched_tokens=512");
}

TEST_CASE("a tier that harms goes before anything is set or bought", "[scenarios][planner]") {
  // Loads take longer than computing again: without the tier, or with ten replicas, all is well.
  const auto harmed = [](const WhatIf& run) {
    const Capacity& tier = run.scenario.tier->capacity;
    const bool none = tier.kind == Capacity::Kind::kBytes && tier.count == 0;
    return none || run.scenario.fleet->replicas >= 10 ? 0.0 : 0.5;
  };
  const Remedies found = Rig(harmed, {R"(plan.sizes=["4GiB", "8GiB"])"}).find();
  REQUIRE(found.remedy);
  CHECK(assignments_of(*found.remedy) == "tiers.0.capacity=0GiB");
  // Where a size of 0 was asked for it is a cell of the plan, which has its verdict.
  const Remedies asked = Rig(harmed).find();
  REQUIRE(asked.remedy);
  CHECK(assignments_of(*asked.remedy) == "fleet.replicas=10");
}

TEST_CASE("a setting and replicas that meet it only together are told with what each does alone",
          "[scenarios][planner]") {
  // As with a 70B model and long prompts: at 2,048 batched tokens no number of replicas does, at
  // 1,024 five do and four do not.
  Rig rig([](const WhatIf& run) {
    const bool few = run.scenario.engine.max_num_batched_tokens <= 1024;
    const double load = 4.5 / run.scenario.fleet->replicas;
    return (few ? 0.0 : 0.2) + (load > 1 ? 0.3 * load : 0.0);
  });
  const Remedies found = rig.find();
  REQUIRE(found.remedy);
  CHECK(found.remedy->holds());
  CHECK(assignments_of(*found.remedy) == "engine.max_num_batched_tokens=1024 fleet.replicas=5");
  REQUIRE(found.alone.size() >= 2);
  CHECK(assignments_of(found.alone[0]) == "engine.max_num_batched_tokens=1024");
  CHECK(assignments_of(found.alone[1]) == "fleet.replicas=5");
  CHECK_FALSE(found.alone[0].met);
  CHECK_FALSE(found.alone[1].met);
}

TEST_CASE("what meets the SLO on the workload itself but not on replicates is no remedy",
          "[scenarios][planner]") {
  // Two replicas do once; replicates need four.
  Rig rig([](const WhatIf& run) {
    const std::uint32_t least = run.replicate == kWorkloadItself ? 2 : 4;
    return run.scenario.fleet->replicas >= least ? 0.0 : 0.5;
  });
  const Remedies found = rig.find({20, 21, 22});
  REQUIRE(found.remedy);
  CHECK(assignments_of(*found.remedy) == "fleet.replicas=4");
  CHECK(found.remedy->replicates == 3);
}

TEST_CASE("nothing is told where nothing helps, and no more runs are made than may be",
          "[scenarios][planner]") {
  std::uint64_t made = 0;
  Rig rig([&](const WhatIf&) {
    ++made;
    return 0.5;
  });
  CHECK_FALSE(rig.find().remedy);
  const std::uint64_t all = made;
  made = 0;
  const Remedies few = rig.find({}, 20);
  CHECK_FALSE(few.remedy);
  CHECK(made <= 20);
  CHECK(made < all);
}

TEST_CASE("a smaller size with a setting is told only where it holds on replicates",
          "[scenarios][planner]") {
  const auto with = [](double on_replicates) {
    return Rig([on_replicates](const WhatIf& run) {
      const bool wide = run.scenario.engine.max_num_batched_tokens == 4096;
      return !wide ? 0.5 : run.replicate == kWorkloadItself ? 0.0 : on_replicates;
    });
  };
  const std::optional<TriedChange> holds = with(0.005).cheaper({20, 21});
  REQUIRE(holds);
  CHECK(assignments_of(*holds) == "engine.max_num_batched_tokens=4096 tiers.0.capacity=0GiB");
  CHECK(holds->replicates == 2);
  CHECK_FALSE(with(0.02).cheaper({20, 21}));
}

TEST_CASE("against growth a setting goes before a larger size, and that before replicas",
          "[scenarios][planner]") {
  TriedChange next;
  next.kind = ChangeKind::kTier;
  next.changes = {{"tiers.0.capacity", "4GiB", "8GiB"}};
  next.met = true;
  const auto rig = [](bool setting) {
    return Rig([setting](const WhatIf& run) {
      const bool small = setting && run.scenario.engine.max_num_seqs == 64;
      // One replica bears 1.5 times the sessions, in runs that show it to the end or not.
      return small || run.growth.rate / run.scenario.fleet->replicas <= 1.5 ? 0.0 : 0.5;
    });
  };
  std::optional<TriedChange> found = rig(true).for_growth(next);
  REQUIRE(found);
  CHECK(assignments_of(*found) == "engine.max_num_seqs=64");
  CHECK(found->replicates == 2);
  found = rig(false).for_growth(next);
  REQUIRE(found);
  CHECK(assignments_of(*found) == "tiers.0.capacity=8GiB");
  found = rig(false).for_growth(std::nullopt);
  REQUIRE(found);
  CHECK(assignments_of(*found) == "fleet.replicas=2");
  Rig hopeless([](const WhatIf&) { return 0.5; });
  CHECK_FALSE(hopeless.for_growth(std::nullopt));
}

}  // namespace
}  // namespace spillway::test
