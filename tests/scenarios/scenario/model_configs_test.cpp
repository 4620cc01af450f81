// Models by their config.json (tests/stand_ins/model_configs: the keys that decide the shape, as
// published), by their names, and from the user's own list.
#include <cstdlib>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/sections/known_models.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

KnownModel family(const std::string& name) {
  return known_model(source_path("tests/stand_ins/model_configs/" + name + ".json"), {});
}

TEST_CASE("every family's config.json has its shape", "[scenarios][models]") {
  struct Row {
    std::string_view file;
    double billions;           ///< parameters, by the publisher
    std::int64_t token_bytes;  ///< KV in BF16: layers x 2 x heads x width x 2, of MLA latents
    std::int32_t sliding;
    std::int32_t window;
  };
  const Row rows[] = {
      {"llama-3.1-8b", 8.03, 32 * 2 * 8 * 128 * 2, 0, 0},
      {"mistral-7b-v0.1", 7.24, 32 * 2 * 8 * 128 * 2, 32, 4096},
      {"qwen2.5-7b", 7.62, 28 * 2 * 4 * 128 * 2, 0, 0},
      {"qwen3-8b-awq", 8.19, 36 * 2 * 8 * 128 * 2, 0, 0},
      {"qwen3-30b-a3b-fp8", 30.5, 48 * 2 * 4 * 128 * 2, 0, 0},
      {"qwen3-next-80b-a3b", 80, 12 * 2 * 2 * 256 * 2, 0, 0},
      {"gemma-2-9b", 9.24, 42 * 2 * 8 * 256 * 2, 21, 4096},
      {"gemma-3-4b", 3.88, 34 * 2 * 4 * 256 * 2, 29, 1024},
      {"phi-3-mini-4k", 3.82, 32 * 2 * 32 * 96 * 2, 32, 2047},
      {"phi-4", 14.7, 40 * 2 * 10 * 128 * 2, 0, 0},
      {"deepseek-v2-lite", 15.7, 27 * (512 + 64) * 2, 0, 0},
      {"deepseek-v3", 671, 61 * (512 + 64) * 2, 0, 0},
      {"deepseek-v3.2", 671, 61 * (512 + 64) * 2, 0, 0},
      {"deepseek-r1-nvfp4", 671, 61 * (512 + 64) * 2, 0, 0},
      {"kimi-k2", 1026, 61 * (512 + 64) * 2, 0, 0},
      {"glm-4-9b-chat", 9.4, 40 * 2 * 2 * 128 * 2, 0, 0},
      {"glm-4.5-air", 106, 46 * 2 * 8 * 128 * 2, 0, 0},
      {"gpt-oss-20b", 20.9, 24 * 2 * 8 * 64 * 2, 12, 128},
      {"mixtral-8x7b", 46.7, 32 * 2 * 8 * 128 * 2, 0, 0},
      {"llama-4-scout", 109, 48 * 2 * 8 * 128 * 2, 36, 8192},
      {"llama-4-maverick", 400, 48 * 2 * 8 * 128 * 2, 36, 8192},
      {"minimax-m2", 229, 62 * 2 * 8 * 128 * 2, 0, 0},
      {"minimax-text-01", 456, 10 * 2 * 8 * 128 * 2, 0, 0},
      {"command-r", 35, 40 * 2 * 64 * 128 * 2, 0, 0},
      {"command-r7b", 8.03, 32 * 2 * 8 * 128 * 2, 24, 4096},
      {"granite-3.1-8b", 8.17, 40 * 2 * 8 * 128 * 2, 0, 0},
      {"olmo-2-7b", 7.3, 32 * 2 * 32 * 128 * 2, 0, 0},
      {"olmoe-1b-7b", 6.92, 16 * 2 * 16 * 128 * 2, 0, 0},
      {"falcon-7b", 6.92, 32 * 2 * 1 * 64 * 2, 0, 0},
      {"falcon-40b", 41.3, 60 * 2 * 8 * 64 * 2, 0, 0},
      {"pixtral-12b", 12.2, 40 * 2 * 8 * 128 * 2, 0, 0},
      {"llama-3.1-8b-fp8-dynamic", 8.03, 32 * 2 * 8 * 128 * 2, 0, 0},
  };
  for (const Row& row : rows) {
    INFO(row.file);
    const KnownModel known = family(std::string(row.file));
    const ModelSpec& m = *known.spec;
    // The publishers' counts hold vision towers, or state of linear attention, of some.
    CHECK(double(m.params_total) / 1e9 == Approx(row.billions).epsilon(0.025));
    CHECK(kv_bytes_per_token(m, KvDtype::kBf16).count() == row.token_bytes);
    CHECK(m.sliding_layers == row.sliding);
    CHECK(m.window == row.window);
  }
}

TEST_CASE("a quantization_config says how wide weights are", "[scenarios][models]") {
  const auto of = [](const char* file) {
    const KnownModel known = family(file);
    REQUIRE(known.weights);
    return *known.weights;
  };
  CHECK(of("qwen3-8b-awq").dtype == "int4");
  CHECK(of("qwen3-8b-awq").format.bytes * 8 == Approx(4 + 20 / 128.0));
  CHECK(of("qwen3-30b-a3b-fp8").format.as == Multiplied::kFp8);
  CHECK(of("qwen3-30b-a3b-fp8").format.attention);
  CHECK(of("llama-3.1-8b-fp8-dynamic").dtype == "fp8");
  // Its list leaves attention of each layer as it was.
  CHECK(of("deepseek-r1-nvfp4").dtype == "fp4");
  CHECK_FALSE(of("deepseek-r1-nvfp4").format.attention);
  CHECK(of("gpt-oss-20b").dtype == "mxfp4");
  CHECK_FALSE(of("gpt-oss-20b").format.attention);
  CHECK(of("gpt-oss-20b").total.count() == Approx(12.8 * double(1 << 30)).epsilon(0.005));
  CHECK_FALSE(family("llama-3.1-8b").weights);
}

TEST_CASE("weights that only the kernel widens are told from those with units",
          "[scenarios][models]") {
  const auto format = [](const std::string& quantization) {
    const std::string text = fmt::format(
        R"({{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 14336, "vocab_size": 128256,
        "quantization_config": {}}})",
        quantization);
    const JsonSource file = JsonSource::from_text("config.json", text);
    return configured_model(ObjectReader(file, "", "the model's config"), "m").weights.value();
  };
  const auto compressed = [&](const std::string& weights, const std::string& inputs) {
    return format(fmt::format(R"({{"quant_method": "compressed-tensors", "config_groups":
        {{"group_0": {{"weights": {}, "input_activations": {}}}}}}})",
                              weights, inputs));
  };
  const char* eight = R"({"num_bits": 8, "type": "int"})";
  CHECK(compressed(eight, eight).dtype == "w8a8");
  CHECK(compressed(eight, "null").dtype == "int8");
  const WeightChoice w4 =
      compressed(R"({"num_bits": 4, "type": "int", "group_size": 64, "symmetric": true})", "null");
  CHECK(w4.format.bytes * 8 == Approx(4 + 16 / 64.0));
  CHECK(w4.format.as == Multiplied::kWidened);
  const char* fp4 = R"({"num_bits": 4, "type": "float", "group_size": 16})";
  CHECK(compressed(fp4, fp4).format.as == Multiplied::kFp4);
  CHECK(compressed(fp4, "null").format.as == Multiplied::kWidened);
  CHECK(compressed(fp4, fp4).format.bytes * 8 == 4.5);
  CHECK(
      format(R"({"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true})").format.bytes *
          8 ==
      Approx(4 + 16 / 32.0));
  CHECK(format(R"({"quant_method": "gptq", "bits": 8, "group_size": -1})").format.bytes == 1);
}

TEST_CASE("what of a model is not modelled is said", "[scenarios][models]") {
  const auto notes = [](const char* file, std::string_view code) {
    const KnownModel known = family(file);
    return std::any_of(known.notes.begin(), known.notes.end(),
                       [&](const Note& note) { return note.code == code; });
  };
  CHECK(notes("qwen3-next-80b-a3b", "layers-without-kv"));
  CHECK(notes("minimax-text-01", "layers-without-kv"));
  CHECK(notes("llama-4-scout", "chunked-attention"));
  CHECK(notes("deepseek-v3.2", "sparse-attention"));
  CHECK_FALSE(notes("deepseek-v3", "sparse-attention"));
  const JsonSource hybrid = JsonSource::from_text(
      "config.json", R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*"})");
  CHECK_THROWS_AS(configured_model(ObjectReader(hybrid, "", "the model's config"), ""), InputError);
}

TEST_CASE("a model is a path, and a name may say its weights", "[scenarios][models]") {
  const std::string path = source_path("tests/stand_ins/model_configs/qwen3-8b-awq.json");
  const Scenario by_path =
      scenario_of(with_line(gpu_lines(), kModelLine, fmt::format(R"("model": "{}",)", path)));
  const Scenario by_name =
      scenario_of(with_line(gpu_lines(), kModelLine, R"("model": "Qwen/Qwen3-8B-AWQ",)"));
  const Scenario whole = scenario_of(with_line(gpu_lines(), kModelLine, R"("model": "Qwen3-8B",)"));
  CHECK(by_path.model->weights->dtype == "int4");
  CHECK(by_name.model->weights->dtype == "int4");
  CHECK(double(by_path.budget->weights.count()) ==
        Approx(double(by_name.budget->weights.count())).epsilon(0.001));
  CHECK(by_name.engine.num_gpu_blocks > whole.engine.num_gpu_blocks);
  CHECK(says(by_name.notes, "has the shape of Qwen/Qwen3-8B. Its weights are int4."));
  refused(gpu_lines(),
          {{kModelLine, R"("model": "org/unheard-of",)",
            "model: unknown model \"org/unheard-of\"; spillway list models lists all. "
            "For any other model give the path of its config.json, or add it to your "
            "list: spillway list models --add config.json"},
           {kModelLine, R"("model": "org/Qwen3-8B-GGUF",)",
            "model: unknown model \"org/Qwen3-8B-GGUF\"; did you mean Qwen/Qwen3-8B? GGUF files "},
           {kModelLine, R"("model": "8B",)", "model: model \"8B\" could mean any of: "}});
}

TEST_CASE("a GPU is a path", "[scenarios]") {
  const Scratch scratch;
  const std::string path = scratch.file("mine.json", R"({"name": "mine", "like": "H100",
      "memory_bandwidth": "3TB/s", "generation": "ampere"})");
  const Scenario s =
      scenario_of(with_line(gpu_lines(), kGpuLine, fmt::format(R"(, "gpu": "{}")", path)));
  CHECK(s.gpu->name == "mine");
  CHECK(s.gpu->memory_gbs == 3000);
  CHECK(s.gpu->sm_count == 132);
  CHECK(s.gpu->generation == Generation::kAmpere);
  // Sheets of one name are told apart.
  const Scenario again = s;
  scratch.file("mine.json", R"({"name": "mine", "like": "H100", "memory_bandwidth": "2TB/s"})");
  const Scenario slower =
      scenario_of(with_line(gpu_lines(), kGpuLine, fmt::format(R"(, "gpu": "{}")", path)));
  CHECK(configuration_identity(again) == configuration_identity(s));
  CHECK(configuration_identity(slower) != configuration_identity(s));
  const std::string bad = scratch.file("bad.json", R"({"name": "mine", "memorie": "80GB"})");
  CHECK_THROWS_AS(
      scenario_of(with_line(gpu_lines(), kGpuLine, fmt::format(R"(, "gpu": "{}")", bad))),
      InputError);
}

TEST_CASE("models join the user's own list", "[scenarios][models]") {
  const Scratch scratch;
  setenv("XDG_DATA_HOME", scratch.path("data").c_str(), 1);
  const std::string config = source_path("tests/stand_ins/model_configs/phi-4.json");
  CHECK(own_models().empty());
  const ListedModel added = add_own_model(config, "org/Phi-4");
  CHECK(added.path == scratch.path("data/spillway/models/org--Phi-4.json"));
  CHECK(own_models().size() == 1);
  for (const char* name : {"org/Phi-4", "org/phi4", "Phi-4"}) {
    INFO(name);
    CHECK(known_model(name, {}).own->name == "org/Phi-4");
  }
  // Marks behind it are read as behind the catalogue's.
  const auto weights = [](const char* name) {
    const KnownModel known = known_model(name, {});
    CHECK(known.own->name == "org/Phi-4");
    CHECK(says(known.notes, fmt::format("{} has the shape of org/Phi-4.", name)));
    return known.weights ? known.weights->dtype : "";
  };
  CHECK(weights("org/Phi-4-Instruct").empty());
  CHECK(weights("org/Phi-4-FP8") == "fp8");
  CHECK(weights("other/phi-4-instruct-2507-AWQ") == "int4");
  CHECK(own_model("org/Phi-4-AWQ")->weights->dtype == "int4");
  CHECK_FALSE(own_model("org/Phi-4-mini"));
  CHECK_FALSE(own_model("Qwen3-8B-AWQ"));
  // It is among what an unknown name may mean.
  const auto unknown = [](const char* name) {
    return std::string(error_of([&] { known_model(name, {}); }).what());
  };
  CHECK_THAT(unknown("org/Phi-5"), ContainsSubstring("did you mean org/Phi-4?"));
  CHECK_THAT(unknown("org/Phi-4-GGUF"), ContainsSubstring("did you mean org/Phi-4? GGUF"));
  // The longest name counts.
  add_own_model(config, "org/Phi-4-Instruct");
  CHECK(known_model("org/Phi-4-Instruct-FP8", {}).own->name == "org/Phi-4-Instruct");
  const auto refusal = [&](const std::string& name) {
    return std::string(error_of([&] { add_own_model(config, name); }).what());
  };
  CHECK_THAT(refusal("org/Phi-4"), ContainsSubstring("is already in your list"));
  CHECK_THAT(refusal("Qwen3-8B"), ContainsSubstring("of the catalogue; expected another name"));
  CHECK_THAT(refusal("../x"), ContainsSubstring("is no name of a model"));
  CHECK_THAT(refusal(""), ContainsSubstring("does not say the model's name"));
  unsetenv("XDG_DATA_HOME");
}

}  // namespace
}  // namespace spillway::test
