// "inputs" of a document: everything a run depends on, defaults included, without floats' noise.
#include "scenarios/scenario/resolved.hpp"

#include "models/releases/presets.hpp"
#include "scenarios/scenario/config/settings.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

json resolved_with(const std::vector<std::string>& assignments) {
  return resolved_configuration(reference_with(assignments));
}

TEST_CASE("a copy of a scenario has sections of its own", "[scenarios]") {
  Scenario one;  // made by hand, it has what is always there
  CHECK(one.settings->origins.empty());
  CHECK_FALSE(one.tier);
  one.fleet->replicas = 2;
  one.tier.emplace().name = "dram";
  Scenario two = one;
  two.fleet->replicas = 3;
  two.tier->name = "nvme";
  CHECK(one.fleet->replicas == 2);
  CHECK(one.tier->name == "dram");
  one = two;
  two.tier.reset();
  CHECK(one.fleet->replicas == 3);
  CHECK(one.tier->name == "nvme");
}

TEST_CASE("the engine's defaults are written out", "[scenarios]") {
  const json engine = resolved_with({})["engine"];
  CHECK(engine["preset"] == "vllm@0.23");
  CHECK(engine["block_tokens"] == 16);
  CHECK(engine["num_gpu_blocks"] == 2048);
  CHECK(engine["block_bytes"] == 16 * 131072);
  CHECK(engine["eviction"] == "lru");
  CHECK(engine["watermark"] == 0);
  for (const char* flag :
       {"convoy", "store_defer_next_step", "offload_prompt_only", "unhashed_front",
        "reserve_full_isl", "async_load_reservation", "enable_prefix_caching"}) {
    CHECK(engine[flag] == true);
  }
  CHECK(engine["async_scheduling"] == false);
  CHECK_FALSE(engine.contains("max_model_len"));  // no limit
  CHECK_FALSE(engine.contains("memory"));         // the pool was given
}

TEST_CASE("a pool sized from a GPU shows how", "[scenarios]") {
  const Scenario s = scenario_of(joined(gpu_lines()));
  const json out = resolved_configuration(s);
  CHECK(out["engine"]["memory"]["kv_bytes"] == s.budget->kv.count());
  CHECK(out["engine"]["max_model_len"] == s.engine.max_model_len);
  CHECK(out["gpu"] == "H100-SXM5-80GB");
  CHECK(out["model"]["name"] == "meta-llama/Meta-Llama-3.1-8B");
  CHECK(out["compute"]["kind"] == "components");
  CHECK(out["links"][0]["kind"] == "table");
}

TEST_CASE("decimals are written as they were typed", "[scenarios]") {
  CHECK(resolved_with({"workload.speed=0.35"})["workload"]["speed"] == 0.35);
  CHECK(resolved_with({"compute.kv_token_ns=0.1"})["compute"]["kv_token_ns"] == 0.1);
}

TEST_CASE("capacities are exact, and inf is a string", "[scenarios]") {
  const auto capacity = [](const std::string& text) {
    return resolved_with({"tiers.0.capacity=" + text})["tiers"][0]["capacity"];
  };
  CHECK(capacity("4GiB") == "4294967296B");
  CHECK(capacity("7blocks") == "7blocks");
  CHECK(capacity("inf") == "inf");
}

TEST_CASE("links are written in nanoseconds and bytes per second", "[scenarios]") {
  const json links =
      resolved_with({"links.0.latency_us=1.5", "links.0.bandwidth=400Gbps"})["links"];
  CHECK(links[0]["name"] == "d2h");
  CHECK(links[0]["latency_ns"] == 1500);
  CHECK(links[0]["bytes_per_second"] == 50'000'000'000);
  CHECK(links[1]["name"] == "h2d");
  CHECK(links[1]["source"] == "scenario");
}

TEST_CASE("arrivals are written with what they need", "[scenarios]") {
  const json poisson = resolved_with({"workload.arrival=poisson", "workload.rate_per_s=2"});
  CHECK(poisson["workload"]["rate_per_s"] == 2);
  const json loop = resolved_with({"workload.arrival=closed-loop", "workload.concurrency=4"});
  CHECK(loop["workload"]["concurrency"] == 4);
  CHECK(resolved_with({"workload.limit=9"})["workload"]["limit"] == 9);
  CHECK(resolved_with({"workload.session_interval_s=2.5"})["workload"]["session_interval_s"] ==
        2.5);
  const json capped = resolved_with({"workload.concurrency=7", "workload.sessions=wait"});
  CHECK(capped["workload"]["concurrency"] == 7);
  CHECK(capped["workload"]["sessions"] == "wait");
  CHECK(poisson["workload"]["sessions"] == "ignore");
  CHECK_FALSE(poisson["workload"].contains("concurrency"));
}

TEST_CASE("what is measured is part of the configuration", "[scenarios]") {
  const json part = resolved_with({"workload.warmup_s=1.5", "workload.horizon_s=60"});
  CHECK(part["workload"]["warmup_s"] == 1.5);
  CHECK(part["workload"]["horizon_s"] == 60);
  const json all = resolved_with({"workload.limit=9"});
  CHECK(all["workload"]["warmup_s"] == 0);
  CHECK_FALSE(all["workload"].contains("horizon_s"));
}

TEST_CASE("a synthetic workload is part of the configuration, defaults included", "[scenarios]") {
  const auto synthetic = [](const char* turns) {
    return resolved_with({"workload={\"synthetic\": {\"turns\": " + std::string(turns) + "}}"});
  };
  CHECK(synthetic("5")["workload"]["synthetic"]["turns"] == 5);
  CHECK(synthetic("5")["workload"]["synthetic"]["requests"] == SyntheticConfig().requests);
  CHECK(digest_of(synthetic("5")) != digest_of(synthetic("6")));
  const json all = resolved_with({R"(workload={"synthetic": {"think_s": 2.5, "context": "compact",
      "answer_quantiles": [1, 2.5], "tenants": 3}})"})["workload"]["synthetic"];
  CHECK(all["think_s"] == 2.5);
  CHECK(all["context"] == "compact");
  CHECK(all["answer_quantiles"] == json({1, 2.5}));
  CHECK(all["tenants"] == 3);
  CHECK_FALSE(all.contains("user_quantiles"));  // not given
}

TEST_CASE("targets and plans are repeated", "[scenarios]") {
  const json out =
      resolved_with({"slo=[{\"metric\": \"p99_ttft_ms\", \"max\": 5},"
                     "{\"metric\": \"goodput\", \"min\": 2}]"});
  CHECK(out["slo"] == json::parse(R"([{"metric": "p99_ttft_ms", "max": 5.0},
                                      {"metric": "goodput", "min": 2.0}])"));
  CHECK(out["plan"] == json::parse(R"({"tier": "dram", "sizes": ["0GiB", "4GiB"],
    "objective": "least-dram", "confidence": 0.95, "replications": 1, "sensitivity": false,
    "stress": false})"));
  const json asked = resolved_with({"plan.stress=true", "plan.growth_per_month=0.02"})["plan"];
  CHECK(asked["stress"] == true);
  CHECK(asked["growth_per_month"] == 0.02);
}

TEST_CASE("inputs name the trace by content and the seed", "[scenarios]") {
  const Workload workload = repeating(3, 2, 5, 1);
  const json inputs = scenario_inputs(reference_with({"seed=9"}), workload);
  CHECK(inputs["seed"] == 9);
  CHECK(inputs["scenario"] == json({{"name", "reference"}, {"path", "s.json"}}));
  CHECK(inputs["trace"]["requests"] == 3);
  CHECK(inputs["trace"]["block_tokens"] == 512);
  CHECK(inputs["trace"]["content_hash"] == trace_inputs(repeating(3, 2, 5, 1))["content_hash"]);
  CHECK(inputs["trace"]["content_hash"] != trace_inputs(repeating(3, 3, 5, 1))["content_hash"]);
}

TEST_CASE("every key that a scenario has is in its configuration", "[scenarios]") {
  const json c =
      scenario_inputs(reference_with({"engine.long_prefill_token_threshold=7"}))["settings"];
  CHECK(c["engine"]["long_prefill_token_threshold"] == 7);
  CHECK(c["tiers"][0]["capacity"] == "4GiB");        // as written
  CHECK(c["engine"]["load"] == "async");             // its default
  CHECK_FALSE(c["engine"].contains("convoy"));       // the release decides
  CHECK_FALSE(c["engine"].contains("block_bytes"));  // follows from others
  for (const Key& key : ScenarioKeys::kEngine) {
    if (!default_of(key).is_null()) CHECK(c["engine"].contains(key.name));
  }
}

TEST_CASE("a configuration may be pasted back as a scenario", "[scenarios]") {
  const auto same = [](const Scenario& s) {
    const std::string text = scenario_inputs(s)["settings"].dump();
    INFO(text);
    CHECK(configuration_identity(scenario_of(text)) == configuration_identity(s));
  };
  same(reference_with());
  same(scenario_of(joined(gpu_lines())));
  same(reference_with({R"(engine.offload_connector="simple")", "engine.lazy_offload=true"}));
  same(reference_with({"engine.residency=streaming", R"(engine.cold={"overlap": "serial"})"}));
  same(reference_with({"engine.interference={\"hbm_bandwidth\": \"2TB/s\"}", "host.memory=64GiB"}));
  same(reference_with({R"(workload={"synthetic": {"turns": 5}, "arrival": "closed-loop",)"
                       R"( "concurrency": 3})"}));
  same(reference_with({R"(links.0={"name": "d2h", "from": "hbm", "to": "dram", "kind": "constant",)"
                       R"( "bandwidth": "20GB/s"})"}));
}

TEST_CASE("origins say where a value comes from", "[scenarios]") {
  const json inputs = scenario_inputs(reference_with({"tiers.0.capacity=5GiB"}));
  const json& origins = inputs["origins"];
  CHECK(origins["tiers.0.capacity"] == "--set");
  CHECK(origins["engine.num_gpu_blocks"] == fmt::format("line {}", int{kEngineLine}));
  CHECK(origins["engine.convoy"] == "vllm@0.23");
  CHECK(origins["engine.blocks_per_chunk"] == "1, or as offload_block_tokens says");
  CHECK_FALSE(origins.contains("engine.load"));  // its default
}

TEST_CASE("the hash does not depend on where a scenario lies or how it is written", "[scenarios]") {
  const auto hash = [](const Scenario& s) { return scenario_inputs(s)["configuration_hash"]; };
  const json same = hash(reference_with());
  CHECK(hash(load_scenario(
            JsonSource::from_text("/far/away.json", "\n\n" + joined(reference_lines())))) == same);
  for (const char* change :
       {"tiers.0.capacity=4096MiB", "links.0.bandwidth=25000MB/s", "links.0.latency_us=10.0",
        "engine.load=async", "workload.trace=/far/away.jsonl", "description=other"}) {
    INFO("change: " << change);
    CHECK(hash(reference_with({change})) == same);
  }
}

TEST_CASE("the hash of a configuration changes with any part of it", "[scenarios]") {
  const Workload workload = repeating(3, 2, 5, 1);
  const auto hash = [&](const std::vector<std::string>& assignments) {
    return scenario_inputs(reference_with(assignments), workload)["configuration_hash"];
  };
  const json same = hash({});
  CHECK(same.get<std::string>().size() == 16);
  CHECK(hash({}) == same);
  CHECK(hash({"name=other"}) == same);  // only a label
  for (const char* change :
       {"engine.num_gpu_blocks=2047", "engine.convoy=false", "compute.step_us=2001",
        "tiers.0.capacity=5GiB", "links.1.latency_us=11", "workload.speed=2", "workload.limit=2",
        "slo.0.max=1999", "plan.sizes=[\"4GiB\"]", "model.kv_bytes_per_token=131088",
        "engine.max_model_len=1000", "links.0.duplex_factor=0.9", "tiers.0.eviction=fifo",
        "workload.reuse=session-prefix", "workload.sessions=wait", "workload.warmup_s=1",
        "workload.horizon_s=9", "workload.concurrency=3"}) {
    INFO("change: " << change);
    CHECK(hash({change}) != same);
  }
}

}  // namespace
}  // namespace spillway::test
