// `spillway flags`: what to set in vLLM, as a shell would read it.
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::json;
using test::refused;
using test::Scene;

bool has(const json& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

TEST_CASE("flags of the small scenario run in a shell as they are", "[cli]") {
  const Scene scene;
  const json r = test::document_of({"flags", scene.scenario})["results"];
  CHECK(r["release"] == "vllm@0.23");
  CHECK(has(r["arguments"], "--kv-offloading-size 4"));
  CHECK(has(r["arguments"], "--no-async-scheduling"));
  // Standard output is a script: a `vllm` of our own sees the words, and comments are comments.
  const std::string script = "#!/bin/sh\nMODEL=m\nvllm() { printf '%s\\n' \"$@\"; }\n" +
                             test::spillway({"flags", scene.scenario, "--engine", "vllm@0.12"}).out;
  const std::string words = scene.path("words");
  const std::string command = "sh '" + scene.file("run.sh", script) + "' > '" + words + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string out = test::read_file(words);
  CHECK_THAT(out, StartsWith("serve\nm\n--kv-transfer-config\n{\"kv_connector\""));
  CHECK_THAT(out, ContainsSubstring("\n--max-num-batched-tokens\n2048\n"));
  CHECK(out.find('#') == std::string::npos);
}

TEST_CASE("flags --engine takes any preset, and names them for another engine", "[cli]") {
  const Scene scene;
  for (const char* engine : {"vllm", "vllm@0.6", "vllm@0.12", "vllm@0.14", "vllm@0.19"}) {
    INFO(engine);
    const json r = test::document_of({"flags", scene.scenario, "--engine", engine})["results"];
    CHECK_THAT(r["release"].get<std::string>(), StartsWith(engine));
    CHECK_FALSE(r["arguments"].empty());
  }
  refused({"flags", scene.scenario, "--engine", "sglang"}, 2,
          "is a scenario of vllm, whose settings say nothing of sglang; expected a release of "
          "vllm");
  refused({"flags", scene.scenario, "--engine", "tgi"}, 2,
          "--engine: unknown engine preset \"tgi\"; known: ");
  refused({"flags", scene.scenario, "--engine", "vllm@0.26"}, 2, "did you mean \"vllm@0.25\"?");
}

TEST_CASE("flags --tier-size changes the size and nothing else", "[cli]") {
  const Scene scene;
  const json four = test::document_of({"flags", scene.scenario})["results"]["arguments"];
  json more = test::document_of({"flags", scene.scenario, "--tier-size", "96GiB"})["results"];
  REQUIRE(has(more["arguments"], "--kv-offloading-size 96"));
  for (json& argument : more["arguments"]) {
    if (argument == "--kv-offloading-size 96") argument = "--kv-offloading-size 4";
  }
  CHECK(more["arguments"] == four);
  // Which size it is stands in the script, and how to give another where none was given.
  const auto own = test::spillway({"flags", scene.scenario});
  CHECK_THAT(own.out, ContainsSubstring(", dram: 4.00 GiB\n"));
  CHECK_THAT(own.err, ContainsSubstring("dram has the scenario's size, 4.00 GiB. Set what a plan "
                                        "recommends with --tier-size."));
  const auto given = test::spillway({"flags", scene.scenario, "--tier-size", "96GiB"});
  CHECK_THAT(given.out, ContainsSubstring(", dram: 96.00 GiB\n"));
  CHECK(given.err.find("--tier-size") == std::string::npos);
  refused({"flags", scene.scenario, "--tier-size", "96"}, 2, "--tier-size: ");
  refused({"flags", scene.scenario, "--tier-size", "inf"}, 2, "expected a size such as 64GiB");
  refused({"flags", scene.scenario, "--tier-size", "1KiB"}, 2, "--tier-size: 1KiB holds no block");
}

}  // namespace
}  // namespace spillway
