// What a terminal shows of a plan: few lines, and rows around the answer.
#include <fmt/format.h>

#include <algorithm>

#include "reports/plan/plan_parts.hpp"
#include "reports/plan/plan_report.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

/// `policies` x 20 sizes; the 12th of the second policy is recommended, its neighbour came second.
PlanResult wide_plan(int policies) {
  PlanResult plan;
  plan.tier = "dram";
  plan.verdict = "The answer";
  plan.confidence.emplace();
  plan.confidence->runs = 1234;
  plan.confidence->method = "sessions drawn again. Confidence is about them";
  for (int policy = 0; policy < policies; ++policy) {
    for (int size = 1; size <= 20; ++size) {
      PlanPoint point;
      point.capacity = fmt::format("{}GiB", size);
      point.name = fmt::format("{}, p{}", point.capacity, policy);
      point.values = {{"tiers.0.eviction", fmt::format("p{}", policy)}};
      point.replications = 3;
      point.attainment = 0.5 + 0.01 * size;
      point.verdict = size >= 15 ? CellVerdict::kLooksMet : CellVerdict::kLooksMissed;
      plan.points.push_back(point);
    }
  }
  plan.recommended = 20 + 11;
  plan.points[31].verdict = CellVerdict::kMet;
  plan.points[31].replications = 20;
  plan.points[31].attainment = 0.99951;
  plan.points[31].attainment_low = 0.9949;
  plan.runner_up = 20 + 10;
  plan.runner_up_reason = "It is uncertain.";
  plan.feasible_min = 31;
  plan.infeasible_max = 20 + 10;
  plan.first_breach = "1.2% of requests miss p99_ttft_ms";
  return plan;
}

std::vector<std::string> names(const Table& table) {
  std::vector<std::string> out;
  for (const auto& row : table.rows) out.push_back(row.front());
  return out;
}

bool says(const Report& report, const std::string& text) {
  return std::any_of(report.sections.begin(), report.sections.end(), [&](const Section& section) {
    return std::any_of(section.paragraphs.begin(), section.paragraphs.end(),
                       [&](const std::string& p) { return p.find(text) != std::string::npos; });
  });
}

TEST_CASE("a terminal shows the rows around the answer and counts the others", "[reports]") {
  const Report report = plan_summary(wide_plan(2), "chat");
  const Table& table = report.sections[0].tables[0];
  // The best of the first policy, and the line of the second on both sides of 12 GiB.
  CHECK(names(table) == std::vector<std::string>{
                            "15 GiB, p0", "5 GiB, p1", "6 GiB, p1", "7 GiB, p1", "8 GiB, p1",
                            "9 GiB, p1", "10 GiB, p1", "11 GiB, p1", "12 GiB, p1", "13 GiB, p1",
                            "14 GiB, p1", "15 GiB, p1", "16 GiB, p1", "17 GiB, p1", "18 GiB, p1"});
  CHECK(table.rows[static_cast<std::size_t>(table.highlight)][0] == "12 GiB, p1");
  CHECK(says(report, "25 more cells: in the report (--out DIR) and in --json"));
}

TEST_CASE("of many lines the best are shown, never more than fifteen rows", "[reports]") {
  PlanResult plan = wide_plan(30);
  plan.points[29 * 20 + 3].verdict = CellVerdict::kMet;  // 4 GiB of the last
  const Report report = plan_summary(plan, "");
  const std::vector<std::string> shown = names(report.sections[0].tables[0]);
  CHECK(shown.size() == 15);
  for (const char* name : {"10 GiB, p1", "11 GiB, p1", "12 GiB, p1", "14 GiB, p1", "4 GiB, p29"}) {
    CHECK(std::count(shown.begin(), shown.end(), name) == 1);
  }
  // Nothing recommended: around the cell that comes nearest.
  plan.points[31].verdict = CellVerdict::kLooksMissed;
  plan.recommended = plan.runner_up = plan.infeasible_max = plan.feasible_min = -1;
  CHECK(names(plan_summary(plan, "").sections[0].tables[0])[14] == "6 GiB, p29");
  CHECK(plan_summary(PlanResult(), "").sections.size() == 1);
}

TEST_CASE("what the verdict of a plan without an answer names is not said again", "[reports]") {
  PlanResult plan = wide_plan(2);
  plan.judgement.binding_kind = "compute";
  plan.binding = {"Steps run all the time."};
  CHECK(says(plan_summary(plan, ""), "Limiting resource: compute. Steps run all the time."));
  plan.verdict = "No size meets the SLO. Limiting resource: compute.";
  CHECK_FALSE(says(plan_summary(plan, ""), "Steps run all the time."));
}

TEST_CASE("a small plan is shown whole, with fewer columns than the report", "[reports]") {
  const Table table = brief_plan_table(sample_plan(), 15);
  CHECK(table.rows.size() == 3);
  CHECK(table.header == std::vector<std::string>{"size", "SLO", "TTFT p99", "TPOT p99", "from dram",
                                                 "busiest link", "incomplete"});
  CHECK(table.highlight == 1);
}

TEST_CASE("confidence is one line, and whose figures the table has is said", "[reports]") {
  const Report report = plan_summary(wide_plan(1 + 1), "chat");
  CHECK(report.title == "The answer");
  CHECK(report.sections[0].paragraphs[0] ==
        "Confidence: 100.0% of requests within SLO (no bound with 95% confidence; 20 replicates, "
        "1,234 runs in all).");
  CHECK(report.sections[0].tables[0].title ==
        "chat. Configurations, each run once on the workload itself (SLO and within SLO: over "
        "replicates)");
  // What is wrong with the size below was said of it as the runner-up; what the confidence is
  // about stands in the report.
  CHECK_FALSE(says(report, "Largest size below"));
  CHECK(report.sections[0].paragraphs[1] == "Replicates: sessions drawn again.");
  const std::vector<std::string> full = decision_sentences(wide_plan(2), Detail::kFull);
  CHECK(full[1] == "Replicates: sessions drawn again. Confidence is about them.");
  CHECK(full.back() ==
        "Largest size below: 11 GiB, p1 missed the SLO in 3 replicates: 1.2% of requests miss "
        "p99_ttft_ms.");
}

TEST_CASE("a single run of each cell has no confidence, and says so", "[reports]") {
  const Report report = plan_summary(sample_plan(), "chat");
  CHECK(says(report, "Confidence: none. Each size ran once, on the workload itself"));
  const Table& table = report.sections[0].tables[0];
  CHECK(table.rows[0][1] == "missed (one run)");
  CHECK(table.rows[1][1] == "met (one run)");
}

TEST_CASE("where nothing is recommended it is said what is shown", "[reports]") {
  PlanResult plan = wide_plan(1 + 1);
  plan.recommended = plan.runner_up = plan.feasible_min = -1;
  plan.points[31].verdict = plan.points[0].verdict = CellVerdict::kMissed;
  CHECK(decision_sentences(plan, Detail::kBrief)[0] ==
        "Confidence: 95% that 2 of 40 sizes miss the SLO, and none meets it (1,234 runs in all).");
  plan.undecided = true;
  CHECK(decision_sentences(plan, Detail::kBrief)[0] ==
        "Confidence: nothing is certain at 95% (1,234 runs in all).");
}

TEST_CASE("shares next to their limit are written with the digits that matter", "[reports]") {
  PlanPoint point;
  point.name = "64GiB";
  point.replications = 40;
  point.targets = {
      {"p99_ttft_ms", "", false, true, 2000, 1999.6, 0.0096, 0.01, 0.0104, true, false},
      {"goodput", "", true, false, 5, 6.5, 6.5, 5, std::nullopt, true, false}};
  const Table table = targets_table(point, 0.95);
  CHECK(table.title == "Targets at 64 GiB, over 40 replicates");
  CHECK(table.rows[0] == std::vector<std::string>{"p99 TTFT", "1.9996 s", "at most 2 s", "0.96%",
                                                  "at most 1.04%", "at most 1.00%", "uncertain"});
  CHECK(table.rows[1][3] == "6.50 (figure)");
  CHECK(table.rows[1][4] == "no bound");
}

}  // namespace
}  // namespace spillway::test
