// Step times as a table: read by column, fitted, refused where they say too little or too much.
#include "scenarios/fidelity/fit/step_times.hpp"

#include <fmt/ranges.h>

#include "scenarios/fidelity/fit/step_model.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

using enum StepParameter;

Scenario h100() {
  return scenario_of(R"({"name": "s", "model": "Llama-3.1-8B", "gpu": "H100",
    "engine": {"preset": "vllm@0.19", "num_gpu_blocks": 4000}, "workload": {"trace": "none"}})");
}

StepTimes read(const std::string& text) {
  const Scratch scratch;
  return read_step_times(scratch.file("steps.csv", text));
}

/// Steps of 1 to 64 decodes, and prompts of up to 2,048 tokens beside every third.
StepTimes timed(const std::vector<double>& values, double unit = 1) {
  const StepModel model(h100(),
                        {kFlopEfficiency, kByteEfficiency, kDecodeEfficiency, kHostOverhead});
  const auto cost = model.cost(values);
  StepTimes out;
  out.path = "steps.csv";
  for (std::uint32_t i = 0; i < 90; ++i) {
    TimedStep step;
    step.line = i + 2;
    step.shape.decodes = 1 + i * 37 % 64;
    step.shape.decode_context = step.shape.decodes * (200 + i * 7919 % 8000);
    if (i % 3 == 0) step.prefills.push_back({64 + i * 104729 % 1985, i % 2 * 1024});
    step.shape.sampled = step.shape.decodes;
    StepShape shape = step.shape;
    shape.prefills = step.prefills;
    step.time_us = unit * 1e6 * seconds_of(cost->step_time(shape));
    out.steps.push_back(step);
  }
  return out;
}

TEST_CASE("step times are read by column", "[scenarios]") {
  const StepTimes times = read(
      "time_ms,decodes,decode_context,prefill_tokens,prefill_cached,graph,note\n"
      "12.5,3,900,512;1024,0;2048,no,\"two prompts, beside decodes\"\n"
      "8,4,1200,,,yes,\n");
  REQUIRE(times.steps.size() == 2);
  const TimedStep& mixed = times.steps[0];
  CHECK(mixed.time_us == 12'500);
  CHECK(mixed.tokens() == 3 + 512 + 1024);
  CHECK(mixed.prefills[1].cached == 2048);
  CHECK(mixed.shape.sampled == 5);
  CHECK(mixed.graph == false);
  CHECK(times.steps[1].prefills.empty());
  CHECK(times.steps[1].graph == true);
}

TEST_CASE("a faulty step is named with its line and column", "[scenarios]") {
  struct Case {
    std::string text;
    std::string says;
  };
  const std::string header = "time_us,decodes,decode_context,prefill_tokens,prefill_cached\n";
  const Case cases[] = {
      {header + "0,1,10,,\n", "2: time_us: expected a time of more than 0"},
      {header + "5,0,0,,\n", "2: decodes: expected a step of at least one token"},
      {header + "5,4,3,,\n", "2: decode_context: 4 decodes hold 3 tokens"},
      {header + "5,0,0,8;9,1\n", "2: prefill_cached: expected one number for each of 2 prompts"},
      {"decodes,decode_context\n1,10\n", "1: time_us: expected one of the columns"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const InputError error = error_of([&] { read(c.text); });
    CHECK(error.fault() == Fault::kTrace);
    CHECK_THAT(error.what(), ContainsSubstring(c.says));
  }
}

TEST_CASE("the parameters behind step times come back out of them", "[scenarios]") {
  const Scenario scenario = h100();
  const FitResult fit = fit_steps(timed({0.60, 0.75, 0.70, 1500}), scenario, {});
  const FitScore& score = fit.profile.scores.front();
  CHECK(score.parameters.at("flop_efficiency").value == Approx(0.60).epsilon(0.03));
  CHECK(score.parameters.at("decode_efficiency").value == Approx(0.70).epsilon(0.05));
  // Weights (16 GB at 3,350 GB/s and a share of 0.75: 6.4 ms) are read once a step, as the host's
  // time is spent once: told apart by the rest only, which the form may err on. Their sum is told.
  const FittedParameter& bytes = score.parameters.at("byte_efficiency");
  const FittedParameter& host = score.parameters.at("host_overhead_us");
  CHECK(bytes.low < 0.75);
  CHECK(bytes.high > 0.75);
  CHECK(host.low < 1500);
  CHECK(host.high > 1500);
  CHECK(host.value + 4800 / bytes.value == Approx(1500 + 6400).epsilon(0.02));
  CHECK(score.points == 90);
  CHECK(score.held_out == 45);
  CHECK(score.held_out_mape < 1);
}

TEST_CASE("too few steps, and steps in another unit, are refused", "[scenarios]") {
  const Scenario scenario = h100();
  StepTimes few = timed({0.60, 0.75, 0.70, 1500});
  few.steps.resize(9);
  CHECK_THAT(error_of([&] { fit_steps(few, scenario, {}); }).what(),
             ContainsSubstring("9 steps are too few to fit 4 parameters; expected at least 20"));
  const StepTimes seconds = timed({0.60, 0.75, 0.70, 1500}, 1e-3);
  CHECK_THAT(error_of([&] { fit_steps(seconds, scenario, {}); }).what(),
             ContainsSubstring("probably off by 1000"));
}

TEST_CASE("times beyond what a GPU can do put a parameter on its bound", "[scenarios]") {
  // Memory twice as fast as the data sheet's: byte efficiency ends at 1, and says so.
  StepTimes times = timed({1.0, 1.0, 1.0, 0});
  for (TimedStep& step : times.steps) step.time_us /= 2;
  const FitResult fit = fit_steps(times, h100(), {});
  CHECK(fit.profile.scores.front().parameters.at("byte_efficiency").on_bound);
  const std::string warnings = fmt::format("{}", fmt::join(fit.profile.warnings, "; "));
  CHECK_THAT(warnings, ContainsSubstring("byte_efficiency stands on its bound"));
  CHECK_THAT(warnings, ContainsSubstring("ask for more than is possible"));
}

TEST_CASE("a profile that does not predict says so ahead of all else", "[scenarios][fit]") {
  // Every third step takes thrice as long, which nothing in its shape tells.
  StepTimes times = timed({0.6, 0.75, 0.7, 1500});
  for (std::size_t i = 0; i < times.steps.size(); i += 3) times.steps[i].time_us *= 3;
  for (std::size_t i = 1; i < times.steps.size(); i += 5) times.steps[i].time_us /= 3;
  const FitResult fit = fit_steps(times, h100(), {});
  CHECK(fit.profile.scores.front().held_out_mape > 20);
  REQUIRE_FALSE(fit.profile.warnings.empty());
  CHECK_THAT(fit.profile.warnings.front(), ContainsSubstring("do not size with this profile: "
                                                             "steps that the fit did not see"));
  for (const std::string& w :
       fit_steps(timed({0.6, 0.75, 0.7, 1500}), h100(), {}).profile.warnings) {
    CHECK_THAT(w, !ContainsSubstring("do not size"));
  }
}

TEST_CASE("times of a slower GPU end on the other bound, and say so", "[scenarios][fit]") {
  // A fifth of the data sheet's rates, below the least that any measured GPU reaches.
  StepTimes times = timed({0.2, 0.3, 0.2, 0});
  for (TimedStep& step : times.steps) step.time_us *= 2;
  const FitResult fit = fit_steps(times, h100(), {});
  CHECK(fit.profile.scores.front().parameters.at("byte_efficiency").on_bound);
  bool said = false;
  for (const std::string& warning : fit.profile.warnings) {
    CHECK_THAT(warning, !ContainsSubstring("more than is possible"));
    said = said || warning.find("byte_efficiency stands on its bound (0.3") != std::string::npos;
  }
  CHECK(said);
}

}  // namespace
}  // namespace spillway::test
