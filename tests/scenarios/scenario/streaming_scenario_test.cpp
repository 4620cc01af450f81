// engine.residency, engine.cold and engine.token_budget in a scenario.
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

std::string engine_with(std::string_view more) {
  return fmt::format(
      R"("engine": {{"preset": "vllm@0.23", "block_tokens": 16, "num_gpu_blocks": 2048, {}}},)",
      more);
}

std::string streaming_with(std::string_view more) {
  return engine_with(fmt::format(R"("residency": "streaming", {})", more));
}

TEST_CASE("scenario: streaming and its defaults", "[scenarios]") {
  Scenario s = scenario_of(
      with_line(reference_lines(), kEngineLine, engine_with(R"("residency": "streaming")")));
  CHECK(s.engine.residency == Residency::kStreaming);
  CHECK_FALSE(s.engine.async_scheduling);  // the preset's is on
  CHECK(s.engine.cold.selected_ppm == kWholeShare);
  CHECK(s.engine.cold.page_cache_ppm == 0);
  CHECK(s.engine.cold.form == StreamForm::kOverlapped);
  CHECK(s.engine.cold.efficiency_ppm == 960'000);
  CHECK(s.engine.cold.copies_per_block == 1);  // a model without layers

  s = scenario_of(with_line(
      reference_lines(), kEngineLine,
      streaming_with(R"("token_budget": 4096, "cold": {"selected": 0.1, "page_cache_hit": 0.25,)"
                     R"( "efficiency": 0.9})")));
  CHECK(s.engine.cold.selected_ppm == 100'000);
  CHECK(s.engine.cold.page_cache_ppm == 250'000);
  CHECK(s.engine.cold.efficiency_ppm == 900'000);
  CHECK(s.engine.token_budget == 4096);
  const auto engine = resolved_configuration(s)["engine"];
  CHECK(engine["residency"] == "streaming");
  CHECK(engine["cold"]["selected"] == 0.1);
  CHECK(engine["token_budget"] == 4096);
}

TEST_CASE("scenario: one buffer takes turns, as serial does", "[scenarios]") {
  for (const char* cold : {R"("cold": {"buffers": 1})", R"("cold": {"overlap": "serial"})"}) {
    const Scenario s = scenario_of(with_line(reference_lines(), kEngineLine, streaming_with(cold)));
    CHECK(s.engine.cold.form == StreamForm::kSerial);
  }
}

TEST_CASE("scenario: streamed blocks come layer by layer", "[scenarios]") {
  // Llama-3.1-8B has 32 layers; with keys and values apart each block is 64 pieces either way.
  const auto copies = [](std::string_view more) {
    return scenario_of(with_line(gpu_lines(), kEngineLine,
                                 fmt::format(R"("engine": {{"residency": "streaming"{}}},)", more)))
        .engine.cold.copies_per_block;
  };
  CHECK(copies("") == 32);
  CHECK(copies(R"(, "kv_layout": "per_layer")") == 64);
  CHECK(copies(R"(, "cold": {"overlap": "serial"})") == 1);
}

TEST_CASE("scenario: nothing says streaming where it is not asked for", "[scenarios]") {
  const auto engine = resolved_configuration(reference_with())["engine"];
  CHECK(engine["residency"] == "full");
  CHECK_FALSE(engine.contains("cold"));
}

TEST_CASE("scenario: bad streaming names the line and what was expected", "[scenarios]") {
  refused(
      reference_lines(),
      {{kEngineLine, engine_with(R"("residency": "streamin")"),
        R"(engine.residency: unknown residency "streamin"; did you mean "streaming"?)"},
       {kEngineLine, engine_with(R"("cold": {"selected": 0.5})"),
        R"(engine.cold: expected only with "residency": "streaming")"},
       {kEngineLine, engine_with(R"("token_budget": 100)"),
        R"(engine.token_budget: expected only with "residency": "streaming")"},
       {kEngineLine, streaming_with(R"("cold": {"selected": 0})"),
        "engine.cold.selected: expected a number from 1e-06 to 1, found 0"},
       {kEngineLine, streaming_with(R"("cold": {"selected": 1.5})"),
        "engine.cold.selected: expected a number from 1e-06 to 1, found 1.5"},
       {kEngineLine, streaming_with(R"("cold": {"page_cache_hit": -0.1})"),
        "engine.cold.page_cache_hit: expected"},
       {kEngineLine, streaming_with(R"("cold": {"efficiency": 0})"),
        "engine.cold.efficiency: expected"},
       {kEngineLine, streaming_with(R"("cold": {"buffers": 0})"), "engine.cold.buffers: expected"},
       {kEngineLine, streaming_with(R"("cold": {"overlap": "both"})"),
        R"(engine.cold.overlap: unknown overlap "both")"},
       {kEngineLine, streaming_with(R"("cold": {"overlap": "serial", "efficiency": 0.9})"),
        R"(engine.cold.efficiency: expected only with "overlap": "stream")"},
       {kEngineLine, streaming_with(R"("cold": {"selektion": 1})"),
        "engine.cold.selektion: unknown key"},
       {kEngineLine, streaming_with(R"("token_budget": 0)"), "engine.token_budget: expected"},
       {kEngineLine, streaming_with(R"("async_scheduling": true)"),
        "engine.async_scheduling: expected false with residency streaming"},
       {kEngineLine, streaming_with(R"("enable_prefix_caching": false)"),
        "engine.enable_prefix_caching: expected true with residency streaming"},
       {kEngineLine, streaming_with(R"("convoy": true)"),
        R"(engine.convoy: expected only with "residency": "full")"}});
}

TEST_CASE("scenario: streaming needs a tier to stream from and a link to it", "[scenarios]") {
  std::vector<std::string> lines = reference_lines();
  lines[kEngineLine - 1] = engine_with(R"("residency": "streaming")");
  lines[kPlanLine - 1] = "";
  lines[kTierLine - 1] = "";
  lines[kTierLine] = "";
  lines[kDownLine - 1] = lines[kUpLine - 1] = "";
  CHECK_THROWS_WITH(scenario_of(joined(lines)),
                    "s.json:5: engine.residency: streaming needs a tier below HBM to read from; "
                    "expected one in tiers");
  lines = reference_lines();
  lines[kEngineLine - 1] = engine_with(R"("residency": "streaming")");
  lines[kTierLine] = "";
  lines[kDownLine - 1] = lines[kUpLine - 1] = "";
  CHECK_THROWS_WITH(scenario_of(joined(lines)), ContainsSubstring("links: "));
}

TEST_CASE("a streaming run reports what decodes read", "[scenarios]") {
  // 20 prompts of 480 tokens (30 blocks and the answer's), four at a time through 79 slots: HBM
  // never holds four of them.
  const Scenario s =
      reference_with({"engine.residency=streaming", "engine.num_gpu_blocks=80",
                      "tiers.0.capacity=1000blocks", "policies.admission=all-tiers"});
  const SimulationOutcome out = simulate(s, repeating(20, 20, 1, 32, 480));
  CHECK(out.result.completed == 20);
  CHECK(out.result.preemptions == 0);
  CHECK(out.result.cold_blocks_per_token_mean > 5);
  CHECK(out.result.cold_blocks_per_token_p99 <= 32);
  CHECK(out.result.tiers[1].name == "dram");
  CHECK(out.result.tiers[1].stores > 100);
  CHECK(out.result.links[1].bytes > out.result.links[0].bytes);
  // In full mode no decode reads anything below.
  const Scenario full = reference_with({"engine.num_gpu_blocks=80"});
  CHECK(simulate(full, repeating(20, 20, 1, 32, 480)).result.cold_blocks_per_token_mean == 0);
}

TEST_CASE("a streaming run may hold more than HBM, and no request more than all tiers",
          "[scenarios]") {
  // 31 + 2 blocks of the one prompt: 9 slots and 24 blocks are just enough for one request.
  const Workload workload = repeating(3, 3, 1, 17, 512);
  const auto run = [&](const std::string& capacity) {
    return simulate(reference_with({"engine.residency=streaming", "engine.num_gpu_blocks=10",
                                    "tiers.0.capacity=" + capacity}),
                    workload);
  };
  CHECK(run("24blocks").result.completed == 3);
  CHECK_THROWS_WITH(run("23blocks"), ContainsSubstring("the pool holds 32 blocks of 16 tokens"));
}

}  // namespace
}  // namespace spillway::test
