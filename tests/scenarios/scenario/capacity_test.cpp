// How many KV blocks a GPU has left: against block counts that vLLM printed on real machines.
#include <nlohmann/json.hpp>

#include "models/releases/presets.hpp"
#include "scenarios/run/measured_warnings.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// gpu_lines() on `gpu` with these engine keys.
Scenario sized(std::string_view gpu, std::string_view engine) {
  std::vector<std::string> lines = gpu_lines();
  lines[kEngineLine - 1] = fmt::format("\"engine\": {{{}}},", engine);
  lines[kGpuLine - 1] = fmt::format(", \"gpu\": \"{}\"", gpu);
  return scenario_of(joined(lines));
}

TEST_CASE("Llama-3.1-8B on an H100 has the measured tokens of KV within 2%", "[scenarios]") {
  // vLLM 0.19 at utilisation 0.95: 476,016 tokens = 29,751 blocks of 16 (llm-d-planner, 2026).
  const Scenario s = sized("H100", R"("preset": "vllm@0.19", "gpu_memory_utilization": 0.95)");
  CHECK(16.0 * s.engine.num_gpu_blocks == Approx(476'016).epsilon(0.02));
}

TEST_CASE("Llama-3.1-8B on an RTX 4090 has the measured blocks within 2%", "[scenarios]") {
  // 2,588 blocks at utilisation 0.9 (casys-kaist/LLMServingSim).
  const Scenario s = sized("RTX4090", R"("gpu_memory_utilization": 0.9, "max_num_seqs": 256,)"
                                      R"( "max_num_batched_tokens": 2048)");
  CHECK(static_cast<double>(s.engine.num_gpu_blocks) == Approx(2588).epsilon(0.02));
}

TEST_CASE("two ranks have the measured blocks within 7%", "[scenarios]") {
  const auto path = published("profiles/offload_measured.json");
  if (!path) {
    WARN("skipped: no published study of offload beside the project");
    return;
  }
  const auto study = nlohmann::json::parse(read_file(*path)).at("l40s");
  const auto& blocks = study.at("blocks").at("0.9").at("old");
  for (std::size_t m = 0; m < blocks.size(); ++m) {
    const auto model = study.at("models").at(m).get<std::string>();
    const Scenario s = scenario_of(fmt::format(
        R"({{"name": "s", "model": "{}", "gpu": "L40S", "workload": {{"trace": "none"}}, "engine":
            {{"preset": "vllm@0.14", "tensor_parallel_size": 2, "max_num_seqs": 1024}}}})",
        model));
    INFO(model);
    CHECK(double(s.engine.num_gpu_blocks) == Approx(blocks.at(m).get<double>()).epsilon(0.07));
  }
}

TEST_CASE("the parts of the memory add up to what was requested", "[scenarios]") {
  const Scenario s = sized("H100", R"("preset": "vllm", "cuda_graph_memory": "1GiB")");
  const HbmBudget& b = *s.budget;
  CHECK(b.kv + b.weights + b.activations + b.other + b.cuda_graphs == b.requested);
  CHECK(b.cuda_graphs == 1_GiB);
  CHECK(s.engine.num_gpu_blocks == b.kv / s.engine.block_bytes);
}

TEST_CASE("a given block count wins, with a warning when it is far from the estimate",
          "[scenarios]") {
  const std::uint32_t estimate = sized("H100", R"("preset": "vllm")").engine.num_gpu_blocks;
  const auto given = [](std::uint32_t blocks) {
    return sized("H100", fmt::format(R"("preset": "vllm", "num_gpu_blocks": {})", blocks));
  };
  const Workload workload = workload_of({{0, 900, 100, {1, 2}}}, 512);
  const Scenario near = given(estimate + estimate / 100);  // 1% more
  CHECK(near.engine.num_gpu_blocks == estimate + estimate / 100);
  CHECK(measured_warnings(near, workload).empty());
  const Scenario far = given(2 * estimate);
  CHECK(far.engine.num_gpu_blocks == 2 * estimate);
  const auto warnings = measured_warnings(far, workload);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].code == "pool-differs");
  CHECK(figure(warnings[0], "used_blocks") == 2 * estimate);
  CHECK(figure(warnings[0], "other_blocks") == estimate);
  CHECK(figure(warnings[0], "off_share") == 1);
  // The mean request has 900 + 100 tokens.
  CHECK(figure(warnings[0], "requests") == 16.0 * estimate / 1000);
}

TEST_CASE("memory that is given for KV decides the pool", "[scenarios]") {
  // 20 GiB in blocks of 16 tokens x 128 KiB = 2 MiB: 10,240.
  const Scenario s = sized("H100", R"("preset": "vllm", "kv_cache_memory": "20GiB")");
  CHECK(s.engine.num_gpu_blocks == 10'240);
  CHECK(s.pool_given);
  const auto refused = [](std::string_view engine) {
    return std::string(error_of([&] { sized("H100", engine); }).what());
  };
  // 80 GiB less weights and work.
  CHECK_THAT(refused(R"("kv_cache_memory": "79GiB")"), ContainsSubstring("expected at most"));
  CHECK_THAT(refused(R"("kv_cache_memory": "2MiB")"), ContainsSubstring("holds 1 blocks of 2.00"));
  CHECK_THAT(refused(R"("kv_cache_memory": "20GiB", "num_gpu_blocks": 64)"),
             ContainsSubstring("num_gpu_blocks: expected only without kv_cache_memory"));
  CHECK_THAT(refused(R"("kv_cache_memory": "20GiB", "gpu_memory_utilization": 0.9)"),
             ContainsSubstring("gpu_memory_utilization: expected only without kv_cache_memory"));
  CHECK_THAT(refused(R"("kv_cache_memory": "20GiB", "preset": "vllm@0.6")"),
             ContainsSubstring("v0 has no such flag"));
  // vLLM refuses to start with it, as with what its profiling would leave: 4 blocks, 64 tokens.
  CHECK_THAT(refused(R"("kv_cache_memory": "8MiB", "max_model_len": 4096)"),
             ContainsSubstring("4096 tokens need 256 blocks"));
}

TEST_CASE("a model that leaves no room for KV is refused with the sums", "[scenarios]") {
  std::vector<std::string> lines = gpu_lines();
  lines[kModelLine - 1] = "\"model\": \"Llama-3.1-70B\",";  // 141 GB of weights on 80 GB
  const std::string message = error_of([&] { scenario_of(joined(lines)); }).what();
  CHECK_THAT(message, ContainsSubstring("engine.gpu_memory_utilization: no room for KV: "));
  CHECK_THAT(message, ContainsSubstring("weights of meta-llama/Meta-Llama-3.1-70B ("));
}

TEST_CASE("CUDA graphs that take all the room are named", "[scenarios]") {
  const InputError error =
      error_of([] { sized("H100", R"("preset": "vllm", "cuda_graph_memory": "100GiB")"); });
  CHECK_THAT(error.what(), ContainsSubstring("CUDA graphs (100"));
}

TEST_CASE("more blocks than the engine can count are refused, not truncated", "[scenarios]") {
  // One byte a token and one token a block: some 6 x 10^10 blocks, beyond 2^32.
  std::vector<std::string> lines = gpu_lines();
  lines[kModelLine - 1] = R"("model": {"name": "Llama-3.1-8B", "kv_bytes_per_token": 1},)";
  lines[kEngineLine - 1] = R"("engine": {"preset": "vllm", "block_tokens": 1},)";
  CHECK_THAT(error_of([&] { scenario_of(joined(lines)); }).what(),
             ContainsSubstring("s.json:5: engine.num_gpu_blocks: "));
}

TEST_CASE("a block larger than 4 GiB is refused", "[scenarios]") {
  // 2^40 bytes a token x 65,536 tokens would overflow the pool's byte count.
  std::vector<std::string> lines = reference_lines();
  lines[kModelLine - 1] = R"("model": {"kv_bytes_per_token": 1099511627776},)";
  CHECK_THAT(error_of([&] { scenario_of(joined(lines)); }).what(),
             ContainsSubstring("engine.block_tokens: a block of 16 tokens has "));
}

TEST_CASE("the model's own length is lowered to what fits the pool, with a note", "[scenarios]") {
  const Scenario s = sized("H100", R"("preset": "vllm", "num_gpu_blocks": 101)");
  CHECK(s.engine.max_model_len == 1600);  // 100 usable blocks of 16 tokens
  const Note* note = find_note(s.notes, "max-model-len-lowered");
  REQUIRE(note != nullptr);
  CHECK(figure(*note, "model_tokens") == 131072);
  CHECK(figure(*note, "tokens") == 1600);
}

TEST_CASE("a length that the scenario gives is never lowered", "[scenarios]") {
  CHECK(sized("H100", R"("num_gpu_blocks": 101, "max_model_len": 1600)").engine.max_model_len ==
        1600);
  CHECK(sized("H100", R"("num_gpu_blocks": 101, "max_model_len": 1601)").engine.max_model_len ==
        1601);  // a pool of the scenario's own: what does not fit is rejected on arrival
  CHECK_THROWS_AS(sized("RTX4090", R"("max_model_len": 131072)"), InputError);
}

TEST_CASE("tier slots are rounded up to whole pages", "[scenarios]") {
  // 100 bytes a token x 16 = 1,600 bytes a block, a slot of one page of 4,096: 1 MiB holds 256.
  const Scenario s = scenario_of(
      with_line(reference_lines(), kModelLine, R"("model": {"kv_bytes_per_token": 100},)"));
  CHECK(s.tier_blocks({Capacity::Kind::kBytes, 1 << 20}) == 256);
  CHECK(s.tier_blocks({Capacity::Kind::kBytes, (1 << 20) - 1}) == 255);
  CHECK(s.tier_blocks({Capacity::Kind::kBlocks, 7}) == 7);
}

TEST_CASE("a layout per layer counts its copies", "[scenarios]") {
  // Keys and values of 32 layers apart: 64 pieces a block.
  CHECK(sized("H100", R"("kv_layout": "per_layer")").engine.copies_per_block == 64);
  CHECK(sized("H100", R"("kv_layout": "contiguous")").engine.copies_per_block == 1);
}

}  // namespace
}  // namespace spillway::test
