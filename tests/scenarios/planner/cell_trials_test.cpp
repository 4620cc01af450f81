// What a cell's trials say of its attainment, by hand.
#include "scenarios/planner/cell_trials.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

CellTrial trial_of(std::uint32_t replicate, double attainment, std::uint64_t requests) {
  CellTrial out;
  out.replicate = replicate;
  out.attainment = attainment;
  TargetSample target;
  target.judged = requests;
  out.targets = {target};
  return out;
}

PlanPoint estimated(const std::vector<CellTrial>& trials, const SelectedCell& selected = {}) {
  SelectionProblem problem;
  PlanPoint point;
  point.targets.resize(1);
  estimate_from(trials, problem, selected, point);
  return point;
}

TEST_CASE("requests that all met their targets do not prove that all will",
          "[scenarios][planner]") {
  std::vector<CellTrial> trials;
  for (std::uint32_t r = 0; r < 10; ++r) trials.push_back(trial_of(kScreening + r, 1, 1000));
  const PlanPoint point = estimated(trials);
  CHECK(point.attainment == 1);
  // 10,000 requests; where none has missed, twenty may come as one: 500 clusters, of which
  // 2.9957 / 500 = 0.6% may miss.
  CHECK(point.attainment_low == Approx(1 - 2.9957 / 500).epsilon(1e-6));
  // Where the targets are shares, what may miss them is what the cell was judged by.
  SelectedCell judged;
  judged.alpha = 0.01;
  judged.any_missed = 0.0076;
  CHECK(estimated(trials, judged).attainment_low == Approx(0.9924));
  // Else the level at which it was judged: -ln 0.01 = 4.6052.
  judged.any_missed.reset();
  CHECK(estimated(trials, judged).attainment_low == Approx(1 - 4.6052 / 500).epsilon(1e-6));
}

TEST_CASE("attainment is of all requests together", "[scenarios][planner]") {
  const std::vector<CellTrial> trials = {trial_of(0, 0.9, 300), trial_of(1, 0.5, 100)};
  const PlanPoint point = estimated(trials);
  CHECK(point.attainment == Approx((0.9 * 300 + 0.5 * 100) / 400));
  CHECK(point.attainment_low < point.attainment);
  CHECK_FALSE(point.attainment_at_most);
  CHECK(estimated({trials[0]}).attainment_low == 0.9);  // one run has no spread to speak of
}

TEST_CASE("a server that ceases to serve decides where the SLO is met without that",
          "[scenarios][planner]") {
  TargetEstimate target;
  target.limit = 0.01;
  std::vector<CellTrial> trials = {trial_of(0, 1, 100), trial_of(1, 0.1, 100), trial_of(2, 1, 100)};
  trials[1].standstill = "nothing runs";
  trials[1].targets[0].x = 0.9;
  CHECK(standstills_of({trials[0]}, {target}).replicates == 0);
  const Standstills found = standstills_of(trials, {target});
  CHECK(found.replicates == 1);
  CHECK(found.of == 3);
  CHECK(found.why == "nothing runs");
  CHECK(found.decides);           // without it no request misses
  trials[2].targets[0].x = 0.05;  // of both others 2.5%, where 1% may
  CHECK_FALSE(standstills_of(trials, {target}).decides);
  CHECK(standstills_of({trials[1]}, {target}).decides);  // no other was run
}

TEST_CASE("runs that were cut bound the attainment: the mean of the others would flatter",
          "[scenarios][planner]") {
  std::vector<CellTrial> trials = {trial_of(0, 0.9, 300), trial_of(1, 0.2, 700)};
  trials[1].cut = true;  // of its requests at most a fifth could still meet their targets
  const PlanPoint point = estimated(trials);
  CHECK(point.attainment_at_most);
  CHECK(point.attainment == Approx((0.9 * 300 + 0.2 * 700) / 1000));
  CHECK(point.attainment_low == 0);
}

TEST_CASE("a verified cell is told by its fresh runs, not by those that chose it",
          "[scenarios][planner]") {
  const std::vector<CellTrial> trials = {trial_of(0, 1, 100), trial_of(kScreening, 0.9, 100),
                                         trial_of(kScreening + 1, 0.8, 100)};
  CHECK(estimated(trials).attainment == Approx(0.85));
}

}  // namespace
}  // namespace spillway::test
