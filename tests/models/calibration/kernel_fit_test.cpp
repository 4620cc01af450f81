// Fits of kernel tables made from known parameters, so that what comes out can be compared.
#include "models/calibration/kernel_fit.hpp"

#include "models/calibration/kernel_predictor.hpp"
#include "models/calibration/kernel_scores.hpp"
#include "models/calibration/product_curves.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

const GpuSpec& h100() {
  return find_gpu("H100", {});
}

/// A GPU with 6 us of overhead a product, 80% of the peak rate and 70% of the bandwidth; off by 2%
/// up and down in turn.
KernelTables product_tables() {
  KernelTables out;
  out.gpu = &h100();
  out.files = {"gemm.csv"};
  const PeakRates peaks = product_peaks(h100(), false);
  double sign = 1;
  for (const double inputs : {1024, 2048, 4096, 8192}) {
    for (const double outputs : {1024, 3072, 6144, 12288, 24576}) {
      for (const double rows : {1, 8, 64, 256, 1024, 4096}) {
        const double us =
            1e6 * product_seconds({6, 0.8, 0.7, 2}, {rows, inputs, outputs}, peaks, 2);
        out.products["bf16"].push_back({rows, inputs, outputs, us * (1 + 0.02 * sign), {0, 1}});
        sign = -sign;
      }
    }
  }
  return out;
}

void add_attention(KernelTables& tables) {
  AttentionKernels known;
  known.kv_dtype = "bf16";
  known.prefill_us = 9;
  known.prefill_key_ns = 7;
  known.prefill_lead_keys = 300;
  known.decode_us = 12;
  known.decode_efficiency = 0.75;
  known.decode_sequence_us = 0.1;
  known.mixed_factor = 0.5;
  const AttentionPredictor at(known, h100());
  AttentionRows& rows = tables.attention[{"bf16", 128}];
  for (const double n : {1, 4, 16, 64}) {
    for (const double tokens : {64, 256, 1024, 4096}) {
      PrefillRow prefill{n, tokens, 0, 32, 8, 0, {0, 2}};
      prefill.us = at.us(prefill);
      rows.prefill.push_back(prefill);
      DecodeRow decode{n, tokens, 32, 8, 0, {0, 3}};
      decode.us = at.us(decode);
      rows.decode.push_back(decode);
      MixedRow mixed{tokens, 512, n, 1024, 32, 8, 0, {0, 4}};
      mixed.us = at.us(mixed);
      rows.mixed.push_back(mixed);
    }
  }
}

TEST_CASE("a fit finds the parameters that a table was made from", "[models]") {
  KernelTables tables = product_tables();
  add_attention(tables);
  const ComputeProfile profile = fit_kernels(tables);
  const ProductKernels& products = profile.products.at(0);
  CHECK(products.overhead_us == Approx(6).epsilon(0.05));
  CHECK(products.flop_efficiency == Approx(0.8).epsilon(0.02));
  CHECK(products.byte_efficiency == Approx(0.7).epsilon(0.02));
  CHECK(products.norm == Approx(2).epsilon(0.1));
  const AttentionKernels& attention = profile.attention.at(0);
  CHECK(attention.prefill_us == Approx(9).epsilon(0.01));
  CHECK(attention.prefill_key_ns == Approx(7).epsilon(0.01));
  CHECK(attention.prefill_lead_keys == Approx(300).epsilon(0.01));
  CHECK(attention.decode_us == Approx(12).epsilon(0.01));
  CHECK(attention.decode_efficiency == Approx(0.75).epsilon(0.01));
  CHECK(attention.decode_sequence_us == Approx(0.1).epsilon(0.01));
  CHECK(attention.mixed_measured);
  CHECK(attention.mixed_factor == Approx(0.5).epsilon(0.01));
}

TEST_CASE("an interval holds the parameter that a table was made from", "[models]") {
  const ComputeProfile profile = fit_kernels(product_tables());
  const FitScore* score = find_score(profile, "products/bf16");
  REQUIRE(score != nullptr);
  CHECK(score->points == 120);
  const FittedParameter& flops = score->parameters.at("flop_efficiency");
  CHECK(flops.low < 0.8);
  CHECK(flops.high > 0.8);
  CHECK(flops.high - flops.low < 0.05);
  CHECK_FALSE(flops.on_bound);
  CHECK(score->form_mape == Approx(2).epsilon(0.2));  // what was put on top of the form
  CHECK(score->mape < 2.1);
}

TEST_CASE("what rows do not tell stays at the published coefficient", "[models][fit]") {
  // Small products only: the launch hides both reading and computing.
  KernelTables tables = product_tables();
  std::vector<ProductRow>& rows = tables.products["bf16"];
  rows.clear();
  for (std::uint32_t i = 0; i < 32; ++i) {
    const double off = 0.02 * (i * 7919 % 32 / 15.5 - 1);
    rows.push_back(
        {1.0 + i % 4, 128.0 + 64 * (i / 4 % 4), 128.0 + 64 * (i / 16), 6 * (1 + off), {0, 1}});
  }
  ComputeProfile profile = fit_kernels(tables);
  const double usual = kernel_coefficients(h100()).kernels.flop_efficiency;
  CHECK(profile.products.at(0).flop_efficiency == usual);
  CHECK(profile.products.at(0).overhead_us == Approx(6).epsilon(0.03));
  const FittedParameter& flops =
      find_score(profile, "products/bf16")->parameters.at("flop_efficiency");
  CHECK(flops.low == flops.high);
  bool said = false;
  for (const std::string& warning : profile.warnings) {
    said = said || warning.starts_with("products/bf16: the rows do not tell flop_efficiency");
  }
  CHECK(said);
  // A second fit, of nearly the same rows, leaves it there too.
  KernelFitOptions again;
  again.start = &profile;
  again.scores = false;
  CHECK(fit_kernels(tables, again).products.at(0).flop_efficiency == usual);
}

TEST_CASE("what was held out is predicted as well as the noise allows", "[models]") {
  KernelTables tables = product_tables();
  add_attention(tables);
  ComputeProfile profile = fit_kernels(tables);
  const auto worst = score_kernels(tables, profile, 3);
  const FitScore* products = find_score(profile, "products/bf16");
  REQUIRE(products != nullptr);
  CHECK(products->held_out > 10);
  CHECK(products->held_out_mape < 5);
  CHECK(find_score(profile, "products/bf16/widths") != nullptr);
  REQUIRE_FALSE(worst.empty());
  CHECK(worst.front().held_out);
  // Twice the same: nothing depends on order or chance.
  ComputeProfile again = fit_kernels(tables);
  score_kernels(tables, again);
  CHECK(find_score(again, "products/bf16")->held_out_mape == products->held_out_mape);
}

// Tiles of 128 rows: a product of 129 takes as long as one of 256, in every shape. One shape was
// not measured at 128 and 129 rows.
TEST_CASE("rows that a shape lacks are told by the shapes near it", "[models]") {
  ProductRatios ratios;
  for (const double inputs : {1000, 1200, 1400, 1700, 2000}) {
    ratios[{inputs, 1000}] = {{64, 1}, {128, 1}, {129, 1.5}, {256, 1}};
  }
  ratios[{1400, 1000}] = {{64, 1.1}, {256, 1.1}};
  const std::vector<ProductCurve> curves = product_curves(ratios);
  REQUIRE(curves.size() == 5);
  CHECK(curves[2].inputs == 1400);
  CHECK(curves[2].rows == std::vector<double>{64, 128, 129, 256});
  CHECK(curves[2].ratios == std::vector<double>{1.1, 1.1, 1.65, 1.1});
}

TEST_CASE("kernels that beat the data sheet end on a bound, and say what that means", "[models]") {
  KernelTables tables = product_tables();
  for (ProductRow& row : tables.products["bf16"]) row.us /= 1.6;  // 128% of the rate
  const ComputeProfile profile = fit_kernels(tables);
  CHECK(find_score(profile, "products/bf16")->parameters.at("flop_efficiency").on_bound);
  const auto says = [&](const std::string& text) {
    for (const std::string& warning : profile.warnings) {
      if (warning.find(text) != std::string::npos) return true;
    }
    return false;
  };
  CHECK(says("products/bf16: flop_efficiency ends on the bound 1"));
  CHECK(says("the clock is above the data sheet's"));
}

TEST_CASE("too few points are refused with the number needed", "[models]") {
  KernelTables tables = product_tables();
  tables.products["bf16"].resize(15);
  CHECK_THROWS_WITH(fit_kernels(tables),
                    ContainsSubstring("gemm.csv: products/bf16: 15 points are too few to fit; "
                                      "expected at least 16"));
}

TEST_CASE("parts that no table told are named", "[models]") {
  const ComputeProfile profile = fit_kernels(product_tables());
  REQUIRE(profile.attention.size() == 1);
  CHECK_FALSE(profile.attention[0].mixed_measured);
  CHECK(profile.warnings.size() == 2);  // attention; norms and activation
}

TEST_CASE("the parameters behind a table of experts come back out of it", "[models][fit]") {
  // 30 us a layer, 60% of the peak rate, 80% of the bandwidth.
  ExpertKernels known;
  known.dtype = "bf16";
  known.overhead_us = 30;
  known.flop_efficiency = 0.6;
  known.byte_efficiency = 0.8;
  known.norm = 3;
  const ExpertPredictor at(known, h100());
  KernelTables tables = product_tables();
  for (const double activated : {8, 16, 32, 64, 128}) {
    for (double rows = activated; rows <= 16384; rows *= 2) {
      ExpertRow row{rows, activated, 2048, 768, 0, {0, 9}};
      row.us = at.us(row);
      tables.experts["bf16"].push_back(row);
    }
  }
  const ComputeProfile fit = fit_kernels(tables);
  REQUIRE(fit.experts.size() == 1);
  CHECK(fit.experts[0].overhead_us == Approx(30).epsilon(0.02));
  CHECK(fit.experts[0].flop_efficiency == Approx(0.6).epsilon(0.02));
  CHECK(fit.experts[0].byte_efficiency == Approx(0.8).epsilon(0.02));
  const ExpertPredictor fitted(fit.experts[0], h100());
  for (const ExpertRow& row : tables.experts["bf16"]) {
    CHECK(fitted.us(row) == Approx(row.us).epsilon(0.01));
  }
}

}  // namespace
}  // namespace spillway
