// Serving points: each is a closed loop, two parameters are fitted on those of one GPU, and several
// GPUs are predicted.
#include "scenarios/fidelity/fit/serving_points.hpp"

#include <cmath>

#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

constexpr std::string_view kHeader =
    "backend,model_path,system,precision,isl,osl,concurrency,tp_size,pp_size,silicon_ttft_ms,"
    "silicon_tpot_ms\n";

ServingPoints read(const std::string& rows) {
  const Scratch scratch;
  return read_serving_points(scratch.file("points.csv", std::string(kHeader) + rows));
}

TEST_CASE("serving points are read by column, pipelines left out", "[scenarios]") {
  const ServingPoints points = read(
      "vllm,meta-llama/Llama-3.1-8B,h100_sxm,fp8,1024,128,8,2,1,50.5,7.25\n"
      "vllm,meta-llama/Llama-3.1-8B,h100_sxm,fp8,1024,128,8,2,4,50.5,7.25\n");
  REQUIRE(points.points.size() == 1);
  CHECK(points.points[0].tensor_parallel == 2);
  CHECK(points.points[0].tpot_ms == 7.25);
  CHECK(points.points[0].system == "h100_sxm");
  CHECK_THAT(error_of([] { read("vllm,m,h100,fp8,1024,128,8,2,1,50.5,fast\n"); }).what(),
             ContainsSubstring("2: silicon_tpot_ms: expected milliseconds"));
  CHECK_THAT(error_of([] {
               const ServingPoints few = read("vllm,Llama-3.1-8B,h100,fp8,64,8,1,1,1,5,5\n");
               fit_serving(few, serving_scenario(few, {}), {});
             }).what(),
             ContainsSubstring("expected at least 8"));
}

TEST_CASE("two parameters from one B200 predict 2, 4 and 8", "[scenarios]") {
  const Material table = material("profiles/aic_silicon_e2e_b200_llama70b.csv.gz");
  const ServingPoints points = read_serving_points(table.path);
  const ServingOptions options;
  const FitResult fit = fit_serving(points, serving_scenario(points, options), options);
  const FitScore& tpot = fit.profile.scores.at(0);
  CHECK(tpot.parameters.size() == 2);
  CHECK(tpot.points == 15);
  CHECK(tpot.held_out == 45);
  // The bar is 15% over all and over those of several GPUs; 1.1% and 4.4% when written. TTFT, which
  // is only reported: 15% and 39%. The stand-in's points follow the same law with two efficiencies
  // of their own.
  CHECK(tpot.held_out_mape < 15);
  CHECK((15 * tpot.mape + 45 * tpot.held_out_mape) / 60 < 15);
  CHECK(fit.profile.scores.at(1).part == "serving/ttft");
}

}  // namespace
}  // namespace spillway::test
