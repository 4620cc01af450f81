// The terminal's tables, and numbers for people.
#include "reports/format.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/renderers/table_layout.hpp"
#include "reports/run/run_report.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("width counts characters, not bytes", "[reports]") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("caf\xc3\xa9") == 4);
  CHECK(display_width("\xe2\x82\xac"
                      "5") == 2);
  CHECK(display_width("\xf0\x9f\x98\x80") == 1);
}

TEST_CASE("columns of numbers are known by their cells", "[reports]") {
  for (const char* cell : {"1", "-1.5", "+3", "1,234", "12 ms", "50.0%", "", "-", "inf", "2e9"}) {
    INFO(cell);
    CHECK(looks_numeric(cell));
  }
  for (const char* cell : {"a", "-a", "+", "lru", "hbm 1", ".5"}) {
    INFO(cell);
    CHECK_FALSE(looks_numeric(cell));
  }
}

TEST_CASE("text tables align numbers right and words left", "[reports]") {
  Table table;
  table.title = "Sizes";
  table.header = {"name", "hits"};
  table.rows = {{"caf\xc3\xa9", "7"}, {"x", "1,234"}};
  CHECK(rendered(report_of(table), "text") ==
        "title\n"
        "\n"
        "Sizes\n"
        "name   hits\n"
        "-----------\n"
        "caf\xc3\xa9      7\n"
        "x     1,234\n");
}

TEST_CASE("lines of text never end in blanks", "[reports]") {
  for (const Report& report : {run_report(sample_run(), sample_provenance()),
                               plan_report(sample_plan(), sample_provenance())}) {
    const std::string text = rendered(report, "text");
    CHECK(text.find(" \n") == std::string::npos);
    CHECK(text.find("\n\n\n") == std::string::npos);
    CHECK(text.ends_with('\n'));
    CHECK_FALSE(text.ends_with("\n\n"));
  }
}

TEST_CASE("colour wraps titles, headings and the highlighted row only", "[reports]") {
  Table table;
  table.header = {"a"};
  table.rows = {{"x"}, {"y"}};
  table.highlight = 1;
  Report report = report_of(table);
  CHECK(rendered(report, "text", false).find('\x1b') == std::string::npos);
  CHECK(rendered(report, "text", true) == "\x1b[1mtitle\x1b[0m\n\na\n-\nx\n\x1b[1my\x1b[0m\n");
}

TEST_CASE("rows shorter than the header, and tables of nothing, are laid out", "[reports]") {
  Table table;
  table.header = {"a", "b"};
  table.rows = {{"1"}, {}};
  CHECK(rendered(report_of(table), "text") == "title\n\na  b\n----\n1\n\n");
  CHECK(rendered(report_of(Table{}), "text") == "title\n\n");
  CHECK(TableLayout(Table{}).width.empty());
}

/// Text for a terminal of that width.
std::string narrow(const Report& report, std::size_t width, bool unicode = false) {
  std::ostringstream out;
  RenderOptions options;
  options.width = width;
  options.unicode = unicode;
  find_row(renderers(), "format", "text", {}).make(options)->render(report, out);
  return out.str();
}

/// Like a plan's: eight columns, 89 wide.
Table wide_table() {
  Table table;
  table.header = {"size",     "SLO",      "attainment", "replicates",
                  "TTFT p99", "TPOT p99", "from dram",  "busiest link"};
  table.rows = {{"0GiB", "looks missed", "84.6%", "3", "4.88 s", "105 ms", "0.0%", "0.0%"},
                {"96GiB", "met", "99.9%", "20", "738 ms", "52.9 ms", "29.0%", "0.5%"}};
  return table;
}

TEST_CASE("a table that is too wide has its header on several lines", "[reports]") {
  CHECK(narrow(report_of(wide_table()), 72) ==
        "title\n\n"
        "                                           TTFT     TPOT   from  busiest\n"
        " size  SLO       attainment  replicates     p99      p99   dram     link\n"
        "------------------------------------------------------------------------\n"
        " 0GiB  looks          84.6%           3  4.88 s   105 ms   0.0%     0.0%\n"
        "       missed\n"
        "96GiB  met            99.9%          20  738 ms  52.9 ms  29.0%     0.5%\n");
}

TEST_CASE("where that is not enough the last columns go, and are named", "[reports]") {
  CHECK(narrow(report_of(wide_table()), 60) ==
        "title\n\n"
        "                                               TTFT     TPOT\n"
        " size  SLO           attainment  replicates     p99      p99\n"
        "------------------------------------------------------------\n"
        " 0GiB  looks missed       84.6%           3  4.88 s   105 ms\n"
        "96GiB  met                99.9%          20  738 ms  52.9 ms\n"
        "No room here for: from dram, busiest link\n");
}

TEST_CASE("no line of a table is wider than the terminal, and nothing is cut", "[reports]") {
  const Table table = wide_table();
  for (const std::size_t width : {20UL, 30UL, 40UL, 60UL, 72UL, 80UL, 100UL}) {
    const std::string text = narrow(report_of(table), width);
    INFO(width << "\n" << text);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= width);
    for (std::size_t i = 1; i < table.header.size(); ++i) {  // a record begins with its name
      const std::string word = table.header[i].substr(0, table.header[i].find(' '));
      CHECK(text.find(word) != std::string::npos);
      const bool whole = text.find("No room here") == std::string::npos;
      if (whole) CHECK(text.find(table.rows[1][i].substr(0, 4)) != std::string::npos);
    }
  }
}

TEST_CASE("where no column can give way each row stands by itself", "[reports]") {
  Table table;
  table.header = {"name", "first", "second"};
  table.rows = {{"row", "123,456,789", "987,654,321"}};
  CHECK(narrow(report_of(table), 20) ==
        "title\n\nrow\n  first: 123,456,789\n  second:\n    987,654,321\n");
}

TEST_CASE("sentences are wrapped between words, with a hanging indent", "[reports]") {
  Report report;
  report.title = "t";
  report.sections.emplace_back().paragraphs = {"one two three four five",
                                               "unbreakable-beyond-this"};
  CHECK(narrow(report, 12) == "t\n\none two\n  three four\n  five\nunbreakable-beyond-this\n");
  CHECK(narrow(report, 0) == "t\n\none two three four five\nunbreakable-beyond-this\n");
}

TEST_CASE("rules are lines where the terminal has them, else dashes", "[reports]") {
  Table table;
  table.header = {"ab"};
  table.rows = {{"x"}};
  CHECK(narrow(report_of(table), 80, true) == "title\n\nab\n──\nx\n");
  CHECK(narrow(report_of(table), 80, false) == "title\n\nab\n--\nx\n");
}

TEST_CASE("colour marks what met and what missed", "[reports]") {
  Table table;
  table.header = {"size", "SLO"};
  table.rows = {{"a", "missed"}, {"b", "met (one run)"}, {"c", "almost met"}};
  CHECK(rendered(report_of(table), "text", true) ==
        "\x1b[1mtitle\x1b[0m\n\nsize  SLO\n-------------------\na     \x1b[31mmissed\x1b[0m\n"
        "b     \x1b[32mmet (one run)\x1b[0m\nc     almost met\n");
}

TEST_CASE("counts have thousands separated", "[reports]") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(18'446'744'073'709'551'615u) == "18,446,744,073,709,551,615");
}

TEST_CASE("reals show three digits or more", "[reports]") {
  CHECK(format_real(0) == "0");
  CHECK(format_real(-0.0) == "0");
  CHECK(format_real(0.12345) == "0.123");
  CHECK(format_real(1.005) == "1.00");
  CHECK(format_real(12.34) == "12.3");
  CHECK(format_real(123.4) == "123");
  CHECK(format_real(999.4) == "999");
  CHECK(format_real(999.6) == "1,000");  // rounding does not lose the separator
  CHECK(format_real(1234.5) == "1,235");
  CHECK(format_real(-1234) == "-1,234");
  CHECK(format_real(-0.5) == "-0.5");
  CHECK(format_real(1e15) == "1,000,000,000,000,000");
  CHECK(format_real(1e20) == "1e+20");
  CHECK(format_real(-1.5e300) == "-1.5e+300");
}

TEST_CASE("bytes and times choose their unit", "[reports]") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.00 KiB");
  CHECK(format_bytes(1.5 * (1 << 30)) == "1.50 GiB");
  CHECK(format_bytes(5e15) == "4547.47 TiB");
  CHECK(format_ms(0) == "0 ms");
  CHECK(format_ms(12.34) == "12.3 ms");
  CHECK(format_ms(4560) == "4.56 s");
  CHECK(format_ms(1.234e6) == "1,234 s");
  CHECK(format_percent(0.1234) == "12.3%");
}

}  // namespace
}  // namespace spillway::test
