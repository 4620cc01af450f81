// One screen of a plan: the answer first, few lines, rows around the decision, a bar to the limit.
#include "reports/plan/plan_glance.hpp"

#include <algorithm>
#include <sstream>

#include "reports/charts/text_chart.hpp"
#include "reports/format.hpp"
#include "reports/plan/glance_table.hpp"
#include "reports/provenance.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/renderers/table_layout.hpp"
#include "tests/reports/plan/plan_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

std::string text_of(const Report& report, std::size_t width) {
  std::ostringstream out;
  find_format("text", "plan", "").make({false, false, width})->render(report, out);
  return out.str();
}

PlanPoint judged(CellVerdict verdict, std::uint32_t replicates, bool bounded, std::string reason) {
  PlanPoint point;
  point.verdict = verdict;
  point.replications = replicates;
  point.reason = std::move(reason);
  point.targets.resize(1);
  if (bounded) point.targets[0].bound = 0.02;
  return point;
}

TEST_CASE("a size is met, missed or uncertain, and few replicates are said", "[reports]") {
  PlanResult plan;
  plan.confidence.emplace();
  const auto says = [&](CellVerdict verdict, std::uint32_t n, bool bounded, const char* reason) {
    return glance_standing(plan, judged(verdict, n, bounded, reason));
  };
  CHECK(says(CellVerdict::kMet, 20, true, "") == "met");
  CHECK(says(CellVerdict::kMissed, 20, true, "slo") == "missed");
  CHECK(says(CellVerdict::kLooksMet, 10, true, "budget") == "uncertain");
  CHECK(says(CellVerdict::kLooksMissed, 10, true, "budget") == "uncertain");
  CHECK(says(CellVerdict::kLooksMissed, 1, false, "budget") == "uncertain");
  CHECK(says(CellVerdict::kLooksMet, 3, false, "not-needed") == "met (3 replicates)");
  CHECK(says(CellVerdict::kLooksMissed, 1, false, "slo") == "missed (1 replicate)");
  CHECK(says(CellVerdict::kMet, 0, false, "") == "met (one run)");
  CHECK(says(CellVerdict::kLooksMissed, 0, false, "") == "missed (one run)");
  CHECK(says(CellVerdict::kExcluded, 0, false, "not-in-engine") == "not-in-engine");
  plan.undecided = true;
  CHECK(says(CellVerdict::kMet, 20, true, "") == "uncertain");
}

TEST_CASE("a bar ends on its side of the limit", "[reports]") {
  // 20 columns to 3 times the limit: a third of 19 is column 6.
  CHECK(text_bar({1, 2, 9, TextMark::kMet}, 20, false) == "---+  |");
  CHECK(text_bar({1.999, 2, 9, TextMark::kOpen}, 20, false) == "-----?|");
  CHECK(text_bar({2.001, 2, 9, TextMark::kMissed}, 20, false) == "------|x");
  CHECK(text_bar({9, 2, 9, TextMark::kMissed}, 20, false) == "------|----------->x");
  CHECK(text_bar({1, 2, 9, TextMark::kMet}, 20, true) == "───✔  │");
  CHECK(text_bar({0, 2, 0, TextMark::kMet}, 20, false).front() == '+');
  CHECK(text_bar({kNoPoint, 2, 9, TextMark::kMet}, 20, false).empty());
  CHECK(text_bar({1, 0, 9, TextMark::kMet}, 20, false).empty());
}

TEST_CASE("a glance keeps to its lines, the answer first", "[reports]") {
  PlanResult plan = sized_plan();
  plan.verdict = "Use 64 GiB of DRAM. It meets the SLO.";
  plan.recommended = 3;
  plan.judgement.binding_kind = "compute";
  plan.binding = {"Steps run all the time."};
  for (const std::size_t width : {80UL, 100UL}) {
    for (const std::size_t lines : {24UL, 18UL, 14UL}) {
      const Glance glance = plan_glance(plan, {}, {width, lines, 1, 9, false});
      const std::string text = text_of(glance.report, width);
      INFO(text);
      CHECK(text.starts_with(plan.verdict + "\n"));
      const auto used = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
      CHECK(used + 1 + glance.notes + 1 <= lines);
      CHECK(glance.notes >= 1);
      for (const std::string& line : split_lines(text)) CHECK(display_width(line) <= width);
      CHECK_THAT(text, ContainsSubstring("64 GiB"));
    }
  }
  CHECK(plan_glance(plan, {}, {100, 24, 0, 0, false}).notes == 0);
  CHECK(plan_glance(PlanResult(), {}, {}).report.sections.size() == 1);
}

TEST_CASE("what an answer rests on stands beside it", "[reports]") {
  Provenance p;
  p.inputs = {{"configuration",
               {{"model", {{"name", "meta-llama/Llama-3.1-8B"}}},
                {"gpu", "H100"},
                {"workload", {{"speed", 0.5}}}}},
              {"trace", {{"name", "a/b/chat.jsonl.gz"}, {"requests", 2000}}}};
  const auto shown = [&] { return text_of(plan_glance(sized_plan(), p, {}).report, 100); };
  const std::string own = "Rests on: Llama-3.1-8B on H100, 2,000 requests of chat.jsonl.gz x0.5.";
  CHECK_THAT(shown(), ContainsSubstring(own + "\n"));
  p.warnings = {test::coded("published-links", "")};
  CHECK_THAT(shown(), ContainsSubstring("on H100 (published figures), 2,000 requests"));
  // Of a document that says nothing of them.
  p.inputs = nlohmann::json::object();
  CHECK_THAT(shown(), !ContainsSubstring("Rests on"));
}

TEST_CASE("what breaks the answer is said once a kind, or that nobody asked", "[reports]") {
  PlanResult plan = once_plan();
  const auto shown = [&] { return text_of(plan_glance(plan, {}, {}).report, 100); };
  CHECK_THAT(shown(), ContainsSubstring("Margin: not tested. Add --set plan.sensitivity=true"));
  plan.notes = {test::coded("left-out-by-time", "")};
  CHECK_THAT(shown(), ContainsSubstring("Margin: not tested, because the budget ended first."));
  const auto event = [](const char* kind, const char* name) {
    BreakingEvent out;
    out.kind = kind;
    out.name = name;
    return out;
  };
  plan.margin.emplace();
  plan.margin->broken = {event("peak", "peak x1.5"), event("forecast", "in 6 months"),
                         event("peak", "peak x2"), event("forecast", "in 12 months")};
  CHECK_THAT(shown(), ContainsSubstring("fails at a peak x1.5 and in 6 months of growth (one"));
}

TEST_CASE("rows are cut around the answer, not at the end", "[reports]") {
  PlanResult plan = sized_plan();
  plan.recommended = 3;
  const Table table = glance_table(plan, 2, 100, false);
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[static_cast<std::size_t>(table.highlight)][0] == "64 GiB");
}

}  // namespace
}  // namespace spillway::test
