// "$schema" is for editors: every file that people write may carry it, and nothing follows from it.
#include "scenarios/experiment/run_key.hpp"
#include "scenarios/fidelity/validate/validation_case.hpp"
#include "scenarios/planner/consequences/prices.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

constexpr std::uint64_t kTrace[] = {0x1234};

Scenario scenario_with(const std::string& line) {
  std::vector<std::string> lines = reference_lines();
  lines[kSeedLine - 1] += "," + line;
  return load_scenario(JsonSource::from_text("s.json", joined(lines)));
}

TEST_CASE("a scenario may name its schema, and its runs stay the same", "[scenarios]") {
  const RunIdentity identity{"test/1", kTrace, {}};
  const Scenario plain = load_scenario(JsonSource::from_text("s.json", joined(reference_lines())));
  CHECK(run_key(plain, identity) == run_key(scenario_with(R"("$schema": "a.json")"), identity));
  CHECK_THROWS_WITH(scenario_with(R"("$schema": 1)"),
                    "s.json:14: $schema: expected a string, found 1");
}

TEST_CASE("price lists and validation cases may name a schema too", "[scenarios]") {
  const Scratch scratch;
  const std::string prices =
      scratch.file("prices.json", R"({"$schema": "prices.schema.json", "currency": "USD"})");
  CHECK(load_prices(prices).currency == "USD");
  const std::string given =
      scratch.file("case.json", R"({"$schema": "c", "measured": "m.csv", "scenario": "s.json"})");
  CHECK(read_case(given).name == "case");
  const std::string wrong =
      scratch.file("wrong.json", R"({"$schema": [], "measured": "m.csv", "scenario": "s.json"})");
  CHECK_THROWS_WITH(read_case(wrong), wrong + ":1: $schema: expected a string, found []");
}

}  // namespace
}  // namespace spillway::test
