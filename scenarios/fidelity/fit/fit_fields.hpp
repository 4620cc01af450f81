// The results of `spillway fit`, by name. The profile itself is the file that --out names.
#pragma once

#include "scenarios/fidelity/fit/fit_report.hpp"
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

}  // namespace spillway
