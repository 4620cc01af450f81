// Usage errors: exit code 2, a message that names the word at fault and the nearest known one.
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::refused;
using test::Scene;

TEST_CASE("a missing verb", "[cli]") {
  refused({}, 2, "A subcommand is required; spillway demo is a start (see spillway --help)");
  refused({"trace"}, 2, "A subcommand is required (see spillway trace --help)");
}

TEST_CASE("a mistyped verb names the nearest one", "[cli]") {
  refused({"rnu"}, 2, "unknown verb rnu; did you mean run? (see spillway --help)");
  refused({"paln", "s.json"}, 2, "unknown verb paln; did you mean plan?");
  refused({"trace", "stat", "x"}, 2,
          "unknown verb stat; did you mean stats? (see spillway trace --help)");
  refused({"frobnicate"}, 2, "unknown verb frobnicate (see spillway --help)");
  refused({"--hlep"}, 2, "unknown option --hlep; did you mean --help?");
}

TEST_CASE("a mistyped flag names the nearest one", "[cli]") {
  const Scene scene;
  refused({"run", scene.scenario, "--gaet"}, 2,
          "--gaet; did you mean --gate? (see spillway run --help)");
  refused({"run", scene.scenario, "--jsn=-"}, 2, "did you mean --json?");
  refused({"trace", "stats", scene.trace, "--lmit", "3"}, 2,
          "did you mean --limit? (see spillway trace stats --help)");
  refused({"run", scene.scenario, "--frobnicate"}, 2,
          "not expected: --frobnicate (see spillway run --help)");
  // An option of another verb, as it is or mistyped.
  refused({"run", scene.scenario, "--polcy", "lru"}, 2,
          "--policy is an option of spillway replay (see spillway run --help)");
}

TEST_CASE("a mistyped value names the nearest one", "[cli]") {
  const Scene scene;
  // An option where another one's value should be, whether the latter takes any text or few words.
  refused({"replay", "--trace", scene.trace, "--bounds", "--json", scene.path("o.json")}, 2,
          "--bounds needs a value (auto|always|never), and here the option --json follows it (see "
          "spillway replay --help)");
  refused({"run", scene.scenario, "--out", "--quiet"}, 2, "--out needs a value (DIR)");
  refused({"run", scene.scenario, "--seed", "--quiet"}, 2, "--seed needs a value (N)");
  refused({"list", "polices"}, 2, "did you mean \"policies\"?");
  refused({"report", scene.path("r.json"), "--format", "htlm"}, 2, "did you mean \"html\"?");
  refused({"flags", scene.scenario, "--engine", "vlm"}, 2, "did you mean \"vllm@0.");
  refused({"flags", scene.scenario, "--engine", "vlm@0.25"}, 2, "did you mean \"vllm@0.25\"?");
  refused({"kvsize", "--model", "Llama-3.1-8B", "--gpu", "H10"}, 2, "did you mean \"H100\"?");
  refused({"replay", "--trace", scene.trace, "--semantics", "blok"}, 2, "did you mean block?");
  refused({"replay", "--trace", scene.trace, "--policy", "lur"}, 2, "did you mean \"lru\"?");
  refused({"run", scene.scenario, "--set", "enginee.max_num_seqs=1"}, 2,
          "did you mean \"engine\"?");
  refused({"completion", "bsh"}, 2, "did you mean \"bash\"?");
  refused({"man", "paln"}, 2, "did you mean \"plan\"?");
  refused({"man", "trace", "stat"}, 2, "did you mean \"trace stats\"?");
}

TEST_CASE("a mistyped file names the nearest one of its folder", "[cli]") {
  const Scene scene;
  scene.file("quickstart.json", "{}");
  refused({"run", scene.path("quikstart.json")}, 7,
          "cannot open: No such file or directory; did you mean " + scene.path("quickstart.json"));
  const CliResult far = test::spillway({"run", scene.path("nothing-like-it.json")});
  CHECK(far.err.find("did you mean") == std::string::npos);
}

TEST_CASE("every verb refuses an unknown flag", "[cli]") {
  const Scene scene;
  for (const test::Verb& verb : verbs(scene)) {
    const CliResult result = test::spillway(verb.call + Args{"--no-such-flag"});
    INFO(verb.name << ": " << result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, ContainsSubstring("--no-such-flag"));
    CHECK_THAT(result.err, ContainsSubstring("(see spillway " + verb.name + " --help)"));
  }
}

TEST_CASE("a required argument that is missing is named", "[cli]") {
  refused({"run"}, 2, "SCENARIO is required");
  refused({"plan"}, 2, "SCENARIO is required");
  refused({"replay"}, 2, "--trace is required");
  refused({"kvsize"}, 2, "--model is required");
  refused({"list"}, 2, "CATALOGUE is required");
  refused({"schema"}, 2, "KIND is required");
  refused({"report"}, 2, "RESULT is required");
  refused({"sweep", "plan"}, 2, "EXPERIMENT is required");
  for (const char* verb : {"run", "status", "merge"}) {
    refused({"sweep", verb}, 2, "CAMPAIGN is required");
  }
  refused({"sweep", "worker", "--shard", "1/1"}, 2, "CAMPAIGN is required");
  refused({"sweep", "worker", "camp"}, 2, "--shard is required");
  refused({"trace", "stats"}, 2, "TRACE is required");
  refused({"trace", "convert", "in.jsonl"}, 2, "OUT is required");
  refused({"trace", "generate"}, 2, "--out is required");
  refused({"trace", "sample", "--out", "o.bin"}, 2, "TRACE is required");
  refused({"trace", "merge", "in.jsonl"}, 2, "--out is required");
}

TEST_CASE("an argument too many is named", "[cli]") {
  const Scene scene;
  refused({"run", scene.scenario, "extra"}, 2, "not expected: extra");
  refused({"list", "gpus", "models"}, 2, "not expected: models");
}

TEST_CASE("a flag whose value is missing or of the wrong kind is named", "[cli]") {
  const Scene scene;
  refused({"run", scene.scenario, "--json"}, 2, "--json");
  refused({"run", scene.scenario, "--threads", "0"}, 2,
          "--threads: Value 0 not in range 1 to 4096");
  refused({"run", scene.scenario, "--threads", "4097"}, 2, "--threads");
  refused({"run", scene.scenario, "--threads", "two"}, 2, "--threads");
  refused({"run", scene.scenario, "--threads", "-1"}, 2, "--threads");
  refused({"run", scene.scenario, "--color", "red"}, 2, "--color: red not in {auto,always,never}");
  refused({"replay", "--trace", scene.trace, "--limit", "-1"}, 2, "--limit");
  refused({"replay", "--trace", scene.trace, "--limit", "9223372036854775808"}, 2, "--limit");
  refused({"replay", "--trace", scene.trace, "--block-tokens", "0"}, 2, "--block-tokens");
  refused({"replay", "--trace", scene.trace, "--block-tokens", "65537"}, 2, "--block-tokens");
}

TEST_CASE("the version", "[cli]") {
  const CliResult result = test::spillway({"--version"});
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  const auto document = test::document_of({"list", "policies"});
  CHECK(result.out == "spillway " + document["tool"]["version"].get<std::string>() + "\n");
}

TEST_CASE("help lists every verb, and every verb has examples and exit codes", "[cli]") {
  const CliResult top = test::spillway({"--help"});
  CHECK(top.code == 0);
  CHECK(top.err.empty());
  CHECK_THAT(top.out, ContainsSubstring("Usage: "));
  const Scene scene;
  for (const test::Verb& verb : verbs(scene)) {
    const bool nested = verb.name.find(' ') != std::string::npos;
    Args words = {verb.call[0]};
    if (nested) words.push_back(verb.call[1]);
    CHECK_THAT(top.out, ContainsSubstring("\n  " + words[0] + " "));
    for (const char* flag : {"--help", "-h"}) {
      const CliResult help = test::spillway(words + Args{flag});
      INFO(verb.name << " " << flag);
      CHECK(help.code == 0);
      CHECK(help.err.empty());
      CHECK_THAT(help.out, ContainsSubstring("Examples:\n  spillway " + verb.name + " "));
      CHECK_THAT(help.out, ContainsSubstring("Exit codes: 0 done; 2 usage"));
    }
  }
}

}  // namespace
}  // namespace spillway
