// Step times from parts, with and without a compute profile.
#include <algorithm>
#include <cmath>

#include "models/catalogue/weights.hpp"
#include "models/compute/compute_profile.hpp"
#include "models/compute/expert_time.hpp"
#include "models/compute/graph_sizes.hpp"
#include "models/compute/kernel_choice.hpp"
#include "models/compute/kernel_forms.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const ModelSpec& model(std::string_view name) {
  return find_model(name, {"test", 0, ""});
}
const GpuSpec& h100() {
  return find_gpu("H100", {"test", 0, ""});
}

/// Llama-3.1-8B on one H100 at its data sheet's rates, everything fixed at 0: what a test sets is
/// what a step takes.
ComponentsCost at_peak() {
  ComponentsCost out;
  out.model = &model("Llama-3.1-8B");
  out.gpu = &h100();
  out.kernels = {0, 1, 1, 8, 0, 0, 0, 0, 1, 0, 0, 1e12, 0};
  return out;
}

/// The same as a profile without ratios, for BF16 weights, a BF16 cache and heads of width 128.
ComputeProfile peak_profile() {
  ComputeProfile p;
  p.gpu = h100().name;
  p.products.push_back({"bf16", 0, 1, 1, 8, {}});
  AttentionKernels heads;
  heads.kv_dtype = "bf16";
  heads.decode_efficiency = 1;
  p.attention.push_back(heads);
  p.elementwise_us = 0;
  p.elementwise_efficiency = 1e12;
  p.host_overhead_us = 0;
  p.sequence_us = 0;
  return p;
}

/// Decodes that emit nothing, so that no head is computed.
StepShape silent(std::uint32_t count, std::uint64_t held_by_all) {
  StepShape out;
  out.decodes = count;
  out.decode_context = held_by_all;
  return out;
}

StepShape decodes(std::uint32_t count, std::uint64_t held_by_each) {
  StepShape out = silent(count, count * held_by_each);
  out.sampled = count;
  return out;
}

StepShape chunks(std::span<const PrefillChunk> prefills) {
  StepShape out;
  out.prefills = prefills;
  return out;
}

double us(const ComponentsCost& p, const StepShape& shape) {
  return static_cast<double>(make_components_cost(p)->step_time(shape).count()) / 1e3;
}

TEST_CASE("a thin step reads every weight and the KV once", "[models][compute]") {
  const ComponentsCost p = at_peak();
  // One decode of Llama-3.1-8B behind 1000 tokens. Layers: (4096 x 6144 + 4096 x 4096 + 4096 x
  // 28672 + 14336 x 4096) x 32 weights; head: 4096 x 128256; 2 bytes each; the activations of one
  // row add less than 0.1%. KV: 1000 x 2 x 8 x 128 x 2 bytes x 32 layers.
  const double layers = 32 * (4096.0 * 6144 + 4096.0 * 4096 + 4096.0 * 28672 + 14336.0 * 4096);
  const double bytes = 2 * (layers + 4096.0 * 128256) + 1000.0 * 2 * 8 * 128 * 2 * 32;
  CHECK(us(p, decodes(1, 1000)) == Approx(bytes / (h100().memory_gbs * 1e9) * 1e6).epsilon(0.002));
}

TEST_CASE("each stage of a pipeline costs the host's overhead", "[models][compute]") {
  // 32 layers on 1, 2 or 4 stages take as long one after another; 100 us come on top of each.
  for (const std::uint32_t stages : {1U, 2U, 4U}) {
    INFO(stages << " stages");
    ComponentsCost p = at_peak();
    p.shards.stages = stages;
    const double without = us(p, decodes(1, 1000));
    p.host_overhead_us = 100;
    CHECK(us(p, decodes(1, 1000)) - without == Approx(stages * 100).margin(0.002));
  }
}

TEST_CASE("a profile without ratios is the forms", "[models][compute]") {
  ComponentsCost p = at_peak();
  p.kernels = {3, 0.8, 0.9, 3, 10, 6, 500, 12, 0.8, 0.1, 0.4, 1.25, 3};
  p.host_overhead_us = 100;
  ComputeProfile profile = peak_profile();
  profile.products[0] = {"bf16", 3, 0.8, 0.9, 3, {}};
  profile.elementwise_us = 3;
  profile.elementwise_efficiency = 1.25;
  AttentionKernels& heads = profile.attention[0];
  heads.prefill_us = 10;
  heads.prefill_key_ns = 6;
  heads.prefill_lead_keys = 500;
  heads.decode_us = 12;
  heads.decode_efficiency = 0.8;
  heads.decode_sequence_us = 0.1;
  heads.mixed_factor = 0.4;
  ComponentsCost measured = p;
  measured.profile = &profile;
  measured.graph_tokens = 0;

  const PrefillChunk one[] = {{700, 3000}};
  StepShape mixed = decodes(20, 900);
  mixed.prefills = one;
  for (const StepShape& shape : {decodes(1, 1), decodes(100, 2000), chunks(one), mixed}) {
    // The head of one is BF16 to the last digit, of the other the published bytes per weight.
    CHECK(us(measured, shape) == Approx(us(p, shape)).epsilon(1e-5));
  }
}

TEST_CASE("ratios of a shape multiply its products alone", "[models][compute]") {
  const ModelSpec& m = model("Llama-3.1-8B");
  ComputeProfile profile = peak_profile();
  ComponentsCost p = at_peak();
  p.profile = &profile;
  const double before = us(p, decodes(1, 1));
  // All four shapes of a layer and the head are known; only the way out of the feed-forward layer
  // takes twice the form, at one row.
  for (const auto& [in, out] :
       {std::pair{4096, 6144}, {4096, 4096}, {4096, 28672}, {4096, 128256}}) {
    profile.products[0].curves.push_back({double(in), double(out), {1}, {1}});
  }
  profile.products[0].curves.push_back({14336, 4096, {1, 64}, {2, 1}});
  const PeakRates peaks = product_peaks(h100(), false);
  const double down = m.layers * product_seconds({0, 1, 1, 8}, {1, 14336, 4096}, peaks, 2.0) * 1e6;
  CHECK(us(p, decodes(1, 1)) - before == Approx(down).epsilon(1e-3));
}

TEST_CASE("chunks of one step fill waves together where a profile says", "[models][compute]") {
  ComponentsCost p = at_peak();
  p.kernels.prefill_key_ns = 10;
  ComputeProfile profile = peak_profile();
  profile.attention[0].prefill_key_ns = 10;
  ComponentsCost measured = p;
  measured.profile = &profile;
  measured.graph_tokens = 0;
  const PrefillChunk one[] = {{64, 1000}};
  const PrefillChunk four[] = {{64, 1000}, {64, 1000}, {64, 1000}, {64, 1000}};
  const PrefillChunk five[] = {{64, 1000}, {64, 1000}, {64, 1000}, {64, 1000}, {64, 1000}};
  // 32 heads x 1 tile each: four chunks are 128 tiles, within the 132 SMs; five need two waves of
  // 1000 + 32 keys x 10 ns x 32 layers.
  const double wave = 1032 * 10e-3 * 32;
  const auto attention = [&](ComponentsCost cost, const StepShape& shape) {
    const double with = us(cost, shape);
    cost.kernels.prefill_key_ns = 0;
    profile.attention[0].prefill_key_ns = 0;
    const double without = us(cost, shape);
    profile.attention[0].prefill_key_ns = 10;
    return with - without;
  };
  CHECK(attention(measured, chunks(one)) == Approx(wave).epsilon(1e-3));
  CHECK(attention(measured, chunks(four)) == Approx(wave).epsilon(1e-3));
  CHECK(attention(measured, chunks(five)) == Approx(2 * wave).epsilon(1e-3));
  CHECK(attention(p, chunks(four)) == Approx(4 * wave).epsilon(1e-3));
}

TEST_CASE("attention takes the ratios of its own shape", "[models][compute]") {
  const auto with = [](auto&& change) {
    ComputeProfile profile = peak_profile();
    profile.products[0].overhead_us = 0;
    AttentionKernels& heads = profile.attention[0];
    heads.decode_us = 100;
    heads.prefill_us = 100;
    heads.mixed_factor = 0.5;
    change(profile);
    return profile;
  };
  const auto step = [](const ComputeProfile& profile, std::string_view name,
                       const StepShape& shape) {
    ComponentsCost p = at_peak();
    p.model = &model(name);
    p.profile = &profile;
    return us(p, shape);
  };
  const ComputeProfile plain = with([](ComputeProfile&) {});
  const PrefillChunk chunk[] = {{64, 0}};
  StepShape mixed = decodes(2, 10);
  mixed.prefills = chunk;

  // Llama-3.1-8B has 8 KV heads, so 2 sequences are 16 of them. At a grid's own point decodes take
  // its ratio; those of another number of KV heads another.
  const auto decode = with([](ComputeProfile& p) {
    p.attention[0].decode = {{{16}, {10}, {4, 8}}, {3, 1.5}};
  });
  const double reading = 32 * 100;  // us: the fixed part of 32 layers; 10 tokens read in no time
  CHECK(step(decode, "Llama-3.1-8B", decodes(2, 10)) -
            step(plain, "Llama-3.1-8B", decodes(2, 10)) ==
        Approx(0.5 * reading).epsilon(1e-3));
  // Beside a prefill: x max(1, 0.5 x 4) of the GQA ratio, and the mixed grid's on top.
  const auto both = with([](ComputeProfile& p) {
    p.attention[0].decode = {{{16}, {10}, {8}}, {1.5}};
    p.attention[0].mixed = {{{16}, {10}, {64}}, {1.2}};
  });
  CHECK(step(both, "Llama-3.1-8B", mixed) - step(plain, "Llama-3.1-8B", mixed) ==
        Approx((1.5 * 1.2 - 1) * 2 * reading).epsilon(1e-3));
  // Prefill, over query heads x chunks.
  const auto prefill = with([](ComputeProfile& p) {
    p.attention[0].prefill = {{{32, 64}, {64}, {1}}, {1.25, 9}};
  });
  CHECK(step(prefill, "Llama-3.1-8B", chunks(chunk)) - step(plain, "Llama-3.1-8B", chunks(chunk)) ==
        Approx(0.25 * reading).epsilon(1e-3));
  // A model whose query heads have a KV head each takes the grids apart, where there are any.
  const auto mha = with([](ComputeProfile& p) {
    p.attention[0].prefill = {{{32}, {64}, {1}}, {9}};
    p.attention[0].prefill_mha = {{{32}, {64}, {1}}, {1.25}};
  });
  const ModelSpec& llama2 = model("Llama-2-7b");
  REQUIRE(is_mha(llama2));
  CHECK(step(mha, llama2.name, chunks(chunk)) - step(plain, llama2.name, chunks(chunk)) ==
        Approx(0.25 * llama2.layers * 100).epsilon(1e-3));
  CHECK(step(prefill, llama2.name, chunks(chunk)) - step(plain, llama2.name, chunks(chunk)) ==
        Approx(0.25 * llama2.layers * 100).epsilon(1e-3));
}

TEST_CASE("kernels are chosen by weight type, cache type and head width", "[models][compute]") {
  ComputeProfile p;
  CHECK(choose_products(p, true) == nullptr);
  CHECK(choose_attention(p, 16, 128) == nullptr);
  p.products = {{"bf16", 1, 1, 1, 2, {}}, {"fp8", 2, 1, 1, 2, {}}};
  CHECK(choose_products(p, true)->dtype == "fp8");
  CHECK(choose_products(p, false)->dtype == "bf16");
  p.products.pop_back();
  CHECK(choose_products(p, true)->dtype == "bf16");
  for (const char* dtype : {"bf16", "fp8"}) {
    for (const std::uint32_t width : {64U, 128U}) {
      AttentionKernels heads;
      heads.kv_dtype = dtype;
      heads.head_dim = width;
      p.attention.push_back(heads);
    }
  }
  const auto chosen = [&](int bits, int width) {
    const AttentionKernels& found = *choose_attention(p, bits, width);
    return std::pair(found.kv_dtype, found.head_dim);
  };
  CHECK(chosen(16, 64) == std::pair(std::string("bf16"), 64U));
  CHECK(chosen(8, 256) == std::pair(std::string("fp8"), 128U));
  CHECK(chosen(4, 80) == std::pair(std::string("fp8"), 64U));
  CHECK(chosen(16, 0) == std::pair(std::string("bf16"), 128U));  // MLA
}

TEST_CASE("FP8 weights read half and multiply at the FP8 rate", "[models][compute]") {
  ComponentsCost p = at_peak();
  const double bf16_thin = us(p, silent(1, 1));
  const PrefillChunk big[] = {{8192, 0}};
  const double bf16_fat = us(p, chunks(big));
  p.weights = find_weight_type("fp8", {}).format;
  CHECK(us(p, silent(1, 1)) == Approx(bf16_thin / 2).epsilon(0.002));
  CHECK(us(p, chunks(big)) ==
        Approx(bf16_fat * h100().bf16_tflops / h100().fp8_tflops).epsilon(0.05));
  // The head stays BF16: a sampled row takes the same.
  ComponentsCost published = at_peak();
  const auto head = [](const ComponentsCost& cost) {
    return us(cost, decodes(1, 1)) - us(cost, silent(1, 1));
  };
  CHECK(head(p) == Approx(head(published)).epsilon(1e-3));
}

TEST_CASE("batches are padded to captured sizes and cost more where none is", "[models][compute]") {
  // vllm/config/compilation.py: [1, 2, 4] + range(8, 256, 8) + range(256, largest + 1, 16).
  std::vector<std::uint64_t> sizes = {1, 2, 4};
  for (std::uint64_t n = 8; n < 256; n += 8) sizes.push_back(n);
  for (std::uint64_t n = 256; n <= 512; n += 16) sizes.push_back(n);
  for (std::uint64_t tokens = 1; tokens <= 512; ++tokens) {
    const auto next = std::lower_bound(sizes.begin(), sizes.end(), tokens);
    CHECK(graph_padded(tokens, 512) == *next);
  }
  CHECK(graph_padded(513, 512) == 513);
  CHECK(graph_padded(7, 0) == 7);
  for (std::uint32_t limit = 0; limit <= 512; ++limit) {
    const auto beyond = std::upper_bound(sizes.begin(), sizes.end(), limit);
    CHECK(largest_graph(limit) == (beyond == sizes.begin() ? 0 : *(beyond - 1)));
  }
  CHECK(default_graph_limit(256, 8192) == 512);
  CHECK(default_graph_limit(100, 8192) == 200);
  CHECK(default_graph_limit(1U << 31, 384) == 384);

  ComponentsCost p = at_peak();
  p.eager_overhead_us = 1000;
  p.graph_tokens = 16;
  const StepShape nine = silent(9, 9);
  const StepShape sixteen = silent(16, 9);
  const StepShape seventeen = silent(17, 9);
  CHECK(us(p, nine) == us(p, sixteen));
  ComponentsCost without = at_peak();
  CHECK(us(p, seventeen) == Approx(us(without, seventeen) + 1000));
  CHECK(us(without, nine) < us(without, sixteen));  // nothing is padded where it does not matter
  p.graph_tokens = 0;                               // enforce_eager
  CHECK(us(p, nine) == Approx(us(without, nine) + 1000));
}

TEST_CASE("a profile's overheads, sampler and elementwise kernels are charged",
          "[models][compute]") {
  ComputeProfile profile = peak_profile();
  ComponentsCost p = at_peak();
  p.profile = &profile;
  const StepShape one = silent(1, 1);
  const double before = us(p, one);
  const double sampling = us(p, decodes(1, 1));
  profile.sampler_us = 40;
  CHECK(us(p, one) == before);
  CHECK(us(p, decodes(1, 1)) == Approx(sampling + 40));
  profile.elementwise_us = 2;
  profile.elementwise_efficiency = 0.5;
  profile.elementwise = {{{1, 8}}, {3, 1}};
  // Llama-3.1-8B: two norms of 4 x 4,096 values, rotary embedding of 2 x (4,096 + 1,024), new keys
  // and values 4 x 1,024, the activation 3 x 14,336: 90,112 values and 5 kernels in each of 32
  // layers; three times as long for one row.
  const double layer = 5 * 2 + 90112 * 2.0 / (0.5 * h100().memory_gbs * 1e9) * 1e6;
  CHECK(us(p, one) - before == Approx(3 * 32 * layer).margin(0.002));
}

TEST_CASE("steps of measured kernels allocate nothing", "[models][compute]") {
  ComputeProfile profile = peak_profile();
  profile.attention[0].decode = {{{8, 64}, {1, 4096}, {4, 8}}, {1, 2, 1, 2, 1, 2, 1, 2}};
  profile.attention[0].prefill = {{{32, 64}, {1, 4096}, {1, 64}}, {1, 2, 1, 2, 1, 2, 1, 2}};
  profile.attention[0].mixed = profile.attention[0].prefill;
  profile.products[0].curves = {{4096, 4096, {1, 8}, {1, 2}}};
  ComponentsCost p = at_peak();
  p.profile = &profile;
  const auto cost = make_components_cost(p);
  const PrefillChunk chunk[] = {{200, 100}, {80, 0}};
  StepShape mixed = decodes(20, 900);
  mixed.prefills = chunk;
  cost->step_time(mixed);
  const std::uint64_t before = allocations();
  for (int i = 0; i < 100; ++i) {
    mixed.decode_context += 20;
    cost->step_time(mixed);
  }
  CHECK(allocations() == before);
}

/// Qwen3-30B-A3B, whose experts take 100 us a layer and nothing else anything.
ComputeProfile slow_experts() {
  ComputeProfile out = peak_profile();
  out.products[0] = {"bf16", 0, 1, 1, 8, {}};
  out.experts.push_back({"bf16", 100, 1, 1, 8, {}});
  return out;
}

TEST_CASE("every layer of a mixture takes its experts' time", "[models][compute]") {
  ComputeProfile profile = slow_experts();
  ComponentsCost p = at_peak();
  p.model = &model("Qwen3-30B-A3B");
  p.profile = &profile;
  const StepShape one = silent(1, 1);
  const double with = us(p, one);
  profile.experts[0].overhead_us = 0;
  CHECK(with - us(p, one) == Approx(100 * 48));
  // 8 experts of 3 x 2048 x 768 weights of 2 bytes at half the rate take as long again.
  const double read = 8 * 3.0 * 2048 * 768 * 2 / (h100().memory_gbs * 1e9) * 1e6;
  const double whole = us(p, one);
  profile.experts[0].byte_efficiency = 0.5;
  CHECK(us(p, one) - whole == Approx(read * 48).epsilon(0.002));
}

TEST_CASE("engines that share experts take one step together", "[models][compute]") {
  const ComputeProfile profile = slow_experts();
  ComponentsCost p = at_peak();
  p.model = &model("Qwen3-30B-A3B");
  p.profile = &profile;
  p.graph_tokens = 256;
  p.shards = {1, 1, 2, true};
  CollectiveSettings settings;
  settings.latency_us = 20;
  settings.bandwidth = 16e9;
  p.exchange = Collectives(h100(), 2, settings);
  const auto cost = make_components_cost(p);
  const auto group = [&](std::vector<StepShape> shapes) {
    return static_cast<double>(cost->group_time(shapes).count()) / 1e3;
  };
  // One of the two without requests runs a dummy batch, padded as the other is.
  CHECK(group({silent(5, 50), silent(7, 50)}) == group({silent(7, 50), silent(3, 50)}));
  CHECK(group({silent(5, 50), {}}) == Approx(group({silent(5, 50), silent(8, 50)})).epsilon(0.001));
  CHECK(group({silent(5, 50), {}}) == group({{}, silent(5, 50)}));
  // 9 are padded to 16: 2 x 16 tokens of 2048 x 2 + 8 x 8 bytes are gathered, of 2048 x 2
  // scattered, half of them over the link; 2 x 8 tokens before. And more experts are picked.
  ExpertTime experts(p, published_format(*p.model));
  const double exchanged = 16 * (2 * 4096 + 64) / 2.0 / 16e3;
  const double more = group({silent(9, 90), {}}) - group({silent(8, 90), {}});
  CHECK(more ==
        Approx(48 * (exchanged + 1e6 * (experts.seconds(32) - experts.seconds(16)))).epsilon(0.01));
  // The slowest decides: its KV is read while the other waits.
  CHECK(group({silent(8, 80'000), silent(8, 80)}) > group({silent(8, 8'000), silent(8, 8'000)}));
  // A batch beyond the largest graph keeps the other from being padded.
  const PrefillChunk chunk[] = {{300, 0}};
  CHECK(group({chunks(chunk), silent(1, 1)}) < group({chunks(chunk), chunks(chunk)}));
}

}  // namespace
}  // namespace spillway::test
