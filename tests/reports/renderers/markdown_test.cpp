// Markdown that fits a pull request: the answer first, long tables folded and cut, everything from
// inputs shown as it is.
#include "reports/renderers/markdown_text.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr const char* kJoiner = "\xe2\x81\xa0";

Table rows_of(std::size_t rows, const std::string& cell = "x") {
  Table table;
  table.title = "cells <b>";
  table.header = {"n", "what"};
  for (std::size_t i = 0; i < rows; ++i) table.rows.push_back({std::to_string(i), cell});
  return table;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++out;
  return out;
}

TEST_CASE("markup in names is text", "[reports]") {
  CHECK(markdown_text("<img src=x onerror=y>") == "\\<img src=x onerror=y\\>");
  CHECK(markdown_text("[a](javascript:b)") == "\\[a](javascript:b)");
  CHECK(markdown_text("![a](b)") == "!\\[a](b)");
  CHECK(markdown_text("`a` *b* ~~c~~ $d$ e|f \\g") ==
        "\\`a\\` \\*b\\* \\~\\~c\\~\\~ \\$d\\$ e\\|f \\\\g");
  CHECK(markdown_text("_a_ p99_ttft_ms") == "\\_a\\_ p99_ttft_ms");
  CHECK(markdown_text("&lt;b&gt; a & b") == "\\&lt;b\\&gt; a & b");
  CHECK(markdown_text("two\nlines\x1b[31m") == "two?lines?\\[31m");
}

TEST_CASE("nobody is mentioned, nothing is linked or closed", "[reports]") {
  const std::string j = kJoiner;
  CHECK(markdown_text("@team and a@b.c") == "@" + j + "team and a@" + j + "b.c");
  CHECK(markdown_text("vllm@0.25 @0") == "vllm@0.25 @" + j + "0");
  CHECK(markdown_text("fixes #12, o/r#3, GH-7") ==
        "fixes \\#" + j + "12, o/r\\#" + j + "3, GH-" + j + "7");
  CHECK(markdown_text("https://x.y www.z.w mailto:q") ==
        "https:" + j + "//x.y www." + j + "z.w mailto:" + j + "q");
  CHECK(markdown_text("a: b, 1.5 - 2") == "a: b, 1.5 - 2");
  CHECK(markdown_html("@a #1 <b>&\"") == "@" + j + "a #" + j + "1 &lt;b&gt;&amp;&quot;");
}

TEST_CASE("a paragraph or heading begins no block of another kind", "[reports]") {
  CHECK(markdown_block("# a") == "\\# a");
  CHECK(markdown_block("- a") == "\\- a");
  CHECK(markdown_block("+ a") == "\\+ a");
  CHECK(markdown_block("===") == "\\===");
  CHECK(markdown_block("    code") == "code");
  CHECK(markdown_block("12. a") == "12\\. a");
  CHECK(markdown_block("3) a") == "3\\) a");
  CHECK(markdown_block("> a") == "\\> a");
  CHECK(markdown_block("~~~") == "\\~\\~\\~");
  CHECK(markdown_block("") == "");
}

TEST_CASE("text that looks like another by direction marks shows them", "[reports]") {
  CHECK(markdown_text("a\xe2\x80\xae"
                      "b\xe2\x81\xa6") == "a?b?");
}

TEST_CASE("short tables stand open, long ones are folded", "[reports]") {
  const std::string open = rendered(report_of(rows_of(12)), "md");
  CHECK(open.find("<details>") == std::string::npos);
  CHECK_THAT(open, ContainsSubstring("**cells \\<b\\>**\n"));
  const std::string folded = rendered(report_of(rows_of(13)), "md");
  CHECK_THAT(
      folded,
      ContainsSubstring("<details>\n<summary>cells &lt;b&gt; (13 rows)</summary>\n\n| n | what |"));
  CHECK_THAT(folded, ContainsSubstring("\n\n</details>\n"));
}

TEST_CASE("a 10,000-row table fits a comment, and says what is left out", "[reports]") {
  Table table = rows_of(10'000, "a cell of some length");
  table.highlight = 9'000;
  const std::string text = rendered(report_of(table), "md");
  CHECK(text.size() <= 65'000);
  CHECK_THAT(text, ContainsSubstring("9,500 rows are left out here: they are in the HTML and CSV"));
  CHECK_THAT(text, ContainsSubstring("| 9000 | "));  // the answer stays
  CHECK(count(text, "<details>") == count(text, "</details>"));
}

TEST_CASE("pages that do not fit are left out whole, the first ones kept", "[reports]") {
  Report report;
  report.title = "title";
  for (int i = 0; i < 40; ++i) {
    Section& page = report.sections.emplace_back();
    page.heading = "page " + std::to_string(i);
    for (int k = 0; k < 20; ++k) page.paragraphs.emplace_back(390, 'x');
  }
  const std::string text = rendered(report, "md");
  CHECK(text.size() <= 65'000);
  CHECK_THAT(text, ContainsSubstring("## page 0\n"));
  CHECK(text.find("## page 39\n") == std::string::npos);
  CHECK(text.ends_with("\nFurther pages are left out here: they are in the HTML report.\n"));
}

TEST_CASE("a chart's sentence stands behind its title", "[reports]") {
  Report report;
  report.title = "title";
  report.sections.emplace_back().charts.emplace_back().title = "Waits *now*";
  report.sections.back().charts.back().note = "p99: 3 s.";
  CHECK_THAT(rendered(report, "md"), ContainsSubstring("\n**Waits \\*now\\***: p99: 3 s.\n"));
}

TEST_CASE("a chart is the sentence that says what to see in it", "[reports]") {
  Report report;
  Section& page = report.sections.emplace_back();
  page.charts.emplace_back().note = "Latency falls until 64GiB.";
  CHECK_THAT(rendered(report, "md"), ContainsSubstring("\nLatency falls until 64GiB.\n"));
}

TEST_CASE("code stays within its fence", "[reports]") {
  Report report;
  report.sections.emplace_back().code.push_back({"t", "a\n```\n# b\n</details>\n"});
  CHECK_THAT(rendered(report, "md"), ContainsSubstring("\n````\na\n```\n# b\n</details>\n````\n"));
}

}  // namespace
}  // namespace spillway::test
