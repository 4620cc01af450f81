#include "scenarios/fidelity/fit/fit_report.hpp"

#include <fmt/format.h>

#include "models/calibration/fit_errors.hpp"
#include "reports/format.hpp"

namespace spillway {

namespace {

std::string percent(double value) {
  return fmt::format("{:.1f}%", value);
}

std::string held_out_text(const FitScore& score) {
  return score.held_out == 0 ? "" : percent(score.held_out_mape);
}

Table parts_table(const ComputeProfile& profile) {
  Table t;
  t.title = "Mean errors: of the form, with its ratios, and over what a second fit did not see";
  t.header = {"part", "points", "form", "error", "bias", "held out", "error", "p95"};
  for (const FitScore& s : profile.scores) {
    const bool seen = s.points > 0;
    const bool unseen = s.held_out > 0;
    t.rows.push_back({s.part, seen ? format_count(s.points) : "", seen ? percent(s.form_mape) : "",
                      seen ? percent(s.mape) : "", fmt::format("{:+.1f}%", s.bias),
                      unseen ? format_count(s.held_out) : "", held_out_text(s),
                      unseen ? percent(s.held_out_p95) : ""});
  }
  return t;
}

std::string interval_text(const FittedParameter& p) {
  if (p.low == p.high) return p.on_bound ? "on a bound" : "not fitted";
  return fmt::format("{:.4g} to {:.4g}", p.low, p.high);
}

Table parameters_table(const ComputeProfile& profile) {
  Table t;
  t.title = "Parameters, with 95% intervals";
  t.header = {"part", "parameter", "value", "interval", "known from"};
  for (const FitScore& s : profile.scores) {
    for (const auto& [name, p] : s.parameters) {
      t.rows.push_back({s.part, name, fmt::format("{:.4g}", p.value), interval_text(p),
                        p.identified ? "data"
                        : p.on_bound ? "data, on its bound"
                                     : "assumption"});
    }
  }
  return t;
}

Table worst_table(const FitResult& fit) {
  Table t;
  t.title = "Points furthest off, by part";
  t.header = {"part", "point", "measured", "predicted", "off", "why"};
  for (const FitPoint& p : fit.worst) {
    t.rows.push_back({p.part, p.what + (p.held_out ? " (held out)" : ""),
                      fmt::format("{:.4g} us", p.measured), fmt::format("{:.4g} us", p.predicted),
                      fmt::format("{:+.0f}%", 100 * (p.predicted - p.measured) / p.measured),
                      p.why.empty() ? "not known" : p.why});
  }
  return t;
}

std::string subject(const ComputeProfile& profile) {
  std::string out = profile.gpu;
  if (!profile.model.empty()) out += ", kernels of " + profile.model;
  if (profile.tensor_parallel > 1) out += fmt::format(" on {} ranks", profile.tensor_parallel);
  return out;
}

std::string overhead_text(const ComputeProfile& p) {
  return fmt::format(
      "Per step: {} us on the host{}, {} us more where no captured graph is "
      "replayed; sampler {} us and {} us per sequence.",
      format_real(p.host_overhead_us), p.overhead_fitted ? "" : " (not fitted: the default)",
      format_real(p.eager_overhead_us), format_real(p.sampler_us), format_real(p.sequence_us));
}

}  // namespace

FitSummary summary_of(const FitResult& fit, const std::string& profile_digest, bool explain) {
  FitSummary out{fit.profile, profile_digest, {}, {}};
  for (const FitScore& score : fit.profile.scores) {
    FitPart& part = out.parts.emplace_back(FitPart{score, {}});
    for (const auto& [name, parameter] : score.parameters) part.parameters[name] = {parameter};
  }
  if (explain) out.worst = fit.worst;
  return out;
}

Report fit_report(const FitResult& fit, const std::string& path, bool explain) {
  const ComputeProfile& p = fit.profile;
  Report report;
  report.title = "Compute profile " + p.name;
  report.subtitle = subject(p);
  Section section;
  section.heading = "Fit";
  section.paragraphs.push_back(overhead_text(p));
  section.tables.push_back(parts_table(p));
  section.tables.push_back(parameters_table(p));
  if (explain) section.tables.push_back(worst_table(fit));
  section.paragraphs.push_back(
      path.empty() ? "No profile was written: --out names its file."
                   : fmt::format("Written to {}; a scenario takes it as \"compute\": {{\"kind\": "
                                 "\"profile\", \"profile\": ...}}.",
                                 path));
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace spillway
