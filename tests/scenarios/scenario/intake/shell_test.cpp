// How a pasted command line is taken apart.
#include "scenarios/scenario/intake/shell.hpp"

#include "scenarios/scenario/intake/engine_call.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

std::vector<std::string> words_of(const ShellCommand& command) {
  std::vector<std::string> out;
  for (const ShellWord& word : command.words) out.push_back(word.text);
  return out;
}

/// The only command of a text.
std::vector<std::string> words(std::string_view text, ShellVariables variables = {}) {
  const ShellText read = read_shell(text, std::move(variables));
  REQUIRE(read.commands.size() == 1);
  return words_of(read.commands.front());
}

using Words = std::vector<std::string>;

TEST_CASE("a command over several lines is one, with quotes as a shell reads them", "[scenarios]") {
  CHECK(words("vllm serve \\\n  'a b' --x=\"1 $ 2\" c\\ d") ==
        Words{"vllm", "serve", "a b", "--x=1 $ 2", "c d"});
  // Pages put comments behind the backslash, where a shell would see a blank escaped.
  CHECK(words("vllm serve m \\   # the model\n  --port 1 \\\n  --host h # done") ==
        Words{"vllm", "serve", "m", "--port", "1", "--host", "h"});
  CHECK(words("$ vllm serve m") == Words{"vllm", "serve", "m"});
  CHECK(words("vllm serve m > log 2>&1") == Words{"vllm", "serve", "m"});
}

TEST_CASE("assignments resolve what follows them, and what nothing resolves is named",
          "[scenarios]") {
  const ShellText read = read_shell(
      "M=org/model\nexport P=8000\nA=1 vllm serve $M --port ${P} -x ${Q:-7} $R $(date)", {});
  REQUIRE(read.commands.size() == 1);
  const ShellCommand& command = read.commands.front();
  CHECK(command.line == 3);
  CHECK(words_of(command) ==
        Words{"vllm", "serve", "org/model", "--port", "8000", "-x", "7", "$R", "$(date)"});
  CHECK(command.environment.at("A") == "1");
  CHECK(command.words[7].open == Words{"$R"});
  CHECK(command.words[8].open == Words{"$(date)"});
  // Kubernetes writes $(NAME).
  CHECK(words("serve $(MODEL)", {{"MODEL", "m"}}) == Words{"serve", "m"});
  // A place that the reader of a page fills in.
  CHECK(read_shell("serve <model>", {}).commands[0].words[1].open == Words{"<model>"});
}

TEST_CASE("separators part commands, and a quote that never ends is a fault", "[scenarios]") {
  CHECK(read_shell("a b; c && d | e &\nf", {}).commands.size() == 5);
  CHECK(read_shell("a 'b", {}).fault == "a quote ' is never closed");
}

EngineCall only_call(std::string_view text) {
  const EngineCalls found = calls_in_command(text, "f");
  REQUIRE(found.calls.size() == 1);
  return found.calls.front();
}

TEST_CASE("the engine is found behind wrappers", "[scenarios]") {
  for (const char* text :
       {"vllm serve m -tp 2", "sudo env A=1 vllm serve m -tp 2", "bash -c 'vllm serve m -tp 2'",
        "python3 -m vllm.entrypoints.openai.api_server m -tp 2", "vllm serve serve m -tp 2",
        "docker run --rm -v /a/vllm:/b --gpus all -p 1:1 vllm/vllm-openai:v0.9.1 m -tp 2",
        "podman run -it registry/x/vllm-cuda:3.2 m -tp 2", "m -tp 2"}) {
    INFO(text);
    const EngineCall call = only_call(text);
    Words found;
    for (const ShellWord& word : call.words) found.push_back(word.text);
    CHECK(found == Words{"m", "-tp", "2"});
  }
  CHECK(only_call("docker run vllm/vllm-openai:v0.9.1 m").version == "0.9.1");
  // A publisher's own numbering says nothing about vLLM's.
  CHECK(only_call("docker run registry/x/vllm-cuda:3.2 m").version.empty());
  CHECK(only_call("docker run -e VLLM_USE_V1=0 vllm/vllm-openai m").environment.at("VLLM_USE_V1") ==
        "0");
}

TEST_CASE("other engines are refused by name", "[scenarios]") {
  for (const auto& [text, name] :
       {std::pair{"vllm serve m --mem-fraction-static 0.8", "starts SGLang"},
        std::pair{"trtllm-serve disaggregated -c f", "starts `trtllm-serve disaggregated`"},
        std::pair{"python3 -m tensorrt_llm.bench --model m", "starts TensorRT-LLM"},
        std::pair{"vllm bench serve --model m", "starts `vllm bench`, which is not modelled"},
        std::pair{"ls -l", "starts no engine"}}) {
    INFO(text);
    const std::string said = error_of([&, call = text] { calls_in_command(call, "f"); }).what();
    CHECK_THAT(said, ContainsSubstring(name));
  }
}

}  // namespace
}  // namespace spillway::test
