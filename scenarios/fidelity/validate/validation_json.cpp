#include "scenarios/fidelity/validate/validation_json.hpp"

#include <cmath>

namespace spillway {

namespace {

using nlohmann::json;

/// Six significant digits: beyond them lies noise of the last bits, which nobody reads.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

json to_json(const RegimeDecision& decided) {
  const RegimeFigures& f = decided.figures;
  json out = {{"name", name_of(decided.regime)},
              {"why", decided.why},
              {"samples", f.samples},
              {"from_counters", f.from_counters},
              {"mean_running", rounded(f.mean_running)},
              {"peak_running", rounded(f.peak_running)},
              {"mean_waiting", rounded(f.mean_waiting)},
              {"peak_waiting", rounded(f.peak_waiting)},
              {"waiting_share", rounded(f.waiting_share)},
              {"full_slots_share", rounded(f.full_slots_share)},
              {"falling_share", rounded(f.falling_share)}};
  if (f.peak_kv_usage) out["peak_kv_usage"] = rounded(*f.peak_kv_usage);
  if (f.full_pool_share) out["full_pool_share"] = rounded(*f.full_pool_share);
  if (f.preemptions_per_request) {
    out["preemptions_per_request"] = rounded(*f.preemptions_per_request);
    out["preemptions_simulated"] = f.preemptions_simulated;
  }
  return out;
}

json to_json(const MetricError& metric) {
  return {{"name", metric.name},
          {"measured", rounded(metric.measured)},
          {"simulated", rounded(metric.simulated)},
          {"error_percent", rounded(metric.error_percent())}};
}

json to_json(const RequestErrors& e) {
  json out = {{"latency", e.latency},
              {"requests", e.requests},
              {"p5_percent", rounded(e.p5_percent)},
              {"p50_percent", rounded(e.p50_percent)},
              {"p95_percent", rounded(e.p95_percent)},
              {"mean_absolute_ms", rounded(e.mean_absolute_ms)},
              {"p95_absolute_ms", rounded(e.p95_absolute_ms)}};
  if (e.rank_correlation) out["rank_correlation"] = rounded(*e.rank_correlation);
  return out;
}

json to_json(const WorstRequest& w) {
  return {{"number", w.number},
          {"line", w.line},
          {"input_tokens", w.input_tokens},
          {"output_tokens", w.output_tokens},
          {"measured_ttft_ms", rounded(w.measured_ttft_ms)},
          {"simulated_ttft_ms", rounded(w.simulated_ttft_ms)},
          {"measured_e2el_ms", rounded(w.measured_e2el_ms)},
          {"simulated_e2el_ms", rounded(w.simulated_e2el_ms)}};
}

json to_json(const CounterErrors& errors) {
  json out = {{"samples", errors.samples},
              {"clock_offset_s", rounded(errors.clock_offset_s)},
              {"counters", json::array()}};
  for (const CounterError& c : errors.counters) {
    out["counters"].push_back({{"name", c.counter},
                               {"peak", rounded(c.peak)},
                               {"mean_absolute", rounded(c.mean_absolute)},
                               {"percent_of_peak", rounded(c.percent_of_peak)},
                               {"bias_percent_of_peak", rounded(c.bias_percent_of_peak)}});
  }
  return out;
}

json to_json(const RepeatSpread& spread) {
  return {{"metric", spread.metric},
          {"runs", spread.runs},
          {"least", rounded(spread.least)},
          {"most", rounded(spread.most)},
          {"within", spread.within}};
}

json to_json(const CheckedFigure& figure) {
  json out = {{"name", figure.name}, {"error_percent", rounded(figure.error_percent)}};
  if (figure.tolerance) {
    out["tolerance"] = *figure.tolerance;
    out["exceeds_tolerance"] = figure.exceeds(figure.tolerance);
  }
  if (figure.bar) {
    out["bar"] = *figure.bar;
    out["misses_bar"] = figure.exceeds(figure.bar);
  }
  return out;
}

json to_json(const CaseParameter& p);
json to_json(const ServingError& e);
json to_json(const ServingScore& s);
json to_json(const CaseResult& r);
json to_json(const ComputeProfile& profile);

template <class T>
json list_of(const std::vector<T>& items) {
  json out = json::array();
  for (const T& item : items) out.push_back(to_json(item));
  return out;
}

json to_json(const CaseParameter& p) {
  return {{"name", p.name}, {"value", p.value}, {"from", p.from}};
}

json to_json(const ServingError& e) {
  return {{"what", e.what},
          {"fitted", e.fitted},
          {"measured_tpot_ms", rounded(e.measured_tpot_ms)},
          {"simulated_tpot_ms", rounded(e.simulated_tpot_ms)},
          {"measured_ttft_ms", rounded(e.measured_ttft_ms)},
          {"simulated_ttft_ms", rounded(e.simulated_ttft_ms)}};
}

json to_json(const ServingScore& s) {
  return {{"name", s.name},
          {"points", s.points},
          {"mape", rounded(s.mape)},
          {"bias", rounded(s.bias)},
          {"worst", rounded(s.worst)}};
}

json to_json(const ServingResult& s) {
  return {{"scores", list_of(s.scores)}, {"points", list_of(s.points)}};
}

json to_json(const Coverage& c) {
  return {{"model", c.model}, {"family", c.family},   {"gpu", c.gpu},     {"engine", c.engine},
          {"ranks", c.ranks}, {"engines", c.engines}, {"tiers", c.tiers}, {"reuse", c.reuse}};
}

json to_json(const CaseResult& r) {
  const ValidationCase& c = r.input;
  json out = {{"name", c.name},
              {"description", c.description},
              {"source",
               {{"measured", c.source.measured},
                {"origin", c.source.origin},
                {"commit", c.source.commit},
                {"licence", c.source.licence}}},
              {"measured", c.measured},
              {"requests", r.requests},
              {"scored", r.scored},
              {"from_request", c.from_request},
              {"fitted", c.fitted},
              {"hides", c.hides},
              {"coverage", to_json(r.coverage)},
              {"metrics", list_of(r.metrics)},
              {"request_errors", list_of(r.request_errors)},
              {"worst", list_of(r.worst)},
              {"repeats", list_of(r.repeats)},
              {"parameters", list_of(r.parameters)},
              {"unexplained", r.unexplained},
              {"checked", list_of(r.checked())},
              {"simulated",
               {{"preemptions", r.preemptions},
                {"recomputed_tokens", r.recomputed_tokens},
                {"prompt_tokens", r.prompt_tokens}}},
              {"notes", r.notes}};
  if (r.regime) out["regime"] = to_json(*r.regime);
  if (r.counters) out["counters"] = to_json(*r.counters);
  if (r.serving) out["serving"] = to_json(*r.serving);
  return out;
}

json to_json(const ComputeProfile& profile) {
  json out = {{"name", profile.name},
              {"gpu", profile.gpu},
              {"model", profile.model},
              {"source", profile.source},
              {"scores", json::array()}};
  for (const FitScore& score : profile.scores) {
    out["scores"].push_back({{"part", score.part},
                             {"points", score.points},
                             {"held_out", score.held_out},
                             {"mape", rounded(score.mape)},
                             {"form_mape", rounded(score.form_mape)},
                             {"held_out_mape", rounded(score.held_out_mape)},
                             {"held_out_p95", rounded(score.held_out_p95)},
                             {"bias", rounded(score.bias)}});
  }
  return out;
}

}  // namespace

json to_json(const ValidationOutcome& outcome) {
  json out = {{"cases", list_of(outcome.cases)},
              {"skipped", json::array()},
              {"profiles", list_of(outcome.profiles)}};
  for (const SkippedCase& skipped : outcome.skipped) {
    out["skipped"].push_back({{"name", skipped.name}, {"file", skipped.file}});
  }
  return out;
}

}  // namespace spillway
