// The members of a validation's results, by name. Results are written only: what follows from other
// members is computed here.
#pragma once

#include <array>
#include <optional>

#include "scenarios/fidelity/validate/validation_json.hpp"
#include "scenarios/scenario/profiles/compute_profile_fields.hpp"
#include "sim/fields.hpp"

namespace spillway {

inline constexpr std::array<std::string_view, 4> kCoveredFamilies = {"", "dense", "MoE", "MLA"};
inline constexpr std::array<std::string_view, 2> kHalves = {"first", "second"};
inline constexpr std::array<std::string_view, 3> kComparedLatencies = {"ttft", "tpot", "e2el"};

template <>
struct Fields<RegimeDecision> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.regime, says("Regime of the measured run."));
    f("why", r.why, says("The figures that decide it, in words."));
    auto& figures = r.figures;
    f("samples", figures.samples, says("Samples with a request in the system."));
    f("from_counters", figures.from_counters,
      says("Whether samples are the engine's counters, not times of the request log."));
    f("mean_running", figures.mean_running, says("Mean number of running requests."));
    f("peak_running", figures.peak_running, says("Largest number of running requests."));
    f("mean_waiting", figures.mean_waiting, says("Mean number of waiting requests."));
    f("peak_waiting", figures.peak_waiting, says("Largest number of waiting requests."));
    f("waiting_share", figures.waiting_share, says("Share of the samples with waiting requests."));
    f("full_slots_share", figures.full_slots_share,
      says("Share of the samples in which max_num_seqs requests run."));
    f("falling_share", figures.falling_share,
      says("Share of the samples with a full pool, fewer running and more waiting requests."));
    f("peak_kv_usage", figures.peak_kv_usage, says("Largest share of the KV blocks in use."));
    f("full_pool_share", figures.full_pool_share,
      says("Share of the samples with a KV usage of 95% or more."));
    f("preemptions_per_request", figures.preemptions_per_request,
      says("Preemptions divided by requests."));
    f("preemptions_simulated",
      only_if(figures.preemptions_per_request.has_value(), figures.preemptions_simulated),
      says("Whether preemptions are the simulation's, because the engine logged none."));
  }
};

template <>
struct Fields<MetricError> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Key of a run's results."));
    f("measured", r.measured, says("Measured figure."));
    f("simulated", r.simulated, says("Simulated figure."));
    f("error_percent", r.error_percent(),
      signed_figure("Simulated minus measured, in percent of the measured figure."));
  }
};

template <>
struct Fields<RequestErrors> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("latency", r.latency, one_of(kComparedLatencies, "The latency."));
    f("requests", r.requests, says("Requests that completed in both runs."));
    f("p5_percent", r.p5_percent, signed_figure("5th percentile of the signed relative error."));
    f("p50_percent", r.p50_percent, signed_figure("Median of the signed relative error."));
    f("p95_percent", r.p95_percent, signed_figure("95th percentile of the signed relative error."));
    f("mean_absolute_ms", r.mean_absolute_ms, says("Mean absolute error."));
    f("p95_absolute_ms", r.p95_absolute_ms, says("95th percentile of the absolute error."));
    f("rank_correlation", r.rank_correlation,
      signed_figure("Spearman's rank correlation of measured and simulated latencies."));
  }
};

template <>
struct Fields<WorstRequest> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("number", r.number, says("Place of the request in order of arrival, from 0."));
    f("line", r.line, says("Line of the measured file."));
    f("input_tokens", r.input_tokens, says("Tokens of its prompt."));
    f("output_tokens", r.output_tokens, says("Tokens of its answer."));
    f("measured_ttft_ms", r.measured_ttft_ms, says("Measured time to first token."));
    f("simulated_ttft_ms", r.simulated_ttft_ms, says("Simulated time to first token."));
    f("measured_e2el_ms", r.measured_e2el_ms, says("Measured end-to-end latency."));
    f("simulated_e2el_ms", r.simulated_e2el_ms, says("Simulated end-to-end latency."));
  }
};

template <>
struct Fields<CounterError> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.counter, says("The counter: running, waiting or kv_usage."));
    f("peak", r.peak, says("Largest measured value."));
    f("mean_absolute", r.mean_absolute, says("Mean absolute error."));
    f("percent_of_peak", r.percent_of_peak,
      says("Mean absolute error in percent of the measured peak."));
    f("bias_percent_of_peak", r.bias_percent_of_peak,
      signed_figure("Mean signed error in percent of the measured peak."));
  }
};

template <>
struct Fields<StepBucket> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name(), says("The figure, as bars and tolerances name it."));
    f("least", r.least, says("Fewest requests that decode."));
    f("most", r.most, says("Most requests that decode."));
    f("prompts", r.prompts, says("Whether some prompt was computed in these windows."));
    f("windows", r.windows, says("Measured windows between two samples."));
    f("measured_ms", r.measured_ms, says("Measured time of a step."));
    f("simulated_ms", r.simulated_ms, says("Simulated time of a step."));
    f("error_percent", r.error_percent(), signed_figure("Error of the simulated time."));
  }
};

template <>
struct Fields<RegimeError> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("regime", r.regime, says("Regime of the engine within 5 s."));
    f("latency", r.latency,
      says("ttft: of requests that came in it; tpot: of those halfway through their answer."));
    f("requests", r.requests, says("Requests."));
    f("measured_ms", r.measured_ms, says("Measured mean."));
    f("simulated_ms", r.simulated_ms, says("Simulated mean."));
    f("error_percent", r.error_percent(), signed_figure("Error of the simulated mean."));
  }
};

template <>
struct Fields<PairCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("model", r.model, says("Model that was served."));
    f("memory", r.memory, says("How much of HBM the KV pool had, as the study calls it."));
    f("tier", r.tier, says("Tier below HBM, as the study calls it."));
    f("band_percent", r.band, says("Change below which the measurement is noise."));
    f("measured_without", r.measured_without, says("Answer tokens/s without the tier."));
    f("simulated_without", r.simulated_without, says("The same, simulated."));
    f("measured_change_percent", r.measured_change(),
      signed_figure("Measured effect of the tier."));
    f("simulated_change_percent", r.simulated_change(), signed_figure("Simulated effect."));
    f("error_without_percent", r.error_without(), signed_figure("Error without the tier."));
    f("side", r.measured_side(), says("Whether the tier helps, hurts or does neither, measured."));
    f("right", r.right_side(), says("Whether the simulated change is on that side."));
  }
};

template <>
struct Fields<PairsFigure> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("The figure, as bars and tolerances name it."));
    f("percent", r.percent, says("Its value; the smaller, the better."));
  }
};

template <>
struct Fields<PairsResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("cells", r.cells, says("One server each."));
    f("right_sides", r.right_sides(), says("Cells on the right side."));
    f("harms", r.harms(), says("Cells in which the tier hurt."));
    f("harms_found", r.harms_found(), says("Of these, those simulated so."));
    f("figures", r.figures(), says("What bars and tolerances bound."));
  }
};

template <>
struct Fields<CounterErrors> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("samples", r.samples, says("Samples that are compared."));
    f("clock_offset_s", r.clock_offset_s,
      signed_figure("Time added to the counters' clock to match the requests' clock."));
    f("counters", r.counters, says("Each counter."));
  }
};

template <>
struct Fields<RepeatSpread> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("metric", r.metric, says("Key of a run's results."));
    f("runs", r.runs, says("Measured runs, with the first one."));
    f("least", r.least, says("Smallest measured figure."));
    f("most", r.most, says("Largest measured figure."));
    f("within", r.within, says("Whether the simulated figure lies between them."));
  }
};

template <>
struct Fields<HalfResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("fitted", r.fitted, one_of(kHalves, "Half of the run's time that was fitted."));
    f("scored", r.scored, says("Requests of the other half, which are compared."));
    f("metrics", r.metrics, says("Error of each latency over these."));
    f("parameters", r.parameters, says("Fitted parameters, by name."));
  }
};

template <>
struct Fields<CheckedFigure> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    const auto beyond = [&](const std::optional<double>& limit) {
      return limit ? std::optional(r.exceeds(limit)) : std::nullopt;
    };
    f("name", r.name, says("The figure that a limit of the case bounds."));
    f("error_percent", r.error_percent, signed_figure("Its error."));
    f("tolerance", r.tolerance, says("Largest error that the case allows."));
    f("exceeds_tolerance", beyond(r.tolerance), says("Whether the error is larger."));
    f("bar", r.bar, says("Error that the case aims at."));
    f("misses_bar", beyond(r.bar), says("Whether the error is larger than the aim."));
  }
};

template <>
struct Fields<CaseParameter> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Dotted key of the scenario."));
    f("value", r.value, says("Its value."));
    f("from", r.from, says("Where a user gets the value from; empty: the case does not say."));
  }
};

template <>
struct Fields<ServingError> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("what", r.what, says("The point: line of the file, lengths, clients, GPUs."));
    f("fitted", r.fitted, says("Whether the point was used to fit."));
    f("measured_tpot_ms", r.measured_tpot_ms, says("Measured time per output token."));
    f("simulated_tpot_ms", r.simulated_tpot_ms, says("Simulated time per output token."));
    f("measured_ttft_ms", r.measured_ttft_ms, says("Measured time to first token."));
    f("simulated_ttft_ms", r.simulated_ttft_ms, says("Simulated time to first token."));
  }
};

template <>
struct Fields<ServingScore> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("The score, for example tpot_mape_held_out."));
    f("points", r.points, says("Points that it covers."));
    f("mape", r.mape, says("Mean absolute error, in percent."));
    f("bias", r.bias, signed_figure("Mean signed error, in percent."));
    f("worst", r.worst, says("Largest absolute error, in percent."));
  }
};

template <>
struct Fields<ServingResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("scores", r.scores, says("Errors over the points."));
    f("points", r.points, says("Each point, in the order of the file."));
  }
};

template <>
struct Fields<CaseSource> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("measured", r.measured, says("Who measured the run, in words."));
    f("origin", r.origin, says("Repository or page that publishes it."));
    f("commit", r.commit, says("Commit of that repository."));
    f("licence", r.licence, says("Licence of the data."));
  }
};

template <>
struct Fields<Coverage> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("model", r.model, says("Model of the run."));
    f("family", r.family, one_of(kCoveredFamilies, "Architecture; empty: not known."));
    f("gpu", r.gpu, says("GPU of the run."));
    f("engine", r.engine, says("Engine of the run."));
    f("ranks", r.ranks, says("GPUs that one engine runs on."));
    f("engines", r.engines, says("Engines of the run."));
    f("tiers", r.tiers, says("Whether the run has tiers below HBM."));
    f("reuse", r.reuse, says("Whether requests share prefixes."));
  }
};

template <>
struct Fields<CaseResult> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    auto& c = r.input;
    f("name", c.name, says("Name of the case."));
    f("description", c.description, says("What the case is."));
    f("source", c.source, says("Where the measured run comes from."));
    f("measured", c.measured, says("Files of the measured run."));
    f("requests", r.requests, says("Requests of the run."));
    f("scored", r.scored, says("Requests that are compared."));
    f("from_request", c.from_request, says("First request that is compared."));
    f("first", c.first, says("Earliest requests that are compared; 0: all."));
    f("fitted", c.fitted, says("What was fitted, and to which data."));
    f("hides", c.hides, says("What the comparison cannot show."));
    f("coverage", r.coverage, says("What the case covers."));
    f("regime", r.regime, says("Regime of the measured run, where its data decide one."));
    f("metrics", r.metrics, says("Error of each metric."));
    f("request_errors", r.request_errors, says("Errors of each latency, request by request."));
    f("worst", r.worst, says("Requests with the largest error of the end-to-end latency."));
    f("counters", r.counters, says("Errors of the engine's counters over time."));
    f("regimes", r.regimes, says("Latencies by the regime that the engine was in."));
    f("steps", r.steps, says("Time of a step by the number of requests that decode."));
    f("repeats", r.repeats, says("Spread of repeated measured runs."));
    f("halves", r.halves, if_any("With --halves: fits on one half of the time, and the other."));
    f("pairs", r.pairs, says("Servers without and with a tier, of a case of kind pairs."));
    f("serving", r.serving, says("Points of served load, of a case of kind points."));
    f("parameters", r.parameters, says("Every parameter of the scenario."));
    f("unexplained", r.unexplained, says("Parameters without a stated origin."));
    f("checked", r.checked(), says("Figures that a limit of the case bounds."));
    f("simulated", group([&](auto&& g) {
        g("preemptions", r.preemptions, says("Simulated preemptions."));
        g("recomputed_tokens", r.recomputed_tokens,
          says("Simulated tokens computed again after preemptions."));
        g("prompt_tokens", r.prompt_tokens, says("Prompt tokens of the simulated run."));
      }),
      says("Totals of the simulated run."));
    f("notes", r.notes, says("Notes about the measured data."));
  }
};

template <>
struct Fields<SkippedCase> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Name of the case."));
    f("file", r.file, says("The missing file."));
  }
};

template <>
struct Fields<PartScore> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    // All but its parameters; results have every member, where a profile may leave some out.
    Fields<FitScore>::visit(r.score, [&](std::string_view name, auto& value, FieldRule rule) {
      rule.required = true;
      if (name != "parameters") f(name, value, rule);
    });
  }
};

template <>
struct Fields<ProfileScores> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Name of the compute profile."));
    f("gpu", r.gpu, says("GPU of the profile."));
    f("model", r.model, says("Model whose kernels were measured; empty: many shapes."));
    f("source", r.source, says("Where the profile's data come from."));
    f("scores", r.scores, says("Errors of each part, in percent."));
  }
};

template <>
struct Fields<ValidationOutcome> {
  static constexpr std::string_view kName = "validation";
  static constexpr std::string_view kHelp =
      "Measured runs compared with their simulations (spillway validate).";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("cases", r.cases, says("Each case that was carried out."));
    f("skipped", r.skipped, says("Cases whose measured file is missing."));
    f("profiles", r.profiles, says("Scores of the compute profiles of --profiles."));
  }
};

}  // namespace spillway
