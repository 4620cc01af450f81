// The engine's keys for the connector to the tiers below: what they mean, and what contradicts.
#include <algorithm>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

std::string refusal(const std::vector<std::string>& assignments) {
  return error_of([&] { reference_with(assignments); }).what();
}
bool says(const std::string& message, std::string_view part) {
  INFO(message);
  return message.find(part) != std::string::npos;
}

TEST_CASE("a chunk is given in blocks or in tokens, not both", "[scenarios]") {
  CHECK(reference_with({"engine.blocks_per_chunk=16"}).engine.blocks_per_chunk == 16);
  CHECK(reference_with({"engine.offload_block_tokens=256"}).engine.blocks_per_chunk == 16);
  CHECK(says(refusal({"engine.offload_block_tokens=256", "engine.blocks_per_chunk=16"}),
             "engine.offload_block_tokens: expected this or blocks_per_chunk, found both"));
  CHECK(says(refusal({"engine.offload_block_tokens=100"}),
             "expected a multiple of block_tokens (16), found 100"));
  CHECK(says(refusal({"engine.blocks_per_chunk=0"}), "engine.blocks_per_chunk"));
  CHECK(says(refusal({"engine.blocks_per_chunk=2", "engine.residency=streaming"}),
             "chunks of several blocks are not modelled with \"residency\": \"streaming\""));
}

TEST_CASE("a threshold does not go with tiers behind the first", "[scenarios]") {
  // vllm/v1/kv_offload/tiering: store_threshold of 2 and more is refused.
  Scenario s = reference_with({"engine.store_threshold=2"});
  const JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  const ObjectReader top(source, "", "the scenario", ScenarioKeys::kTop);
  CHECK_NOTHROW(check_connector(top, s));
  s.behind.push_back(*s.tier);
  s.behind.back().name = "fs";
  const std::string message = error_of([&] { check_connector(top, s); }).what();
  CHECK(says(message, "engine.store_threshold: expected 0 or 1 beside tier fs behind dram"));
}

TEST_CASE("a slot below is a chunk, rounded up to a page", "[scenarios]") {
  // Blocks of 16 x 100 = 1,600 bytes: one takes a page of 4,096; 5 in a chunk take 8,000, two
  // pages. 100,000 bytes hold 24 slots of the one, 12 of the other: 60 blocks.
  const auto blocks = [](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"model.kv_bytes_per_token=100"};
    all.insert(all.end(), more.begin(), more.end());
    const Scenario s = reference_with(all);
    return s.tier_blocks({Capacity::Kind::kBytes, 100'000});
  };
  CHECK(blocks({}) == 24);
  CHECK(blocks({"engine.blocks_per_chunk=5"}) == 60);
  const Scenario s = reference_with({"engine.blocks_per_chunk=5"});
  CHECK(s.tier_blocks({Capacity::Kind::kBlocks, 13}) == 10);
  CHECK(s.tier_blocks({Capacity::Kind::kUnbounded, 0}) == ~std::uint64_t{0});
  CHECK(says(refusal({"engine.blocks_per_chunk=5", "tiers.0.capacity=4blocks"}),
             "4blocks holds no chunk of 5 blocks of 2097152 bytes each"));
}

TEST_CASE("ranks of an MLA model keep one copy below, or one each", "[scenarios]") {
  Scenario s = reference_with({});
  s.model->spec = &find_model("DeepSeek-V3", {});
  s.engine.tensor_parallel = 8;
  const std::int64_t block = s.engine.block_bytes.count();
  CHECK(s.tier_slot().count() == block);
  s.engine.mla_single_copy = false;
  CHECK(s.tier_slot().count() == 8 * block);
  s.engine.mla_single_copy = true;
  s.engine.pipeline_parallel = 2;  // ranks of two stages hold different layers
  CHECK(s.tier_slot().count() == 16 * block);
  s.model->spec = &find_model("Llama-3.1-8B", {});
  s.engine.pipeline_parallel = 1;
  CHECK(s.tier_slot().count() == 8 * block);
}

TEST_CASE("arc below a connector is vLLM's", "[scenarios]") {
  const Scenario s = reference_with({"tiers.0.eviction=arc", "engine.eviction=arc"});
  CHECK(s.tier->eviction.text() == "vllm-arc");
  CHECK(s.hbm_eviction.text() == "arc");
  CHECK(resolved_configuration(s)["tiers"][0]["eviction"] == "vllm-arc");
  const Scenario streaming = reference_with({"tiers.0.eviction=arc", "engine.residency=streaming"});
  CHECK(streaming.tier->eviction.text() == "arc");
}

TEST_CASE("two names of one switch must agree", "[scenarios]") {
  CHECK_FALSE(reference_with({"engine.prompt_only_default=false"}).engine.offload_prompt_only);
  CHECK_FALSE(
      reference_with({"engine.prompt_only_default=false", "engine.offload_prompt_only=false"})
          .engine.offload_prompt_only);
  CHECK(says(refusal({"engine.prompt_only_default=false", "engine.offload_prompt_only=true"}),
             "engine.prompt_only_default: false contradicts offload_prompt_only true"));
}

TEST_CASE("switches of the other connector are refused", "[scenarios]") {
  CHECK(says(
      refusal({"engine.offload_connector=simpel"}),
      "engine.offload_connector: unknown offload_connector \"simpel\"; did you mean \"simple\"? "
      "known: native, simple"));
  CHECK(says(refusal({"engine.lazy_offload=true"}),
             "engine.lazy_offload: expected only with \"offload_connector\": \"simple\""));
  for (const char* key : {"blocks_per_chunk=2", "offload_block_tokens=32", "store_threshold=2"}) {
    CHECK(says(refusal({"engine.offload_connector=simple", fmt::format("engine.{}", key)}),
               "expected only with \"offload_connector\": \"native\""));
  }
}

/// On an H100, with links of its own unless given.
Scenario on_gpu(std::string_view model, const std::string& engine, const std::string& links = "") {
  std::vector<std::string> lines = gpu_lines();
  lines[kModelLine - 1] = fmt::format("\"model\": {},", model);
  lines[kEngineLine - 1] =
      fmt::format(R"("engine": {{"preset": "vllm", "num_gpu_blocks": 5000{}}},)", engine);
  lines[kDownLine - 2] = links;
  return scenario_of(joined(lines));
}
constexpr std::string_view kMla = R"("DeepSeek-V3")";
const std::string kPerLayer = R"(, "kv_layout": "per_layer")";

TEST_CASE("small pages are loaded by a kernel that takes SMs", "[scenarios]") {
  // A latent of 576 x 2 bytes: 16 tokens of one layer are 18,432 bytes. 12 of the H100's 132 SMs.
  const Scenario s = on_gpu(kMla, kPerLayer);
  CHECK(s.up->sm_share == 12.0 / 132);
  CHECK(s.down->sm_share == 0);
  CHECK(s.copy_interference().any());
  // 16 pieces: 7 us and 294,912 bytes at 50 GB/s; 15 take the batched copy, which is slow at such
  // sizes.
  const auto up = s.up->make();
  CHECK(up->service_time(Bytes(16 * 18432), 16).count() == 7'000 + 5'899);
  CHECK(up->service_time(Bytes(15 * 18432), 15).count() > 20'000);
  CHECK(s.down->make()->service_time(Bytes(16 * 18432), 16).count() > 20'000);
  const Note* told = find_note(s.notes, "small-page-kernel");
  REQUIRE(told);
  CHECK(figure(*told, "page_bytes") == 18432);
  CHECK_THAT(told->text, Catch::Matchers::Contains("takes 9.1% of the SMs"));
  CHECK(resolved_configuration(s)["links"][1].contains("kernel"));
}

TEST_CASE("other loads go by DMA", "[scenarios]") {
  const auto kernel = [](const Scenario& s) { return s.up->sm_share > 0; };
  CHECK(kernel(on_gpu(kMla, kPerLayer)));
  CHECK_FALSE(kernel(on_gpu(kMla, "")));  // 61 layers in one piece
  CHECK_FALSE(kernel(on_gpu(kMla, kPerLayer + R"(, "small_page_kernel": false)")));
  CHECK_FALSE(kernel(on_gpu(kMla, kPerLayer + R"(, "load": "layerwise")")));
  // Llama's keys of one layer: 16 x 8 x 128 x 2 = 32 KiB, half of that in FP8.
  CHECK_FALSE(kernel(on_gpu(R"("Llama-3.1-8B")", kPerLayer)));
  CHECK(kernel(on_gpu(R"({"name": "Llama-3.1-8B", "kv_dtype": "fp8"})", kPerLayer)));
  // A link that says how it copies is taken at its word; one with rates of its own keeps them.
  const auto link = [](const std::string& fields) {
    return fmt::format(R"("links": [{{"name": "up", "from": "dram", "to": "hbm", {}}}],)", fields);
  };
  CHECK_FALSE(kernel(on_gpu(kMla, kPerLayer, link(R"("kind": "default", "method": "dma")"))));
  const Scenario own =
      on_gpu(kMla, kPerLayer, link(R"("kind": "affine", "latency_us": 10, "bandwidth": "25GB/s")"));
  CHECK(kernel(own));
  CHECK_FALSE(own.up->kernel_table);
  CHECK(own.up->make()->service_time(Bytes(25'000), 16).count() == 10'000 + 1'000);
}

TEST_CASE("what the threshold kept out is told in blocks", "[scenarios]") {
  // 12 prompts of 512 tokens, 6 documents: 32 blocks each, in chunks of 4, skipped once a document.
  const Workload workload = repeating(12, 6, 500, 1);
  const auto dram = [&](const std::vector<std::string>& assignments) {
    return to_json(simulate(reference_with(assignments), workload).result)["tiers"][1];
  };
  CHECK_FALSE(dram({}).contains("stores_skipped"));
  const auto skipping = dram({"engine.store_threshold=2", "engine.blocks_per_chunk=4"});
  CHECK(skipping["stores_skipped"] == 6 * 32);
  CHECK(skipping["stores"] == 6 * 32);
  CHECK(skipping["capacity_blocks"] == 2048);
}

TEST_CASE("the connector's switches are written out where they are not the defaults",
          "[scenarios]") {
  const auto engine = [](const std::vector<std::string>& assignments) {
    return resolved_configuration(reference_with(assignments))["engine"];
  };
  CHECK(engine({})["blocks_per_chunk"] == 1);
  CHECK(engine({})["store_threshold"] == 0);
  CHECK(engine({})["offload_connector"] == "native");
  CHECK(engine({"engine.blocks_per_chunk=2"})["blocks_per_chunk"] == 2);
  CHECK(engine({"engine.mla_single_copy=false"})["mla_single_copy"] == false);
  const auto threshold = engine({"engine.store_threshold=2"});
  CHECK(threshold["threshold_counts_offers"] == true);
  CHECK(threshold["max_tracker_size"] == 64000);
}

}  // namespace
}  // namespace spillway::test
