// Recipes fill in what a plan leaves out, and refuse a plan that asks something else.
#include "scenarios/planner/cells/recipes.hpp"

#include "scenarios/planner/cells/search_space.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

JsonSource bare(const std::vector<std::string>& more = {}) {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  source.set("plan=null");
  for (const std::string& assignment : more) source.set(assignment);
  return source;
}

/// The plan that a recipe makes of the reference scenario.
PlanChoice planned(const std::string& recipe, const std::vector<std::string>& more = {}) {
  JsonSource source = bare(more);
  apply_recipe(source, recipe);
  return *load_scenario(source).plan;
}

/// What refuses a recipe for this plan.
InputError refused(const std::string& recipe, const std::vector<std::string>& more) {
  JsonSource source = bare(more);
  const InputError error = error_of([&] { apply_recipe(source, recipe); });
  CHECK(error.fault() == Fault::kUsage);
  return error;
}

TEST_CASE("size-dram-under-slo asks for the least DRAM of sizes from the workload",
          "[scenarios][planner]") {
  const PlanChoice plan = planned("size-dram-under-slo");
  CHECK(plan.objective == Objective::kLeastDram);
  CHECK(plan.sizes.empty());
  CHECK(plan.search.empty());
}

TEST_CASE("compare-policies tries four policies", "[scenarios][planner]") {
  const PlanChoice plan = planned("compare-policies");
  REQUIRE(plan.search.size() == 1);
  CHECK(plan.search[0].key == "tiers.0.eviction");
  CHECK(plan.search[0].values == std::vector<std::string>{"lru", "arc", "s3fifo", "lfu"});
}

TEST_CASE("max-rate-under-slo varies speed around the scenario's own at its own size",
          "[scenarios][planner]") {
  const PlanChoice plan = planned("max-rate-under-slo", {"workload.speed=0.7"});
  CHECK(plan.objective == Objective::kMostLoad);
  CHECK(plan.sizes == std::vector<std::string>{"4GiB"});
  REQUIRE(plan.search.size() == 1);
  CHECK(plan.search[0].key == "workload.speed");
  // 0.7 x 1.25 is 0.875 and 0.7 x 1.1 is 0.77, whatever their doubles are.
  CHECK(plan.search[0].values ==
        std::vector<std::string>{"0.175", "0.245", "0.35", "0.42", "0.49", "0.56", "0.63", "0.7",
                                 "0.77", "0.875", "0.98", "1.12", "1.26", "1.4", "1.75", "2.1"});
}

TEST_CASE("max-rate-under-slo of a closed loop varies how many clients there are",
          "[scenarios][planner]") {
  const auto clients = [](const char* concurrency) {
    const PlanChoice plan =
        planned("max-rate-under-slo", {"workload.arrival=closed-loop", concurrency});
    CHECK(plan.search.at(0).key == "workload.concurrency");
    return plan.search.at(0).values;
  };
  CHECK(clients("workload.concurrency=4") ==
        std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "13",
                                 "14", "16", "20", "24"});
  CHECK(clients("workload.concurrency=100").at(8) == "100");
}

TEST_CASE("nvme-worth-it tries the tiers without a drive and with one", "[scenarios][planner]") {
  JsonSource source = bare();
  apply_recipe(source, "nvme-worth-it");
  const std::vector<Variant> variants = plan_variants(source);
  REQUIRE(variants.size() == 2);
  CHECK(variants[0].name == "tiers=dram");
  CHECK(variants[1].name == "tiers=dram + nvme");
  CHECK(variants[0].scenario.behind.empty());
  REQUIRE(variants[1].scenario.behind.size() == 1);
  CHECK(variants[1].scenario.behind[0].kind() == "nvme");
}

TEST_CASE("how-many-gpus asks for the fewest, at the size that is there, and leaves none out",
          "[scenarios][planner]") {
  const PlanChoice plan = planned("how-many-gpus");
  CHECK(plan.objective == Objective::kLeastGpus);
  CHECK(plan.sizes == std::vector<std::string>{"4GiB"});
  REQUIRE(plan.search.size() == 1);
  CHECK(plan.search[0].key == "fleet.replicas");
  CHECK(plan.search[0].values == std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8"});
  // A fleet that is larger already is among what is tried, or a little more.
  CHECK(planned("how-many-gpus", {"fleet.replicas=12"}).search[0].values.back() == "12");
}

TEST_CASE("swap-space-for-peak sizes the pool of a v0 engine, with peaks beside it",
          "[scenarios][planner]") {
  const std::vector<std::string> v0 = {"tiers=null",
                                       "links=null",
                                       "engine.preset=vllm@0.6",
                                       "engine.async_scheduling=null",
                                       "engine.preemption_mode=swap",
                                       R"(links=[{"name": "d", "from": "hbm", "to": "cpu", )"
                                       R"("kind": "affine", "latency_us": 10, )"
                                       R"("bandwidth": "25GB/s"}, {"name": "u", "from": "cpu", )"
                                       R"("to": "hbm", "kind": "affine", "latency_us": 10, )"
                                       R"("bandwidth": "25GB/s"}])"};
  const PlanChoice plan = planned("swap-space-for-peak", v0);
  CHECK(plan.tier == "cpu");
  CHECK(plan.sizes.front() == "1GiB");
  REQUIRE(plan.demand.size() == 2);
  CHECK(plan.demand[1].growth.rate == 2);
  // Other questions are asked at the swap space that is there.
  std::vector<std::string> sized = v0;
  sized.emplace_back("engine.swap_space=4GiB");
  CHECK(planned("max-rate-under-slo", sized).sizes == std::vector<std::string>{"4GiB"});
  JsonSource other = bare();
  const InputError error = error_of([&] { apply_recipe(other, "swap-space-for-peak"); });
  CHECK_THAT(error.what(), ContainsSubstring("expected engine.preset vllm@0.6 and no tiers"));
}

TEST_CASE("what a scenario says stays, and what a recipe sets is told", "[scenarios][planner]") {
  JsonSource source = bare({R"(plan.sizes=["0GiB", "2GiB"])"});
  const Notes said = apply_recipe(source, "size-dram-under-slo");
  REQUIRE(said.size() == 1);
  CHECK(said[0].text == "Recipe size-dram-under-slo sets plan.objective to \"least-dram\".");
  CHECK(load_scenario(source).plan->sizes == std::vector<std::string>{"0GiB", "2GiB"});
}

TEST_CASE("a plan that asks something else is refused with both values", "[scenarios][planner]") {
  const InputError objective = refused("how-many-gpus", {"plan.objective=least-cost"});
  CHECK_THAT(objective.what(),
             ContainsSubstring("plan.objective: \"least-cost\" contradicts the recipe "
                               "how-many-gpus (the fewest replicas that meet the SLO at the size "
                               "that is there), which asks with \"least-gpus\"; expected "
                               "plan.objective left out (--set plan.objective=null)"));
  CHECK_THAT(refused("max-rate-under-slo", {R"(plan.sizes=["0GiB", "2GiB"])"}).what(),
             ContainsSubstring("plan.sizes: [\"0GiB\",\"2GiB\"] contradicts the recipe") &&
                 ContainsSubstring("with [\"4GiB\"]; expected one size, or plan.sizes left out"));
  CHECK_THAT(refused("compare-policies", {R"(plan.search={"fleet.replicas": [1, 2]})"}).what(),
             ContainsSubstring("plan.search: {\"fleet.replicas\":[1,2]} contradicts the recipe"));
  // An option is blamed itself, not the file.
  JsonSource source = bare();
  source.set("plan={}");
  source.set("plan.objective=most-load", "--objective");
  const InputError option = error_of([&] { apply_recipe(source, "how-many-gpus"); });
  CHECK_THAT(option.what(), ContainsSubstring("--objective: plan.objective: \"most-load\"") &&
                                ContainsSubstring("expected no --objective, or no --recipe"));
}

TEST_CASE("a plan that asks the same within other bounds stays", "[scenarios][planner]") {
  CHECK(planned("how-many-gpus", {R"(plan.sizes=["2GiB"])"}).sizes ==
        std::vector<std::string>{"2GiB"});
  CHECK(planned("how-many-gpus", {R"(plan.search={"fleet.replicas": [2, 4]})"}).search[0].values ==
        std::vector<std::string>{"2", "4"});
  CHECK(planned("max-rate-under-slo", {R"(plan.search={"workload.growth.rate": [1, 2]})"})
            .search[0]
            .key == "workload.growth.rate");
}

TEST_CASE("a scenario without a plan has one of defaults", "[scenarios][planner]") {
  JsonSource source = bare();
  CHECK(default_plan(source));
  const PlanChoice plan = *load_scenario(source).plan;
  CHECK(plan.tier == "dram");
  CHECK(plan.objective == Objective::kLeastDram);
  CHECK(plan.sizes.empty());
  CHECK_FALSE(default_plan(source));  // now it has one
}

TEST_CASE("an unknown recipe names the nearest one", "[scenarios][planner]") {
  JsonSource source = bare();
  const InputError error = error_of([&] { apply_recipe(source, "how-many-gpu"); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), ContainsSubstring("how-many-gpus"));
}

}  // namespace
}  // namespace spillway::test
