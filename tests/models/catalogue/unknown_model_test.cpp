// Names of models that nobody has: the nearest few, and never the whole list.
#include "models/catalogue/unknown_model.hpp"

#include "models/catalogue/model_spec.hpp"
#include "tests/sim/input_error.hpp"

namespace spillway::test {
namespace {

std::string refusal_of(const std::string& name) {
  return error_of([&] { find_model(name, {"--model", 0, ""}); }).what();
}

TEST_CASE("an unknown model gets the nearest few names and the way to all", "[models]") {
  CHECK(refusal_of("Nope") == "--model: unknown model \"Nope\"; spillway list models lists all");
  CHECK(refusal_of("org/Qwen3-9B")
            .starts_with("--model: unknown model \"org/Qwen3-9B\"; did you mean Qwen/Qwen3-8B"));
  CHECK_THAT(refusal_of("google/gemma-4-27b-it"), ContainsSubstring("google/gemma-3-27b-it"));
  for (const char* name : {"Qwen3-9B", "Llama-3.1-9B", "Qwen3", "Mixtral-8x8B", "", "x"}) {
    const std::string said = refusal_of(name);
    INFO(said);
    CHECK(said.size() < 250);
    CHECK_THAT(said, ContainsSubstring("spillway list models lists all"));
  }
  CHECK(refusal_of(std::string(200'000, 'y')).size() < 250);
}

TEST_CASE("a GGUF file's name leads to the model that it was made of", "[models]") {
  for (const char* name : {"unsloth/Qwen3-8B-GGUF", "Qwen3-8B-Q4_K_M.gguf", "qwen3-8b.GGUF",
                           "bartowski/Qwen3-8B-GGUF:Q4_K_M"}) {
    INFO(name);
    CHECK_THAT(refusal_of(name), ContainsSubstring("did you mean Qwen/Qwen3-8B") &&
                                     ContainsSubstring("GGUF files hold no config") &&
                                     ContainsSubstring("model.weight_dtype"));
  }
  CHECK_THAT(refusal_of("Qwen/Qwen3-8B-GGUF"), ContainsSubstring("mean Qwen/Qwen3-8B? GGUF"));
  CHECK_THAT(refusal_of("meta-llama_Meta-Llama-3.1-70B-Instruct-Q8_0.gguf"),
             ContainsSubstring("meta-llama/Meta-Llama-3.1-70B"));
}

}  // namespace
}  // namespace spillway::test
