// Some sections of a report in place of all: by id, or by the heading of those without one.
#include "reports/section_choice.hpp"

#include "reports/plan/plan_report.hpp"
#include "tests/reports/samples.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

Report three_sections() {
  Report report;
  for (const char* heading : {"How to read this", "", "<b>Copies</b>: H2D"}) {
    report.sections.emplace_back().heading = heading;
  }
  report.sections[1].id = "knee";
  return report;
}

TEST_CASE("a section is called by its id, else by its heading", "[reports]") {
  const Report report = three_sections();
  CHECK(section_name(report.sections[0]) == "how-to-read-this");
  CHECK(section_name(report.sections[1]) == "knee");
  CHECK(section_name(report.sections[2]) == "b-copies-b-h2d");
  CHECK(section_name(Section()).empty());
}

TEST_CASE("sections keep the report's order, whatever order they are asked for in", "[reports]") {
  Report report = plan_report(sample_plan(), sample_provenance());
  keep_sections(report, {"knee", "decision"}, "--sections");
  REQUIRE(report.sections.size() == 2);
  CHECK(report.sections[0].id == "decision");
  CHECK(report.sections[1].id == "knee");
}

TEST_CASE("an unknown section is answered with the nearest and all known ones", "[reports]") {
  const InputError error = error_of([] {
    Report report = three_sections();
    keep_sections(report, {"kneee"}, "--sections");
  });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), ContainsSubstring("--sections"));
  CHECK_THAT(error.what(), ContainsSubstring("did you mean \"knee\"? known: how-to-read-this, "
                                             "knee, b-copies-b-h2d"));
}

}  // namespace
}  // namespace spillway::test
