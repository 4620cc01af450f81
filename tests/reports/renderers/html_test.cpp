// The HTML page: well formed, self-contained, of a size that can be mailed, the same each time.
#include "reports/plan/plan_report.hpp"
#include "reports/provenance.hpp"
#include "reports/renderers/html/assets.hpp"
#include "reports/run/run_report.hpp"
#include "tests/reports/markup.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr std::size_t kMostBytes = 2'000'000;

std::string page(const Report& report) {
  return rendered(report, "html");
}

std::vector<Element> of_class(const Markup& markup, std::string_view name) {
  std::vector<Element> out;
  for (const Element& element : markup.elements) {
    if (element.attribute("class") == name) out.push_back(element);
  }
  return out;
}

Chart line_chart(const std::string& title) {
  Chart chart;
  chart.title = title;
  chart.note = "It rises.";
  chart.series = {{"a<b", {0, 1}, {1, 2}}, {"c", {0, 1}, {2, 3}}};
  return chart;
}

Report report_with(Section section) {
  Report report;
  report.title = "title";
  report.sections.push_back(std::move(section));
  return report;
}

TEST_CASE("the pages of a run and of a plan are well formed", "[reports]") {
  const Markup run = read_markup(page(run_report(sample_run(), sample_provenance())));
  CHECK(run.problem == "");
  CHECK(run.count("html") == 1);
  CHECK(run.count("h1") == 1);
  CHECK(run.count("main") == 1);
  const Markup plan = read_markup(page(plan_report(sample_plan(), sample_provenance())));
  CHECK(plan.problem == "");
  CHECK(plan.count("nav") == 1);
  CHECK(of_class(plan, "chart").size() >= 4);  // TTFT, TPOT, hits, links
}

TEST_CASE("a report of nothing is still a page", "[reports]") {
  CHECK(read_markup(page(Report{})).problem == "");
  CHECK(read_markup(page(report_of(Table{}))).problem == "");
  CHECK(read_markup(page(report_with(Section{}))).problem == "");
  CHECK(read_markup(page(run_report(RunResult{}, Provenance{}))).problem == "");
  CHECK(read_markup(page(plan_report(PlanResult{}, Provenance{}))).problem == "");
}

TEST_CASE("sections with an id are pages that the navigation leads to", "[reports]") {
  Report report;
  for (const char* id : {"decision", "knee", ""}) {
    Section& section = report.sections.emplace_back();
    section.id = id;
    section.heading = std::string("About ") + id;
  }
  const Markup markup = read_markup(page(report));
  std::vector<std::string> links;
  std::vector<std::string> ids;
  for (const Element& element : markup.elements) {
    if (element.name == "section") ids.push_back("#" + element.attribute("id"));
    if (element.name == "a" && element.attribute("class").empty()) {
      links.push_back(element.attribute("href"));
    }
  }
  CHECK(ids == std::vector<std::string>{"#page-decision", "#page-knee", "#section-3"});
  CHECK(links == ids);
}

TEST_CASE("a chart is a figure with a plot, a drawing and a table", "[reports]") {
  Section section;
  section.charts = {line_chart("first"), line_chart("second")};
  const std::string html = page(report_with(section));
  const Markup markup = read_markup(html);
  CHECK(markup.problem == "");
  const std::vector<Element> figures = of_class(markup, "chart");
  REQUIRE(figures.size() == 2);
  CHECK(figures[1].attribute("id") == "chart-1");
  REQUIRE(of_class(markup, "plot").size() == 2);
  CHECK(of_class(markup, "plot")[1].attribute("data-chart") == "1");
  CHECK(of_class(markup, "drawing").size() == 2);
  CHECK(of_class(markup, "data").size() == 2);
  CHECK_THAT(html, ContainsSubstring("<p class=\"note\">It rises.</p>"));
  CHECK_THAT(html, ContainsSubstring("aria-label=\"first. It rises.\""));
  CHECK_THAT(html, ContainsSubstring("a&lt;b</text>"));
  CHECK_THAT(html, ContainsSubstring("\"name\":\"a\\u003cb\""));
}

TEST_CASE("what cannot be drawn leaves no figure and no script behind", "[reports]") {
  Section section;
  section.charts.emplace_back();
  const Markup markup = read_markup(page(report_with(section)));
  CHECK(of_class(markup, "chart").empty());
  REQUIRE(markup.scripts.size() == 1);
  CHECK(markup.scripts[0].second == asset("page.js"));
}

TEST_CASE("the policy names the hashes of the scripts and the style in the page", "[reports]") {
  // Of nothing, as `openssl dgst -sha256 -binary | base64` has it.
  CHECK(policy_hash("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
  const Markup markup = read_markup(page(plan_report(sample_plan(), sample_provenance())));
  std::string policy;
  for (const Element& element : markup.elements) {
    if (element.attribute("http-equiv") == "Content-Security-Policy") {
      policy = element.attribute("content");
    }
  }
  CHECK_THAT(policy, ContainsSubstring("default-src 'none'; script-src 'sha256-"));
  CHECK_THAT(policy, ContainsSubstring("base-uri 'none'; form-action 'none'"));
  CHECK(policy.find("unsafe") == std::string::npos);
  CHECK(policy.find("://") == std::string::npos);
  REQUIRE(markup.styles.size() == 1);
  CHECK_THAT(policy, ContainsSubstring("style-src " + policy_hash(markup.styles[0]) + ";"));
  std::size_t run = 0;
  for (const auto& [element, text] : markup.scripts) {
    if (element.attribute("type") == "application/json") continue;
    CHECK_THAT(policy, ContainsSubstring(policy_hash(text)));
    ++run;
  }
  CHECK(run == 2);
  CHECK(std::count(policy.begin(), policy.end(), '=') == 3);  // one at the end of each hash
}

TEST_CASE("the page loads nothing", "[reports]") {
  const std::string html = page(plan_report(sample_plan(), sample_provenance()));
  const Markup markup = read_markup(html);
  for (const Element& element : markup.elements) {
    INFO(element.name);
    CHECK(element.name != "link");
    CHECK(element.name != "img");
    for (const auto& [key, value] : element.attributes) {
      CHECK(key != "src");
      CHECK((key != "href" || value.starts_with('#')));
      CHECK(!key.starts_with("on"));
      CHECK(value.find("://") == std::string::npos);
    }
  }
  for (const std::string_view style : {asset("style.css"), asset("page.js")}) {
    for (const char* word : {"@import", "url(", "://", "eval(", "new Function", "innerHTML"}) {
      INFO(word);
      CHECK(style.find(word) == std::string_view::npos);
    }
  }
  CHECK(asset("echarts.min.js").find("new Function") == std::string_view::npos);
  CHECK(asset("echarts.min.js").find("eval(") == std::string_view::npos);
  CHECK(asset("echarts.min.js").size() < 750'000);
}

TEST_CASE("a page that holds the charting code holds its licences", "[reports]") {
  const Markup markup = read_markup(page(plan_report(sample_plan(), sample_provenance())));
  REQUIRE(markup.comments.size() == 1);
  for (const char* part : {"Apache License 2.0", "The Apache Software Foundation", "Baidu Inc",
                           "Mike Bostock", "Microsoft"}) {
    CHECK_THAT(markup.comments[0], ContainsSubstring(part));
  }
}

TEST_CASE("equal reports give the same bytes", "[reports]") {
  const Report report = plan_report(sample_plan(), sample_provenance());
  CHECK(page(report) == page(report));
}

TEST_CASE("tables have captions, scopes and names of their own", "[reports]") {
  Table table;
  table.title = "Sizes";
  table.header = {"size", "hits"};
  table.rows = {{"small", "1"}, {"large", "-"}};
  table.highlight = 1;
  Section section;
  section.tables = {table, table};
  const std::string html = page(report_with(section));
  CHECK_THAT(html, ContainsSubstring("<caption>Sizes</caption>"));
  CHECK_THAT(html, ContainsSubstring(
                       "<th scope=\"col\">size</th><th scope=\"col\" class=\"n\">hits</th>"));
  CHECK_THAT(html, ContainsSubstring("<tr><td>small</td><td class=\"n\">1</td></tr>"));
  CHECK_THAT(html, ContainsSubstring("<tr class=\"on\"><td>large</td>"));
  CHECK_THAT(html, ContainsSubstring("aria-label=\"Sizes\""));
  CHECK_THAT(html, ContainsSubstring("aria-label=\"Sizes (2)\""));
}

TEST_CASE("facts are cards, warnings stand out", "[reports]") {
  Section section;
  section.facts = {{"Buy", "96 GiB", "the smallest that holds"}, {"Set", "a<b", ""}};
  section.paragraphs = {"First.", "Warning: not measured.", "Third."};
  const std::string html = page(report_with(section));
  CHECK_THAT(html, ContainsSubstring("<dl class=\"facts\">\n<div><dt>Buy</dt><dd class=\"value\">"
                                     "96 GiB</dd><dd class=\"detail\">the smallest that holds"
                                     "</dd></div>\n<div><dt>Set</dt><dd class=\"value\">a&lt;b"
                                     "</dd></div>\n</dl>"));
  CHECK_THAT(html, ContainsSubstring("<p class=\"lead\">First.</p>"));
  CHECK_THAT(html, ContainsSubstring("<p class=\"callout\">Warning: not measured.</p>"));
  CHECK_THAT(html, ContainsSubstring("<p>Third.</p>"));
}

TEST_CASE("a status is a class on cards and cells, and the answer stands above the cards",
          "[reports]") {
  Section section;
  section.facts = {{"Buy", "96 GiB", "for KV", Status::kMet},
                   {"Margin", "Fails", "", Status::kUncertain}};
  Table table;
  table.header = {"size", "SLO"};
  table.rows = {
      {"a", "met"}, {"b", "missed (3 replicates)"}, {"c", "uncertain"}, {"d", "met by others"}};
  section.tables = {table};
  Report report = report_with(section);
  CHECK(page(report).find("class=\"answer\"") == std::string::npos);
  report.status = Status::kMet;
  report.subtitle = "Use 96 GiB.";
  const std::string html = page(report);
  CHECK(read_markup(html).problem == "");
  CHECK_THAT(html, ContainsSubstring("<dl class=\"answer\">\n<div class=\"good\"><dt>Buy</dt>"));
  CHECK_THAT(html, ContainsSubstring("<dd class=\"said\"><p class=\"sub\">Use 96 GiB.</p>"));
  CHECK_THAT(html, ContainsSubstring("<dl class=\"facts\">\n<div class=\"unsure\"><dt>Margin"));
  CHECK_THAT(html, ContainsSubstring("<td class=\"good\">met</td>"));
  CHECK_THAT(html, ContainsSubstring("<td class=\"bad\">missed (3 replicates)</td>"));
  CHECK_THAT(html, ContainsSubstring("<td class=\"unsure\">uncertain</td>"));
  CHECK_THAT(html, ContainsSubstring("<td>met by others</td>"));
  CHECK_THAT(rendered(report, "md"), ContainsSubstring("- **Buy**: \u2714 96 GiB (for KV)"));
}

TEST_CASE("evidence and long tables fold, with every row in the page", "[reports]") {
  Section part;
  part.heading = "Evidence";
  part.folded = true;
  Table table;
  table.title = "Rows";
  table.header = {"what"};
  table.shown = 5;
  for (int i = 0; i < 30; ++i) table.rows.push_back({"row " + std::to_string(i)});
  part.tables = {table};
  Section section;
  section.parts = {part};
  const std::string html = page(report_with(section));
  CHECK(read_markup(html).problem == "");
  CHECK_THAT(html, ContainsSubstring("<details class=\"fold part\"><summary><h3>Evidence</h3>"));
  CHECK_THAT(html, ContainsSubstring("<div class=\"folds folds-5\"><details><summary>All 30 rows"));
  CHECK_THAT(html, ContainsSubstring("row 29"));
  CHECK_THAT(rendered(report_with(section), "md"), ContainsSubstring("row 29"));
}

TEST_CASE("code keeps its lines", "[reports]") {
  Section section;
  section.code = {{"Flags", "a \\\n  --b <c>\n"}};
  const std::string html = page(report_with(section));
  CHECK_THAT(html, ContainsSubstring("aria-label=\"Flags\">a \\\n  --b &lt;c&gt;\n</pre>"));
}

TEST_CASE("a table of 10,000 rows shows the first, the marked one, and says so", "[reports]") {
  Table table;
  table.title = "Requests";
  table.header = {"id", "name"};
  for (int i = 0; i < 10'000; ++i) table.rows.push_back({std::to_string(i), "request"});
  table.highlight = 9'000;
  const std::string html = page(report_of(table));
  const Markup markup = read_markup(html);
  CHECK(markup.problem == "");
  CHECK(markup.count("tr") == 1 + 500 + 1);
  CHECK_THAT(html, ContainsSubstring("The first 500 of 10,000 rows are shown; CSV has all"));
  CHECK_THAT(html, ContainsSubstring("<tr class=\"on\"><td class=\"n\">9000</td>"));
}

/// As much of everything as a hostile result can hold.
Report huge_report() {
  const std::string name(5'000, 'x');
  Chart chart = line_chart(name);
  for (int s = 0; s < 40; ++s) {
    ChartSeries series{name, {}, {}};
    for (int i = 0; i < 3'000; ++i) {
      series.x.push_back(i + 0.125 * s);
      series.y.push_back(i * 7'919 % 1'000 + 1.0 / 3);
    }
    chart.series.push_back(series);
  }
  Table table;
  table.title = name;
  table.header = {name, name};
  table.rows.assign(3'000, {name, name});
  Section section;
  section.heading = name;
  section.paragraphs.assign(1'000, name);
  section.facts.assign(300, {name, name, name});
  section.charts.assign(4, chart);
  section.tables.assign(20, table);
  section.code = {{name, std::string(3'000'000, 'y')}};
  for (int i = 0; i < 2'000; ++i) section.code[0].text += "\nline";
  Report report;
  report.title = report.subtitle = name;
  report.sections.assign(6, section);
  return report;
}

TEST_CASE("no report is larger than two megabytes", "[reports]") {
  const std::string html = page(huge_report());
  CHECK(html.size() < kMostBytes);
  const Markup markup = read_markup(html);
  CHECK(markup.problem == "");
  CHECK(of_class(markup, "chart").size() >= 4);
}

TEST_CASE("a series of one point and values that are not finite make a page", "[reports]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  Section section;
  Chart one = line_chart("one");
  one.series = {{"single", {3}, {7}}};
  Chart gaps = line_chart("gaps");
  gaps.series = {{"gaps", {0, 1, 2, nan}, {1, nan, -inf, 4}, {nan, 0, 0, 0}, {inf, 1, 1, 1}}};
  gaps.limits = {{"none", inf}};
  gaps.regions = {{"nowhere", nan, inf}};
  section.charts = {one, gaps};
  const std::string html = page(report_with(section));
  const Markup markup = read_markup(html);
  CHECK(markup.problem == "");
  CHECK(of_class(markup, "chart").size() == 2);
  REQUIRE(markup.scripts.size() == 3);
  const auto data = nlohmann::json::parse(markup.scripts[1].second);
  CHECK(data[0]["series"][0]["y"] == nlohmann::json::array({7}));
  CHECK(data[1]["series"][0]["y"] == nlohmann::json::array({1, nullptr, nullptr, 4}));
  CHECK(html.find(">nan<") == std::string::npos);
}

TEST_CASE("canary: the reader of markup refuses what is not well formed", "[reports]") {
  CHECK(read_markup("<p>a &amp; b<br/></p>").problem == "");
  CHECK(read_markup("<!DOCTYPE html>\n<p class=\"x\">a</p>\n").problem == "");
  CHECK(read_markup("<!-- a - b --><script>a < b && c</script>").problem == "");
  for (const char* bad :
       {"<p>", "</p>", "<p></b>", "<b><i></b></i>", "<p>a & b</p>", "<p>a > b</p>",
        "<p class=x></p>", "<p class=\"x></p>", "<p class=\"a&b\"></p>", "<p class=\"a<b\"></p>",
        "<p", "<p>&nbsp;</p>", "< p></p>", "<!-- a -- b -->", "<!-- a", "<script>a",
        "<script>\"</SCRIPT>\"</script>", "<script><!-- </script>"}) {
    INFO(bad);
    CHECK(read_markup(bad).problem != "");
  }
}

}  // namespace
}  // namespace spillway::test
