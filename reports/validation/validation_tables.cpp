#include "reports/validation/validation_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"

namespace spillway::validation {

namespace {

using nlohmann::json;

std::string figure(const std::string& name, double value) {
  if (name.ends_with("_ms")) return format_ms(value);
  return format_real(value) + (name.ends_with("_s") ? " s" : "");
}

std::string signed_percent(double percent) {
  return fmt::format("{:+.1f}%", percent == 0 ? 0.0 : percent);
}

std::string size_percent(double percent) {
  return fmt::format("{:.1f}%", percent);
}

const json* checked_of(const json& c, const std::string& name) {
  for (const json& figure : c.at("checked")) {
    if (figure.at("name") == name) return &figure;
  }
  return nullptr;
}

/// "within 3%", "misses 3%", "-": what a limit says of a figure.
std::string limit_text(const json* checked, const char* limit, const char* broken,
                       const char* verb) {
  if (checked == nullptr || !checked->contains(limit)) return "-";
  const double bound = checked->at(limit);
  return fmt::format("{} {:g}%", checked->at(broken).get<bool>() ? verb : "within", bound);
}

/// "9 of 12", "none set".
std::string met(const json& c, const char* limit, const char* flag) {
  const std::size_t all = count_with(c, limit);
  if (all == 0) return "none set";
  return fmt::format("{} of {}", all - broken(c, flag).size(), all);
}

/// The largest error among the metrics whose names `takes` accepts.
template <class Takes>
std::string worst_error(const json& c, Takes takes) {
  const json* worst = nullptr;
  for (const json& metric : c.at("metrics")) {
    if (!takes(metric.at("name").get<std::string>())) continue;
    const double error = metric.at("error_percent");
    if (worst == nullptr ||
        std::fabs(error) > std::fabs(worst->at("error_percent").get<double>())) {
      worst = &metric;
    }
  }
  return worst == nullptr ? "-" : signed_percent(worst->at("error_percent"));
}

bool is_latency(const std::string& name) {
  return name.ends_with("_ttft_ms") || name.ends_with("_tpot_ms") || name.ends_with("_e2el_ms");
}

std::string worst_counter(const json& c) {
  if (!c.contains("counters")) return "-";
  double worst = 0;
  for (const json& counter : c.at("counters").at("counters")) {
    worst = std::max(worst, counter.at("percent_of_peak").get<double>());
  }
  return size_percent(worst);
}

const json* score_of(const json& c, const std::string& name) {
  for (const json& score : c.at("serving").at("scores")) {
    if (score.at("name") == name) return &score;
  }
  return nullptr;
}

Table summary_table(const json& results) {
  Table table;
  table.title = "Cases";
  table.header = {"case",           "regime",   "requests", "worst mean",
                  "worst quantile", "counters", "bars met", "within tolerance"};
  for (const json& c : results.at("cases")) {
    if (c.contains("serving") || c.contains("pairs")) continue;
    table.rows.push_back(
        {text_at(c, "name"), regime_of(c), format_count(whole<std::uint64_t>(c.at("scored"))),
         worst_error(c,
                     [](const std::string& n) { return is_latency(n) && n.starts_with("mean"); }),
         worst_error(c,
                     [](const std::string& n) { return is_latency(n) && !n.starts_with("mean"); }),
         worst_counter(c), met(c, "bar", "misses_bar"), met(c, "tolerance", "exceeds_tolerance")});
  }
  return table;
}

/// Cases of serving points have a mean error instead of errors of means.
Table serving_summary(const json& results) {
  Table table;
  table.title = "Serving points";
  table.header = {"case",      "points",   "TPOT MAPE",       "of these not fitted",
                  "TTFT MAPE", "bars met", "within tolerance"};
  for (const json& c : results.at("cases")) {
    if (!c.contains("serving")) continue;
    const auto mape = [&](const char* name) {
      const json* score = score_of(c, name);
      return score == nullptr ? "-" : size_percent(score->at("mape"));
    };
    table.rows.push_back({text_at(c, "name"), format_count(whole<std::uint64_t>(c.at("scored"))),
                          mape("tpot_mape"), mape("tpot_mape_held_out"), mape("ttft_mape"),
                          met(c, "bar", "misses_bar"), met(c, "tolerance", "exceeds_tolerance")});
  }
  return table;
}

/// Servers with and without a tier: what decides is the side of the change.
Table pairs_summary(const json& results) {
  Table table;
  table.title = "Servers without and with a tier below HBM";
  table.header = {"case",
                  "cells",
                  "right side",
                  "harms found",
                  "median error of the change",
                  "worst error without",
                  "bars met",
                  "within tolerance"};
  for (const json& c : results.at("cases")) {
    if (!c.contains("pairs")) continue;
    const json& pairs = c.at("pairs");
    const auto count = [&](const char* name) {
      return format_count(whole<std::uint64_t>(pairs.at(name)));
    };
    const auto figure = [&](const char* name) -> std::string {
      for (const json& f : pairs.at("figures")) {
        if (f.at("name") == name) return size_percent(f.at("percent"));
      }
      return "-";
    };
    table.rows.push_back({text_at(c, "name"), format_count(pairs.at("cells").size()),
                          count("right_sides"), count("harms_found") + " of " + count("harms"),
                          figure("change"), figure("without"), met(c, "bar", "misses_bar"),
                          met(c, "tolerance", "exceeds_tolerance")});
  }
  return table;
}

Table pairs_table(const json& c) {
  Table table;
  table.title = "What the tier changes, in answer tokens/s at the best number of clients";
  table.header = {
      "model",     "memory", "tier", "without, measured", "simulated", "error", "measured change",
      "simulated", "noise",  "side"};
  for (const json& p : c.at("pairs").at("cells")) {
    table.rows.push_back({text_at(p, "model"), text_at(p, "memory"), text_at(p, "tier"),
                          format_real(p.at("measured_without").get<double>()),
                          format_real(p.at("simulated_without").get<double>()),
                          signed_percent(p.at("error_without_percent")),
                          signed_percent(p.at("measured_change_percent")),
                          signed_percent(p.at("simulated_change_percent")),
                          size_percent(p.at("band_percent")),
                          text_at(p, "side") + (p.at("right").get<bool>() ? "" : ", missed")});
  }
  return table;
}

Table pairs_figures(const json& c) {
  Table table;
  table.title = "Over the cells";
  table.header = {"figure", "percent", "bar", "tolerance"};
  for (const json& f : c.at("pairs").at("figures")) {
    const json* checked = checked_of(c, f.at("name"));
    table.rows.push_back({f.at("name"), size_percent(f.at("percent")),
                          limit_text(checked, "bar", "misses_bar", "misses"),
                          limit_text(checked, "tolerance", "exceeds_tolerance", "exceeds")});
  }
  return table;
}

Table serving_scores(const json& c) {
  Table table;
  table.title = "Errors over the points";
  table.header = {"figure", "points", "MAPE", "bias", "worst", "bar", "tolerance"};
  for (const json& score : c.at("serving").at("scores")) {
    const json* checked = checked_of(c, score.at("name"));
    table.rows.push_back({score.at("name"), format_count(whole<std::uint64_t>(score.at("points"))),
                          size_percent(score.at("mape")), signed_percent(score.at("bias")),
                          size_percent(score.at("worst")),
                          limit_text(checked, "bar", "misses_bar", "misses"),
                          limit_text(checked, "tolerance", "exceeds_tolerance", "exceeds")});
  }
  return table;
}

Table serving_points(const json& c) {
  Table table;
  table.title = "Every point";
  table.header = {"point", "fitted",        "TPOT measured",  "TPOT simulated",
                  "error", "TTFT measured", "TTFT simulated", "error"};
  const auto error = [](const json& p, const char* measured, const char* simulated) {
    return signed_percent(100 * (p.at(simulated).get<double>() / p.at(measured).get<double>() - 1));
  };
  for (const json& p : c.at("serving").at("points")) {
    table.rows.push_back({p.at("what"), p.at("fitted").get<bool>() ? "yes" : "no",
                          format_ms(p.at("measured_tpot_ms")), format_ms(p.at("simulated_tpot_ms")),
                          error(p, "measured_tpot_ms", "simulated_tpot_ms"),
                          format_ms(p.at("measured_ttft_ms")), format_ms(p.at("simulated_ttft_ms")),
                          error(p, "measured_ttft_ms", "simulated_ttft_ms")});
  }
  return table;
}

Table metrics_table(const json& c) {
  Table table;
  table.title = "Measured and simulated";
  table.header = {"metric", "measured", "simulated", "error", "bar", "tolerance"};
  for (const json& metric : c.at("metrics")) {
    const std::string name = metric.at("name");
    const json* checked = checked_of(c, name);
    table.rows.push_back({name, figure(name, metric.at("measured")),
                          figure(name, metric.at("simulated")),
                          signed_percent(metric.at("error_percent")),
                          limit_text(checked, "bar", "misses_bar", "misses"),
                          limit_text(checked, "tolerance", "exceeds_tolerance", "exceeds")});
  }
  return table;
}

Table requests_table(const json& c) {
  Table table;
  table.title = "Errors request by request";
  table.header = {"latency",   "requests",        "p5 error",       "median error",
                  "p95 error", "mean abs. error", "p95 abs. error", "rank correlation"};
  for (const json& e : c.at("request_errors")) {
    table.rows.push_back({e.at("latency"), format_count(whole<std::uint64_t>(e.at("requests"))),
                          signed_percent(e.at("p5_percent")), signed_percent(e.at("p50_percent")),
                          signed_percent(e.at("p95_percent")), format_ms(e.at("mean_absolute_ms")),
                          format_ms(e.at("p95_absolute_ms")),
                          e.contains("rank_correlation")
                              ? fmt::format("{:.3f}", e.at("rank_correlation").get<double>())
                              : "-"});
  }
  return table;
}

Table counters_table(const json& c) {
  Table table;
  const json& errors = c.at("counters");
  table.title = fmt::format(
      "Counters at {} instants (their clock {:+.2f} s beside the request log's)",
      whole<std::uint64_t>(errors.at("samples")), errors.at("clock_offset_s").get<double>());
  table.header = {"counter", "measured peak", "mean abs. error", "of the peak",
                  "bias",    "bar",           "tolerance"};
  for (const json& counter : errors.at("counters")) {
    const std::string name = counter.at("name");
    const bool share = name == "kv_usage";
    const auto value = [&](double v) { return share ? format_percent(v) : format_real(v); };
    const json* checked = checked_of(c, name);
    table.rows.push_back({name, value(counter.at("peak")), value(counter.at("mean_absolute")),
                          size_percent(counter.at("percent_of_peak")),
                          signed_percent(counter.at("bias_percent_of_peak")),
                          limit_text(checked, "bar", "misses_bar", "misses"),
                          limit_text(checked, "tolerance", "exceeds_tolerance", "exceeds")});
  }
  return table;
}

Table steps_table(const json& c) {
  Table table;
  table.title = "Time of a step by the number of requests that decode";
  table.header = {"requests",  "prompts", "windows", "measured",
                  "simulated", "error",   "bar",     "tolerance"};
  for (const json& step : c.at("steps")) {
    const json* checked = checked_of(c, text_at(step, "name"));
    const auto least = whole<std::uint64_t>(step.at("least"));
    const auto most = whole<std::uint64_t>(step.at("most"));
    table.rows.push_back(
        {least == most ? format_count(least) : fmt::format("{} to {}", least, most),
         step.at("prompts").get<bool>() ? "some" : "none",
         format_count(whole<std::uint64_t>(step.at("windows"))), format_ms(step.at("measured_ms")),
         format_ms(step.at("simulated_ms")), signed_percent(step.at("error_percent")),
         limit_text(checked, "bar", "misses_bar", "misses"),
         limit_text(checked, "tolerance", "exceeds_tolerance", "exceeds")});
  }
  return table;
}

Table regimes_table(const json& c) {
  Table table;
  table.title = "Mean latencies by the regime of the engine within 5 s";
  table.header = {"regime", "latency", "requests", "measured", "simulated", "error"};
  for (const json& r : c.at("regimes")) {
    const bool first = text_at(r, "latency") == "ttft";
    table.rows.push_back({text_at(r, "regime"), first ? "TTFT, at arrival" : "TPOT, halfway",
                          format_count(whole<std::uint64_t>(r.at("requests"))),
                          format_ms(r.at("measured_ms")), format_ms(r.at("simulated_ms")),
                          signed_percent(r.at("error_percent"))});
  }
  return table;
}

Table worst_table(const json& c) {
  Table table;
  table.title = "The requests that are furthest off (end to end)";
  table.header = {"request",       "line",           "input",        "output",
                  "TTFT measured", "TTFT simulated", "E2E measured", "E2E simulated"};
  for (const json& w : c.at("worst")) {
    table.rows.push_back({std::to_string(whole<std::uint64_t>(w.at("number"))),
                          std::to_string(whole<std::int64_t>(w.at("line"))),
                          std::to_string(whole<std::uint64_t>(w.at("input_tokens"))),
                          std::to_string(whole<std::uint64_t>(w.at("output_tokens"))),
                          format_ms(w.at("measured_ttft_ms")), format_ms(w.at("simulated_ttft_ms")),
                          format_ms(w.at("measured_e2el_ms")),
                          format_ms(w.at("simulated_e2el_ms"))});
  }
  return table;
}

Table repeats_table(const json& c) {
  Table table;
  table.title = "Repeated measured runs of the same thing";
  table.header = {"metric", "runs", "least", "most", "simulated lies between"};
  for (const json& r : c.at("repeats")) {
    const std::string name = r.at("metric");
    table.rows.push_back({name, std::to_string(whole<std::uint64_t>(r.at("runs"))),
                          figure(name, r.at("least")), figure(name, r.at("most")),
                          r.at("within").get<bool>() ? "yes" : "no"});
  }
  return table;
}

/// Errors of the half that a fit did not see, one column for each fit.
Table halves_table(const json& c) {
  Table table;
  table.title = "Errors on one half of the run's time, fitted on the other";
  table.header = {"metric"};
  std::map<std::string, std::vector<std::string>> errors;
  for (const json& half : c.at("halves")) {
    table.header.push_back(fmt::format("fitted on the {} half ({} requests scored)",
                                       text_at(half, "fitted"),
                                       whole<std::uint64_t>(half.at("scored"))));
    for (const json& metric : half.at("metrics")) {
      errors[metric.at("name")].push_back(signed_percent(metric.at("error_percent")));
    }
  }
  for (auto& [name, row] : errors) {
    row.insert(row.begin(), name);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table parameters_table(const json& c) {
  Table table;
  table.title = "Every parameter, and where a user gets it from";
  table.header = {"parameter", "value", "from"};
  for (const json& p : c.at("parameters")) {
    const std::string from = p.at("from");
    table.rows.push_back({p.at("name"), p.at("value"), from.empty() ? "NOT SAID" : from});
  }
  return table;
}

/// "unseen model/NAME/prefill": the name and the kind of step, where the part is one of these.
std::optional<std::pair<std::string, std::string>> unseen_of(const json& score) {
  constexpr std::string_view kPrefix = "unseen model/";
  const std::string part = score.at("part");
  const std::size_t last = part.rfind('/');
  if (!part.starts_with(kPrefix) || last < kPrefix.size()) return {};
  return std::pair(part.substr(kPrefix.size(), last - kPrefix.size()), part.substr(last + 1));
}

/// Steps of models whose rows the fit did not see: over the models, and the worst one.
Table unseen_table(const json& profile) {
  struct Sum {
    double sum = 0;
    double worst = 0;
    std::string model;
    std::uint64_t models = 0;
  };
  std::map<std::string, Sum> steps;
  for (const json& score : profile.at("scores")) {
    const auto unseen = unseen_of(score);
    if (!unseen) continue;
    Sum& sum = steps[unseen->second];
    const double mape = score.at("held_out_mape");
    sum.sum += mape;
    ++sum.models;
    if (sum.models > 1 && mape <= sum.worst) continue;
    sum.worst = mape;
    sum.model = unseen->first;
  }
  Table table;
  table.title = fmt::format("{}: steps of models that the fit never saw", text_at(profile, "name"));
  table.header = {"steps", "models", "mean over models", "worst", "of"};
  for (const auto& [kind, sum] : steps) {
    table.rows.push_back({kind, format_count(sum.models),
                          size_percent(sum.sum / static_cast<double>(sum.models)),
                          size_percent(sum.worst), sum.model});
  }
  return table;
}

/// Every other part.
Table parts_table(const json& profile) {
  Table table;
  table.title = fmt::format("{} ({})", text_at(profile, "name"), text_at(profile, "gpu"));
  table.header = {"part", "points", "form", "fitted", "held out", "rows held out", "p95"};
  for (const json& score : profile.at("scores")) {
    if (unseen_of(score)) continue;
    const std::uint64_t points = score.at("points");
    const std::uint64_t held = score.at("held_out");
    table.rows.push_back({score.at("part"), format_count(points),
                          points > 0 ? size_percent(score.at("form_mape")) : "-",
                          points > 0 ? size_percent(score.at("mape")) : "-",
                          held > 0 ? size_percent(score.at("held_out_mape")) : "-",
                          format_count(held),
                          held > 0 ? size_percent(score.at("held_out_p95")) : "-"});
  }
  return table;
}

}  // namespace

std::string text_at(const json& object, const char* key) {
  return object.value(key, std::string());
}

std::vector<std::string> broken(const json& c, const char* flag) {
  std::vector<std::string> out;
  for (const json& figure : c.at("checked")) {
    if (figure.value(flag, false)) {
      out.push_back(fmt::format("{} ({})", figure.at("name").get<std::string>(),
                                signed_percent(figure.at("error_percent"))));
    }
  }
  return out;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::size_t count_with(const json& c, const char* limit) {
  const json& checked = c.at("checked");
  return static_cast<std::size_t>(std::count_if(
      checked.begin(), checked.end(), [&](const json& figure) { return figure.contains(limit); }));
}

std::string regime_of(const json& c) {
  return c.contains("regime") ? text_at(c.at("regime"), "name") : "-";
}

std::vector<Table> summary_tables(const json& results) {
  std::vector<Table> out = {summary_table(results), serving_summary(results),
                            pairs_summary(results)};
  std::erase_if(out, [](const Table& table) { return table.rows.empty(); });
  return out;
}

std::vector<Table> case_tables(const json& c, bool brief) {
  std::vector<Table> out;
  if (c.contains("serving")) {
    out.push_back(serving_scores(c));
    if (!brief) out.push_back(serving_points(c));
  } else if (c.contains("pairs")) {
    out.push_back(pairs_figures(c));
    out.push_back(pairs_table(c));
  } else {
    out.push_back(metrics_table(c));
  }
  if (!brief && !c.at("request_errors").empty()) out.push_back(requests_table(c));
  if (c.contains("counters")) out.push_back(counters_table(c));
  if (!c.at("regimes").empty()) out.push_back(regimes_table(c));
  if (!c.at("steps").empty()) out.push_back(steps_table(c));
  if (!c.at("repeats").empty()) out.push_back(repeats_table(c));
  if (c.contains("halves")) out.push_back(halves_table(c));
  if (brief) return out;
  if (!c.at("worst").empty()) out.push_back(worst_table(c));
  out.push_back(parameters_table(c));
  return out;
}

std::vector<Table> profile_tables(const json& profile) {
  std::vector<Table> out = {parts_table(profile), unseen_table(profile)};
  std::erase_if(out, [](const Table& table) { return table.rows.empty(); });
  return out;
}

}  // namespace spillway::validation
