#include "reports/validation/validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/notes/note_fields.hpp"
#include "reports/validation/validation_tables.hpp"

namespace spillway {

namespace {

using nlohmann::json;
using validation::broken;
using validation::count_with;
using validation::joined;
using validation::regime_of;
using validation::text_at;

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
  if (c.at("fitted").empty()) section.paragraphs.emplace_back("Fitted: the case does not say.");
  const std::uint64_t from = c.at("from_request");
  if (from > 0) {
    section.paragraphs.push_back(fmt::format(
        "Scored: the {} requests after the first {}, simulated within the whole run of {}.",
        whole<std::uint64_t>(c.at("scored")), from, whole<std::uint64_t>(c.at("requests"))));
  }
}

/// How far each metric is off. No bars where the case compares none.
Chart error_chart(const json& c) {
  Chart chart;
  chart.kind = ChartKind::kTornado;
  chart.title = "Error by metric";
  chart.x_label = "(simulated - measured) / measured, %";
  for (const json& metric : c.at("metrics")) {
    const double error = metric.at("error_percent");
    chart.bars.push_back({text_at(metric, "name"), std::min(0.0, error), std::max(0.0, error),
                          "simulated below measured", "simulated above measured"});
  }
  chart.note =
      "How far each simulated figure lies from the measured one; above zero the simulation says "
      "more.";
  return chart;
}

Section case_section(const json& c) {
  Section section;
  section.heading = text_at(c, "name");
  add_origin(c, section);
  section.paragraphs.push_back(
      c.contains("regime")
          ? fmt::format("Regime: {}. {}", regime_of(c), text_at(c.at("regime"), "why"))
          : "Regime: not decided; means alone do not tell.");
  const std::string verdict = verdict_text(c);
  if (!verdict.empty()) section.paragraphs.push_back(verdict);
  for (const auto& hides : c.at("hides")) {
    section.paragraphs.push_back("What the error hides: " + hides.get<std::string>());
  }
  section.tables = validation::case_tables(c, false);
  if (Chart chart = error_chart(c); !chart.bars.empty()) section.charts.push_back(std::move(chart));
  for (const auto& note : c.at("notes")) {
    section.paragraphs.push_back("Note: " + note.get<Note>().text);
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
      "every later change to, what was reached and about a point: that a case is within it says "
      "that nothing got worse, not that the case is right. A bar that is missed stays listed as "
      "missed. Figures are not independent checks: where requests wait long, TTFT, end-to-end and "
      "queue times are one wait seen three times.",
      "Percentiles can agree while requests do not: the errors request by request (signed, "
      "relative to the request's own measured time) and the rank correlation tell. Counters are "
      "compared at the instants of the engine's own samples: running and waiting of the step "
      "under way, KV usage as blocks in use over all blocks, cached but unused ones being free. "
      "Their errors are mean absolute errors as a share of the measured peak. Where counters and "
      "requests have clocks of their own, their offset is taken from the two measured sources "
      "alone.",
      "Times of steps come from the engine's own samples of tokens per second: the requests that "
      "decode between two samples, over the tokens that they got. Windows are grouped by how many "
      "decode, and by whether a prompt is computed, too. So errors of small and of large batches "
      "cannot cancel each other.",
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
    if (c.contains("regime")) regimes.insert(regime_of(c));
    tiers |= coverage.at("tiers").get<bool>();
    reuse |= coverage.at("reuse").get<bool>();
    ranks |= whole<std::uint64_t>(coverage.at("ranks")) > 1;
    several |= whole<std::uint64_t>(coverage.at("engines")) > 1;
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
      "The cases cover these models: {}; these GPUs: {}; these engines: {}; these regimes: "
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
      "MAPE, in percent; \"form\" is the parametric form without the measured ratios. Parts called "
      "lengths, widths or counts leave out every third such value at once; steps and unseen models "
      "are what a simulation is made of, single kernels are further off. Skew: calls whose decodes "
      "hold unequal contexts, told from their mean.");
  for (const json& profile : profiles) {
    for (Table& table : validation::profile_tables(profile)) s.tables.push_back(std::move(table));
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
  first.tables = validation::summary_tables(results);
  report.sections.push_back(std::move(first));
  report.sections.push_back(limits_section(results));
  report.sections.push_back(method_section());
  for (const json& c : results.at("cases")) report.sections.push_back(case_section(c));
  if (!results.at("profiles").empty()) {
    report.sections.push_back(profiles_section(results.at("profiles")));
  }
  if (!results.at("skipped").empty()) {
    report.sections.push_back(skipped_section(results.at("skipped")));
  }
  return report;
}

Report validation_summary(const json& results) {
  Report report;
  report.title = headline(results);
  Section first;
  first.tables = validation::summary_tables(results);
  report.sections.push_back(std::move(first));
  for (const json& c : results.at("cases")) {
    Section section;
    section.heading = text_at(c, "name");
    if (c.contains("regime")) {
      section.paragraphs.push_back(
          fmt::format("{}: {}", regime_of(c), text_at(c.at("regime"), "why")));
    }
    const std::string verdict = verdict_text(c);
    if (!verdict.empty()) section.paragraphs.push_back(verdict);
    section.tables = validation::case_tables(c, true);
    report.sections.push_back(std::move(section));
  }
  if (!results.at("skipped").empty()) {
    report.sections.push_back(skipped_section(results.at("skipped")));
  }
  return report;
}

}  // namespace spillway
