// The first page of a plan: what to buy, set and expect in large letters, whatever came out.
#include "reports/plan/pages/pages.hpp"
#include "tests/reports/plan/plan_samples.hpp"
#include "tests/support/catch.hpp"

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
  CHECK_THAT(fact_of(page, "Buy"), StartsWith("64GiB of DRAM | "));
  CHECK(fact_of(page, "Set") ==
        "--kv-offloading-size 64 | for vllm@0.25, with 1 more flag (page Apply); environment "
        "VLLM_X=1; no flag covers tier ssd");
  CHECK(fact_of(page, "Expect") ==
        "99.9% of requests in time | 99.5% or more with 95% confidence; p99_ttft_ms 800 ms (at "
        "most 2.00 s), over 20 replicates");
  CHECK_THAT(fact_of(page, "Headroom"), StartsWith("60.0% to the tightest target"));
  CHECK(fact_of(page, "Confidence") ==
        "High: 95% over 20 replicates | replicates: sessions drawn again");
  CHECK_THAT(fact_of(page, "Headroom"), ContainsSubstring("over 20 replicates"));
  CHECK(fact_of(page, "Bottleneck") == "None found | caches supply what is repeated");
  CHECK(fact_of(page, "Too small") ==
        "32GiB | misses the SLO: p99_ttft_ms is 2,100, target at most 2,000");
  CHECK(fact_of(page, "Cost").empty());
}

TEST_CASE("several engines on a host need as many pools", "[reports]") {
  PlanResult plan = backed_plan();
  plan.recommended_total_bytes *= 8;
  const Section page = decision_page(plan, on_host(4));
  // 4 x 64 GiB on a host; 8 x 64 GiB in all.
  CHECK(
      fact_of(page, "Buy") ==
      "256 GiB of DRAM per host | for KV alone: each host needs 325.60 GiB of memory in all (page "
      "Host budget); 64GiB for each of its 4 engines; 512 GiB in total over 8 engines");
  const Chart& chart = page.charts.at(0);
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
  const Section page = decision_page(plan, on_host(16));
  // 16 x 64 + 32 - 512 = 544 GiB too much.
  CHECK_THAT(page.charts.at(0).note,
             ContainsSubstring("the pools do not fit, 544 GiB are lacking"));
  CHECK(page.charts.at(0).stacks.back().parts.back() == 0);
}

TEST_CASE("a plan of single runs has no confidence, and says what would bring it", "[reports]") {
  const Section page = decision_page(once_plan(), sample_provenance());
  CHECK_THAT(fact_of(page, "Buy"), StartsWith("64GiB of DRAM"));
  CHECK_THAT(fact_of(page, "Expect"),
             StartsWith("99.9% of requests in time | in one run of the workload itself; "));
  CHECK_THAT(fact_of(page, "Confidence"), StartsWith("None: one run of each cell"));
  CHECK_THAT(fact_of(page, "Confidence"), ContainsSubstring("replications"));
}

TEST_CASE("where nothing meets the SLO the page says what fails first and what would help",
          "[reports]") {
  const Section page = decision_page(infeasible_plan(), sample_provenance());
  CHECK(fact_of(page, "Buy") ==
        "Nothing that was tried | 4 of 4 cells do not meet the SLO; 64GiB comes nearest");
  CHECK(fact_of(page, "Fails first") ==
        "p99_ttft_ms 800 ms (at most 2.00 s) | 20.1% of requests miss it at 64GiB, where 1.0% may");
  CHECK(fact_of(page, "Would help") ==
        "Twice the compute speed | in one run of 64GiB each; twice the compute speed: p99_ttft_ms "
        "900 ms, meets the SLO; twice the blocks in HBM: p99_ttft_ms 2.20 s, still misses the SLO");
  CHECK(fact_of(page, "Confidence") ==
        "High: 4 of 4 cells are shown to miss at 95% | replicates: sessions drawn again");
  CHECK(fact_of(page, "Set").empty());
  CHECK(page.parts.at(0).heading == "What would help");
  CHECK(page.parts.at(0).paragraphs.at(0) == "<b>nothing else</b> could be tried");
}

TEST_CASE("an undecided plan says what speaks for which cell and what would decide", "[reports]") {
  const Section page = decision_page(undecided_plan(), sample_provenance());
  CHECK(fact_of(page, "Buy") ==
        "Not decided yet | 64GiB looks as if it met every target, and that is not backed");
  CHECK(fact_of(page, "What would decide") ==
        "About 18 replications would decide, 5 were allowed | 0.9% of requests miss p99_ttft_ms at "
        "64GiB and 1.0% may, which these runs do not settle");
  CHECK_THAT(fact_of(page, "Confidence"), StartsWith("Low: nothing is backed yet"));
  CHECK_THAT(fact_of(page, "So far"),
             StartsWith("99.9% of requests in time | at 64GiB, mean of 5"));
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
  CHECK_THAT(fact_of(decision_page(PlanResult(), Provenance()), "Buy"), StartsWith("No answer"));
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
  CHECK(fact_of(page, "Cost") == "0.0948 USD per million tokens | 880 USD a month");
  CHECK_THAT(fact_of(page, "Confidence"), StartsWith("Medium: 95% over 20 replicates"));
}

TEST_CASE("named verdicts stand on the first page, every cell below", "[reports]") {
  PlanResult plan = backed_plan();
  plan.judgement.verdicts = {{"offload-hurts", "slower with 16GiB"}};
  const Section page = decision_page(plan, sample_provenance());
  REQUIRE(page.tables.size() == 1);
  CHECK(page.tables[0].rows[0] == std::vector<std::string>{"offload-hurts", "slower with 16GiB"});
  CHECK(page.parts.back().heading == "Every cell");
  CHECK(page.parts.back().tables.at(0).rows.size() == 4);
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
