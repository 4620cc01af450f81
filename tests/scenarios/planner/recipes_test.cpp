// Recipes fill in what a plan leaves out, and nothing else.
#include "scenarios/planner/recipes.hpp"

#include "scenarios/planner/search_space.hpp"
#include "tests/scenarios/run_setup.hpp"

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
  const PlanChoice plan = planned("max-rate-under-slo", {"workload.speed=2"});
  CHECK(plan.objective == Objective::kMostLoad);
  CHECK(plan.sizes == std::vector<std::string>{"4GiB"});
  REQUIRE(plan.search.size() == 1);
  CHECK(plan.search[0].key == "workload.speed");
  CHECK(plan.search[0].values.front() == "0.5");
  CHECK(plan.search[0].values.back() == "6.0");
  // Clients of a closed loop know no speed, but how many they are.
  CHECK(planned("max-rate-under-slo", {"workload.arrival=closed-loop", "workload.concurrency=4"})
            .search[0]
            .key == "workload.concurrency");
}

TEST_CASE("nvme-worth-it tries the tiers without a drive and with one", "[scenarios][planner]") {
  JsonSource source = bare();
  apply_recipe(source, "nvme-worth-it");
  const std::vector<Variant> variants = plan_variants(source);
  REQUIRE(variants.size() == 2);
  CHECK(variants[0].name == "dram");
  CHECK(variants[1].name == "dram + nvme");
  CHECK(variants[0].scenario.behind.empty());
  REQUIRE(variants[1].scenario.behind.size() == 1);
  CHECK(variants[1].scenario.behind[0].kind() == "nvme");
}

TEST_CASE("how-many-gpus tries more and more replicas", "[scenarios][planner]") {
  const PlanChoice plan = planned("how-many-gpus");
  REQUIRE(plan.search.size() == 1);
  CHECK(plan.search[0].key == "fleet.replicas");
  CHECK(plan.search[0].values.front() == "1");
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
  JsonSource other = bare();
  const InputError error = error_of([&] { apply_recipe(other, "swap-space-for-peak"); });
  CHECK_THAT(error.what(), ContainsSubstring("expected engine.preset vllm@0.6 and no tiers"));
}

TEST_CASE("what a scenario says stays, and what a recipe sets is told", "[scenarios][planner]") {
  JsonSource source = bare({R"(plan.sizes=["0GiB", "2GiB"])"});
  const std::vector<std::string> said = apply_recipe(source, "size-dram-under-slo");
  CHECK(said ==
        std::vector<std::string>{"recipe size-dram-under-slo: plan.objective = \"least-dram\""});
  CHECK(load_scenario(source).plan->sizes == std::vector<std::string>{"0GiB", "2GiB"});
}

TEST_CASE("an unknown recipe names the nearest one", "[scenarios][planner]") {
  JsonSource source = bare();
  const InputError error = error_of([&] { apply_recipe(source, "how-many-gpu"); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), ContainsSubstring("how-many-gpus"));
}

}  // namespace
}  // namespace spillway::test
