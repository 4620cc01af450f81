// A plan's pages on policies, time, sensitivity and cost: what they show, and what they say where
// there is nothing to show.
#include <cmath>

#include "reports/notes/plan_notes.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/provenance.hpp"
#include "tests/reports/plan/plan_samples.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

Provenance from_file(const std::string& path) {
  Provenance p = sample_provenance();
  p.inputs["scenario"] = {{"name", "sample"}, {"path", path}};
  return p;
}

TEST_CASE("policies stand side by side at the answer's size, with paired intervals", "[reports]") {
  const Section page = policies_page(searched_plan(), from_file("s.json"));
  CHECK(page.code.empty());
  const Table& table = page.tables.at(0);
  REQUIRE(table.rows.size() == 3);
  CHECK(table.highlight == 1);
  CHECK(table.rows[1][0] == "arc");
  CHECK(table.rows[1][1] == "64 GiB");
  CHECK(table.rows[0][1] == "none");
  const Chart& chart = page.charts.at(0);
  CHECK(chart.kind == ChartKind::kScatter);
  CHECK(chart.x_names == std::vector<std::string>{"lru", "s3fifo"});
  CHECK(chart.series.at(0).y == std::vector<double>{-1, -3});
  CHECK(chart.series.at(0).low.at(0) == Approx(-1.5));
  CHECK_THAT(chart.note, ContainsSubstring("of fewer than five replicates it is a rough guess"));
}

TEST_CASE("a policy that shares no replicates with the answer has no interval, and that is said",
          "[reports]") {
  PlanResult plan = searched_plan();
  for (std::size_t i = 8; i < plan.points.size(); ++i) plan.points[i].difference.reset();
  const Chart chart = policies_page(plan, from_file("s.json")).charts.at(0);
  CHECK_FALSE(std::isnan(chart.series.at(0).low.at(0)));
  CHECK(std::isnan(chart.series.at(0).low.at(1)));
  CHECK_THAT(chart.note, ContainsSubstring("Without an interval it is a difference of means"));
}

TEST_CASE("means alone are said to be means alone", "[reports]") {
  PlanResult plan = searched_plan();
  for (PlanPoint& point : plan.points) point.difference.reset();
  const Chart chart = policies_page(plan, from_file("s.json")).charts.at(0);
  CHECK(chart.series.at(0).low.empty());
  CHECK_THAT(chart.note, StartsWith("Differences of means alone"));
}

TEST_CASE("the distance to the best conceivable policy and to an endless cache is told",
          "[reports]") {
  const Section page = policies_page(searched_plan(), from_file("s.json"));
  CHECK(fact_of(page, "Room for a better policy") ==
        "10.0 points | vllm-arc hits 55.0% of prompt blocks at 64 GiB, eviction=arc, the offline "
        "optimum 65.0%");
  CHECK_THAT(fact_of(page, "Room for more capacity"), StartsWith("5.0 points | "));
  CHECK(page.charts.at(1).stacks.size() == 3);
  CHECK(page.tables.size() == 1);
  CHECK(page.parts.at(0).tables.size() == 2);  // decision table, rules of thumb
}

TEST_CASE("one policy alone: the page says so and how to compare", "[reports]") {
  const Section page = policies_page(backed_plan(), from_file("my dir/it's.json"));
  REQUIRE(page.code.size() == 1);
  CHECK(page.code[0].text == "spillway plan 'my dir/it'\\''s.json' --recipe compare-policies");
  CHECK_THAT(page.paragraphs.back(), ContainsSubstring("no bound is computed"));
  CHECK(policies_page(PlanResult(), Provenance()).paragraphs.size() == 1);
}

TEST_CASE("searched loads are compared, and are no policies", "[reports]") {
  PlanResult plan = searched_plan();
  for (PlanPoint& point : plan.points) point.values.front().first = "workload.speed";
  const Section page = policies_page(plan, from_file("s.json"));
  CHECK(page.tables.at(0).rows.size() == 3);
  CHECK(page.code.size() == 1);
}

PlanResult with_stages(PlanResult plan) {
  for (PlanPoint& point : plan.points) {
    point.run.ttft_bands = {{"all", 990, 100, {10, 20, 30, 0, 40}},
                            {"p99-p100", 10, 900, {700, 100, 60, 0, 40}}};
    point.run.slowest = {{7, 1.5, 900, {700, 100, 60, 0, 40}, 4000, 100, {10, 20}, 0}};
  }
  return plan;
}

TEST_CASE("the page on time is of the recommended cell, beside one that misses", "[reports]") {
  const Section page = time_page(with_stages(backed_plan()));
  CHECK_THAT(page.paragraphs.at(0), StartsWith("Compare 32 GiB, which misses the SLO"));
  CHECK(page.charts.at(0).title == "What first tokens waited for, at 64 GiB");
  CHECK(page.charts.at(1).title == "What first tokens waited for, at 32 GiB");
  CHECK(page.charts.at(0).most == page.charts.at(1).most);
  CHECK(page.parts.at(0).tables.at(0).rows.size() == 1);
  CHECK_THAT(page.parts.at(0).paragraphs.at(0), StartsWith("Request 7 waited 900 ms"));
  const Section nearest = time_page(with_stages(infeasible_plan()));
  CHECK(nearest.charts.at(0).title == "What first tokens waited for, at 64 GiB");
}

TEST_CASE("without a run or its stages the page on time says so", "[reports]") {
  CHECK_THAT(time_page(PlanResult()).paragraphs.at(0), StartsWith("There is no run"));
  PlanResult plan = backed_plan();
  for (PlanPoint& point : plan.points) {
    point.run.series.clear();
    point.run.ttft_bands.clear();
    point.run.slowest.clear();
  }
  const Section page = time_page(plan);
  CHECK(page.charts.empty());
  CHECK_THAT(page.paragraphs.at(0), StartsWith("The result does not hold the stages"));
}

TEST_CASE("without sensitivity the page says why, and how to ask for it", "[reports]") {
  const Section off = sensitivity_page(backed_plan(), from_file("s.json"));
  REQUIRE(off.code.size() == 1);
  CHECK(off.code[0].text == "spillway plan s.json --set plan.sensitivity=true");
  CHECK_THAT(sensitivity_page(infeasible_plan(), Provenance()).paragraphs.at(0),
             StartsWith("Nothing is recommended"));
  PlanResult cut = backed_plan();
  cut.notes = {plan_note("left-out-by-time", {{"what", "Sensitivity"}})};
  const Section page = sensitivity_page(cut, Provenance());
  CHECK(page.code.empty());
  CHECK(page.paragraphs.at(0) ==
        "Sensitivity is left out or cut short: the time budget ended. Raise --budget.");
}

TEST_CASE("without prices the page on cost says what to pass", "[reports]") {
  const Section page = cost_page(backed_plan(), from_file("s.json"));
  REQUIRE(page.code.size() == 1);
  CHECK_THAT(page.code[0].text, StartsWith("spillway plan s.json --set plan.prices="));
  CHECK(page.charts.empty());
  // Wear is known without any.
  PlanResult worn = backed_plan();
  worn.cost.emplace();
  worn.cost->wear = {{"ssd", 1e12, 0.5, 3.25}};
  const Section wear = cost_page(worn, from_file("s.json"));
  CHECK(wear.code.size() == 1);
  CHECK(wear.tables.size() == 1);
}

TEST_CASE("with prices the front is told from what is no better than cheaper cells", "[reports]") {
  PlanResult plan = backed_plan();
  plan.cost.emplace();
  plan.cost->currency = "USD";
  plan.cost->cells = {{0, 700, 1.0, 10, true, false},
                      {1, 710, 1.1, 10, false, true},
                      {2, 720, 1.2, 10, false, false},
                      {3, 730, 1.3, 10, true, false}};
  const Section page = cost_page(plan, from_file("s.json"));
  CHECK(page.code.empty());
  const Chart& chart = page.charts.at(0);
  CHECK(chart.kind == ChartKind::kScatter);
  CHECK(chart.x_label == "USD per million tokens");
  REQUIRE(chart.series.size() == 4);
  CHECK(chart.series[3].name == "recommended");
  CHECK(chart.series[3].x == std::vector<double>{1.3});
  CHECK(chart.series[3].y.at(0) == Approx(99.9));
  CHECK_THAT(chart.note, ContainsSubstring("0 GiB, 64 GiB"));
  plan.cost->cells[1].per_million_tokens.reset();
  CHECK(cost_page(plan, Provenance()).charts.at(0).x_label == "USD a month");
  plan.recommended = -1;
  CHECK_THAT(cost_page(plan, Provenance()).paragraphs.at(0), StartsWith("Nothing is recommended"));
}

TEST_CASE("every page of every kind of plan shows something, in every format", "[reports]") {
  for (const PlanResult& plan :
       {sample_plan(), once_plan(), backed_plan(), infeasible_plan(), undecided_plan(),
        searched_plan(), searched_plan(30), PlanResult(), with_stages(backed_plan())}) {
    const Report report = plan_report(plan, sample_provenance());
    for (const char* id : {"decision", "knee", "policies", "time", "sensitivity", "cost"}) {
      INFO(plan.verdict << ": " << id);
      const Section& page = page_of(report, id);
      CHECK_FALSE((page.facts.empty() && page.paragraphs.empty()));
      for (const Chart& chart : page.charts) CHECK_FALSE(chart.note.empty());
    }
    for (const char* format : {"html", "md", "text", "csv"}) {
      const std::string text = rendered(report, format);
      CHECK(text == rendered(report, format));
      CHECK(text.find("nan%") == std::string::npos);
    }
  }
}

TEST_CASE("hostile and endless names stay text on every page", "[reports]") {
  const std::string evil =
      "</script><img src=x onerror=alert(1)>\"'\xff\x01" + std::string(500, 'w');
  for (PlanResult plan : {searched_plan(), infeasible_plan(), undecided_plan()}) {
    plan.tier = plan.verdict = plan.first_breach = evil;
    plan.binding = {evil};
    plan.judgement.verdicts = {test::coded(evil, evil)};
    if (plan.judgement.policy_bound) plan.judgement.policy_bound->policy = evil;
    for (PlanPoint& point : plan.points) {
      point.name = point.capacity = evil;
      for (auto& [key, value] : point.values) value += evil;
      for (LinkResult& link : point.run.links) {
        link.name = evil;
        link.busy_fraction = 0.95;
      }
      for (auto& [source, tokens] : point.run.prompt_tokens_by_source) source = evil;
      for (TargetEstimate& t : point.targets) t.tenant = evil;
    }
    Provenance p = sample_provenance();
    p.inputs["scenario"] = {{"path", evil}};
    const std::string html = rendered(plan_report(plan, p), "html");
    CHECK(html.find("<img src=x") == std::string::npos);
  }
}

}  // namespace
}  // namespace spillway::test
