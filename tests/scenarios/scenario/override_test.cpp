// `--set key.path=value`: what it changes, what it refuses, and that errors about it blame it.
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

JsonSource source_of(std::string_view text, const std::vector<std::string>& assignments) {
  JsonSource source = JsonSource::from_text("s.json", text);
  for (const std::string& assignment : assignments) source.set(assignment);
  return source;
}

/// The reference scenario with `assignments`, loaded.
Scenario reference_with(const std::vector<std::string>& assignments) {
  return load_scenario(source_of(joined(reference_lines()), assignments));
}

std::string message_with(const std::vector<std::string>& assignments) {
  const InputError error = error_of([&] { reference_with(assignments); });
  CHECK(error.fault() == Fault::kUsage);
  return error.what();
}

TEST_CASE("an override takes JSON, and anything else as a string", "[scenarios]") {
  const auto value = [](const std::string& text) {
    return source_of("{}", {"a=" + text}).root()["a"];
  };
  CHECK(value("5") == 5);
  CHECK(value("-0.5") == -0.5);
  CHECK(value("true") == true);
  CHECK(value("null").is_null());
  CHECK(value("[\"0GiB\", \"64GiB\"]") == nlohmann::json({"0GiB", "64GiB"}));
  CHECK(value("{\"x\": 1}")["x"] == 1);
  CHECK(value("\"5\"") == "5");
  CHECK(value("64GiB") == "64GiB");
  CHECK(value("") == "");
  CHECK(value("a=b") == "a=b");
  CHECK(value("nan") == "nan");
  CHECK(value("{broken") == "{broken");
}

TEST_CASE("an override replaces what the file says", "[scenarios]") {
  const Scenario s = reference_with({"engine.num_gpu_blocks=99", "tiers.0.capacity=8GiB",
                                     "workload.trace=other.jsonl", "seed=7"});
  CHECK(s.engine.num_gpu_blocks == 99);
  CHECK(s.tier->capacity.count == std::int64_t{8} << 30);
  CHECK(s.workload->trace == "other.jsonl");
  CHECK(s.seed == 7);
}

TEST_CASE("a trace named on the command line may lie where the user stands", "[scenarios]") {
  const Scratch scratch;
  const std::string scenario = scratch.file("s.json", joined(reference_lines()));
  const auto trace = [&](const std::string& name) {
    JsonSource source = JsonSource::from_file(scenario);
    source.set("workload.trace=" + name);
    return load_scenario(source).workload->trace;
  };
  const std::filesystem::path before = std::filesystem::current_path();
  const Scratch here;
  here.file("mine.jsonl", "");
  std::filesystem::current_path(here.path("."));
  const std::string found = trace("mine.jsonl");
  const std::string missing = trace("other.jsonl");
  std::filesystem::current_path(before);
  CHECK(found == "mine.jsonl");
  CHECK(missing == scratch.path("other.jsonl"));  // beside the scenario, as in the file
}

TEST_CASE("the last override of a key wins", "[scenarios]") {
  CHECK(reference_with({"seed=7", "seed=8"}).seed == 8);
}

TEST_CASE("null takes a key away", "[scenarios]") {
  CHECK_FALSE(reference_with({"plan=null"}).plan);
}

TEST_CASE("an override adds keys and the objects around them", "[scenarios]") {
  const JsonSource source = source_of("{\"a\": 1}", {"b.c.d=5"});
  CHECK(source.root()["b"]["c"]["d"] == 5);
  CHECK(source.root()["a"] == 1);
}

TEST_CASE("an assignment without a path or a value is refused", "[scenarios]") {
  for (const char* text : {"", "seed", "=5", ".seed=5", "seed.=5", "a..b=5", ".=5", "5"}) {
    INFO("assignment: " << text);
    CHECK(message_with({text}) ==
          fmt::format("--set: expected key.path=value, found \"{}\"", text));
  }
}

TEST_CASE("a name of a model or a GPU stands for an object with it", "[scenarios]") {
  // So a key of either can be set, and tried by a plan, however the file writes it.
  for (const char* text : {R"({"model": "Llama-3.1-8B", "gpu": "L40S"})",
                           R"({"model": {"name": "Llama-3.1-8B"}, "gpu": {"name": "L40S"}})"}) {
    const JsonSource source = source_of(text, {"model.kv_dtype=fp8", "gpu.memory=40GB"});
    CHECK(source.root()["model"] == nlohmann::json{{"name", "Llama-3.1-8B"}, {"kv_dtype", "fp8"}});
    CHECK(source.root()["gpu"] == nlohmann::json{{"name", "L40S"}, {"memory", "40GB"}});
  }
}

TEST_CASE("a path into something that is no object is refused", "[scenarios]") {
  CHECK(message_with({"seed.x=5"}) == "--set: seed.x: \"x\" leads into number, not an object");
  CHECK(message_with({"name.0=5"}) == "--set: name.0: \"0\" leads into string, not an object");
  for (const char* index : {"1", "-1", "x", "000000", "99999999999999999999", "0x0", "+0"}) {
    INFO("index: " << index);
    CHECK_THAT(message_with({fmt::format("tiers.{}.name=x", index)}),
               ContainsSubstring("is no place in an array of "));
  }
}

TEST_CASE("errors about an overridden value name the option, not a line", "[scenarios]") {
  CHECK_THAT(message_with({"engine.num_gpu_blocks=1"}),
             ContainsSubstring("--set: engine.num_gpu_blocks: expected a whole number from 2 to"));
  CHECK_THAT(message_with({"tiers.0.capacity=64G"}),
             ContainsSubstring("--set: tiers.0.capacity: expected a size with a unit"));
  CHECK_THAT(message_with({"tiers.00.capacity=64G"}),
             ContainsSubstring("--set: tiers.0.capacity: expected a size with a unit"));
  CHECK_THAT(message_with({"engine={\"num_gpu_block\": 5}"}),
             ContainsSubstring("--set: engine.num_gpu_block: unknown key of engine"));
  CHECK_THAT(message_with({"workload.speed=NaN"}),
             ContainsSubstring("--set: workload.speed: expected a number from 1e-06 to 1000000"));
  CHECK_THAT(message_with({"workload.limit=9223372036854775808"}),
             ContainsSubstring("--set: workload.limit: expected a whole number from 1"));
}

TEST_CASE("a misspelt path is an unknown key of the option", "[scenarios]") {
  CHECK_THAT(message_with({"engin.block_tokens=16"}),
             ContainsSubstring("--set: engin: unknown key of the scenario \"engin\"; did you mean "
                               "\"engine\"?"));
  CHECK_THAT(message_with({"engine.block_token=16"}),
             ContainsSubstring("--set: engine.block_token: unknown key of engine \"block_token\"; "
                               "did you mean \"block_tokens\"?"));
}

TEST_CASE("a path through a missing array blames the option", "[scenarios]") {
  std::vector<std::string> lines = reference_lines();
  lines[kSloLine - 1] = "";
  CHECK_THAT(
      error_of([&] { source_of(joined(lines), {"slo.0.max=5"}); }).what(),
      ContainsSubstring("--set: slo.0.max: the scenario gives no slo, so there is no place 0 "
                        "in it; expected the whole list, slo=[...]"));
}

TEST_CASE("other values keep their lines", "[scenarios]") {
  const JsonSource source = source_of(with_line(reference_lines(), kSeedLine, "\"seed\": -1"),
                                      {"engine.num_gpu_blocks=99"});
  CHECK_THAT(error_of([&] { load_scenario(source); }).what(),
             ContainsSubstring("s.json:14: seed: expected a whole number"));
}

TEST_CASE("a deeply nested override is a string that no key accepts", "[scenarios]") {
  CHECK_THAT(message_with({"plan=" + std::string(100'000, '[') + std::string(100'000, ']')}),
             ContainsSubstring("--set: plan: expected an object for plan"));
}

TEST_CASE("a repeated key inside an override is not silently dropped", "[scenarios]") {
  CHECK_THAT(message_with({"plan={\"sizes\": [\"1GiB\"], \"sizes\": [\"2GiB\"]}"}),
             ContainsSubstring("--set: plan: expected an object for plan"));
}

}  // namespace
}  // namespace spillway::test
