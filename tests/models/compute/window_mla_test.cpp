// Attention that reads a window, and attention over latents.
#include "models/compute/attention_time.hpp"
#include "models/compute/forward_cost.hpp"
#include "models/compute/mla_time.hpp"
#include "models/requests/step_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const GpuSpec& h100() {
  return find_gpu("H100", {"test", 0, ""});
}

/// At the data sheet's rates: decode reads bytes, prefill takes 1 ns a key and wave.
ComponentsCost at_peak(const ModelSpec& model) {
  ComponentsCost out;
  out.model = &model;
  out.gpu = &h100();
  out.kernels = {0, 1, 1, 8, 0, 1, 0, 0, 1, 0, 0, 1e12, 0};
  return out;
}

StepShape of_chunk(const PrefillChunk& chunk) {
  StepShape out;
  out.prefills = {&chunk, 1};
  return out;
}

TEST_CASE("a sliding layer decodes at most its window", "[models][compute]") {
  // Heads of width 64: 8 KV heads x 64 x 2 x 2 bytes = 2,048 bytes a token.
  const ComponentsCost p = at_peak(find_model("gpt-oss-20b", {}));
  const AttentionTime sliding(p, 128);
  const double per_token = 2048 / (h100().memory_gbs * 1e9);
  StepShape two;
  two.decodes = 2;
  two.decode_context = 100 + 5000;
  two.windowed_context = 100 + 128;
  CHECK(sliding.seconds(two) == Approx(228 * per_token));
  CHECK(AttentionTime(p).seconds(two) == Approx(5100 * per_token));
  // Nobody counted: of the mean, 2,550 tokens, each reads 128.
  two.windowed_context = 0;
  CHECK(sliding.seconds(two) == Approx(256 * per_token));
}

TEST_CASE("a sliding layer prefills at most its window for each query", "[models][compute]") {
  const ModelSpec& model = find_model("gpt-oss-20b", {});  // 64 heads: keys of half the usual width
  const ComponentsCost p = at_peak(model);
  const AttentionTime full(p);
  const AttentionTime sliding(p, 128);
  const auto keys = [&](const AttentionTime& of, const PrefillChunk& chunk) {
    const double waves = std::ceil(64 * std::ceil(chunk.tokens / 64.0) / h100().sm_count);
    return of.seconds(of_chunk(chunk)) / (waves * 0.5e-9);
  };
  // Within the window both are alike.
  CHECK(keys(sliding, {100, 0}) == Approx(50));
  CHECK(keys(full, {100, 0}) == Approx(50));
  // Behind a long prefix each query reads 128 keys, and a tile of 64 queries half a tile more.
  CHECK(keys(sliding, {1024, 9000}) == Approx(128 + 32));
  CHECK(keys(full, {1024, 9000}) == Approx(9512));
  // From the start: 128 queries read 64 on average, the other 128 slide: (64 + 160) / 2.
  CHECK(keys(sliding, {256, 0}) == Approx(112));
}

TEST_CASE("an engine counts the window of each decode", "[models][compute]") {
  struct Seen final : StepCost {
    StepShape shape;
    std::uint32_t most = 0;
    Duration step_time(const StepShape& s) override {
      shape = s;
      shape.prefills = {};
      return Duration(1);
    }
    std::uint32_t window() const override { return most; }
  };
  StepPlan plan;
  plan.items.push_back({{}, 1, 99});     // holds 100
  plan.items.push_back({{}, 1, 4999});   // holds 5,000
  plan.items.push_back({{}, 512, 300});  // a prefill
  for (const std::uint32_t window : {0U, 128U}) {
    auto seen = std::make_unique<Seen>();
    Seen& cost = *seen;
    cost.most = window;
    ForwardCost forward(std::move(seen), 0, false);
    forward.of(plan);
    CHECK(cost.shape.decode_context == 5100);
    CHECK(cost.shape.windowed_context == (window == 0 ? 0 : 228));
    forward.of_decodes(plan);
    CHECK(cost.shape.windowed_context == (window == 0 ? 0 : 228));
  }
}

TEST_CASE("half of the layers of gpt-oss stop growing with the context", "[models][compute]") {
  const ComponentsCost p = at_peak(find_model("gpt-oss-20b", {}));
  const auto cost = make_components_cost(p);
  CHECK(cost->window() == 128);
  CHECK(make_components_cost(at_peak(find_model("Llama-3.1-8B", {})))->window() == 0);
  const auto ns = [&](std::uint64_t held) {
    StepShape one;
    one.decodes = 1;
    one.decode_context = held;
    return double(cost->step_time(one).count());
  };
  // 12 of 24 layers read 10,000 more tokens of 2,048 bytes.
  CHECK(ns(20'000) - ns(10'000) ==
        Approx(12 * 10'000.0 * 2048 / h100().memory_gbs).epsilon(0.001).margin(2));
}

TEST_CASE("MLA decodes over the latent, in products or in bytes", "[models][compute]") {
  const ModelSpec& v3 = find_model("DeepSeek-V3", {});
  ComponentsCost p = at_peak(v3);
  const ProductTime products(p, published_format(v3));
  const auto seconds = [&](std::uint32_t tensor) {
    p.shards.tensor = tensor;
    StepShape one;
    one.decodes = 1;
    one.decode_context = 10'000;
    return MlaTime(p, products).seconds(one);
  };
  // 128 heads: 2 x 128 x (2 x 512 + 64) = 278,528 operations for the 1,152 bytes of a token. At
  // 660 TFLOP/s (FlashMLA) they take 0.422 ns, the bytes 0.344 ns.
  CHECK(seconds(1) == Approx(10'000.0 * 278'528 / 660e12).epsilon(1e-6));
  // An eighth of the heads on each of 8 ranks: every rank reads the whole latent.
  CHECK(seconds(8) == Approx(10'000.0 * 1152 / (h100().memory_gbs * 1e9)));
}

TEST_CASE("a fitted scale of attention moves all of an MLA model's", "[models][compute]") {
  const ModelSpec& v3 = find_model("DeepSeek-V3", {});
  const KernelCoefficients k = kernel_coefficients(h100()).kernels;
  ComputeProfile profile;
  profile.attention.push_back(attention_kernels(k, "bf16"));
  ComponentsCost p = at_peak(v3);
  p.profile = &profile;
  const ProductTime products(p, WeightFormat{});
  const auto seconds = [&](double scale, std::uint32_t decodes, std::vector<PrefillChunk> chunks) {
    profile.scales.attention = scale;
    StepShape shape;
    shape.decodes = decodes;
    shape.decode_context = decodes * 10'000ULL;
    shape.prefills = chunks;
    return MlaTime(p, products).seconds(shape);
  };
  CHECK(seconds(1.5, 8, {}) == Approx(1.5 * seconds(1, 8, {})));
  CHECK(seconds(1.5, 0, {{1024, 0}}) == Approx(1.5 * seconds(1, 0, {{1024, 0}})));
}

TEST_CASE("MLA prefills heads, and widens cached latents again", "[models][compute]") {
  const ModelSpec& v3 = find_model("DeepSeek-V3", {});
  const ComponentsCost p = at_peak(v3);
  const ProductTime products(p, WeightFormat{});
  const MlaTime mla(p, products);
  // 128 heads x 16 tiles on 132 SMs: 16 waves of 512 keys, (192 + 128) / 2 of the usual 128 wide.
  const double fresh = mla.seconds(of_chunk({1024, 0}));
  CHECK(fresh == Approx(16 * 512 * 1e-9 * 160 / 128));
  // 4,096 cached tokens more: their keys, and a product of 512 x (128 x 256) weights by them.
  const double widened = products.seconds(products.matrix(512, 128 * 256), 4096);
  CHECK(mla.seconds(of_chunk({1024, 4096})) ==
        Approx(16 * (512 + 4096) * 1e-9 * 160 / 128 + widened));
}

}  // namespace
}  // namespace spillway::test
