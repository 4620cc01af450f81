// engine.scheduling_policy, enable_chunked_prefill, max_num_scheduled_tokens, defer_block_free,
// max_offload_tokens and workload.classes, from the file to the result.
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

std::vector<std::string> priority_lines() {
  std::vector<std::string> lines = reference_lines();
  lines[kEngineLine - 1] = R"("engine": {"num_gpu_blocks": 40, "scheduling_policy": "priority"},)";
  return lines;
}

/// Requests of two tenants that one slot serves in turn.
Workload tenants() {
  return workload_of({{0, 64, 20, {1}, "batch"},
                      {1, 64, 1, {2}, "batch"},
                      {2, 64, 1, {3}, "chat"},
                      {3, 64, 1, {4}, "batch"}},
                     64);
}

TEST_CASE("a scenario that says nothing of them is scheduled as ever", "[scenarios]") {
  const Scenario s = reference_with();
  CHECK_FALSE(s.engine.priority_scheduling);
  CHECK(s.engine.chunked_prefill);
  CHECK(s.engine.max_num_scheduled_tokens == 0);
  CHECK(s.workload->classes.empty());
  const json resolved = resolved_configuration(s);
  CHECK(resolved["engine"]["scheduling_policy"] == "fcfs");
  for (const char* key : {"max_num_scheduled_tokens", "max_offload_tokens"}) {
    CHECK_FALSE(resolved["engine"].contains(key));
  }
  CHECK_FALSE(resolved["workload"].contains("classes"));
}

TEST_CASE("what a scenario says of scheduling is written out", "[scenarios]") {
  const json out = resolved_configuration(
      reference_with({"engine.scheduling_policy=priority", "engine.enable_chunked_prefill=false",
                      "engine.max_model_len=1500", "engine.max_num_scheduled_tokens=2000",
                      "engine.async_scheduling=true", "engine.defer_block_free=true",
                      "engine.max_offload_tokens=512",
                      R"(workload.classes=[{"tenant":"chat","priority":-1},)"
                      R"({"tenant":"batch","offload":false}])"}));
  CHECK(out["engine"]["scheduling_policy"] == "priority");
  CHECK(out["engine"]["enable_chunked_prefill"] == false);
  CHECK(out["engine"]["max_num_scheduled_tokens"] == 2000);
  CHECK(out["engine"]["defer_block_free"] == true);
  CHECK(out["engine"]["max_offload_tokens"] == 512);
  CHECK(out["workload"]["classes"] ==
        json::parse(R"([{"tenant":"chat","priority":-1,"offload":true},
                        {"tenant":"batch","priority":0,"offload":false}])"));
}

TEST_CASE("contradictory scheduling is refused where it is written", "[scenarios]") {
  const auto engine = [](const std::string& keys) {
    return R"("engine": {"num_gpu_blocks": 2048, )" + keys + "},";
  };
  refused(
      reference_lines(),
      {{kEngineLine, engine(R"("scheduling_policy": "prioritty")"),
        R"(engine.scheduling_policy: unknown scheduling_policy "prioritty"; did you mean )"
        R"("priority"?)"},
       {kEngineLine, engine(R"("max_num_batched_tokens": 100, "max_num_scheduled_tokens": 101)"),
        "engine.max_num_scheduled_tokens: expected at most max_num_batched_tokens (100), found "
        "101"},
       {kEngineLine, engine(R"("async_scheduling": false, "defer_block_free": true)"),
        R"(engine.defer_block_free: expected only with "async_scheduling": true)"},
       {kEngineLine,
        engine(R"("enable_chunked_prefill": false, "max_num_batched_tokens": 2048, )"
               R"("max_model_len": 4096)"),
        "engine.max_num_batched_tokens: 2048 tokens a step, but max_model_len is 4096 and "
        "enable_chunked_prefill false"},
       {kEngineLine,
        engine(R"("enable_chunked_prefill": false, "max_num_scheduled_tokens": 1000, )"
               R"("max_model_len": 2000)"),
        "engine.max_num_scheduled_tokens: 1000 tokens a step, but max_model_len is 2000"},
       {kEngineLine, engine(R"("residency": "streaming", "scheduling_policy": "priority")"),
        R"(engine.scheduling_policy: expected only with "residency": "full")"}});
}

TEST_CASE("without chunks, a budget that is not given becomes max_model_len", "[scenarios]") {
  // vllm/engine/arg_utils.py.
  std::vector<std::string> lines = reference_lines();
  lines[kEngineLine - 1] = R"("engine": {"num_gpu_blocks": 2048, "max_model_len": 9000,)"
                           R"( "enable_chunked_prefill": false},)";
  const Scenario raised = scenario_of(joined(lines));
  CHECK(raised.engine.max_num_batched_tokens == 9000);
  CHECK(raised.notes.back().code == "batch-raised");
}

TEST_CASE("a class that asks for what the engine does not do is refused", "[scenarios]") {
  const auto workload = [](const std::string& item) {
    return R"("workload": {"trace": "t.jsonl", "classes": [)" + item + "]},";
  };
  refused(
      priority_lines(),
      {{kWorkloadLine, workload(R"({"priority": 1})"), "workload.classes.0.tenant: missing"},
       {kWorkloadLine, workload(R"({"tenant": "a"}, {"tenant": "a"})"),
        R"(workload.classes.1.tenant: "a" has a class already)"},
       {kWorkloadLine, workload(R"({"tenant": "a", "offload": false, "max_offload_tokens": 16})"),
        R"(workload.classes.0.max_offload_tokens: expected only without "offload": false)"},
       {kWorkloadLine, workload(R"({"tenant": "a", "prioritty": 1})"),
        R"(workload.classes.0.prioritty: unknown key)"}});
}

TEST_CASE("a priority without the policy is taken, and said to mean nothing", "[scenarios]") {
  // So that one scenario can be compared under both policies.
  const Scenario s = reference_with({R"(workload.classes=[{"tenant":"chat","priority":3}])"});
  REQUIRE_FALSE(s.notes.empty());
  CHECK(s.notes.back().code == "classes-without-effect");
}

TEST_CASE("classes name tenants of the workload", "[scenarios]") {
  const Scenario s = reference_with({R"(workload.classes=[{"tenant":"chatt"}])"});
  const std::string unknown = error_of([&] { simulate(s, tenants()); }).what();
  CHECK_THAT(unknown, ContainsSubstring(R"(unknown tenant "chatt"; did you mean "chat"? known: )"));
  const std::string none = error_of([&] { simulate(s, repeating(2, 1, 10, 1)); }).what();
  CHECK_THAT(none, ContainsSubstring("the workload names no tenants"));
}

TEST_CASE("a class's priority decides who waits", "[scenarios]") {
  const auto chat_first = [](std::vector<std::string> more) {
    more.insert(more.end(), {"engine.max_num_seqs=1", "engine.scheduling_policy=priority"});
    Journal journal;
    SimulationOptions options;
    options.observers.push_back(&journal);
    simulate(reference_with(more), tenants(), options);
    return journal.requests[2].scheduled < journal.requests[1].scheduled;
  };
  CHECK(chat_first({R"(workload.classes=[{"tenant":"batch","priority":1}])"}));
  CHECK_FALSE(chat_first({}));
}

TEST_CASE("nothing below HBM for a tenant without offload", "[scenarios]") {
  const auto stores = [](const std::string& classes) {
    const Scenario s = reference_with({"workload.classes=" + classes});
    return to_json(simulate(s, tenants()).result)["tiers"][1]["stores"].get<int>();
  };
  // Prompts of 4 blocks each.
  CHECK(stores("[]") == 16);
  CHECK(stores(R"([{"tenant":"batch","offload":false}])") == 4);
  CHECK(stores(R"([{"tenant":"batch","max_offload_tokens":40}])") == 4 + 3 * 2);
}

TEST_CASE("a deadlock is named in warnings, with who holds what", "[scenarios]") {
  // vLLM issue 45388 once more, from a scenario.
  const Workload workload = workload_of({{0, 128, 1, {1, 2}},
                                         {500, 128, 1, {3, 4}},
                                         {1000, 256, 1, {5, 6, 7, 8}},
                                         {1500, 192, 1, {1, 2, 9}},
                                         {1500, 192, 1, {3, 4, 10}}},
                                        64);
  const SimulationOutcome out =
      simulate(reference_with({"engine.num_gpu_blocks=17", "engine.async_load_reservation=false",
                               "engine.reserve_full_isl=false", "links.0.bandwidth=1GB/s",
                               "links.1.bandwidth=1GB/s"}),
               workload);
  CHECK(out.result.stuck == 2);
  CHECK(out.standstill.starts_with("Request 3 at the head of the queue needs 4 more blocks"));
  CHECK(says(out.warnings,
             "The server stops serving for ever (mutual_loads): 2 requests stuck. Request 3 at "));
}

}  // namespace
}  // namespace spillway::test
