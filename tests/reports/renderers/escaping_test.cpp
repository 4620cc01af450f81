// Names from inputs in CSV, Markdown and on the terminal: text, never markup, formula or control.
#include "reports/format.hpp"
#include "reports/renderers/csv.hpp"
#include "tests/reports/samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

Report one_cell(const std::string& cell) {
  Table table;
  table.header = {"name"};
  table.rows = {{cell}};
  return report_of(table);
}

std::string row_of(const Report& report, const std::string& format) {
  const std::string text = rendered(report, format);
  const std::size_t end = text.find_last_not_of("\r\n") + 1;
  return text.substr(text.rfind('\n', end - 1) + 1, end - text.rfind('\n', end - 1) - 1);
}

TEST_CASE("csv cells are quoted exactly where RFC 4180 asks for it", "[reports]") {
  CHECK(csv_cell("plain text") == "plain text");
  CHECK(csv_cell("") == "");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("say \"hi\"") == "\"say \"\"hi\"\"\"");
  CHECK(csv_cell("two\nlines") == "\"two\nlines\"");
  CHECK(csv_cell("two\r\nlines") == "\"two\r\nlines\"");
  CHECK(csv_cell("1,234") == "\"1,234\"");
}

TEST_CASE("text that a spreadsheet would run gets an apostrophe", "[reports]") {
  CHECK(csv_cell("=1+1") == "'=1+1");
  CHECK(csv_cell("@SUM(A1)") == "'@SUM(A1)");
  CHECK(csv_cell("+cmd|' /C calc'!A0") == "'+cmd|' /C calc'!A0");
  CHECK(csv_cell("-2+3") == "'-2+3");
  CHECK(csv_cell("-1e5x") == "'-1e5x");
  CHECK(csv_cell("\t=1") == "'\t=1");
  CHECK(csv_cell("\r=1") == "\"'\r=1\"");
  CHECK(csv_cell("\n=1") == "\"'\n=1\"");
  CHECK(csv_cell("=HYPERLINK(\"http://x\",\"y\")") ==
        "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
  CHECK(csv_cell("-") == "-");  // stands for "nothing" in tables
  CHECK(csv_cell("--1") == "'--1");
  CHECK(csv_cell("+") == "'+");
  CHECK(csv_cell("-=1") == "'-=1");
  CHECK(csv_cell("-inf") == "'-inf");
  CHECK(csv_cell("-nan(A1)") == "'-nan(A1)");
}

TEST_CASE("numbers keep their sign", "[reports]") {
  for (const char* number : {"-1", "-0.5", "+3", "-1e-9", "-.5", "-12.5%"}) {
    INFO(number);
    CHECK(csv_cell(number) == number);
  }
  CHECK(csv_cell("-1,234") == "\"-1,234\"");
  CHECK(csv_cell("-1,234,567.5") == "\"-1,234,567.5\"");
  // Commas elsewhere do not make a number.
  CHECK(csv_cell("-1,2") == "\"'-1,2\"");
  CHECK(csv_cell("-,123") == "\"'-,123\"");
}

TEST_CASE("csv tables carry their titles and are told apart by an empty line", "[reports]") {
  Report report = one_cell("x");
  report.sections[0].tables[0].title = "=first";
  report.sections[0].tables.push_back({"", {"a", "b"}, {{"1", "2"}}, -1});
  report.sections[0].heading = "Section";
  CHECK(rendered(report, "csv") == "'=first\r\nname\r\nx\r\n\r\nSection\r\na,b\r\n1,2\r\n");
}

TEST_CASE("a markdown cell cannot end its cell, its row or its text", "[reports]") {
  CHECK(row_of(one_cell("a|b"), "md") == "| a\\|b |");
  CHECK(row_of(one_cell("a\\|b"), "md") == "| a\\\\\\|b |");
  CHECK(row_of(one_cell("<b>x</b>"), "md") == "| \\<b\\>x\\</b\\> |");
  CHECK(row_of(one_cell("*x* `y` [z](w)"), "md") == "| \\*x\\* \\`y\\` \\[z](w) |");
  CHECK(row_of(one_cell("two\nlines\r\n"), "md") == "| two?lines?? |");
  CHECK(row_of(one_cell("p99_ttft_ms & co"), "md") == "| p99_ttft_ms & co |");
}

TEST_CASE("markdown rows have as many cells as the widest row", "[reports]") {
  Table table;
  table.header = {"a"};
  table.rows = {{"1", "2"}, {}};
  const std::string text = rendered(report_of(table), "md");
  CHECK_THAT(text, ContainsSubstring("| a |  |\n|---:|---:|\n| 1 | 2 |\n|  |  |\n"));
}

TEST_CASE("markdown headings and paragraphs are escaped like cells", "[reports]") {
  Report report;
  report.title = "<x>";
  report.subtitle = "a|b";
  report.sections.push_back({"h\n# not a heading", {"p\n\n# nor this"}, {}, {}});
  const std::string text = rendered(report, "md");
  CHECK(text == "# \\<x\\>\n\na\\|b\n\n## h?# not a heading\n\np??# nor this\n");
}

TEST_CASE("the terminal sees no control characters from inputs", "[reports]") {
  CHECK(printable("a\x1b[31mb\x07\x7f\n") == "a?[31mb???");
  CHECK(printable("caf\xc3\xa9 \xe2\x82\xac") == "caf\xc3\xa9 \xe2\x82\xac");
  CHECK(printable("a\xc2\x9b"
                  "31mb") == "a?31mb");  // U+009B starts a sequence, like ESC [
  CHECK(printable("\x9b"
                  "31m\xc0\x9b|\xe2\x82|\xff\xc3") ==
        "?31m??|??|??");                       // 8-bit terminals know a bare 9B
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");  // U+00A0 is the first printable one
  const std::string text = rendered(one_cell("\x1b]0;owned\x07"), "text");
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
}

TEST_CASE("no format lets a line break of a name through", "[reports]") {
  for (const char* format : {"text", "md", "html"}) {
    INFO(format);
    const std::string plain = rendered(one_cell("ab"), format);
    const std::string broken = rendered(one_cell("a\nb\r\nc"), format);
    CHECK(std::count(plain.begin(), plain.end(), '\n') ==
          std::count(broken.begin(), broken.end(), '\n'));
  }
}

}  // namespace
}  // namespace spillway::test
