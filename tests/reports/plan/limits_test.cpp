// How far a plan holds, and what its first page warns of: whatever was tried, or nothing.
#include "reports/plan/limits.hpp"
#include "reports/notes/plan_notes.hpp"
#include "reports/plan/pages/not_to_miss.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/provenance.hpp"
#include "tests/reports/plan/plan_samples.hpp"
#include "tests/reports/plan/told_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

SensitivityRow factor(const char* name, const char* says) {
  SensitivityRow row;
  row.factor = name;
  row.low.factor = 0.8;
  row.high.factor = 1.2;
  row.low.met = row.high.met = true;
  row.says = says;
  return row;
}

PlanResult limited_plan() {
  PlanResult plan = told_plan();
  plan.sensitivity.emplace();
  plan.sensitivity->margin = 0.3;
  plan.sensitivity->replicates = 1;
  SensitivityRow rate = factor(
      "arrival rate",
      "The recommendation changes if arrival rate rises above 1.4 times what it is (at 1.5 it "
      "misses the SLO)");
  rate.changes_above = 1.4;
  rate.missed_above = 1.5;
  SensitivityRow reuse = factor("reuse",
                                "The recommendation changes if reuse falls below what it is (at "
                                "0.95 times it misses the SLO)");
  reuse.changes_below = 1;
  reuse.missed_below = 0.95;
  SensitivityRow length = factor("length", "The recommendation changes with length at 1.2 times");
  length.high.met = false;
  plan.sensitivity->rows = {rate, factor("link bandwidth", "Holds"), reuse, length};
  return plan;
}

TEST_CASE("limits stand by how near they are, with what was tried on both sides", "[reports]") {
  const std::vector<FactorLimit> limits = factor_limits(limited_plan());
  REQUIRE(limits.size() == 3);
  CHECK(limit_name(limits[0]) == "reuse at 0.95 times what it is");
  CHECK(limit_figures(limits[0]) ==
        "0.95 misses the SLO, 1 (as it is) meets it; values between were not tried");
  CHECK(limit_name(limits[1]) == "length at 1.20 times what it is");
  CHECK(limits[2].holds == 1.4);
  CHECK(limits[2].misses == 1.5);
  CHECK(limits[2].above);
  CHECK_FALSE(factor_limit(limited_plan(), "reuse", true));
  PlanResult none = limited_plan();
  none.recommended = -1;
  CHECK(factor_limits(none).empty());
  CHECK(factor_limits(PlanResult()).empty());
}

TEST_CASE("traffic ends where more sessions miss, when that is before faster ones do",
          "[reports]") {
  PlanResult plan = limited_plan();
  CHECK(traffic_limit(plan)->factor == "arrival rate");  // holds at 1.4; no row says how it grows
  for (const auto& [growth, margin] : {std::pair(1.34, 0.07), std::pair(1.5, -5.4)}) {
    plan.stress->rows.push_back(sample_row("peak", "more", margin));
    plan.stress->rows.back().growth = growth;
  }
  const auto limit = traffic_limit(plan);
  REQUIRE(limit);
  CHECK(limit->factor == "sessions");
  CHECK(limit->holds == 1.34);
  CHECK(limit->misses == 1.5);
  plan.stress->rows.back().growth =
      3;  // then 1.4 of the rate comes first: 1.34 is only the last met
  plan.stress->rows.push_back(sample_row("peak", "much more", 0.01));
  plan.stress->rows.back().growth = 2;
  CHECK(traffic_limit(plan)->factor == "arrival rate");
  plan.stress->cell = "another";
  CHECK(traffic_limit(plan)->factor == "arrival rate");
}

TEST_CASE("of sessions the nearest miss counts, and what is met before it", "[reports]") {
  PlanResult plan = limited_plan();
  plan.sensitivity.reset();
  for (const auto& [growth, margin] :
       {std::pair(2.0, -3.0), std::pair(1.5, -0.2), std::pair(3.0, 0.1), std::pair(1.25, 0.05)}) {
    plan.stress->rows.push_back(sample_row("peak", "more", margin));
    plan.stress->rows.back().growth = growth;
  }
  // 1.25 is met, 1.5 and 2 are missed; that 3 is met shows nothing beyond a miss.
  const auto limit = traffic_limit(plan);
  REQUIRE(limit);
  CHECK(limit->end() == 1.5);
  CHECK(limit->holds == 1.25);
}

TEST_CASE("a figure that is missing or cannot be leaves what holds", "[reports]") {
  PlanResult plan = limited_plan();
  for (const std::optional<double> missed : {std::optional<double>(), std::optional(1.2)}) {
    plan.sensitivity->rows[0].missed_above = missed;
    const auto limit = factor_limit(plan, "arrival rate", true);
    REQUIRE(limit);
    CHECK_FALSE(limit->misses);
    CHECK(limit_name(*limit) == "arrival rate above 1.40 times what it is");
    CHECK(limit_figures(*limit) == "1.40 still meets the SLO");
  }
}

TEST_CASE("what is certain of a cell is never less than its targets say one by one", "[reports]") {
  PlanPoint point;
  point.verdict = CellVerdict::kMet;
  point.replications = 10;
  point.attainment = 0.9956;
  for (const char* name : {"p99_ttft_ms", "p99_tpot_ms"}) {
    TargetEstimate target;
    target.name = name;
    target.share = target.met = target.backed = true;
    target.limit = 0.01;
    target.bound = 0.009;
    point.targets.push_back(target);
  }
  point.attainment_low = 0.985;
  CHECK(certain_of(point, 0.95).share == "99.6%");
  CHECK(certain_of(point, 0.95).claim == "at least 98.5%, with 95% confidence");
  // 1% and 1% leave 98%: both bounds at once are certain of less.
  point.attainment_low = 0.949;
  CHECK(certain_of(point, 0.95).claim == "each target met with 95% confidence");
  point.verdict = CellVerdict::kLooksMet;
  CHECK(certain_of(point, 0.95).claim == "at least 94.9%, with 95% confidence");
  point.attainment_low = 0;
  CHECK(certain_of(point, 0.95).claim == "no bound with 95% confidence");
}

TEST_CASE("a figure far beyond its limit is told as times the limit", "[reports]") {
  CHECK(margin_text(0.441) == "44.1%");
  CHECK(margin_text(-0.5) == "-50.0%");
  CHECK(margin_text(-110.29) == "111 times the limit");
}

TEST_CASE("the first page names what ends the answer, and warns of it", "[reports]") {
  const Section page = decision_page(limited_plan(), told_provenance());
  CHECK(fact_of(page, "Margin") ==
        "Fails: 5% less prefix reuse | Also 20% more length and 50% more load; events: peak x2 and "
        "one host lost (pages Sensitivity and Scenarios)");
  const Table* table = table_of(page, "Risks");
  REQUIRE(table != nullptr);
  std::vector<std::string> what;
  for (const auto& row : table->rows) what.push_back(row[0]);
  // Limits no further than a quarter, demand, failures, then what the planner named.
  CHECK(what == std::vector<std::string>{"5% less prefix reuse", "20% more length", "More traffic",
                                         "One host lost", "Cold limited"});
  CHECK(table->rows[2][1] ==
        "peak x2 (something) misses the SLO; in 3 months (something) still meets it (page "
        "Scenarios)");
}

TEST_CASE("nothing tried, nothing found and nothing recommended are told apart", "[reports]") {
  CHECK(breaking_fact(backed_plan()).value == "Not tested");
  PlanResult holds = limited_plan();
  holds.sensitivity->rows = {factor("link bandwidth", "Holds")};
  holds.stress.reset();
  CHECK(breaking_fact(holds).value == "No event tried breaks it");
  CHECK(fact_of(decision_page(infeasible_plan(), sample_provenance()), "Margin").empty());
  CHECK(not_to_miss_table(infeasible_plan(), HostBudget()).rows.empty());
  CHECK(not_to_miss_table(PlanResult(), HostBudget()).rows.empty());
  CHECK(bad_events_sentence(PlanResult()).empty());
  CHECK(bad_events_sentence(told_plan()) ==
        "With 16GiB, in one run each: peak x2 misses the SLO; one host lost leaves no service");
}

TEST_CASE("a size that adds nothing is a warning only where it is the answer", "[reports]") {
  PlanResult plan = told_plan();
  plan.stress.reset();
  const auto at = [](const char* sizes) {
    return plan_note("tier-adds-nothing", {{"tier", "DRAM"},
                                           {"sizes", sizes},
                                           {"with_share", 0.5},
                                           {"without_share", 0.5},
                                           {"why", "It is small."}});
  };
  plan.judgement.verdicts = {at("6 GiB")};
  CHECK(not_to_miss_table(plan, HostBudget()).rows.empty());
  plan.judgement.verdicts = {at("6 GiB and 16 GiB")};
  CHECK(not_to_miss_table(plan, HostBudget()).rows.size() == 1);
}

TEST_CASE("a host that lacks memory comes first", "[reports]") {
  Provenance small = told_provenance();
  small.inputs["configuration"]["host"]["memory_bytes"] = std::int64_t{64} << 30;
  const Section page = decision_page(told_plan(), small);
  const Table* table = table_of(page, "Risks");
  REQUIRE(table != nullptr);
  CHECK(table->rows[0] ==
        std::vector<std::string>{
            "Host memory", "a host needs 118.80 GiB in all and has 64.00 GiB (page Host budget)"});
  CHECK_THAT(fact_of(page, "Buy"), ContainsSubstring("needs 118.80 GiB of memory in all (page "
                                                     "Host budget), and has 64.00 GiB"));
}

TEST_CASE("a terminal says what the host needs and which events miss", "[reports]") {
  const Report report = plan_summary(told_plan(), "chat", told_provenance());
  CHECK(report.sections[0].paragraphs.front() ==
        "Buy: 16GiB of dram for the KV cache alone; each host needs 118.80 GiB of memory in all "
        "(page Host "
        "budget)");
  CHECK_THAT(report.sections[0].paragraphs.back(), StartsWith("With 16GiB, in one run each: "));
  CHECK_THAT(plan_summary(told_plan(), "chat").sections[0].paragraphs.front(),
             StartsWith("Confidence"));
}

TEST_CASE("margins of the same target say what each is taken over", "[reports]") {
  PlanResult plan = limited_plan();
  CHECK_THAT(margin_bases(plan), StartsWith("The margin of the tightest target is 30.0% on the 1 "
                                            "replicate of page Sensitivity and 31.0% in one run "
                                            "of the workload itself"));
  plan.stress.reset();
  CHECK(margin_bases(plan).empty());
}

}  // namespace
}  // namespace spillway::test
