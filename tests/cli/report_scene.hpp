// One result document of every kind that `spillway report` renders.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenarios/scenario/profiles/profile_json.hpp"
#include "tests/cli/scene.hpp"
#include "tests/models/calibration/synthetic_machine.hpp"

namespace spillway::test {

struct ResultFile {
  std::string kind;
  std::string path;
};

/// `name` puts the names of the scene's files into words, as somebody may type them.
inline std::vector<ResultFile> result_files(
    const Scene& scene, const std::function<std::string(const std::string&)>& name =
                            [](const std::string& path) { return path; }) {
  const auto made = [&](const std::string& kind, const Args& call) {
    const std::string path = scene.path(kind + ".json");
    const CliResult result = spillway(call + Args{"--json", path, "--quiet"});
    INFO(kind << ": " << result.err);
    REQUIRE(result.code == 0);
    return ResultFile{kind, path};
  };
  return {made("run", {"run", name(scene.scenario)}),
          made("plan", {"plan", name(scene.scenario)}),
          made("compare", {"compare", name(scene.scenario), "--replications", "5", "--vary",
                           "tiers.0.eviction=lru,fifo"}),
          made("trace-stats", {"trace", "stats", name(scene.trace)}),
          made("replay", {"replay", "--trace", name(scene.trace)}),
          made("mrc", {"mrc", "--trace", name(scene.trace)}),
          made("validation", {"validate", name(scene.validation_case())}),
          {"hardware-profile", scene.file("machine.json", render_document(profile_document(
                                                              SyntheticMachine().profile())))}};
}

}  // namespace spillway::test
