// The accuracy that fits of published kernel tables reach on what they did not see, held to the
// bars of the project: pure steps and prefix extensions within 5%, mixed within 8%; a dense model
// that the fit never saw within 7% on average and 9% at most (A100: 12%). Measured figures stand
// beside the bars. Stand-ins scatter by 1% about a known law: on them the same bars ask whether a
// fit recovers it.
#include <algorithm>

#include "models/calibration/kernel_scores.hpp"
#include "scenarios/fidelity/fit/read_kernel_tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

/// Fitted and scored.
ComputeProfile fitted(const std::string& gpu, const std::vector<std::string>& names,
                      const std::string& model = "") {
  std::vector<std::string> relative;
  for (const std::string& name : names) relative.push_back("profiles/" + name + ".csv.gz");
  std::vector<std::string> files;
  for (const test::Material& table : test::materials(relative)) files.push_back(table.path);
  KernelTableOptions options;
  options.gpu = &find_gpu(gpu, {});
  if (!model.empty()) options.model = &find_model(model, {});
  const KernelTables tables = read_kernel_tables(files, options);
  ComputeProfile profile = fit_kernels(tables);
  score_kernels(tables, profile);
  return profile;
}

ComputeProfile components(const std::string& gpu, const std::string& name) {
  return fitted(gpu, {"aic_" + name + "_gemm", "aic_" + name + "_attn_context",
                      "aic_" + name + "_attn_generation"});
}

double held_out(const ComputeProfile& profile, const std::string& part) {
  const FitScore* score = find_score(profile, part);
  INFO(part);
  REQUIRE(score != nullptr);
  REQUIRE(score->held_out > 0);
  return score->held_out_mape;
}

struct Unseen {
  std::size_t models = 0;
  double mean = 0;
  double worst = 0;
};

Unseen unseen(const ComputeProfile& profile) {
  Unseen out;
  for (const FitScore& score : profile.scores) {
    if (!score.part.starts_with("unseen model/")) continue;
    ++out.models;
    out.mean += score.held_out_mape;
    out.worst = std::max(out.worst, score.held_out_mape);
  }
  out.mean /= static_cast<double>(out.models);
  return out;
}

TEST_CASE("H100 tables predict steps and models they did not see", "[scenarios][fit]") {
  const ComputeProfile profile = components("H100", "h100_sxm");
  CHECK(held_out(profile, "steps/prefill") <= 5);      // 2.4
  CHECK(held_out(profile, "steps/decode") <= 5);       // 1.7
  CHECK(held_out(profile, "steps/fp8/prefill") <= 5);  // 2.7
  CHECK(held_out(profile, "steps/fp8/decode") <= 5);   // 1.8
  const Unseen models = unseen(profile);
  CHECK(models.models >= 20);  // prefill and decode, each of a dozen models
  CHECK(models.mean <= 7);     // 3.0
  CHECK(models.worst <= 9);    // 5.1
}

TEST_CASE("A100 tables predict steps and models they did not see", "[scenarios][fit]") {
  const ComputeProfile profile = components("A100", "a100_sxm");
  CHECK(held_out(profile, "steps/prefill") <= 5);  // 1.9
  CHECK(held_out(profile, "steps/decode") <= 5);   // 2.0
  const Unseen models = unseen(profile);
  CHECK(models.models >= 20);
  CHECK(models.mean <= 7);    // 4.4
  CHECK(models.worst <= 12);  // 7.6
}

TEST_CASE("L40S tables predict steps and models they did not see", "[scenarios][fit]") {
  const ComputeProfile profile = components("L40S", "l40s");
  CHECK(held_out(profile, "steps/prefill") <= 5);  // 2.5
  CHECK(held_out(profile, "steps/decode") <= 5);   // 1.9
  const Unseen models = unseen(profile);
  CHECK(models.models >= 20);
  CHECK(models.mean <= 7);   // 4.4
  CHECK(models.worst <= 9);  // 7.8
}

TEST_CASE("RTX 4090 tables predict pure, prefix and mixed steps", "[scenarios][fit]") {
  const std::string of = "llmss_RTX4090_Llama-3.1-8B_tp1_";
  const ComputeProfile profile =
      fitted("RTX4090", {of + "dense", of + "per_sequence", of + "attention", of + "skew"},
             "Llama-3.1-8B");
  CHECK(profile.tensor_parallel == 1);
  CHECK(held_out(profile, "steps/prefill") <= 5);  // 0.5
  CHECK(held_out(profile, "steps/prefix") <= 5);   // 0.9
  CHECK(held_out(profile, "steps/decode") <= 5);   // 3.4
  CHECK(held_out(profile, "steps/mixed") <= 8);    // 2.0
  // Decodes of unequal contexts take longer than the same number at their mean.
  const FitScore* skew = find_score(profile, "attention/skew");
  REQUIRE(skew != nullptr);
  CHECK(skew->mape <= 8);  // 5.4, all of it too fast: -5.1
}

// Another library, by years. Held out, it is predicted as well as the newer table; products fitted
// from the newer table are 10 to 15% off it, mostly faster (by 14% on one rank, by 1% on eight).
TEST_CASE("Vidur's operations of an A100 fit as products", "[scenarios][fit]") {
  const ComputeProfile profile = fitted("A100", {"vidur_a100_Meta-Llama-3-8B_mlp"}, "Llama-3.1-8B");
  CHECK(held_out(profile, "products/bf16") <= 6);  // 3.4
  CHECK(held_out(profile, "elementwise") <= 6);    // 1.3
}

}  // namespace
}  // namespace spillway
