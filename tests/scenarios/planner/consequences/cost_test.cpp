// What a plan says of cost: sums by hand, the front with its ties, and drives that wear out.
#include "scenarios/planner/consequences/cost.hpp"

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "tests/scenarios/planner/planned_cells.hpp"

namespace spillway::test {
namespace {

Attainments attained(const std::vector<double>& values) {
  Attainments out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.emplace_back(static_cast<std::uint32_t>(i), values[i]);
  }
  return out;
}

/// One letter a cell: on the front, dominated, within noise.
std::string front(const std::vector<double>& cost, const std::vector<Attainments>& all,
                  const std::vector<double>& own = {}) {
  std::vector<FrontCell> cells;
  for (std::size_t i = 0; i < cost.size(); ++i) {
    cells.push_back({cost[i], own.empty() ? 0 : own[i], all[i]});
  }
  std::string out;
  for (const FrontPlace place : pareto_front(cells, Replication::kIndependent)) {
    out += place == FrontPlace::kOnFront ? 'f' : place == FrontPlace::kDominated ? 'd' : 'n';
  }
  return out;
}

TEST_CASE("a dearer cell that attains the same in every replicate is dominated",
          "[scenarios][planner]") {
  const Attainments same = attained({0.99, 0.98, 1.0});
  CHECK(front({1, 2}, {same, same}) == "fd");
  CHECK(front({2, 2}, {same, same}) == "ff");  // neither is dearer
}

TEST_CASE("a cheaper cell that attains less dominates nothing", "[scenarios][planner]") {
  const Attainments low = attained({0.90, 0.91, 0.92, 0.90, 0.91, 0.90});
  const Attainments high = attained({0.99, 0.99, 0.98, 0.99, 0.99, 0.97});
  CHECK(front({1, 2}, {low, high}) == "ff");
  CHECK(front({1, 2}, {high, low}) == "fd");
}

TEST_CASE("a dearer cell that is better by no more than noise is left off the front",
          "[scenarios][planner]") {
  // Differences of 0.01 either way around 0.001: six of them have an interval of 0.012 to each
  // side.
  const Attainments a = attained({0.96, 0.94, 0.96, 0.94, 0.96, 0.946});
  const Attainments b = attained({0.95, 0.95, 0.95, 0.95, 0.95, 0.950});
  CHECK(front({1, 2}, {b, a}) == "fn");
  CHECK(front({1, 2}, {a, b}) == "fd");  // what is not even better is dominated
}

TEST_CASE("three replicates show a large difference and not a small one", "[scenarios][planner]") {
  // 15 points each time, within half a point: Student's t of two degrees is 4.3, over sqrt 3 that
  // is 1.2 points.
  const Attainments none = attained({0.845, 0.850, 0.840});
  const Attainments good = attained({0.995, 0.995, 0.990});
  CHECK(front({1, 2}, {none, good}) == "ff");
  // 0.1 points, and once not at all.
  const Attainments better = attained({0.996, 0.996, 0.990});
  CHECK(front({1, 2, 3}, {none, good, better}) == "ffn");
}

TEST_CASE("what is left off for noise does not stand before a better one", "[scenarios][planner]") {
  // The second is a little better than the first, the third a little better than the second, and
  // clearly so than the first.
  const Attainments a = attained({0.950, 0.952, 0.948, 0.951, 0.949, 0.950});
  const Attainments b = attained({0.956, 0.948, 0.953, 0.957, 0.946, 0.955});
  const Attainments c = attained({0.958, 0.960, 0.956, 0.959, 0.957, 0.958});
  CHECK(front({1, 2, 3}, {a, b, c}) == "fnf");
}

TEST_CASE("cells that share no replicates are compared by their own runs", "[scenarios][planner]") {
  const std::vector<Attainments> apart = {{{0, 0.9}, {1, 0.9}}, {{2, 0.9}, {3, 0.9}}};
  CHECK(front({1, 2}, apart, {0.8, 0.9}) == "ff");
  CHECK(front({1, 2}, apart, {0.9, 0.8}) == "fd");
}

TEST_CASE("with one run each that run decides", "[scenarios][planner]") {
  CHECK(front({1, 2, 3}, {{}, {}, {}}, {0.9, 0.8, 0.95}) == "fdf");
}

TEST_CASE("cost a month, a token and a request within the SLO", "[scenarios][planner]") {
  // 192 blocks of 2 MiB are 0.375 GiB: 3 USD a month at 8 a GiB, beside a GPU at 7.30.
  const Workload workload = repeating(50, 6, 1000, 1);
  const PlannedCells planned =
      planned_cells({"0blocks", "192blocks", "384blocks"},
                    {R"(slo=[{"metric": "median_ttft_ms", "max": 10}])"}, workload);
  REQUIRE(planned.plan.recommended == 1);
  const Prices prices = read_prices(JsonSource::from_text(
      "p.json",
      R"({"currency": "USD", "source": "made up", "gpu_hour": 0.01, "dram_gib_month": 8})"));
  CostQuestion question{planned.cells(), &prices, {}, Replication::kIndependent};
  const PlanCost cost = find_cost(question).value();
  CHECK(cost.currency == "USD");
  REQUIRE(cost.cells.size() == 3);
  CHECK(cost.cells[0].per_month == Approx(7.3));
  CHECK(cost.cells[1].per_month == Approx(10.3));
  CHECK(cost.cells[2].per_month == Approx(13.3));
  const RunResult& run = planned.plan.points[1].run;
  const double month_s = 730 * 3600;
  CHECK(*cost.cells[1].per_million_tokens ==
        Approx(10.3 / (run.total_token_throughput * month_s / 1e6)));
  CHECK(cost.cells[1].goodput_per_cost == Approx(run.goodput * month_s / 10.3));
  // 384 blocks attain what 192 do, for more.
  CHECK(cost.cells[1].on_front);
  CHECK_FALSE(cost.cells[2].on_front);
  REQUIRE(cost.items.size() == 2);
  CHECK(cost.items[1].quantity == Approx(0.375));
  // A GPU at 7.30 costs as much as 7.3 / 8 GiB; its 65 blocks are 0.127 GiB of KV.
  REQUIRE(cost.break_even);
  CHECK(cost.break_even->gib_per_gpu == Approx(7.3 / 8));
  CHECK(cost.break_even->price_ratio == Approx(7.3 / (65 * 2.0 / 1024) / 8));
}

TEST_CASE("without prices there is nothing to say, but for drives that wear out",
          "[scenarios][planner]") {
  const Workload workload = repeating(4, 2, 1000, 1);
  PlannedCells planned = planned_cells({"192blocks"}, {}, workload);
  CHECK_FALSE(find_cost({planned.cells(), nullptr, {}, Replication::kIndependent}));
  // 100 GB written in 86.4 s are 100 TB a day; a thousandth of the rating in that time leaves 1,000
  // times 86.4 s: one day.
  RunResult& run = planned.plan.points[0].run;
  run.duration_s = 86.4;
  TierResult drive;
  drive.name = "ssd";
  drive.kind = "nvme";
  drive.device.emplace();
  drive.device->bytes_written = 100'000'000'000;
  drive.device->drive_writes = 0.05;
  drive.device->endurance_share = 0.001;
  run.tiers.push_back(drive);
  const PlanCost cost =
      find_cost({planned.cells(), nullptr, {}, Replication::kIndependent}).value();
  CHECK(cost.currency.empty());
  REQUIRE(cost.wear.size() == 1);
  CHECK(cost.wear[0].bytes_per_day == Approx(100e12));
  CHECK(*cost.wear[0].drive_writes_per_day == Approx(50));
  CHECK(*cost.wear[0].life_years == Approx(1 / 365.25));
}

}  // namespace
}  // namespace spillway::test
