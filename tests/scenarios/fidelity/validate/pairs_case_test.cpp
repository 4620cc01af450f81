// Servers without and with a tier: which side a change is on, and what a study has to hold.
#include "scenarios/fidelity/validate/pairs_case.hpp"

#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

PairCell cell(double measured_percent, double simulated_percent) {
  PairCell out;
  out.band = 5;
  out.measured_without = out.simulated_without = 100;
  out.measured_with = 100 + measured_percent;
  out.simulated_with = 100 + simulated_percent;
  return out;
}

TEST_CASE("beyond noise the direction counts, within it that nothing much happens", "[scenarios]") {
  CHECK(cell(20, 3).right_side());
  CHECK_FALSE(cell(20, 0).right_side());   // no effect is no help
  CHECK_FALSE(cell(-20, 0).right_side());  // nor a harm
  CHECK(cell(-20, -2).right_side());
  CHECK(cell(-4, 4).right_side());
  CHECK_FALSE(cell(-4, 6).right_side());
}

TEST_CASE("figures over cells: errors, and what was named wrongly", "[scenarios]") {
  PairsResult result;
  result.cells = {cell(20, 10), cell(-20, 0), cell(-20, -10), cell(0, 0)};
  result.cells[3].simulated_without = 80;
  result.cells[3].simulated_with = 80;
  CHECK(result.right_sides() == 3);
  CHECK(result.harms() == 2);
  CHECK(result.harms_found() == 1);
  CHECK(result.median_change_error() == Approx(10));  // of 0, 10, 10, 20
  CHECK(PairsResult{{cell(20, 10), cell(20, 18)}}.median_change_error() == Approx(6));  // of 2, 10
  CHECK(result.worst_without() == Approx(20));
  for (const PairsFigure& figure : result.figures()) {
    if (figure.name == "wrong_sides") CHECK(figure.percent == Approx(25));
    if (figure.name == "harms_missed") CHECK(figure.percent == Approx(50));
  }
}

TEST_CASE("a study of another form, or without the release, is refused by name", "[scenarios]") {
  const JsonSource scenario = JsonSource::from_text("s.json", "{}");
  const auto refused = [&](const std::string& text) {
    const Scratch scratch;
    const std::string study = scratch.file("study.json", text);
    return std::string(error_of([&] { validate_pairs(study, "v9", scenario); }).what());
  };
  CHECK_THAT(refused("[1]"), ContainsSubstring("expected a JSON object with the study \"l40s\""));
  CHECK_THAT(refused(R"({"l40s": {"clients": []}})"), ContainsSubstring("expected \"models\""));
  CHECK_THAT(refused(R"({"l40s": {"clients": [], "models": [], "blocks": {}, "releases":)"
                     R"( {"v1": {}, "v2": {}}, "kv_bytes_per_token": []}})"),
             ContainsSubstring("no release \"v9\"; known: v1, v2"));
}

}  // namespace
}  // namespace spillway::test
