// The members of a comparison's results, by name.
#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/compare_result.hpp"
#include "sim/fields.hpp"

namespace spillway {

template <>
struct EnumNames<Verdict> {
  static constexpr std::array<std::string_view, 6> kNames = {"baseline",  "better", "worse",
                                                             "undecided", "equal",  "not tested"};
};
template <>
struct EnumNames<MovedQuantity::Unit> {
  static constexpr std::array<std::string_view, 4> kNames = {"share", "bytes", "per_request", "ms"};
};
template <>
struct EnumNames<Replication> {
  static constexpr std::array<std::string_view, 2> kNames = {"independent", "resampled"};
};

/// Members of a difference, which stand among those of the row that has it.
struct DifferenceFields {
  static constexpr FieldRule kMean =
      signed_figure("Mean over replicates of the variant minus the baseline.");
  static constexpr FieldRule kVariance = says("Variance of the differences between replicates.");

  /// The interval, which takes several replications.
  template <class D, class F>
  static void interval(D& d, F&& f) {
    f("p",
      together(d.interval.has_value(),
               [&](auto&& g) {
                 auto& i = held(d.interval);
                 g("p", i.p,
                   says("Two-sided p value of no difference, from five replications on.", 0, 1));
                 g("low", i.low, signed_figure("Low end of the 95% interval."));
                 g("high", i.high, signed_figure("High end of the 95% interval."));
               }),
      {});
    if constexpr (!std::is_const_v<D>) d.any = d.mean != 0 || d.variance != 0;
  }
};

template <>
struct Fields<ComparedMetric> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("better", either(r.lower_is_better, "lower", "higher"), says("Which values are better."));
    f("mean", r.mean, signed_figure("Mean over replicates."));
    f("recorded", r.recorded,
      signed_figure("Value on the recording itself, where replicates are resampled from it."));
    f("values", r.values, signed_figure("Value of each replicate."));
    f("verdict", r.verdict, says("How the variant compares with the baseline."));
    const bool compared = r.verdict != Verdict::kBaseline;
    f("difference", only_if(compared, r.difference.mean), DifferenceFields::kMean);
    f("variance", only_if(compared, r.difference.variance), DifferenceFields::kVariance);
    DifferenceFields::interval(r.difference, f);
    f("adjusted_p", only_if(r.difference.interval.has_value(), r.adjusted_p),
      says("p after Holm's correction over all tests of the comparison.", 0, 1));
  }
};

template <>
struct Fields<MovedQuantity> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("quantity", r.name, says("What moved, for example prompt tokens from dram."));
    f("unit", r.unit, says("Unit of the figures."));
    f("baseline", r.baseline, signed_figure("Mean of the baseline."));
    f("variant", r.variant, signed_figure("Mean of the variant."));
    f("difference", r.difference.mean, DifferenceFields::kMean);
    f("variance", r.difference.variance, DifferenceFields::kVariance);
    DifferenceFields::interval(r.difference, f);
    f("movement", r.movement,
      signed_figure("Difference as a share of all bytes or of the mean TTFT; others as they are."));
    f("named", r.named, says("Whether the reason names this quantity."));
  }
};

template <>
struct Fields<ComparedVariant> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    using Value = std::pair<std::string, std::string>;
    f("name", r.name, says("Name of the variant, made of its values."));
    f("values", by_name(r.values, &Value::first, &Value::second),
      says("Value of each varied key, as written."));
    f("metrics", keyed(r.metrics, &ComparedMetric::name), says("Each metric, by its name."));
    f("moved", r.moved, says("Quantities of the runs, compared with the baseline."));
    f("reason", r.reason, says("Why the variant differs, in one sentence."));
    f("engine_lacks", r.engine_lacks,
      if_any("The policy that the engine cannot run. Such variants rank last."));
    f("digests", r.digests, text_like(kDigestForm, "Digest of each replicate's results."));
  }
};

/// What results say by name and CompareResult by place.
struct ComparedNames {
  std::vector<std::string> metrics;
  std::string baseline;
  std::vector<std::string> ranking;
};
ComparedNames names_in(const CompareResult& result);
/// Puts metrics in their order and finds the variants. Throws document_fault() for a name that is
/// none of theirs.
void take_names(const ComparedNames& names, CompareResult& result);

template <>
struct Fields<CompareResult> {
  static constexpr std::string_view kName = "compare";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    ComparedNames names = names_in(r);
    double confidence = kConfidence;
    f("metric", r.metric, says("Metric that variants are ranked by."));
    f("metrics", names.metrics, says("Metrics, in the order of a report."));
    f("baseline", names.baseline, says("Variant that the others are compared with."));
    f("replications", r.replications, says("Workloads that each variant ran on.", 1));
    f("replication", r.replication,
      says("Whether replicates are independent or resampled from one trace."));
    f("replicates", r.replicates, says("How replicates are made, in one sentence."));
    f("confidence", confidence, says("Confidence of intervals and verdicts."));
    f("tests", r.tests, says("Tests that verdicts are corrected for together."));
    f("verdict", r.verdict, says("The answer, in one sentence."));
    f("variants", r.variants, says("Each variant."));
    f("ranking", names.ranking, says("Variants by the mean of the metric, best first."));
    if constexpr (!std::is_const_v<R>) take_names(names, r);
  }
};

}  // namespace spillway
