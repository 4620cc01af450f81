// The project's own validation cases: no parameter without an origin, no error beyond its
// tolerance, and the committed RESULTS.md is what the program writes.
#include <algorithm>
#include <filesystem>
#include <set>

#include "scenarios/fidelity/validate/validation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cli.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

std::vector<ValidationCase> cases() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_path("scenarios/validation"))) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ValidationCase> out;
  for (const std::string& path : paths) out.push_back(read_case(path));
  return out;
}

TEST_CASE("every parameter of every validation case has an origin", "[scenarios]") {
  REQUIRE_FALSE(cases().empty());
  for (const ValidationCase& c : cases()) {
    std::string list = c.name + ":\n";
    const std::vector<CaseParameter> parameters = case_parameters(c);
    REQUIRE_FALSE(parameters.empty());
    for (const CaseParameter& p : parameters) {
      list += "  " + p.name + " = " + p.value + ": " + p.from + "\n";
    }
    UNSCOPED_INFO(list);  // the list is shown by `spillway_tests -s "every parameter of*"`
    CHECK(unexplained(parameters, c.parameters).empty());
    // Nor is anything explained that the scenario does not have.
    for (const CaseParameter& given : c.parameters) {
      // What a case of points fits, it fits while it runs.
      if (c.kind == CaseKind::kPoints && given.name == "compute.profile") continue;
      INFO(c.name << ": " << given.name);
      const bool used = std::any_of(parameters.begin(), parameters.end(), [&](const auto& p) {
        return explanation_of(p.name, {given}) != nullptr;
      });
      CHECK(used);
    }
    // Who doubts a case has to know whose data it is, and what every change is held to.
    CHECK_FALSE(c.source.origin.empty());
    CHECK_FALSE(c.source.commit.empty());
    CHECK_FALSE(c.source.licence.empty());
    CHECK_FALSE(c.tolerance.empty());
  }
}

TEST_CASE("no case is further from its measured run than its tolerance", "[scenarios]") {
  const test::Material data = test::material("profiles");
  const std::string folder = test::source_path("scenarios/validation");
  const test::Scratch scratch;
  const std::string report = scratch.path("RESULTS.md");
  // Stand-ins obey the program's own laws, which two of the cases are simulated with; the others
  // have step times of the machine that was measured.
  const std::vector<std::string> checked =
      data.published ? std::vector{folder}
                     : std::vector{folder + "/rtx4090-llama-8b-published.json",
                                   folder + "/b200-llama-70b-points.json"};
  for (const std::string& target : checked) {
    const test::CliResult result =
        test::spillway({"validate", target, "--data", data.path, "--profiles",
                        test::source_path("scenarios/hardware"), "--out", report, "--gate"});
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(result.err.find("skipped") == std::string::npos);
  }
  if (!data.published) return;  // RESULTS.md is of the published files
  // Regenerate with the command of scenarios/validation/README.md, then read the diff.
  CHECK(test::read_file(report) ==
        test::read_file(test::source_path("scenarios/validation/RESULTS.md")));
}

}  // namespace
}  // namespace spillway
