// What costs nothing and may be set, what costs and may be bought.
#include "scenarios/planner/answer/changes.hpp"

#include <map>
#include <set>

#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

std::set<std::string> values_of(const std::vector<KeyChange>& changes, const std::string& key) {
  std::set<std::string> out;
  for (const KeyChange& change : changes) {
    if (change.key == key) out.insert(change.to);
  }
  return out;
}

TEST_CASE("a tier with ARC may have LRU, and the other way round", "[scenarios][planner]") {
  // "arc" in a scenario of vLLM is vLLM's own, whose name is vllm-arc.
  const std::string key = "tiers.0.eviction";
  CHECK(values_of(free_changes(reference_with(), 100), key) == std::set<std::string>{"vllm-arc"});
  for (const char* arc : {"arc", "vllm-arc"}) {
    const Scenario s = reference_with({fmt::format("tiers.0.eviction={}", arc)});
    CHECK(values_of(free_changes(s, 100), key) == std::set<std::string>{"lru"});
  }
}

TEST_CASE("classes with priorities that nobody heeds suggest to heed them",
          "[scenarios][planner]") {
  const std::string key = "engine.scheduling_policy";
  const std::string ranked = R"(workload.classes=[{"tenant": "chat", "priority": -1}])";
  const std::string alike = R"(workload.classes=[{"tenant": "chat", "priority": 0}])";
  const auto asked = [&](const std::vector<std::string>& settings) {
    return values_of(free_changes(reference_with(settings), 100), key);
  };
  CHECK(asked({ranked}) == std::set<std::string>{"priority"});
  CHECK(asked({ranked, "engine.scheduling_policy=priority"}).empty());
  CHECK(asked({alike}).empty());
  CHECK(asked({}).empty());
}

TEST_CASE("what is held back is tried as it ships", "[scenarios][planner]") {
  const auto held = [](const std::vector<std::string>& settings) {
    std::map<std::string, std::string> out;
    for (const KeyChange& change : held_back(reference_with(settings))) out[change.key] = change.to;
    return out;
  };
  using Held = std::map<std::string, std::string>;
  const std::vector<std::string> shipped = {"engine.async_scheduling=null"};
  const auto with = [&](const std::string& one) { return held({shipped.front(), one}); };
  CHECK(held(shipped).empty());
  CHECK(with("engine.async_scheduling=false") == Held{{"engine.async_scheduling", "true"}});
  CHECK(with("engine.store_threshold=3") == Held{{"engine.store_threshold", "0"}});
  CHECK(with("engine.store_threshold=1").empty());  // 0 and 1 store at once
  CHECK(with("policies.admission=all-tiers") == Held{{"policies.admission", "always"}});
  // Nothing depends on graphs where step times have no overhead without them.
  CHECK(with("engine.enforce_eager=true").empty());
}

TEST_CASE("requests that are too long are let in by the next 1,024 tokens",
          "[scenarios][planner]") {
  const std::string key = "engine.max_model_len";
  const Scenario s = reference_with({"engine.max_model_len=4096"});
  CHECK(values_of(free_changes(s, 4096), key).empty());
  CHECK(values_of(free_changes(s, 4097), key) == std::set<std::string>{"5120"});
}

TEST_CASE("batched tokens and sequences are tried by factors, within what the engine takes",
          "[scenarios][planner]") {
  // 2,048 tokens and 256 sequences: no fewer tokens than sequences, no more sequences than tokens.
  const std::vector<KeyChange> changes = free_changes(reference_with(), 100);
  CHECK(values_of(changes, "engine.max_num_batched_tokens") ==
        std::set<std::string>{"256", "512", "1024", "4096", "8192", "16384", "32768"});
  CHECK(values_of(changes, "engine.max_num_seqs") ==
        std::set<std::string>{"16", "32", "64", "128", "512", "1024", "2048"});
  for (const KeyChange& change : changes) CHECK(change.from != change.to);
}

TEST_CASE("a wider instance has twice the GPUs, up to a node of eight", "[scenarios][planner]") {
  const Scenario s = scenario_of(joined(gpu_lines()));
  std::vector<std::string> wide;
  for (const KeyChange& change : wider_instances(s)) wide.push_back(change.to);
  CHECK(wide == std::vector<std::string>{"2", "4", "8"});
  CHECK(wider_instances(reference_with()).empty());  // its step times are given
  CHECK(better_gpus(reference_with()).empty());
}

}  // namespace
}  // namespace spillway::test
