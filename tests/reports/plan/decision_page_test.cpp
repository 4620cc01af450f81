// The first page of a plan: what to buy, set and expect in large letters, whatever came out.
#include "reports/plan/pages/pages.hpp"
#include "reports/provenance.hpp"
#include "tests/reports/plan/plan_samples.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

Provenance on_host(int engines) {
  Provenance p = sample_provenance();
  p.inputs["configuration"] = {{"tiers", {{{"name", "dram"}, {"capacity", "34359738368B"}}}},
                               {"host",
                                {{"memory_bytes", std::int64_t{512} << 30},
                                 {"reserved_bytes", std::int64_t{32} << 30},
                                 {"instances", engines}}}};
  return p;
}

TEST_CASE("a backed plan says what to buy, set and expect, and how sure that is", "[reports]") {
  const Section page = decision_page(backed_plan(), sample_provenance());
  CHECK_THAT(fact_of(page, "Buy"), StartsWith("64 GiB of DRAM | "));
  CHECK(page.facts.at(0).status == Status::kMet);
  CHECK(fact_of(page, "Set") ==
        "--kv-offloading-size 64 | for vllm@0.25, with 1 more flag (page Apply); environment "
        "VLLM_X=1; no flag covers tier ssd");
  CHECK(
      fact_of(page, "Expect") ==
      "99.9% of requests within SLO | At least 99.5%, with 95% confidence. p99 TTFT 800 ms (limit "
      "2.0 s), over 20 replicates");
  CHECK_THAT(fact_of(page, "Headroom"), StartsWith("60.0% to the tightest target"));
  CHECK(fact_of(page, "Confidence") ==
        "High (95%) | 99.9% of requests within SLO, at least 99.5%, with 95% confidence; 20 "
        "replicates");
  CHECK_THAT(fact_of(page, "Headroom"), ContainsSubstring("over 20 replicates"));
  CHECK(fact_of(page, "Limiting resource") == "None | Caches serve what is repeated.");
  CHECK(fact_of(page, "Too small") == "32 GiB | Misses the SLO: p99 TTFT 2.1 s (limit 2.0 s)");
  CHECK_THAT(fact_of(page, "Next 12 months"), StartsWith("Not tested"));
  CHECK(fact_of(page, "Cost").empty());
}

TEST_CASE("several engines on a host need as many pools", "[reports]") {
  PlanResult plan = backed_plan();
  plan.recommended_total_bytes *= 8;
  const Section page = decision_page(plan, on_host(4));
  // 4 x 64 GiB on a host; 8 x 64 GiB in all.
  CHECK(fact_of(page, "Buy") ==
        "256 GiB of DRAM per host | For the KV cache alone; each host needs 325.60 GiB of memory "
        "in all (page "
        "Host budget); 64 GiB for each of its 4 engines; 512 GiB in total over 8 engines");
  const Chart chart = host_page(plan, on_host(4)).charts.at(1);
  CHECK(chart.kind == ChartKind::kStacks);
  REQUIRE(chart.stacks.size() == 4);
  CHECK(chart.stacks[1].name == "recommended");
  CHECK(chart.stacks[1].parts == std::vector<double>{256, 0, 0});
  CHECK(chart.stacks[2].parts == std::vector<double>{128, 0, 0});  // 4 x 32 GiB are there
  CHECK(chart.stacks[3].parts == std::vector<double>{256, 32, 224});
  CHECK_THAT(chart.note, ContainsSubstring("the host's memory: 512 GiB"));
}

TEST_CASE("pools that do not fit into the host are said not to", "[reports]") {
  PlanResult plan = backed_plan();
  const Section page = host_page(plan, on_host(16));
  // 16 x 64 + 32 - 512 = 544 GiB too much.
  CHECK_THAT(page.charts.at(1).note,
             ContainsSubstring("the pools do not fit, 544 GiB are lacking"));
  CHECK(page.charts.at(1).stacks.back().parts.back() == 0);
}

TEST_CASE("a plan of single runs has no confidence, and says what would bring it", "[reports]") {
  const Section page = decision_page(once_plan(), sample_provenance());
  CHECK_THAT(fact_of(page, "Buy"), StartsWith("64 GiB of DRAM"));
  CHECK_THAT(fact_of(page, "Expect"),
             StartsWith("99.9% of requests within SLO | In one run of the workload itself: "));
  CHECK_THAT(fact_of(page, "Confidence"), StartsWith("None: one run of each size"));
  CHECK_THAT(fact_of(page, "Confidence"), ContainsSubstring("replications"));
}

TEST_CASE("where nothing meets the SLO the page says what fails first and what would help",
          "[reports]") {
  const Section page = decision_page(infeasible_plan(), sample_provenance());
  CHECK(fact_of(page, "Answer") ==
        "No size meets the SLO | 4 of 4 sizes do not meet the SLO; 64 GiB comes nearest: 20.1% of "
        "requests exceed the p99 TTFT limit of 2.0 s (1.0% allowed)");
  CHECK(page.facts.at(0).status == Status::kMissed);
  CHECK(fact_of(page, "Fails first") ==
        "p99 TTFT 800 ms (limit 2.0 s) | At 64 GiB: 20.1% of requests miss it, 1.0% allowed");
  CHECK(fact_of(page, "Would help") ==
        "Twice the compute speed | p99 TTFT 900 ms in one run of 64 GiB: meets the SLO. Others "
        "below");
  CHECK(fact_of(page, "Confidence") ==
        "High (95%) | 4 of 4 configurations miss the SLO with that confidence; 40 runs");
  CHECK(fact_of(page, "Set").empty());
  CHECK(page.parts.at(1).heading == "What would help");
  CHECK(page.parts.at(1).paragraphs.at(0) == "<b>nothing else</b> could be tried");
}

TEST_CASE("an undecided plan says what speaks for which cell and what would decide", "[reports]") {
  const Section page = decision_page(undecided_plan(), sample_provenance());
  CHECK_THAT(fact_of(page, "Answer"), StartsWith("Not decided yet | 64 GiB may meet the SLO: "));
  CHECK(page.facts.at(0).status == Status::kUncertain);
  CHECK(fact_of(page, "What would decide") ==
        "About 18 replications would decide, 5 were allowed | 0.9% of requests miss p99_ttft_ms at "
        "64GiB and 1.0% may, which these runs do not settle");
  CHECK_THAT(fact_of(page, "Confidence"), StartsWith("Low: not decided"));
  CHECK_THAT(fact_of(page, "So far"),
             StartsWith("99.9% of requests within SLO | At 64 GiB, over 5 replicates: "));
}

TEST_CASE("what would decide without figures is said as it is", "[reports]") {
  PlanResult plan = undecided_plan();
  plan.would_decide = "a longer trace: sizes that it does not fill cannot be judged";
  CHECK(fact_of(decision_page(plan, sample_provenance()), "What would decide") ==
        "A longer trace | sizes that it does not fill cannot be judged");
}

TEST_CASE("without a tier, with one of no bound, or without any cell the page still answers",
          "[reports]") {
  PlanResult none = once_plan();
  none.recommended = 0;
  CHECK(fact_of(decision_page(none, sample_provenance()), "Buy") ==
        "No DRAM | HBM alone meets the SLO");
  PlanResult unbounded = once_plan();
  unbounded.points[3].unbounded = true;
  CHECK_THAT(fact_of(decision_page(unbounded, sample_provenance()), "Buy"),
             StartsWith("DRAM without bound"));
  CHECK_THAT(fact_of(decision_page(PlanResult(), Provenance()), "Answer"),
             StartsWith("No size was tried"));
}

TEST_CASE("searched values are chosen, prices are told, uneven sizes lower the grade",
          "[reports]") {
  PlanResult plan = searched_plan();
  plan.confidence->boundary = "non_monotone";
  plan.cost.emplace();
  plan.cost->currency = "USD";
  plan.cost->cells = {{7, 880, 0.0948, 1000, true, false}};
  const Section page = decision_page(plan, sample_provenance());
  CHECK(fact_of(page, "Choose") == "tiers.0.eviction = arc | ");
  CHECK(fact_of(page, "Cost") == "USD 880 a month | USD 0.0948 per million tokens");
  CHECK_THAT(fact_of(page, "Confidence"), StartsWith("Medium (95%) | "));
}

TEST_CASE("named verdicts stand on the first page, every cell below", "[reports]") {
  PlanResult plan = backed_plan();
  plan.judgement.verdicts = {test::coded("offload-hurts", "slower with 16GiB")};
  const Section page = decision_page(plan, sample_provenance());
  REQUIRE(page.tables.size() == 1);
  CHECK(page.tables[0].rows[0] == std::vector<std::string>{"Offload hurts", "slower with 16GiB"});
  const auto every = std::find_if(page.parts.begin(), page.parts.end(),
                                  [](const Section& s) { return s.heading == "Every size"; });
  REQUIRE(every != page.parts.end());
  CHECK(every->tables.at(0).rows.size() == 4);
}

TEST_CASE("the chart of the first page judges every size by its tightest target", "[reports]") {
  const Section page = decision_page(backed_plan(), sample_provenance());
  REQUIRE(page.charts.size() == 1);
  const Chart& chart = page.charts[0];
  CHECK(chart.x_names == std::vector<std::string>{"0 GiB", "16 GiB", "32 GiB", "64 GiB"});
  REQUIRE(chart.series.size() == 1);
  CHECK(chart.series[0].y.at(2) == Approx(97));
  CHECK(chart.series[0].low.at(3) == Approx(99.5));
  CHECK(chart.series[0].status ==
        std::vector<Status>{Status::kMissed, Status::kMissed, Status::kMissed, Status::kMet});
  CHECK(chart.limits.at(0).second == Approx(99));
  CHECK(chart.y_from == Approx(95));  // five error budgets
  CHECK(chart.regions.at(0).name == "recommended");
  // Single runs have no shares: how much of the limit is used.
  const Section once = decision_page(once_plan(), sample_provenance());
  REQUIRE(once.charts.size() == 1);
  CHECK(once.charts[0].series.at(0).low.empty());
  CHECK(once.charts[0].series.at(0).status.back() == Status::kMet);
  // Where no size comes near, all of the axis is there.
  CHECK(decision_page(infeasible_plan(), sample_provenance()).charts.at(0).y_from == 0);
  CHECK(decision_page(PlanResult(), Provenance()).charts.empty());
}

TEST_CASE("the outlook is what forecasts of the recommended size found", "[reports]") {
  PlanResult plan = backed_plan();
  plan.stress.emplace();
  plan.stress->cell = "64GiB";
  plan.stress->growth_per_month = 0.05;
  StressRow row{"forecast", "in 6 months", "1.34 times the sessions", 1.34};
  row.outcome = StressOutcome::kMet;
  row.target = "p99_ttft_ms";
  row.value = 1500;
  row.limit = 2000;
  plan.stress->rows = {row};
  CHECK(fact_of(decision_page(plan, sample_provenance()), "Next 6 months") ==
        "Holds | Sessions grow 5.0% a month, one run each");
  row.name = "in 12 months";
  row.outcome = StressOutcome::kMissed;
  row.value = 2500;
  plan.stress->rows.push_back(row);
  CHECK(fact_of(decision_page(plan, sample_provenance()), "Next 12 months") ==
        "Fails within 12 months | Holds for 6 months. Then p99 TTFT 2.5 s (limit 2.0 s). Sessions "
        "grow 5.0% a month, one run each");
  // By the replicates that confirmed it, with what makes the answer last.
  plan.margin.emplace().broken = {{"forecast", "in 12 months", 1.8, "p99_ttft_ms", 3000, 2000, 3}};
  TriedChange change;
  change.kind = ChangeKind::kReplicas;
  change.changes = {{"fleet.replicas", "1", "2"}};
  plan.margin->growth = GrowthRemedy{"in 12 months", 1.8, change};
  CHECK(fact_of(decision_page(plan, sample_provenance()), "Next 12 months") ==
        "Fails within 12 months | Holds for 6 months. Then p99 TTFT 3.0 s (limit 2.0 s) in 3 "
        "replicates. For 12 months: use 2 replicas and it holds. Sessions grow 5.0% a month, one "
        "run each");
  plan.stress->cell = "32GiB";
  CHECK_THAT(fact_of(decision_page(plan, sample_provenance()), "Next 12 months"),
             StartsWith("Not tested"));
}

TEST_CASE("inputs that somebody edited tell less and break nothing", "[reports]") {
  Provenance p;
  p.inputs = {{"configuration",
               {{"tiers", {{{"name", "dram"}, {"capacity", 7}}, "x"}},
                {"host", {{"memory_bytes", "much"}, {"instances", -3}}},
                {"engine", nullptr}}},
              {"scenario", {{"path", 5}}}};
  for (const PlanResult& plan : {backed_plan(), infeasible_plan(), undecided_plan()}) {
    CHECK_FALSE(decision_page(plan, p).facts.empty());
    CHECK_FALSE(policies_page(plan, p).paragraphs.empty());
  }
}

}  // namespace
}  // namespace spillway::test
