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

TEST_CASE("stages of one run are cells", "[scenarios]") {
  // Two stages of 10 and 20 requests over eight servers' eighth; a tier that changes nothing.
  const Scratch scratch;
  const std::string study = scratch.file("study.json", R"({"llmd": [{"tier": "1GiB", "band": 10,
    "groups": 16, "per_group": 5, "prefix": 64, "question": 16, "answer": 8, "stage_s": 10,
    "rates": [8, 16], "none": {"total": [700, 1400]}, "cpu": {"total": [700, 1400]}}]})");
  const JsonSource scenario = JsonSource::from_text("s.json", R"({"name": "s",
    "model": "Llama-3.1-8B", "gpu": "H100", "engine": {"preset": "vllm"},
    "workload": {"benchmark": {"tool": "inference-perf", "version": "0.4.0", "rates_per_s": [1],
                               "seconds": 1}}})");
  const PairsResult result = validate_pairs(study, "llmd", scenario);
  REQUIRE(result.cells.size() == 2);
  CHECK(result.cells[1].memory == "16 requests/s");
  CHECK(result.right_sides() == 2);
  // 1 request/s of 64 + 16 + 8 tokens on each of eight, for 10 s less the first gap.
  CHECK(result.cells[0].simulated_without == Approx(8 * 88).epsilon(0.2));
  const std::string other = scratch.file("other.json", R"({"llmd": [{"tier": "1GiB"}]})");
  CHECK_THAT(std::string(error_of([&] { validate_pairs(other, "llmd", scenario); }).what()),
             ContainsSubstring("expected the study \"llmd\""));
}

}  // namespace
}  // namespace spillway::test
