#include "reports/validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/format.hpp"

namespace spillway {

namespace {

using nlohmann::json;

std::string text_at(const json& object, const char* key) {
  return object.value(key, std::string());
}

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

/// Names of the figures of a case that break a limit.
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

std::string joined(const std::vector<std::string>& parts, const char* between = ", ") {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

std::size_t count_with(const json& c, const char* limit) {
  const json& checked = c.at("checked");
  return static_cast<std::size_t>(std::count_if(
      checked.begin(), checked.end(), [&](const json& figure) { return figure.contains(limit); }));
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

Table summary_table(const json& results) {
  Table table;
  table.title = "Cases";
  table.header = {"case",           "regime",   "requests", "worst mean",
                  "worst quantile", "counters", "bars met", "within tolerance"};
  for (const json& c : results.at("cases")) {
    table.rows.push_back(
        {text_at(c, "name"), text_at(c.at("regime"), "name"),
         format_count(c.at("scored").get<std::uint64_t>()),
         worst_error(c,
                     [](const std::string& n) { return is_latency(n) && n.starts_with("mean"); }),
         worst_error(c,
                     [](const std::string& n) { return is_latency(n) && !n.starts_with("mean"); }),
         worst_counter(c), met(c, "bar", "misses_bar"), met(c, "tolerance", "exceeds_tolerance")});
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
    table.rows.push_back({e.at("latency"), format_count(e.at("requests").get<std::uint64_t>()),
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
      errors.at("samples").get<std::uint64_t>(), errors.at("clock_offset_s").get<double>());
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

Table worst_table(const json& c) {
  Table table;
  table.title = "The requests that are furthest off (end to end)";
  table.header = {"request",       "line",           "input",        "output",
                  "TTFT measured", "TTFT simulated", "E2E measured", "E2E simulated"};
  for (const json& w : c.at("worst")) {
    table.rows.push_back({std::to_string(w.at("number").get<std::uint64_t>()),
                          std::to_string(w.at("line").get<std::int64_t>()),
                          std::to_string(w.at("input_tokens").get<std::uint64_t>()),
                          std::to_string(w.at("output_tokens").get<std::uint64_t>()),
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
    table.rows.push_back({name, std::to_string(r.at("runs").get<std::uint64_t>()),
                          figure(name, r.at("least")), figure(name, r.at("most")),
                          r.at("within").get<bool>() ? "yes" : "no"});
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

std::string source_text(const json& source) {
  std::vector<std::string> parts;
  if (!text_at(source, "origin").empty()) parts.push_back(text_at(source, "origin"));
  if (!text_at(source, "commit").empty()) parts.push_back("commit " + text_at(source, "commit"));
  if (!text_at(source, "licence").empty()) parts.push_back("licence " + text_at(source, "licence"));
  const std::string measured = text_at(source, "measured");
  if (parts.empty()) return measured;
  return measured + (measured.empty() ? "" : " ") + "(" + joined(parts) + ")";
}

std::string verdict_text(const json& c) {
  const std::vector<std::string> missed = broken(c, "misses_bar");
  const std::vector<std::string> exceeded = broken(c, "exceeds_tolerance");
  std::string out;
  if (count_with(c, "bar") > 0) {
    out = missed.empty() ? "Every bar is met." : "Bars missed: " + joined(missed) + ".";
  }
  if (!exceeded.empty()) {
    out +=
        (out.empty() ? "" : " ") + std::string("Beyond the tolerance: ") + joined(exceeded) + ".";
  }
  return out;
}

/// What the run is, who measured it, and what was fitted for it.
void add_origin(const json& c, Section& section) {
  if (!text_at(c, "description").empty()) section.paragraphs.push_back(text_at(c, "description"));
  const std::string source = source_text(c.at("source"));
  const std::string files = joined(c.at("measured").get<std::vector<std::string>>());
  section.paragraphs.push_back(
      fmt::format("Measured: {}{}{}.", source, source.empty() ? "" : "; files ", files));
  for (const auto& fitted : c.at("fitted")) {
    section.paragraphs.push_back("Fitted: " + fitted.get<std::string>());
  }
  if (c.at("fitted").empty()) section.paragraphs.emplace_back("Fitted: nothing.");
  const std::uint64_t from = c.at("from_request");
  if (from > 0) {
    section.paragraphs.push_back(fmt::format(
        "Scored: the {} requests after the first {}, simulated within the whole run of {}.",
        c.at("scored").get<std::uint64_t>(), from, c.at("requests").get<std::uint64_t>()));
  }
}

Section case_section(const json& c) {
  Section section;
  section.heading = text_at(c, "name");
  add_origin(c, section);
  section.paragraphs.push_back(fmt::format("Regime: {}. {}", text_at(c.at("regime"), "name"),
                                           text_at(c.at("regime"), "why")));
  const std::string verdict = verdict_text(c);
  if (!verdict.empty()) section.paragraphs.push_back(verdict);
  for (const auto& hides : c.at("hides")) {
    section.paragraphs.push_back("What the error hides: " + hides.get<std::string>());
  }
  section.tables.push_back(metrics_table(c));
  if (!c.at("request_errors").empty()) section.tables.push_back(requests_table(c));
  if (c.contains("counters")) section.tables.push_back(counters_table(c));
  if (!c.at("repeats").empty()) section.tables.push_back(repeats_table(c));
  if (!c.at("worst").empty()) section.tables.push_back(worst_table(c));
  section.tables.push_back(parameters_table(c));
  for (const auto& note : c.at("notes")) {
    section.paragraphs.push_back("Note: " + note.get<std::string>());
  }
  return section;
}

Section method_section() {
  Section s;
  s.heading = "How to read this";
  s.paragraphs = {
      "Each case takes a run that somebody measured on a real engine, gives its arrivals and "
      "lengths to the simulator, and sets what both report side by side. An error is (simulated - "
      "measured) / measured. The definitions of all metrics are the simulator's for both sides: "
      "TTFT counts from arrival, TPOT is (end to end - TTFT) / (output tokens - 1), percentiles "
      "interpolate linearly.",
      "A bar is what was aimed at before the case was run; a tolerance is what the tests hold "
      "every later change to, close to what was reached. A bar that is missed stays listed as "
      "missed.",
      "Percentiles can agree while requests do not: the errors request by request (signed, "
      "relative to the request's own measured time) and the rank correlation tell. Counters are "
      "compared at the instants of the engine's own samples: running and waiting of the step "
      "under way, KV usage as blocks in use over all blocks, cached but unused ones being free. "
      "Their errors are mean absolute errors as a share of the measured peak. Where counters and "
      "requests have clocks of their own, their offset is taken from the two measured sources "
      "alone.",
      "Regimes are decided from the measured run, over the samples with any request in the "
      "system. Saturated: requests wait, all slots are taken, or the KV pool is 95% full, in a "
      "quarter of the samples. Thrashing: saturated, and a tenth as many preemptions as requests "
      "or more. Idle: neither, at most 1/32 of the slots taken on average and the pool at most "
      "half full. Busy: the rest. In an idle run errors are those of single steps; in a busy one "
      "of batches; in a saturated one queueing multiplies every error of a step; in a thrashing "
      "one the order of preemptions counts too.",
      "To reproduce: fetch the files named under each case, with names as given, into a folder "
      "DATA, and run: spillway validate scenarios/validation --data DATA --profiles "
      "scenarios/hardware --out RESULTS.md"};
  return s;
}

/// What at least one case covers, and what none does.
Section limits_section(const json& results) {
  std::set<std::string> models, gpus, engines, regimes;
  bool tiers = false, reuse = false, ranks = false, several = false, moe = false, mla = false,
       repeats = false;
  for (const json& c : results.at("cases")) {
    const json& coverage = c.at("coverage");
    models.insert(text_at(coverage, "model"));
    gpus.insert(text_at(coverage, "gpu"));
    engines.insert(text_at(coverage, "engine"));
    regimes.insert(text_at(c.at("regime"), "name"));
    tiers |= coverage.at("tiers").get<bool>();
    reuse |= coverage.at("reuse").get<bool>();
    ranks |= coverage.at("ranks").get<std::uint64_t>() > 1;
    several |= coverage.at("engines").get<std::uint64_t>() > 1;
    moe |= text_at(coverage, "family") == "MoE";
    mla |= text_at(coverage, "family") == "MLA";
    repeats |= !c.at("repeats").empty();
  }
  const auto listed = [](const std::set<std::string>& names) {
    std::vector<std::string> out;
    for (const std::string& name : names) {
      if (!name.empty()) out.push_back(name);
    }
    return out.empty() ? "none" : joined(out);
  };
  Section s;
  s.heading = "What is not validated";
  s.paragraphs.push_back(fmt::format(
      "The cases above cover these models: {}; these GPUs: {}; these engines: {}; these regimes: "
      "{}. Of everything else this file says nothing.",
      listed(models), listed(gpus), listed(engines), listed(regimes)));
  std::vector<std::string> missing;
  if (!tiers) missing.emplace_back("tiers below HBM, their links and policies");
  if (!reuse)
    missing.emplace_back("prefix reuse (request logs do not say which tokens are shared)");
  if (!ranks) missing.emplace_back("tensor and pipeline parallelism");
  if (!several) missing.emplace_back("several engines and routing");
  if (!moe) missing.emplace_back("mixture-of-experts models");
  if (!mla) missing.emplace_back("MLA models");
  for (const char* regime : {"idle", "busy", "saturated", "thrashing"}) {
    if (regimes.count(regime) == 0) missing.push_back(fmt::format("the {} regime", regime));
  }
  if (!repeats) missing.emplace_back("how much the engine itself varies from run to run");
  if (!missing.empty()) {
    s.paragraphs.push_back("No case has: " + joined(missing, "; ") + ".");
  }
  return s;
}

Section profiles_section(const json& profiles) {
  Section s;
  s.heading = "Kernel tables";
  s.paragraphs.emplace_back(
      "Step times alone, without any serving: how well each fitted profile predicts rows of its "
      "own tables that a second fit did not see, and whole steps composed of such rows. "
      "MAPE, in percent; \"form\" is the parametric form without the measured ratios.");
  for (const json& profile : profiles) {
    Table table;
    table.title = fmt::format("{} ({})", text_at(profile, "name"), text_at(profile, "gpu"));
    table.header = {"part", "points", "form", "fitted", "held out", "rows held out", "p95"};
    for (const json& score : profile.at("scores")) {
      const std::uint64_t held = score.at("held_out");
      table.rows.push_back({score.at("part"), format_count(score.at("points").get<std::uint64_t>()),
                            size_percent(score.at("form_mape")), size_percent(score.at("mape")),
                            held > 0 ? size_percent(score.at("held_out_mape")) : "-",
                            format_count(held),
                            held > 0 ? size_percent(score.at("held_out_p95")) : "-"});
    }
    s.tables.push_back(std::move(table));
  }
  return s;
}

std::string headline(const json& results) {
  std::size_t missed = 0;
  std::size_t exceeded = 0;
  for (const json& c : results.at("cases")) {
    missed += broken(c, "misses_bar").empty() ? 0 : 1;
    exceeded += broken(c, "exceeds_tolerance").empty() ? 0 : 1;
  }
  std::string out = fmt::format("{} case{} of measured runs", results.at("cases").size(),
                                results.at("cases").size() == 1 ? "" : "s");
  if (missed > 0) out += fmt::format("; {} with a missed bar", missed);
  if (exceeded > 0) out += fmt::format("; {} beyond a tolerance", exceeded);
  if (!results.at("skipped").empty()) {
    out += fmt::format("; {} skipped for want of data", results.at("skipped").size());
  }
  return out;
}

Section skipped_section(const json& skipped) {
  Section s;
  s.heading = "Skipped";
  for (const json& c : skipped) {
    s.paragraphs.push_back(fmt::format("{}: {} is neither beside the case nor under --data.",
                                       c.at("name").get<std::string>(),
                                       c.at("file").get<std::string>()));
  }
  return s;
}

}  // namespace

Report validation_report(const json& results) {
  Report report;
  report.title = "Accuracy against measured runs";
  report.subtitle = "Written by spillway validate, not by hand. " + headline(results) + ".";
  Section first;
  first.heading = "Summary";
  first.tables.push_back(summary_table(results));
  report.sections.push_back(std::move(first));
  report.sections.push_back(method_section());
  for (const json& c : results.at("cases")) report.sections.push_back(case_section(c));
  if (!results.at("profiles").empty()) {
    report.sections.push_back(profiles_section(results.at("profiles")));
  }
  report.sections.push_back(limits_section(results));
  if (!results.at("skipped").empty()) {
    report.sections.push_back(skipped_section(results.at("skipped")));
  }
  return report;
}

Report validation_summary(const json& results) {
  Report report;
  report.title = headline(results);
  Section first;
  if (!results.at("cases").empty()) first.tables.push_back(summary_table(results));
  report.sections.push_back(std::move(first));
  for (const json& c : results.at("cases")) {
    Section section;
    section.heading = text_at(c, "name");
    section.paragraphs.push_back(
        fmt::format("{}: {}", text_at(c.at("regime"), "name"), text_at(c.at("regime"), "why")));
    const std::string verdict = verdict_text(c);
    if (!verdict.empty()) section.paragraphs.push_back(verdict);
    section.tables.push_back(metrics_table(c));
    if (c.contains("counters")) section.tables.push_back(counters_table(c));
    report.sections.push_back(std::move(section));
  }
  if (!results.at("skipped").empty()) {
    report.sections.push_back(skipped_section(results.at("skipped")));
  }
  return report;
}

}  // namespace spillway
