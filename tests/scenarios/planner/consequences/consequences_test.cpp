// What follows from a plan keeps to its budget, and is announced before it runs.
#include "scenarios/planner/consequences/consequences.hpp"

#include <algorithm>

#include "scenarios/planner/consequences/sensitivity.hpp"
#include "scenarios/planner/consequences/stress.hpp"
#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// Two sizes, run once each; the first meets the SLO.
PlanResult plan_of(const std::vector<std::string>& settings) {
  return plan_sizes(reference_with(settings), repeating(50, 6, 1000, 1), 1, nullptr).result;
}

bool noted(const PlanResult& plan, const std::string& text) {
  return says(plan.notes, text);
}

constexpr const char* kPeak = R"(plan.demand=[{"name": "peak", "growth": {"rate": 2}}])";

TEST_CASE("sensitivity has what plan.max_runs leaves", "[scenarios][planner]") {
  const PlanResult none = plan_of({"plan.sensitivity=true", "plan.max_runs=2"});
  CHECK(none.recommended == 0);
  CHECK_FALSE(none.sensitivity);
  CHECK(noted(none, "Sensitivity is left out: 0 of 2 runs are left"));
  const PlanResult some = plan_of({"plan.sensitivity=true", "plan.max_runs=12"});
  REQUIRE(some.sensitivity);
  CHECK(some.sensitivity->runs <= 10);
  CHECK(figure(some.sensitivity->notes.back(), "runs") == 10);
}

TEST_CASE("regret has what plan.max_runs leaves", "[scenarios][planner]") {
  const PlanResult none = plan_of({kPeak, "plan.max_runs=2"});
  CHECK_FALSE(none.regret);
  CHECK(noted(none, "Regret over plan.demand is left out: 0 of 2 runs are left"));
  // One more run is one cell of two, the recommended one.
  const PlanResult one = plan_of({kPeak, "plan.max_runs=3"});
  REQUIRE(one.regret);
  CHECK(one.regret->rows.size() == 1);
  CHECK(one.regret->notes.front().code == "regret-of-some");
  CHECK(plan_of({kPeak}).regret->rows.size() == 2);
}

/// The same from a file, with what its progress was told.
struct Told {
  PlanResult plan;
  std::vector<std::uint64_t> totals;
  std::uint64_t done = 0;
  std::vector<std::string> phases;
};

Told told_of(const std::vector<std::string>& settings, double budget_s = 0) {
  const Scratch scratch;
  const std::string trace = scratch.file(
      "t.jsonl", R"({"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [1]})"
                 "\n"
                 R"({"timestamp": 1000, "input_length": 512, "output_length": 1, "hash_ids": [1]})"
                 "\n");
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  source.set("workload.trace=" + trace);
  for (const std::string& setting : settings) source.set(setting);
  Told out;
  PlanOptions options;
  options.budget_s = budget_s;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    out.done = done;
    out.totals.push_back(total);
  };
  options.phase = [&](std::string_view phase) { out.phases.emplace_back(phase); };
  out.plan = make_plan(source, options).result;
  return out;
}

TEST_CASE("runs beyond the decision are in the total from the first run on",
          "[scenarios][planner]") {
  const Told told = told_of({"plan.sensitivity=true", kPeak});
  REQUIRE(told.plan.sensitivity);
  CHECK(told.phases == std::vector<std::string>{"every size once", "one request at a time",
                                                "demand scenarios", "sensitivity",
                                                "forecasts and losses", "the next size",
                                                "the highest load"});
  // Two sizes, the floor, two runs of the other demand, and the most that what follows may take.
  CHECK(told.totals.front() >= 2 + 1 + 2 + sensitivity_budget(2 + 1 + 2) + kStressRuns);
  CHECK(std::is_sorted(told.totals.rbegin(), told.totals.rend()));  // it never grows
  CHECK(told.done <= told.totals.front());
}

TEST_CASE("a plan without consequences announces none", "[scenarios][planner]") {
  const Told told = told_of({});
  CHECK(told.phases == std::vector<std::string>{"every size once", "one request at a time"});
  CHECK(told.totals == std::vector<std::uint64_t>{3, 3, 3});
}

TEST_CASE("a time budget that is spent leaves consequences out with a note",
          "[scenarios][planner]") {
  const Told told = told_of({"plan.sensitivity=true", kPeak}, 1e-9);
  CHECK(told.plan.recommended == 0);
  CHECK_FALSE(told.plan.sensitivity);
  CHECK_FALSE(told.plan.regret);
  CHECK(noted(told.plan, "Sensitivity is left out or cut short: the time budget ended."));
  CHECK(
      noted(told.plan, "Regret over plan.demand is left out or cut short: the time budget ended."));
}

TEST_CASE("a workload too short to fill any size says how long it would have to be",
          "[scenarios][planner]") {
  // The first replicate draws eight of ten documents: 8 x 32 blocks and 20 answers of a token are
  // 257; four bins are too few to tell whether the hit ratio stands. HBM has 2,047: to be full by
  // the middle it takes 2 x 2,047 / 257.25 x 20 = 319 requests.
  const PlanResult plan =
      plan_sizes(reference_with({"plan.replications=10", "workload.replication.requests=20",
                                 "plan.sizes=[\"0blocks\", \"64blocks\"]"}),
                 repeating(20, 10, 1000, 1), 1, nullptr)
          .result;
  CHECK(plan.undecided);
  CHECK_THAT(plan.verdict,
             ContainsSubstring("Not decided: the trace is too short to fill any size tried.") &&
                 !ContainsSubstring("budget"));
  CHECK_THAT(plan.would_decide, ContainsSubstring("319 requests like these"));
  CHECK(plan.answer.cause == AnswerCause::kShortTrace);
}

}  // namespace
}  // namespace spillway::test
