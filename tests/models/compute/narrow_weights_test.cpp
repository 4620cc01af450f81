// Products by narrow weights: which units multiply them, and how fast weight-only kernels are.
#include "models/compute/kernel_choice.hpp"
#include "models/compute/kernel_forms.hpp"
#include "models/compute/product_time.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const GpuSpec& gpu(std::string_view name) {
  return find_gpu(name, {"test", 0, ""});
}
const WeightFormat& format(std::string_view type) {
  return find_weight_type(type, {"test", 0, ""}).format;
}

TEST_CASE("Marlin on A100 follows its published table", "[models][compute]") {
  // vllm-project/vllm PR 2497, 2024-01-24: how much faster Marlin multiplies than FP16, by rows.
  // 1,158 GB/s of weights and scales at one row tell an A100 of 40 GB (1,555 GB/s at most).
  struct Row {
    double rows;
    double speedup;
  };
  const Row table[] = {{1, 3.12},    {2, 3.10},    {4, 3.14},   {8, 3.20},   {16, 3.19},
                       {32, 2.28},   {64, 1.47},   {128, 1.01}, {256, 0.74}, {512, 0.73},
                       {1024, 0.66}, {2048, 0.60}, {4000, 0.61}};
  ComponentsCost p;
  p.model = &find_model("Llama-2-7b-hf", {});
  p.gpu = &gpu("A100-40GB");
  p.kernels = kernel_coefficients(gpu("A100")).kernels;
  p.kernels.gemm_overhead_us = 0;  // the bench replays a graph
  const ProductTime wide(p, format("bf16"));
  const ProductTime narrow(p, format("int4"));
  const ProductTime::Matrix matrix = wide.matrix(8192, 18432);
  for (const Row& row : table) {
    const double speedup = wide.seconds(matrix, row.rows) / narrow.seconds(matrix, row.rows);
    INFO(row.rows << " rows: " << speedup << ", published " << row.speedup);
    // Furthest off where bytes and products take as long: 29% at 64 rows. Few rows: 3.8, as Marlin
    // reads packed weights at less than the bandwidth of FP16's kernels.
    CHECK(speedup == Approx(row.speedup).epsilon(row.rows < 1000 ? 0.3 : 0.1));
  }
}

TEST_CASE("units of the GPU decide how narrow weights are multiplied", "[models][compute]") {
  const auto units = [](std::string_view name, std::string_view type, bool experts = false) {
    return product_units(gpu(name), format(type), experts);
  };
  for (const char* name : {"A100", "L40S", "H100", "B200"}) {
    CHECK_FALSE(units(name, "bf16").fp8);
    CHECK(units(name, "bf16").flop_share == 1);
  }
  // FP8 units of Ada and later; an A100 widens.
  CHECK(units("H100", "fp8").fp8);
  CHECK(units("L40S", "fp8").fp8);
  CHECK_FALSE(units("A100", "fp8").fp8);
  CHECK(units("A100", "fp8").flop_share < 1);
  // FP4 units of Blackwell.
  CHECK(units("B200", "fp4").fp8);
  CHECK_FALSE(units("H100", "fp4").fp8);
  CHECK(units("H100", "mxfp4", true).flop_share < 1);
  // Integers on Hopper have Machete, their experts do not.
  CHECK(units("H100", "int4").flop_share == 1);
  CHECK(units("H100", "int4", true).flop_share < 1);
  CHECK(units("A100", "int4").flop_share < 1);
}

TEST_CASE("only the experts of gpt-oss are narrow", "[models][compute]") {
  ComponentsCost p;
  p.model = &find_model("gpt-oss-20b", {});
  p.gpu = &gpu("H100");
  p.kernels = {0, 1, 1, 8, 0, 0, 0, 0, 1, 0, 0, 1e12, 0};
  StepShape one;
  one.decodes = 1;
  one.decode_context = 1;
  // One token reads, of 24 layers, attention in BF16 (2,880 x 64 x (2 x 64 + 2 x 8) weights) and
  // 4 experts of 3 x 2,880 x 2,880 weights in 4.25 bits.
  const double attention = 2880.0 * 64 * (2 * 64 + 2 * 8) * 2;
  const double experts = 4 * 3.0 * 2880 * 2880 * 4.25 / 8;
  const double rate = gpu("H100").memory_gbs * 1e9;
  const double seconds = 24 * ((attention + experts) / rate + kExpertLayerUs * 1e-6);
  CHECK(double(make_components_cost(p)->step_time(one).count()) ==
        Approx(seconds * 1e9).epsilon(0.003));
}

}  // namespace
}  // namespace spillway::test
