// The results of `spillway fit`, by name. The profile itself is the file that --out names.
#pragma once

#include "scenarios/fidelity/fit/fit_report.hpp"
#include "scenarios/fidelity/fit/pair_fit.hpp"
#include "scenarios/scenario/profiles/compute_profile_fields.hpp"
#include "sim/fields.hpp"

namespace spillway {

// A profile may leave members out; results have all of them.

template <>
struct Fields<FitParameter> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    Fields<FittedParameter>::visit(r.of, [&](std::string_view name, auto& value, FieldRule rule) {
      rule.required = true;
      f(name, value, rule);
    });
  }
};

template <>
struct Fields<FitPart> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    Fields<FitScore>::visit(r.score, [&](std::string_view name, auto& value, FieldRule rule) {
      rule.required = true;
      if (name == "parameters") {
        f(name, r.parameters, rule);
      } else {
        f(name, value, rule);
      }
    });
  }
};

template <>
struct Fields<FitPoint> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("part", r.part, says("Part of the profile."));
    f("point", r.what, says("The point: file, line and shape."));
    f("measured_us", r.measured, signed_figure("Measured time."));
    f("predicted_us", r.predicted, signed_figure("Time that the profile predicts."));
    f("held_out", r.held_out, says("Whether the point was held out of the fit."));
    f("why", r.why, says("What such points have in common; empty: not known."));
  }
};

template <>
struct Fields<FitSummary> {
  static constexpr std::string_view kName = "fit";
  static constexpr std::string_view kHelp =
      "A fitted compute profile in short; --out names the file with all of it.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    auto& p = r.profile;
    f("profile", group([&](auto&& g) {
        g("name", p.name, says("Name of the profile."));
        g("gpu", p.gpu, says("GPU that the data is of."));
        g("model", p.model, says("Model whose kernels were measured; empty: many shapes."));
        g("tensor_parallel", p.tensor_parallel,
          says("Ranks that whole-layer tables were measured on.", 1));
        g("digest", r.digest, text_like(kDigestForm, "Digest of the profile's results."));
      }),
      says("The profile."));
    f("host_overhead_us", p.host_overhead_us,
      says("Host time of a step that replays a captured graph.", -kMostHostSavingUs));
    f("eager_overhead_us", p.eager_overhead_us,
      says("Additional host time of a step without a captured graph."));
    f("overhead_fitted", p.overhead_fitted,
      says("Whether the host overhead was fitted; if not, it is the default."));
    f("sampler_us", p.sampler_us, says("Time of the sampler in a step that samples."));
    f("sequence_us", p.sequence_us, says("Host time of each sequence in a step."));
    f("parts", r.parts, says("Errors of each part, in percent."));
    f("worst", r.worst, says("With --explain: the points with the largest errors, by part."));
  }
};

template <>
struct Fields<PairScore> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("part", r.part, says("Run, and which times."));
    f("points", r.points, says("Spans of time."));
    f("free_mape", r.free_mape, says("Mean error if the connector cost nothing, in percent."));
    f("mape", r.mape, says("Mean error with the fitted costs, in percent."));
    f("bias", r.bias, signed_figure("The same, signed."));
  }
};

template <>
struct Fields<PairFit> {
  static constexpr std::string_view kName = "pair-fit";
  static constexpr std::string_view kHelp = "What a connector costs, from two runs of one server.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("connector_costs", group([&](auto&& g) {
        g("step_us", r.costs.step_us, says("Time of the host in each step."));
        g("lookup_us", r.costs.lookup_us, says("Time of the host for each look-up."));
        g("job_us", r.costs.job_us, says("Time of the host for each load and store."));
        g("copy_us", r.costs.copy_us, says("Time of the host for each copy."));
        g("step_factor", r.costs.step_factor, says("Steps compute so many times as long."));
      }),
      says("As engine.connector_costs takes them."));
    f("time_scale", r.time_scale, says("Of step times of the scenario, without the tier."));
    f("parameters", r.parameters, says("Each with its interval."));
    f("hidden", r.hidden, says("Costs that these runs do not tell."));
    f("measured_tpot_ms", r.measured_tpot_ms,
      says("Mean time per output token, without and with the tier."));
    f("simulated_tpot_ms", r.simulated_tpot_ms, says("The same, simulated with these costs."));
    f("scores", r.scores, says("Errors of simulated times."));
  }
};

}  // namespace spillway
