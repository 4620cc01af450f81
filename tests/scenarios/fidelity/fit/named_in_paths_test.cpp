// Published tables carry GPU and model in their names or folders; what is not clear is asked for.
#include "scenarios/fidelity/fit/named_in_paths.hpp"

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

TEST_CASE("names of tables tell GPU and model where they agree", "[scenarios][fit]") {
  const std::vector<std::string> component = {"d/aic_h100_sxm_gemm.csv.gz",
                                              "d/aic_h100_sxm_attn_context.csv.gz"};
  REQUIRE(gpu_named_in(component) != nullptr);
  CHECK(gpu_named_in(component)->name == "H100-SXM5-80GB");
  CHECK(model_named_in(component) == nullptr);

  const std::vector<std::string> folders = {"perf/RTX4090/meta-llama/Llama-3.1-8B/tp1/dense.csv"};
  REQUIRE(gpu_named_in(folders) != nullptr);
  CHECK(gpu_named_in(folders)->name == "RTX4090-24GB");
  REQUIRE(model_named_in(folders) != nullptr);
  CHECK(model_named_in(folders)->name == "meta-llama/Meta-Llama-3.1-8B");

  CHECK(gpu_named_in({"a100_gemm.csv", "l40s_gemm.csv"}) == nullptr);  // two of them
  CHECK(gpu_named_in({"gemm.csv"}) == nullptr);
}

}  // namespace
}  // namespace spillway
