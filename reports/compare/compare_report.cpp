#include "reports/compare/compare_report.hpp"
#include "reports/metric_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/compare/compare_fields.hpp"
#include "reports/compare/compare_figures.hpp"
#include "reports/format.hpp"
#include "reports/provenance.hpp"
#include "reports/sections.hpp"

namespace spillway {

namespace {

Table ranking_table(const CompareResult& result) {
  Table table;
  table.title =
      fmt::format("Ranked by the mean {} over {} replication{}", metric_words(result.metric),
                  result.replications, result.replications == 1 ? "" : "s");
  const bool recorded = metric_of(result.variants.front(), result.metric)->recorded.has_value();
  table.header = {"variant", metric_words(result.metric), "difference", "change", "95% interval",
                  "verdict"};
  if (recorded) table.header.emplace_back("on the recording");
  for (const std::size_t at : result.ranking) {
    const ComparedVariant& variant = result.variants[at];
    const ComparedMetric& metric = *metric_of(variant, result.metric);
    const bool base = at == result.baseline;
    const std::string name =
        variant.engine_lacks.empty() ? variant.name : variant.name + " (not in the engine)";
    table.rows.push_back({name, metric_text(metric.name, metric.mean),
                          base ? "-" : signed_metric(metric.name, metric.difference.mean),
                          base ? "-" : change_text(metric), interval_text(metric),
                          std::string(name_of(metric.verdict))});
    if (recorded) {
      table.rows.back().push_back(metric_text(metric.name, metric.recorded.value_or(0)));
    }
  }
  // Nobody is marked as the best whom chance may have put there.
  if (has_best(result)) table.highlight = 0;
  return table;
}

bool any_rejects(const CompareResult& result) {
  return std::any_of(result.variants.begin(), result.variants.end(),
                     [](const ComparedVariant& variant) {
                       const ComparedMetric* rejected = metric_of(variant, "rejected");
                       return rejected != nullptr && rejected->mean > 0;
                     });
}

/// Other figures of the same variants, so that a rank is not bought unseen.
Table beside_table(const CompareResult& result) {
  Table table;
  table.title = "Means of other figures, in the same order";
  table.header = {"variant"};
  std::vector<std::string_view> names = {"median_ttft_ms", "p99_tpot_ms", "cached_share",
                                         "preemptions"};
  if (any_rejects(result)) names.emplace_back("rejected");
  std::erase(names, result.metric);
  for (const std::string_view name : names) table.header.push_back(metric_words(name));
  for (const std::size_t at : result.ranking) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(result.variants[at].name);
    for (const std::string_view name : names) {
      const ComparedMetric* other = metric_of(result.variants[at], name);
      row.push_back(other == nullptr ? "-" : metric_text(other->name, other->mean));
    }
  }
  return table;
}

/// What intervals and verdicts mean here.
std::string method_text(const CompareResult& result) {
  if (result.tests == 0) {
    return fmt::format("Replicates: {}. No intervals: they take {} replications or more.",
                       result.replicates, kLeastReplications);
  }
  const bool resampled = result.replication == Replication::kResampled;
  return fmt::format(
      "Replicates: {}. Intervals are Student's t at 95% for the mean paired difference, each by "
      "itself{}; verdicts hold at 5% for all {} tests together (Holm).",
      result.replicates,
      resampled ? ", with the spread of one resample as standard error, for more resamples are "
                  "not more days"
                : "",
      result.tests);
}

/// How much pairing bought: the variance of independent runs against that of the differences.
std::string pairing_text(const CompareResult& result) {
  const ComparedMetric* base = metric_of(result.variants[result.baseline], result.metric);
  double least = 0;
  double most = 0;
  for (const ComparedVariant& variant : result.variants) {
    const ComparedMetric& metric = *metric_of(variant, result.metric);
    if (metric.verdict == Verdict::kBaseline || metric.difference.variance <= 0) continue;
    const double gain =
        (variance_of(metric.values) + variance_of(base->values)) / metric.difference.variance;
    least = least == 0 ? gain : std::min(least, gain);
    most = std::max(most, gain);
  }
  if (most == 0) return "";
  const std::string range = least == most
                                ? format_real(most)
                                : fmt::format("{} to {}", format_real(least), format_real(most));
  return fmt::format(
      "Common random numbers: independent runs would give differences of {} a variance {} times "
      "as large.",
      result.metric, range);
}

void add_reasons(const CompareResult& result, Section& section) {
  for (const std::size_t at : result.ranking) {
    const ComparedVariant& variant = result.variants[at];
    if (at == result.baseline) continue;
    section.paragraphs.push_back(fmt::format("{}: {}.", variant.name, variant.reason));
  }
}

/// In one sentence what the best variant's rank goes with, or the second's behind the baseline.
void add_best_reason(const CompareResult& result, Section& section) {
  for (const std::size_t at : result.ranking) {
    const ComparedVariant& variant = result.variants[at];
    if (at == result.baseline) continue;
    section.paragraphs.push_back(fmt::format("{}: {}.", variant.name, variant.reason));
    return;
  }
}

Table metrics_table(const ComparedVariant& variant, const std::string& baseline) {
  Table table;
  table.title = fmt::format("{} against {}", variant.name, baseline);
  table.header = {"metric", baseline,       variant.name,   "difference",
                  "change", "95% interval", "p (adjusted)", "verdict"};
  for (const ComparedMetric& metric : variant.metrics) {
    table.rows.push_back(
        {metric.name, metric_text(metric.name, metric.mean - metric.difference.mean),
         metric_text(metric.name, metric.mean), signed_metric(metric.name, metric.difference.mean),
         change_text(metric), interval_text(metric),
         metric.difference.interval ? format_real(metric.adjusted_p) : "-",
         std::string(name_of(metric.verdict))});
  }
  return table;
}

Table moved_table(const ComparedVariant& variant, const std::string& baseline) {
  Table table;
  table.title = fmt::format("What moved, {} against {}", variant.name, baseline);
  table.header = {"quantity", baseline, variant.name, "difference", "95% interval"};
  for (const MovedQuantity& m : variant.moved) {
    const auto text = [&](double value) {
      return signed_text(value, quantity_text(m.unit, std::fabs(value)));
    };
    const auto& interval = m.difference.interval;
    table.rows.push_back(
        {m.name, quantity_text(m.unit, m.baseline), quantity_text(m.unit, m.variant),
         text(m.difference.mean),
         interval ? fmt::format("{} to {}", text(interval->low), text(interval->high)) : "-"});
  }
  return table;
}

Section differences_page(const CompareResult& result) {
  Section page;
  page.id = "differences";
  page.heading = "Every metric";
  const std::string& baseline = result.variants[result.baseline].name;
  if (result.ranking.size() < 2) {
    page.paragraphs.emplace_back("There is one variant alone: nothing to compare it with.");
    return page;
  }
  page.charts.push_back(metrics_chart(result));
  for (const std::size_t at : result.ranking) {
    if (at != result.baseline) page.tables.push_back(metrics_table(result.variants[at], baseline));
  }
  return page;
}

Section moved_page(const CompareResult& result) {
  Section page;
  page.id = "moved";
  page.heading = "What the differences go with";
  add_reasons(result, page);
  for (const std::size_t at : result.ranking) {
    if (at == result.baseline) continue;
    page.tables.push_back(moved_table(result.variants[at], result.variants[result.baseline].name));
  }
  if (page.tables.empty()) {
    page.paragraphs.emplace_back("There is one variant alone: nothing moved.");
  }
  return page;
}

}  // namespace

std::string quantity_text(MovedQuantity::Unit unit, double value) {
  switch (unit) {
    case MovedQuantity::Unit::kShare:
      return format_percent(value);
    case MovedQuantity::Unit::kBytes:
      return format_bytes(value);
    case MovedQuantity::Unit::kEach:
      return format_real(value) + " a request";
    case MovedQuantity::Unit::kMilliseconds:
      return format_ms(value);
  }
  return format_real(value);
}

Report compare_summary(const CompareResult& result, const std::string& scenario) {
  Report report;
  report.title = result.verdict;
  Section section;
  section.paragraphs.push_back(method_text(result));
  section.tables = {ranking_table(result), beside_table(result)};
  section.tables.front().title = fmt::format("{}. {}", scenario, section.tables.front().title);
  add_reasons(result, section);
  report.sections.push_back(std::move(section));
  return report;
}

Report compare_glance(const CompareResult& result, const std::string& scenario) {
  constexpr std::size_t kMostVariants = 8;
  Report report;
  report.title = result.verdict;
  Section section;
  add_best_reason(result, section);
  Table ranking = ranking_table(result);
  ranking.title = fmt::format("{}. {}", scenario, ranking.title);
  if (any_rejects(result)) {  // who rejects most looks fast
    ranking.header.emplace_back("rejected");
    for (std::size_t i = 0; i < ranking.rows.size(); ++i) {
      const ComparedMetric* rejected = metric_of(result.variants[result.ranking[i]], "rejected");
      ranking.rows[i].push_back(rejected == nullptr ? "-"
                                                    : metric_text("rejected", rejected->mean));
    }
  }
  if (ranking.rows.size() > kMostVariants) {
    ranking.title += fmt::format(" (the first {} of {})", kMostVariants, ranking.rows.size());
    ranking.rows.resize(kMostVariants);
  }
  section.tables.push_back(std::move(ranking));
  report.sections.push_back(std::move(section));
  return report;
}

Report compare_report(const CompareResult& result, const Provenance& provenance) {
  Report report;
  report.title = "Compare: " + provenance.scenario;
  report.subtitle = result.verdict;
  Section first;
  first.id = "answer";
  first.heading = "Answer";
  first.facts = answer_facts(result);
  // With three or more it is an answer: what is best, by how much, how sure that is.
  if (first.facts.size() > 2) {
    first.facts[0].status = has_best(result) ? Status::kMet : Status::kUncertain;
    report.status = first.facts[0].status;
  }
  add_best_reason(result, first);
  first.tables = {ranking_table(result), beside_table(result)};
  Section& how = first.parts.emplace_back();
  how.heading = "How that was found";
  how.paragraphs.push_back(method_text(result));
  const std::string pairing = pairing_text(result);
  if (!pairing.empty()) how.paragraphs.push_back(pairing);
  if (result.ranking.size() > 1) first.charts.push_back(difference_chart(result));
  Section setup = setup_section(provenance);
  setup.id = "setup";
  Section source = provenance_section(provenance);
  source.id = "provenance";
  report.sections = {std::move(first), differences_page(result), moved_page(result),
                     std::move(setup), std::move(source)};
  return report;
}

}  // namespace spillway
