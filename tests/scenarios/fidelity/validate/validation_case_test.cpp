// Case files: what they may say, and which parameters they have to account for.
#include "scenarios/fidelity/validate/validation_case.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

std::string error_of(const std::string& text) {
  const test::Scratch scratch;
  try {
    read_case(scratch.file("case.json", text));
  } catch (const InputError& error) {
    CHECK(error.fault() == Fault::kUsage);
    return error.what();
  }
  return "";
}

TEST_CASE("a case names its run, its scenario and its limits", "[scenarios]") {
  const test::Scratch scratch;
  const ValidationCase c = read_case(scratch.file("saturated.json", R"({
    // comments are allowed
    "measured": ["requests.csv", "counters.csv"],
    "scenario": {"model": "Llama-3.1-8B", "engine": {"max_num_seqs": 64}},
    "tolerance": {"means": 3, "mean_ttft_ms": 7, "percentiles": 5, "counters": 4},
    "evaluate": {"from_request": 100},
    "repeats": [["again.csv"]],
    "parameters": [{"name": "engine", "from": "its arguments"}]
  })"));
  CHECK(c.name == "saturated");
  CHECK(c.measured.size() == 2);
  CHECK(c.from_request == 100);
  CHECK(c.repeats == std::vector<std::vector<std::string>>{{"again.csv"}});
  // A metric's own limit goes before its group's; what has neither is only reported.
  CHECK(limit_of(c.tolerance, "mean_ttft_ms") == 7);
  CHECK(limit_of(c.tolerance, "mean_tpot_ms") == 3);
  CHECK(limit_of(c.tolerance, "p99_e2el_ms") == 5);
  CHECK(limit_of(c.tolerance, "waiting") == 4);
  CHECK_FALSE(limit_of(c.tolerance, "duration_s").has_value());
  CHECK_FALSE(limit_of(c.tolerance, "mean_queue_time_ms").has_value());
}

TEST_CASE("a run of one file needs no list", "[scenarios]") {
  const test::Scratch scratch;
  const ValidationCase c =
      read_case(scratch.file("one.json", R"({"measured": "run.json", "scenario": "s.json"})"));
  CHECK(c.measured == std::vector<std::string>{"run.json"});
}

TEST_CASE("what a run is of decides the front end and the clients", "[scenarios]") {
  const test::Scratch scratch;
  const ValidationCase c = read_case(scratch.file(
      "c.json", R"({"measured": "run.json", "scenario": {"engine": {"max_num_seqs": 64}}})"));
  MeasuredFacts facts;
  const auto root = [&] { return scenario_source(c, {}, facts).root(); };
  CHECK(root()["front_end"]["kind"] == "none");
  CHECK_FALSE(root()["workload"].contains("concurrency"));
  facts.clock = "client";
  facts.concurrency = 8;
  CHECK(root()["front_end"]["kind"] == "vllm");
  CHECK(root()["workload"]["arrival"] == "closed-loop");
  CHECK(root()["workload"]["concurrency"] == 8);
  // What the case says itself stays.
  const ValidationCase own = read_case(scratch.file(
      "own.json", R"({"measured": "run.json", "scenario": {"front_end": {"kind": "none"},
                       "workload": {"trace": "measured"}}})"));
  CHECK(scenario_source(own, {}, facts).root()["front_end"]["kind"] == "none");
  CHECK_FALSE(scenario_source(own, {}, facts).root()["workload"].contains("concurrency"));
}

TEST_CASE("what a case cannot mean is refused with its line", "[scenarios]") {
  CHECK_THAT(error_of("{\"measured\": [\"a\"]}"), ContainsSubstring("scenario: missing"));
  CHECK_THAT(error_of("{\"scenario\": \"s.json\"}"), ContainsSubstring("measured: missing"));
  CHECK_THAT(error_of("{\"measured\": [\"a\"],\n \"scenario\": \"s\",\n \"tolerence\": {}}"),
             ContainsSubstring("case.json:3: ") && ContainsSubstring("tolerance"));
  CHECK_THAT(error_of("{\"measured\": [\"a\"], \"scenario\": \"s\",\n"
                      " \"tolerance\": {\"mean_tftt_ms\": 3}}"),
             ContainsSubstring("case.json:2: tolerance.mean_tftt_ms: unknown metric or group") &&
                 ContainsSubstring("did you mean \"mean_ttft_ms\"?"));
  CHECK_THAT(error_of("{\"measured\": [\"a\"], \"scenario\": \"s\", \"metrics\": [\"ttft\"]}"),
             ContainsSubstring("unknown metric"));
  CHECK_THAT(error_of("{\"measured\": [\"a\"], \"scenario\": \"s\", \"repeats\": [\"a\"]}"),
             ContainsSubstring("expected a list of runs"));
}

TEST_CASE("a fault of the scenario inside a case names the case's line", "[scenarios]") {
  const test::Scratch scratch;
  const ValidationCase c = read_case(scratch.file("case.json", R"({
    "measured": ["m.csv"],
    "scenario": {
      "model": "Llama-3.1-8B",
      "engine": {
        "max_num_seqz": 64
      }
    }
  })"));
  const JsonSource source = scenario_source(c, {"engine.max_num_seqs=3"});
  CHECK(source.where("/engine/max_num_seqz").prefix() == c.path + ":6: engine.max_num_seqz: ");
  CHECK(source.where("/engine/max_num_seqs").file == "--set");
  CHECK(source.root().at("workload").at("trace") == "measured");  // what was measured arrives
}

TEST_CASE("every parameter of a scenario needs a word on where it comes from", "[scenarios]") {
  const auto leaves = leaves_of(nlohmann::json::parse(R"({
    "name": "x", "seed": 3, "workload": {"limit": 5}, "model": "m",
    "engine": {"max_num_seqs": 64, "preset": "vllm"}, "tiers": [{"capacity": "1GiB"}]
  })"));
  std::vector<std::string> names;
  for (const CaseParameter& leaf : leaves) names.push_back(leaf.name + "=" + leaf.value);
  CHECK(names == std::vector<std::string>{"engine.max_num_seqs=64", "engine.preset=vllm", "model=m",
                                          "tiers.0.capacity=1GiB"});
  // "engine" covers all below it, "mod" does not cover "model".
  CHECK(unexplained(leaves, {{"engine", "", "arguments"}, {"mod", "", "?"}}) ==
        std::vector<std::string>{"model", "tiers.0.capacity"});
  const std::vector<CaseParameter> given = {{"engine", "", "arguments"},
                                            {"engine.preset", "", "version"}};
  CHECK(explanation_of("engine.preset", given)->from == "version");
  CHECK(explanation_of("engine.max_num_seqs", given)->from == "arguments");
}

}  // namespace
}  // namespace spillway
