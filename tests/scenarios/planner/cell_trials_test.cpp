// What a cell's trials say of its attainment, by hand.
#include "scenarios/planner/cell_trials.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

CellTrial trial_of(std::uint32_t replicate, double attainment, std::uint64_t requests,
                   double value_ms = 500) {
  CellTrial out;
  out.replicate = replicate;
  out.attainment = attainment;
  TargetSample target;
  target.judged = requests;
  target.x = 1 - attainment;
  target.limit = 0.01;
  target.value = value_ms;
  out.targets = {target};
  return out;
}

/// Judged by one target of p99, 2 s, or by a mean.
PlanPoint estimated(const std::vector<CellTrial>& trials, bool share = false) {
  SelectionProblem problem;
  problem.targets = {{"p99_ttft_ms", 0.01, false, share, share ? 2000.0 : 0}};
  PlanPoint point;
  point.targets.resize(1);
  estimate_from(trials, problem, point);
  return point;
}

TEST_CASE("requests that all met their targets do not prove that all will",
          "[scenarios][planner]") {
  std::vector<CellTrial> trials;
  for (std::uint32_t r = 0; r < 10; ++r) trials.push_back(trial_of(r, 1, 1000));
  const PlanPoint point = estimated(trials);
  CHECK(point.attainment == 1);
  // 10,000 requests; where none has missed, twenty may come as one: 500 clusters. -ln 0.025 is
  // 3.6889, so 3.6889 / 500 = 0.74% may miss.
  CHECK(point.attainment_low == Approx(1 - 3.6889 / 500).epsilon(1e-6));
}

TEST_CASE("attainment is as sure as the targets that it is made of", "[scenarios][planner]") {
  // The p99 itself stays far from 2 s in every run, so that requests may be counted one by one.
  std::vector<CellTrial> trials;
  for (std::uint32_t r = 0; r < 10; ++r) trials.push_back(trial_of(r, 1, 1000, 500 + r));
  CHECK(estimated(trials, true).attainment_low == Approx(1 - 3.6889 / 10000).epsilon(1e-6));
}

TEST_CASE("attainment is of all requests together, and runs that were cut tell none",
          "[scenarios][planner]") {
  std::vector<CellTrial> trials = {trial_of(0, 0.9, 300), trial_of(1, 0.5, 100),
                                   trial_of(2, 0, 1000)};
  trials[2].cut = true;
  const PlanPoint point = estimated(trials);
  CHECK(point.attainment == Approx((0.9 * 300 + 0.5 * 100) / 400));
  CHECK(point.attainment_low < point.attainment);
  CHECK(estimated({trials[0]}).attainment_low == 0.9);  // one run has no spread to speak of
}

}  // namespace
}  // namespace spillway::test
