// Policies that the engine cannot run are a bound beside the answer, and never the answer.
#include "scenarios/planner/beyond_engine.hpp"

#include "scenarios/planner/planner.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// Six prompts in turn, 12 ms each where they are computed: every size meets 50 ms.
PlanResult planned(const std::string& policies, const std::vector<std::string>& more = {}) {
  const Scratch scratch;
  std::string rows;
  for (int i = 0; i < 60; ++i) {
    rows += fmt::format(
        "{{\"timestamp\": {}, \"input_length\": 512, \"output_length\": 2, \"hash_ids\": [{}]}}\n",
        1000 * i, i % 6);
  }
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  source.set("workload.trace=" + scratch.file("t.jsonl", rows));
  source.set("engine.num_gpu_blocks=65");
  source.set(R"(slo=[{"metric": "median_ttft_ms", "max": 50}])");
  source.set(R"(plan.sizes=["0blocks", "192blocks"])");
  source.set("plan.stress=false");
  source.set("plan.search={\"tiers.0.eviction\": " + policies + "}");
  for (const std::string& one : more) source.set(one);
  return make_plan(source, {}).result;
}

bool noted(const PlanResult& plan, const std::string& text) {
  return says(plan.notes, text);
}

TEST_CASE("a policy that the engine lacks is marked, judged once and not recommended",
          "[scenarios][planner]") {
  // It stands first, and would be the answer of equal sizes.
  for (const char* replications : {"plan.replications=1", "plan.replications=5"}) {
    INFO(replications);
    const PlanResult plan = planned(R"(["s3fifo", "lru"])", {replications});
    REQUIRE(plan.points.size() == 4);
    CHECK(plan.points[0].engine_lacks == "s3fifo");
    CHECK(plan.points[1].reason == "not-in-engine");
    CHECK_FALSE(plan.points[1].feasible);
    CHECK(plan.points[1].replications == 0);
    CHECK(plan.points[3].engine_lacks.empty());
    CHECK(plan.recommended == 2);
    CHECK((plan.runner_up < 0 || plan.runner_up > 1));  // nor beside it
    CHECK(noted(plan,
                "eviction=s3fifo would need 0 blocks (one run), no less than the "
                "recommended size. vLLM 0.23 cannot run s3fifo."));
  }
}

TEST_CASE("a search among nothing else is answered, and said to be a bound",
          "[scenarios][planner]") {
  const PlanResult plan = planned(R"(["s3fifo", "lfu"])");
  CHECK(plan.recommended >= 0);
  CHECK(noted(plan, "vLLM 0.23 cannot run s3fifo. Read this plan as a bound"));
  CHECK(noted(plan, "vLLM 0.23 cannot run lfu. Read this plan as a bound"));
}

}  // namespace
}  // namespace spillway::test
