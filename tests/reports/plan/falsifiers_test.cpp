// What would prove a plan wrong, in figures that can be measured.
#include "reports/plan/falsifiers.hpp"

#include "tests/reports/plan/told_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("a link is wrong when it is busy for twice as long, between a tenth and always",
          "[reports]") {
  const auto wrong_if = [](double busy) -> std::string {
    PlanResult plan = told_plan();
    plan.points[1].run.links[0].busy_fraction = busy;
    for (const auto& row : falsifiers_table(plan, told_provenance()).rows) {
      if (row[0] == "rate of large copies, d2h") return row[2];
    }
    return "";
  };
  // 80% of the 25 GB/s it can move.
  CHECK(wrong_if(0.3) == "below 20.0 GB/s, or busy above 60.0%");
  CHECK(wrong_if(0.01) == "below 20.0 GB/s, or busy above 10.0%");
  // Nothing is busy for 140% of the time.
  CHECK(wrong_if(0.7) == "below 20.0 GB/s, or busy above 100.0%");
}

}  // namespace
}  // namespace spillway::test
