// Bytes of weights in each type, against what was published.
#include "models/catalogue/weights.hpp"
#include "models/catalogue/model_name.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const WeightFormat& format(std::string_view type) {
  return find_weight_type(type, {"test", 0, ""}).format;
}

double gib(const ModelSpec& model, std::string_view type) {
  return double(weight_bytes_as(model, format(type)).count()) / double(1 << 30);
}

TEST_CASE("narrow weights carry their scales", "[models][catalogue]") {
  // AWQ: 128 weights of 4 bits, a scale of 16 and a zero of 4: 532 bits.
  CHECK(grouped_bytes(4, 128, false) * 8 == Approx(532.0 / 128));
  CHECK(grouped_bytes(4, 128, true) * 8 == Approx(528.0 / 128));
  CHECK(grouped_bytes(8, -1, true) == 1);
  CHECK(format("int4").bytes == Approx(grouped_bytes(4, 128, false)));
  CHECK(format("mxfp4").bytes * 8 == 4.25);
  CHECK(format("fp4").bytes * 8 == 4.5);
}

TEST_CASE("checkpoints weigh what their publishers say", "[models][catalogue]") {
  // gpt-oss, model card: 12.8 and 60.8 GiB, experts in MXFP4 and everything else in BF16.
  CHECK(gib(find_model("gpt-oss-20b", {}), "mxfp4") == Approx(12.8).epsilon(0.005));
  CHECK(gib(find_model("gpt-oss-120b", {}), "mxfp4") == Approx(60.8).epsilon(0.005));
  for (const ModelSpec& model : model_specs()) {
    INFO(model.name);
    const double own = double(weight_bytes_as(model, published_format(model)).count());
    CHECK(own == Approx(double(model.weight_bytes)).epsilon(0.01));
  }
}

TEST_CASE("what a name ends in is its weight type", "[models][catalogue]") {
  const auto read = [](std::string_view name) {
    const NamedModel named = named_model(name);
    const bool same =
        named.match == NamedModel::Match::kExact || named.match == NamedModel::Match::kVariant;
    return std::pair(same ? named.spec->name : std::string_view(), named.weight_dtype);
  };
  using Read = std::pair<std::string_view, std::string>;
  const std::string_view llama = "meta-llama/Meta-Llama-3.1-8B";
  CHECK(read("Qwen/Qwen3-14B-FP8") == Read{"Qwen/Qwen3-14B", "fp8"});
  CHECK(read("Qwen/Qwen3-14B-AWQ") == Read{"Qwen/Qwen3-14B", "int4"});
  CHECK(read("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4") == Read{"Qwen/Qwen2.5-7B-Instruct", "int4"});
  CHECK(read("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8") == Read{"Qwen/Qwen3-30B-A3B", "fp8"});
  CHECK(read("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic") == Read{llama, "fp8"});
  CHECK(read("neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w8a8") == Read{llama, "w8a8"});
  CHECK(read("unsloth/Meta-Llama-3.1-8B-Instruct-unsloth-bnb-4bit") == Read{llama, "int4"});
  CHECK(read("nvidia/Llama-3.1-8B-Instruct-NVFP4") == Read{llama, "fp4"});
  CHECK(read("nvidia/DeepSeek-R1-FP4") == Read{"deepseek-ai/DeepSeek-R1", "fp4"});
  CHECK(read("org/another-model-FP8").first.empty());
}

}  // namespace
}  // namespace spillway::test
