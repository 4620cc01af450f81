// Recipes go on until an answer lies within their grid, or say where they stopped and why.
#include "scenarios/planner/cells/grid_bracket.hpp"

#include "scenarios/planner/cells/recipes.hpp"
#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// One request at a time: 2 ms + 513 x 20 us = 12.26 ms for each prompt, 200 prompts at once.
std::vector<std::string> burst(double max_ms) {
  return {"engine.max_num_seqs=1",
          R"(compute={"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 0})",
          R"(workload={"synthetic": {"requests": 200, "sessions_per_s": 10000, "burst_factor": 1,)"
          R"( "turns": 1, "system_prompts": 1, "system_zipf": 0, "system_tokens": 1,)"
          R"( "system_sigma": 0, "user_tokens": 512, "user_sigma": 0, "answer_tokens": 1,)"
          R"( "answer_sigma": 0}, "arrival": "trace"})",
          fmt::format(R"(slo=[{{"metric": "median_ttft_ms", "max": {}}}])", max_ms)};
}

JsonSource asked(const std::string& recipe, const std::vector<std::string>& more) {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  source.set("plan={\"replications\": 1, \"sensitivity\": false, \"stress\": false}");
  for (const std::string& assignment : more) source.set(assignment);
  if (!recipe.empty()) apply_recipe(source, recipe);
  return source;
}

struct Found {
  BracketedGrid grid;
  std::uint64_t runs;
  std::vector<std::string> values;
};

Found bracketed(const JsonSource& source) {
  TrialRunner runner({});
  SearchSpace space =
      make_search_space(plan_variants(source),
                        [&](const Scenario& s) -> const Workload& { return runner.workload(s); });
  Found out{bracket_grid(source, std::move(space), runner, {}), 0, {}};
  out.runs = runner.done();
  out.values = out.grid.space.variants.front().scenario.plan->search.front().values;
  return out;
}

TEST_CASE("an answer inside the first grid costs no run more", "[scenarios][planner]") {
  // 200 prompts take 2.45 s on one replica, the median waits half of it; four have a quarter each.
  const Found found = bracketed(asked("how-many-gpus", burst(400)));
  CHECK(found.values == std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8"});
  CHECK(found.runs == 2);
  REQUIRE(found.grid.known.size() == 2);
  CHECK(found.grid.known.contains(0));
  CHECK(found.grid.known.contains(7));
  CHECK(found.grid.space.ends.empty());
}

TEST_CASE("replicas double until they meet the SLO, and are filled in", "[scenarios][planner]") {
  // The median waits 1,226 ms / n: 100 ms need about 12 replicas.
  const Found found = bracketed(asked("how-many-gpus", burst(100)));
  CHECK(found.values == std::vector<std::string>{"1", "2", "4", "8", "9", "10", "11", "12", "13",
                                                 "14", "15", "16"});
  CHECK(found.runs == 3);  // 1, 8, 16
  CHECK(found.grid.known.size() == 3);
  CHECK(found.grid.space.ends.empty());
  // What was made is not made again: twelve cells in all.
  PlanOptions options;
  std::uint64_t most = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t) { most = std::max(most, done); };
  const PlanOutcome plan = make_plan(asked("how-many-gpus", burst(100)), options);
  CHECK(most == 12);
  REQUIRE(plan.result.recommended >= 0);
  const PlanPoint& best = plan.result.points[static_cast<std::size_t>(plan.result.recommended)];
  CHECK(best.feasible);
  CHECK(std::stoi(best.values.front().second) > 8);
  for (const PlanPoint& point : plan.result.points) CHECK(point.run.requests == 200);
}

TEST_CASE("replicas that no longer help end the search, and the plan says so",
          "[scenarios][planner]") {
  // A prompt alone takes 12.3 ms: no number of replicas meets 5.
  const JsonSource source = asked("how-many-gpus", burst(5));
  const Found found = bracketed(source);
  REQUIRE(found.grid.space.ends.size() == 1);
  const GridEnd& end = found.grid.space.ends.front();
  CHECK(end.code == "no-longer-helps");
  CHECK(end.axis == "fleet.replicas");
  CHECK_FALSE(end.met);
  CHECK_THAT(
      end.note.text,
      ContainsSubstring("Tried up to " + end.last +
                        " replicas: more no longer help (median TTFT 12 ms (limit 5.0 ms))."));
  const PlanResult plan = make_plan(source, {}).result;
  CHECK(plan.recommended < 0);
  CHECK(find_note(plan.notes, end.note.code));
}

TEST_CASE("loads that all meet the SLO double, those that all miss are halved",
          "[scenarios][planner]") {
  const auto steady = [](double per_s) {
    std::vector<std::string> out = burst(100);
    out.push_back(fmt::format("workload.synthetic.sessions_per_s={}", per_s));
    out.push_back("workload.synthetic.requests=600");
    return out;
  };
  // The server makes 81 a second. At 5 a second, 3x is 15 and 16x to 17x is too much.
  const Found up = bracketed(asked("max-rate-under-slo", steady(5)));
  CHECK(up.grid.space.ends.empty());
  const double top = std::stod(up.values.back());
  CHECK(top > 12);
  CHECK(top <= 64);
  CHECK(std::count(up.values.begin(), up.values.end(), "1") == 1);
  CHECK(up.values.size() >= 8);
  // At 800 a second a quarter is 200; a tenth is what it can do.
  const Found down = bracketed(asked("max-rate-under-slo", steady(800)));
  CHECK(down.grid.space.ends.empty());
  CHECK(std::stod(down.values.front()) < 0.15);
  const PlanResult plan = make_plan(asked("max-rate-under-slo", steady(800)), {}).result;
  REQUIRE(plan.recommended >= 0);
}

TEST_CASE("loads without an end say how far they went", "[scenarios][planner]") {
  // 64 times the rate of one prompt every 100 s is still idle.
  std::vector<std::string> idle = burst(100);
  idle.emplace_back("workload.synthetic.sessions_per_s=0.01");
  idle.emplace_back("workload.synthetic.requests=20");
  const Found found = bracketed(asked("max-rate-under-slo", idle));
  REQUIRE(found.grid.space.ends.size() == 1);
  CHECK(found.values == std::vector<std::string>{"0.25", "1", "3", "6", "12", "24", "48", "64"});
  CHECK(found.grid.space.ends[0].code == "largest");
  CHECK(found.grid.space.ends[0].met);
  CHECK(found.grid.space.ends[0].note.text ==
        "Tried up to 64 times the rate, which meets the SLO as well: the limit is higher.");
}

TEST_CASE("values that a person wrote stay as they are", "[scenarios][planner]") {
  std::vector<std::string> own = burst(100);
  own.emplace_back(R"(plan.search={"fleet.replicas": [2, 4]})");
  own.emplace_back(R"(plan.sizes=["4GiB"])");
  own.emplace_back("plan.objective=least-gpus");
  for (const char* recipe : {"", "how-many-gpus"}) {
    const Found found = bracketed(asked(recipe, own));
    CHECK(found.values == std::vector<std::string>{"2", "4"});
    CHECK(found.runs == 0);
  }
}

TEST_CASE("sizes of a recipe double too", "[scenarios][planner]") {
  // The recipe ends at 64 GiB; a prompt alone takes longer than is allowed, whatever is swapped.
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  for (const char* one :
       {"tiers=null", "links=null", "engine.preset=vllm@0.6", "engine.async_scheduling=null",
        "engine.preemption_mode=swap",
        R"(links=[{"name": "d", "from": "hbm", "to": "cpu", "kind": "affine", "latency_us": 10,)"
        R"( "bandwidth": "25GB/s"}, {"name": "u", "from": "cpu", "to": "hbm", "kind": "affine",)"
        R"( "latency_us": 10, "bandwidth": "25GB/s"}])",
        R"(plan={"replications": 1, "sensitivity": false, "stress": false})"}) {
    source.set(one);
  }
  for (const std::string& one : burst(5)) source.set(one);
  apply_recipe(source, "swap-space-for-peak");
  TrialRunner runner({});
  SearchSpace space =
      make_search_space(plan_variants(source),
                        [&](const Scenario& s) -> const Workload& { return runner.workload(s); });
  const BracketedGrid grid = bracket_grid(source, std::move(space), runner, {});
  REQUIRE(grid.space.ends.size() == 1);
  CHECK(grid.space.ends[0].axis == "plan.sizes");
  CHECK_THAT(grid.space.ends[0].note.text,
             ContainsSubstring("Tried up to 128 GiB of cpu: more no longer help"));
  CHECK(grid.space.cells.back().capacity == "128GiB");
}

}  // namespace
}  // namespace spillway::test
