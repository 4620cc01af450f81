// How many experts a batch picks, and what they take.
#include "models/compute/expert_time.hpp"

#include <cmath>

#include "models/compute/compute_profile.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const ModelSpec& qwen() {
  return find_model("Qwen3-30B-A3B", {"test", 0, ""});
}
const GpuSpec& gpu() {
  return find_gpu("H100", {"test", 0, ""});
}

/// Experts at the data sheet's rates, without anything fixed.
ComputeProfile peak_experts() {
  ComputeProfile out;
  out.experts.push_back({"bf16", 0, 1, 1, 8, {}});
  return out;
}

double layer_us(const ComputeProfile& profile, const ModelShards& shards, std::uint64_t tokens) {
  ComponentsCost p;
  p.model = &qwen();
  p.gpu = &gpu();
  p.profile = &profile;
  p.shards = shards;
  return 1e6 * ExpertTime(p, WeightFormat{}).seconds(tokens);
}

TEST_CASE("a batch picks as many experts as a trained gate was measured to", "[models][compute]") {
  ExpertChoice choice(128, 8);
  CHECK(choice.picked(0) == 0);
  CHECK(choice.picked(1) == Approx(8));  // one token picks each once
  // Means of 110,640 calls of the gate of Qwen3-30B-A3B, on which kGateShape rests.
  CHECK(choice.picked(8) == Approx(47.6).epsilon(0.03));
  CHECK(choice.picked(128) == Approx(120.6).epsilon(0.01));
  // 128 x (1 - (15/16)^32) = 111.8 of an even gate, of which 0.87 were measured.
  CHECK(choice.picked(32) == Approx(0.87 * 111.8).epsilon(0.04));
  double before = 0;
  for (std::uint64_t tokens = 1; tokens < 5000; tokens += 7) {
    const double picked = choice.picked(tokens);
    CHECK(picked > before);
    CHECK(picked <= 128);
    before = picked;
  }
}

TEST_CASE("the busiest rank has more than its part of the experts", "[models][compute]") {
  ExpertChoice choice(128, 8);
  CHECK(choice.picked_on_busiest(100, 1) == choice.picked(100));
  // 4 of 64 on each of two ranks, and 0.5642 x sqrt(64 x 1/16 x 15/16) more.
  CHECK(choice.picked_on_busiest(1, 2) == Approx(4 + 0.5642 * std::sqrt(3.75)));
  for (const std::uint32_t ranks : {2U, 3U, 8U, 128U}) {
    for (const std::uint64_t tokens : {1U, 10U, 1000U}) {
      const double busiest = choice.picked_on_busiest(tokens, ranks);
      CHECK(busiest >= std::min(choice.picked(tokens) / ranks, 128.0 / ranks));
      CHECK(busiest <= 128.0 / ranks + 1e-9);
    }
    CHECK(choice.most_rows(ranks) > 1);
  }
  CHECK(choice.most_rows(1) == 1);
}

TEST_CASE("a layer of experts reads the weights of those that were picked", "[models][compute]") {
  const ComputeProfile peak = peak_experts();
  // One token: 8 experts of 3 x 2048 x 768 weights of 2 bytes; the activations add 0.1%.
  const double expert = 3.0 * 2048 * 768 * 2 / (gpu().memory_gbs * 1e9) * 1e6;
  CHECK(layer_us(peak, {}, 1) == Approx(8 * expert).epsilon(0.002));
  // Parts of every expert on two ranks: half of each.
  CHECK(layer_us(peak, {2, 1, 1, false}, 1) == Approx(4 * expert).epsilon(0.003));
  // Whole ones: the busiest of both has 5.09 of 8.
  const double busiest = 4 + 0.5642 * std::sqrt(3.75);
  CHECK(layer_us(peak, {1, 1, 2, true}, 1) == Approx(busiest * expert).epsilon(0.002));
  // Rows of 16,384 tokens, 8 experts each, at the peak rate: 2 x 131,072 x 4.7 M operations.
  const double compute = 2 * 16384.0 * 8 * 3 * 2048 * 768 / (gpu().bf16_tflops * 1e12) * 1e6;
  CHECK(layer_us(peak, {}, 16384) == Approx(compute).epsilon(0.02));
}

TEST_CASE("a measured layer of experts takes what was measured", "[models][compute]") {
  ComputeProfile measured = peak_experts();
  measured.experts[0].overhead_us = 30;
  const double form = layer_us(measured, {}, 1);
  CHECK(form == Approx(layer_us(peak_experts(), {}, 1) + 30));
  measured.experts[0].ratios = {{{8, 1024}, {8, 128}}, {1.5, 1, 1, 1}};
  CHECK(layer_us(measured, {}, 1) == Approx(1.5 * form));
  // Without any, on a GPU that nobody measured: the overhead of the one that was.
  ComputeProfile none;
  none.products.push_back({"bf16", 0, 1, 1, 8, {}});
  CHECK(layer_us(none, {}, 1) ==
        Approx(layer_us(peak_experts(), {}, 1) + kExpertLayerUs).epsilon(1e-6));
}

}  // namespace
}  // namespace spillway::test
