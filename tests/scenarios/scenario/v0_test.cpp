// Scenarios of vLLM v0: its defaults, the arithmetic of its swap space, what it does not have, and
// what results say of it.
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// The reference scenario without tier and links, under v0. Line 5 is the engine.
std::vector<std::string> v0_lines(const std::string& engine, int blocks = 8) {
  std::vector<std::string> lines = reference_lines();
  lines[kEngineLine - 1] =
      fmt::format(R"("engine": {{"preset": "vllm@0.6", "num_gpu_blocks": {}{}}},)", blocks, engine);
  lines[kTierLine - 1] = R"("links": [],)";
  lines[kDownLine - 2] = "";
  lines[kDownLine - 1] = "";
  lines[kUpLine - 1] = "";
  lines[kPlanLine - 1] = "";
  return lines;
}

constexpr const char* kSwap = R"(, "preemption_mode": "swap")";

/// The same with affine links to and from the CPU pool.
std::vector<std::string> swap_lines(const std::string& engine) {
  std::vector<std::string> lines = v0_lines(kSwap + engine);
  lines[kTierLine - 1] = "";
  lines[kDownLine - 2] = R"("links": [)";
  lines[kDownLine - 1] =
      R"({"name": "out", "from": "hbm", "to": "cpu", "kind": "affine", "latency_us": 10,)"
      R"( "bandwidth": "25GB/s"},)";
  lines[kUpLine - 1] =
      R"({"name": "in", "from": "cpu", "to": "hbm", "kind": "affine", "latency_us": 10,)"
      R"( "bandwidth": "25GB/s"}],)";
  return lines;
}

/// gpu_lines() under v0.
std::vector<std::string> v0_gpu_lines(const std::string& engine) {
  std::vector<std::string> lines = gpu_lines();
  lines[kEngineLine - 1] = R"("engine": {"preset": "vllm@0.6")" + engine + "},";
  lines[kTierLine - 1] = "";
  lines[kPlanLine - 1] = "";
  return lines;
}

bool noted(const Scenario& s, const std::string& words) {
  return says(s.notes, words);
}

TEST_CASE("v0 comes with its own defaults", "[scenarios]") {
  const Scenario s = scenario_of(joined(v0_lines("")));
  const EngineConfig& c = s.engine;
  CHECK(c.family == EngineFamily::kVllmV0);
  CHECK(c.usable_blocks() == 8);  // no null block
  CHECK(c.watermark == 0.01);
  CHECK(c.max_num_seqs == 256);
  CHECK(c.max_num_batched_tokens == 2048);
  CHECK_FALSE(c.chunked_prefill);
  CHECK_FALSE(c.enable_prefix_caching);
  CHECK_FALSE(c.async_scheduling);
  CHECK(c.copies_per_block == 2);  // layers are not known: keys and values
  CHECK_FALSE(c.swap.swap);
  CHECK_FALSE(s.tier);
  CHECK(noted(s, "preemption_mode is recompute"));
}

TEST_CASE("a step of v0 holds the longest prompt, or 2048 tokens in chunks", "[scenarios]") {
  const auto batch = [](const std::string& engine) {
    return scenario_of(joined(v0_lines(engine, 4000))).engine.max_num_batched_tokens;
  };
  CHECK(batch(R"(, "max_model_len": 1000)") == 2048);
  CHECK(batch(R"(, "max_model_len": 8192)") == 8192);
  CHECK(batch(R"(, "max_model_len": 8192, "enable_chunked_prefill": true)") == 2048);
  // Long contexts are computed in chunks unless that is switched off.
  const Scenario s = scenario_of(joined(v0_gpu_lines("")));
  CHECK(s.engine.chunked_prefill);
  CHECK(s.engine.max_num_batched_tokens == 2048);
  CHECK(s.engine.max_num_seqs == 256);
  CHECK(s.gpu_memory_utilization == 0.90);
  CHECK(s.engine.copies_per_block == 64);  // 32 layers
  CHECK(noted(s, "enable_chunked_prefill is on"));
}

TEST_CASE("swap space is blocks of the CPU pool", "[scenarios]") {
  // 4 GiB of 16 x 131,072 bytes; v0 does not round a block up to pages.
  const Scenario s = scenario_of(joined(swap_lines("")));
  CHECK(s.engine.swap.swap);
  REQUIRE(s.tier);
  CHECK(s.tier->name == "cpu");
  CHECK(s.tier_blocks(s.tier->capacity) == 2048);
  std::vector<std::string> lines = swap_lines(R"(, "swap_space": "1MB")");
  lines[kModelLine - 1] = R"("model": {"kv_bytes_per_token": 1000},)";
  const Scenario small = scenario_of(joined(lines));
  CHECK(small.tier_blocks(small.tier->capacity) == 62);  // 1,000,000 / 16,000
}

TEST_CASE("v0 copies by the GPU's link, block by block, unless links are given", "[scenarios]") {
  const Scenario s = scenario_of(joined(v0_gpu_lines(kSwap)));
  REQUIRE(s.down);
  REQUIRE(s.up);
  CHECK(s.down->name == "swap-out");
  CHECK(s.down->to == "cpu");
  CHECK(s.up->name == "swap-in");
  CHECK(s.down->submit == Duration(6000));  // cudaMemcpyAsync in a loop
}

TEST_CASE("what v0 does not have is refused by name", "[scenarios]") {
  const auto engine = [](const std::string& key) {
    return BrokenLine{kEngineLine,
                      R"("engine": {"preset": "vllm@0.6", "num_gpu_blocks": 8, )" + key + "},", ""};
  };
  const auto cases = [&](const std::vector<std::pair<std::string, std::string>>& keys) {
    std::vector<BrokenLine> out;
    for (const auto& [key, says] : keys) {
      out.push_back(engine(key));
      out.back().says = says;
    }
    return out;
  };
  refused(
      v0_lines(""),
      cases({{R"("enable_prefix_caching": true)", "engine.enable_prefix_caching: true is not"},
             {R"("async_scheduling": true)", "engine.async_scheduling: true is not modelled"},
             {R"("convoy": true)", "engine.convoy:"},
             {R"("eviction": "fifo")", "engine.eviction:"},
             {R"("residency": "streaming")", "engine.residency:"},
             {R"("long_prefill_token_threshold": 64)", "engine.long_prefill_token_threshold:"},
             {R"("preemption_mode": "swop")",
              "engine.preemption_mode: unknown preemption_mode \"swop\"; did you mean \"swap\"?"},
             {R"("max_model_len": 100, "max_num_batched_tokens": 64)",
              "engine.max_num_batched_tokens: expected at least max_model_len (100) without"},
             {R"("max_num_batched_tokens": 64)",
              "engine.max_num_batched_tokens: expected at least max_num_seqs (256), found 64"},
             {R"("preemption_mode": "swap", "swap_space": "1KiB")",
              "engine.swap_space: swap_space of 1024B holds no block of 2097152 bytes"}}));
  refused(v0_lines(""),
          {{kTierLine, R"("tiers": [{"name": "dram", "kind": "dram", "capacity": "4GiB"}],)",
            "tiers: vllm@0.6 is the v0 engine, which has no tiers below HBM; expected "
            "engine.swap_space"}});
  const std::string shared =
      with_line(swap_lines(""), kDownLine,
                R"({"name": "out", "from": "hbm", "to": "cpu", "kind": "affine", "latency_us": 10,)"
                R"( "bandwidth": "25GB/s", "shared_by": 2},)");
  CHECK(std::string(error_of([&] { scenario_of(shared); }).what())
            .find("links: media and shared_by are not modelled") != std::string::npos);
}

TEST_CASE("v1 has no swap space", "[scenarios]") {
  for (const char* key : {R"("swap_space": "4GiB")", R"("preemption_mode": "swap")"}) {
    refused(gpu_lines(), {{kEngineLine, fmt::format(R"("engine": {{"preset": "vllm", {}}},)", key),
                           fmt::format("engine.{}: v1 recomputes what it preempts",
                                       std::string(key).substr(1, 10 + (key[1] == 'p' ? 5 : 0)))}});
  }
}

TEST_CASE("swap space must leave the host room, as v0 checks when it starts", "[scenarios]") {
  const JsonSource source = JsonSource::from_text("s.json", joined(swap_lines("")));
  const ObjectReader top(source, "", "the scenario");
  const auto on_host = [&](Bytes memory) {
    Scenario s = load_scenario(source);
    s.host = HostChoice{};
    s.host->memory = memory;
    check_v0(top, s);
    return noted(s, "The swap space takes 4.00 GiB of ");
  };
  CHECK_FALSE(on_host(10_GiB));  // 40%
  CHECK(on_host(9_GiB));         // 44%
  CHECK(on_host(6_GiB));         // 67%
  const std::string message = error_of([&] { on_host(5_GiB); }).what();
  CHECK(message.find("too large swap space: 4.00 GiB of 5.00 GiB host memory (80%)") !=
        std::string::npos);
}

/// Two requests of 48 tokens and 6 of answer on 8 blocks, one of them the watermark: 1 is swapped
/// out with 4 blocks, and comes back when 0 has ended (tests/models/engine/v0_engine_test.cpp).
Workload two_requests() {
  return workload_of({{0, 48, 6, {1}}, {0, 48, 6, {2}}}, 64);
}

TEST_CASE("a result tells what was swapped, and how full the CPU pool was", "[scenarios]") {
  const Scenario s = scenario_of(joined(swap_lines(R"(, "watermark": 0.125)")));
  const SimulationOutcome out = simulate(s, two_requests());
  const RunResult& r = out.result;
  CHECK(r.completed == 2);
  REQUIRE(r.swap);
  CHECK(r.swap->swapped_out == 1);
  CHECK(r.swap->blocks_in == 4);
  CHECK(r.swap->peak_swapped == 1);
  CHECK(r.swap->peak_cpu_usage == 4.0 / 2048);
  CHECK(r.swap->stall_s == 2 * 345'545e-9);
  CHECK(r.swap->fatal.empty());
  REQUIRE(r.tiers.size() == 2);
  CHECK(r.tiers[0].capacity_blocks == 8);
  CHECK(r.tiers[1].name == "cpu");
  CHECK(r.tiers[1].capacity_blocks == 2048);
  CHECK(r.tiers[1].peak_bytes == 4 * 2'097'152);
  CHECK(r.tiers[1].stores == 4);
  CHECK(r.tiers[1].evictions == 0);
  REQUIRE(r.links.size() == 2);
  CHECK(r.links[0].name == "out");
  CHECK(r.links[0].bytes == 4 * 2'097'152);
  CHECK(r.links[1].transfers == 1);
  const auto json = to_json(r);
  CHECK(json["swap"]["peak_requests_swapped"] == 1);
  CHECK(to_json(run_from_json(json)) == json);
}

TEST_CASE("a dead engine is a result, with a warning", "[scenarios]") {
  const Scenario s =
      scenario_of(joined(swap_lines(R"(, "watermark": 0.125, "swap_space": "6MiB")")));
  const SimulationOutcome out = simulate(s, two_requests());
  CHECK(out.result.failed == 2);
  REQUIRE(out.result.failed_reasons.size() == 1);
  CHECK(out.result.failed_reasons[0].reason == "engine_dead");
  CHECK(out.result.swap->fatal ==
        "lack of CPU swap space: to swap request 1 out takes 4 blocks, and 3 of 3 are free");
  CHECK(says(out.warnings, "The engine died: lack of CPU swap space"));
  // No pool at all ends the same way; without swapping nothing of this happens.
  const Scenario none =
      scenario_of(joined(swap_lines(R"(, "watermark": 0.125, "swap_space": "0GiB")")));
  CHECK(simulate(none, two_requests()).result.failed == 2);
  const Scenario again = scenario_of(joined(v0_lines(R"(, "watermark": 0.125)")));
  const RunResult recomputed = simulate(again, two_requests()).result;
  CHECK(recomputed.completed == 2);
  CHECK(recomputed.recomputed_tokens == 49);
  CHECK(recomputed.swap->swapped_out == 0);
}

TEST_CASE("a plan finds the least swap space that an engine survives", "[scenarios]") {
  std::vector<std::string> lines = swap_lines(R"(, "watermark": 0.125)");
  lines[kPlanLine - 1] =
      R"("plan": {"tier": "cpu", "sizes": ["6MiB", "8MiB", "1GiB"], "replications": 1,)"
      R"( "sensitivity": false},)";
  const PlanResult plan = plan_sizes(scenario_of(joined(lines)), two_requests(), 1, nullptr).result;
  REQUIRE(plan.recommended == 1);  // four blocks
  CHECK(plan.points[0].run.failed == 2);
  REQUIRE(plan.flags);
  CHECK_THAT(fmt::format("{}", fmt::join(plan.flags->arguments, " ")),
             ContainsSubstring("--preemption-mode swap --swap-space 0.0078125"));
}

}  // namespace
}  // namespace spillway::test
