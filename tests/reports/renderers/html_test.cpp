// The HTML page: well formed, self-contained, and inert whatever the names in it say.
#include "reports/charts/svg_chart.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/run/run_report.hpp"
#include "tests/reports/markup.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

// What an attacker, or an unlucky user, calls a tier.
const std::string kNasty = "</td><script>alert(1)</script> & \"q\" 'a' |\n\t\x1b[31m";

std::string page(const Report& report) {
  return rendered(report, "html");
}

TEST_CASE("the page of a run is well formed", "[reports]") {
  const Markup markup = read_markup(page(run_report(sample_run(), sample_provenance())));
  CHECK(markup.problem == "");
  CHECK(markup.count("html") == 1);
  CHECK(markup.count("h1") == 1);
  CHECK(markup.count("table") ==
        9);  // SLO, latency, totals, sources, tiers, refusals, links, setup, provenance
}

TEST_CASE("the page of a plan is well formed and draws its curves", "[reports]") {
  const Markup markup = read_markup(page(plan_report(sample_plan(), sample_provenance())));
  CHECK(markup.problem == "");
  std::size_t drawings = 0;
  for (const Element& element : markup.elements) {
    if (element.name == "svg" && element.attribute("role") == "img") ++drawings;
  }
  CHECK(drawings == 4);  // TTFT, TPOT, hits, links
}

TEST_CASE("a report of nothing is still a page", "[reports]") {
  CHECK(read_markup(page(Report{})).problem == "");
  CHECK(read_markup(page(report_of(Table{}))).problem == "");
  CHECK(read_markup(page(run_report(RunResult{}, Provenance{}))).problem == "");
  CHECK(read_markup(page(plan_report(PlanResult{}, Provenance{}))).problem == "");
}

TEST_CASE("names cannot leave the text they stand in", "[reports]") {
  RunResult run = sample_run();
  run.tiers[1].name = run.links[0].name = run.links[0].model = run.slo[0].name = kNasty;
  run.prompt_tokens_by_source[2].first = run.series[0].name = run.rejected_reasons[0].reason =
      kNasty;
  Provenance p = sample_provenance();
  p.scenario = p.tool = p.digest = kNasty;
  p.warnings = {kNasty};
  p.inputs["trace"]["name"] = kNasty;
  const std::string html = page(run_report(run, p));
  CHECK(read_markup(html).problem == "");
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find('\x1b') == std::string::npos);
  CHECK_THAT(html, ContainsSubstring("&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; "
                                     "&quot;q&quot; &#39;a&#39; |"));
}

TEST_CASE("names in a plan's charts and verdict are text too", "[reports]") {
  PlanResult plan = sample_plan();
  plan.tier = plan.verdict = plan.binding = plan.notes[0] = plan.points[0].capacity = kNasty;
  plan.points[0].run.slo[0].name = kNasty + "_ttft_ms";
  const std::string html = page(plan_report(plan, sample_provenance()));
  CHECK(read_markup(html).problem == "");
  CHECK(html.find("<script") == std::string::npos);
}

TEST_CASE("the page loads nothing and runs nothing", "[reports]") {
  const std::string html = page(plan_report(sample_plan(), sample_provenance()));
  const Markup markup = read_markup(html);
  bool policy = false;
  for (const Element& element : markup.elements) {
    INFO(element.name);
    CHECK(element.name != "script");
    CHECK(element.name != "link");
    for (const auto& [key, value] : element.attributes) {
      CHECK(key != "src");
      CHECK(key != "href");
      CHECK(!key.starts_with("on"));
      CHECK(value.find("://") == std::string::npos);
      policy = policy || value.find("default-src 'none'") != std::string::npos;
    }
  }
  CHECK(policy);
  CHECK(html.find("@import") == std::string::npos);
  CHECK(html.find("url(") == std::string::npos);
}

TEST_CASE("numbers are aligned to the right, the highlighted row is marked", "[reports]") {
  Table table;
  table.header = {"size", "hits"};
  table.rows = {{"small", "1"}, {"large", "-"}};
  table.highlight = 1;
  const std::string html = page(report_of(table));
  CHECK_THAT(html, ContainsSubstring("<th>size</th><th class=\"n\">hits</th>"));
  CHECK_THAT(html, ContainsSubstring("<tr><td>small</td><td class=\"n\">1</td></tr>"));
  CHECK_THAT(html, ContainsSubstring("<tr class=\"on\"><td>large</td>"));
}

TEST_CASE("a legend names every series", "[reports]") {
  Report report;
  report.sections.emplace_back();
  Chart chart;
  chart.series = {{"a<b", {0, 1}, {1, 2}}, {"c", {0, 1}, {2, 3}}};
  report.sections[0].charts.push_back(chart);
  const std::string html = page(report);
  CHECK_THAT(html, ContainsSubstring("a&lt;b</span>"));
  CHECK_THAT(html, ContainsSubstring("c</span>"));
}

TEST_CASE("canary: the reader of markup refuses what is not well formed", "[reports]") {
  CHECK(read_markup("<p>a &amp; b<br/></p>").problem == "");
  CHECK(read_markup("<!DOCTYPE html>\n<p class=\"x\">a</p>\n").problem == "");
  for (const char* bad :
       {"<p>", "</p>", "<p></b>", "<b><i></b></i>", "<p>a & b</p>", "<p>a > b</p>",
        "<p class=x></p>", "<p class=\"x></p>", "<p class=\"a&b\"></p>", "<p class=\"a<b\"></p>",
        "<p", "<p>&nbsp;</p>", "< p></p>"}) {
    INFO(bad);
    CHECK(read_markup(bad).problem != "");
  }
}

}  // namespace
}  // namespace spillway::test
