// engine.load, engine.load_or_recompute and model.layers, from the file to the result.
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

/// For prompts of 512 tokens in turn: a pool that holds one and a half, so half is loaded again.
Scenario thrashing(std::vector<std::string> assignments = {}) {
  assignments.insert(assignments.end(), {"engine.num_gpu_blocks=49", "model.layers=32"});
  return reference_with(assignments);
}

Workload turns() {
  return repeating(12, 2, 100, 4);
}

json result_of(const Scenario& scenario) {
  return to_json(simulate(scenario, turns()).result);
}

TEST_CASE("layers come from the named model or from the scenario", "[scenarios]") {
  CHECK(reference_with().engine.layers == 1);
  CHECK(reference_with({"model.layers=40"}).engine.layers == 40);
  CHECK(scenario_of(joined(gpu_lines())).engine.layers == 32);  // Llama-3.1-8B
  refused(reference_lines(),
          {{kModelLine, R"("model": {"kv_bytes_per_token": 131072, "layers": 0},)",
            "model.layers: expected a whole number from 1 to 1024, found 0"},
           {kModelLine, R"("model": {"name": "Llama-3.1-8B", "layers": 32},)",
            "model.layers: expected only without a name: a named model has its own"}});
}

TEST_CASE("a block has at least a byte for each layer", "[scenarios]") {
  // 16 tokens of 1 byte, 32 layers.
  std::vector<std::string> lines = reference_lines();
  lines[kModelLine - 1] = R"("model": {"kv_bytes_per_token": 1, "layers": 32},)";
  refused(lines, {{kEngineLine, R"("engine": {"num_gpu_blocks": 100, "load": "layerwise"},)",
                   "engine.load: layerwise moves a block in 32 pieces, but it has 16 bytes"}});
}

TEST_CASE("the load semantics are written out", "[scenarios]") {
  const json standard = resolved_configuration(reference_with())["engine"];
  CHECK(standard["load"] == "async");
  CHECK(standard["load_or_recompute"] == "always_load");
  CHECK_FALSE(standard.contains("layers"));
  const json layered = resolved_configuration(
      thrashing({"engine.load=layerwise", "engine.load_or_recompute=break_even"}))["engine"];
  CHECK(layered["load"] == "layerwise");
  CHECK(layered["layers"] == 32);
  CHECK(layered["load_or_recompute"] == "break_even");
}

TEST_CASE("async is what a scenario that says nothing has", "[scenarios]") {
  CHECK(digest_of_run(thrashing(), turns()) ==
        digest_of_run(thrashing({"engine.load=async", "engine.load_or_recompute=always_load"}),
                      turns()));
}

TEST_CASE("waits for loads are told where steps may wait", "[scenarios]") {
  CHECK_FALSE(result_of(thrashing()).contains("load_wait"));
  for (const char* load : {"blocking", "barrier", "layerwise"}) {
    INFO(load);
    for (const char* async : {"false", "true"}) {
      const json result = result_of(thrashing(
          {fmt::format("engine.load={}", load), fmt::format("engine.async_scheduling={}", async)}));
      CHECK(result["completed"] == 12);
      CHECK(result["load_wait"]["steps"] > 0);
      CHECK(result["load_wait"]["stall_s"] > 0);
      // A request holds 33 of 48 blocks, so 15 of the other prompt's 32 stay; ten prompts repeat.
      CHECK(result["tiers"][1]["hits"] == 10 * (32 - 15));
    }
  }
}

TEST_CASE("break-even is told wherever there is a tier below", "[scenarios]") {
  // 10 us + 5.24 us a token against 20 us a token: the first block pays.
  const json always = result_of(thrashing())["load_choice"];
  CHECK(always == json({{"break_even_tokens", 16}}));
  CHECK_FALSE(result_of(thrashing({"tiers.0.capacity=0GiB"})).contains("load_choice"));
  // Over 1 GB/s, 131 us a token, never.
  const json slow = result_of(thrashing({"links.1.bandwidth=1GB/s"}))["load_choice"];
  CHECK(slow == json({{"break_even_tokens", "never"}}));
}

TEST_CASE("with break_even, admissions say what they chose", "[scenarios]") {
  const json fast = result_of(thrashing({"engine.load_or_recompute=break_even"}));
  CHECK(fast["load_choice"] ==
        json({{"break_even_tokens", 16}, {"loaded", 10}, {"recomputed", 0}}));
  const json slow =
      result_of(thrashing({"engine.load_or_recompute=break_even", "links.1.bandwidth=1GB/s"}));
  CHECK(slow["load_choice"] ==
        json({{"break_even_tokens", "never"}, {"loaded", 0}, {"recomputed", 10}}));
  CHECK(slow["links"][1]["bytes"] == 0);
  CHECK(slow["tiers"][1]["hits"] == 0);
}

TEST_CASE("copies slow steps where a scenario says so", "[scenarios]") {
  CHECK_FALSE(result_of(thrashing()).contains("copy_harm_s"));
  const std::string hbm = R"(engine.interference={"hbm_bandwidth": "200GB/s", "factor": 1.05})";
  // The second prompt's prefill runs while the first one's blocks are stored.
  const Workload workload = repeating(12, 2, 5, 4);
  for (const std::string& given : {hbm, std::string("links.0.sm_share=0.1")}) {
    INFO(given);
    const json result = to_json(simulate(reference_with({given}), workload).result);
    CHECK(result["completed"] == 12);
    CHECK(result["copy_harm_s"] > 0);
  }
  const json resolved = resolved_configuration(thrashing({hbm, "links.1.sm_share=0.1"}));
  CHECK(resolved["engine"]["interference"] ==
        json({{"hbm_bandwidth", "200GB/s"}, {"hbm_bytes_per_second", 2e11}, {"factor", 1.05}}));
  CHECK(resolved["links"][1]["sm_share"] == 0.1);
  CHECK_FALSE(resolved["links"][0].contains("sm_share"));
}

TEST_CASE("interference has its limits", "[scenarios]") {
  const auto message = [](const std::vector<std::string>& assignments) {
    return std::string(error_of([&] { thrashing(assignments); }).what());
  };
  CHECK(message({"links.0.sm_share=0.5", "links.1.sm_share=0.5"})
            .find("copies both ways would take 100% of the SMs") != std::string::npos);
  CHECK(message({"links.1.sm_share=0.5", "engine.load=layerwise"})
            .find("layerwise beside interference or a link's sm_share is not modelled") !=
        std::string::npos);
}

}  // namespace
}  // namespace spillway::test
