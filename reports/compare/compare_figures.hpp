// The figures of a comparison: as text, as charts, and in large letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/report.hpp"
#include "sim/compare_result.hpp"

namespace spillway {

/// Null where the variant has no such metric.
const ComparedMetric* metric_of(const ComparedVariant& variant, std::string_view name);

/// With the unit that the metric's name implies.
std::string metric_text(const std::string& name, double value);
std::string signed_text(double value, const std::string& size);
std::string signed_metric(const std::string& name, double value);
/// The difference as a share of the baseline's mean, where that is no 0.
std::string change_text(const ComparedMetric& metric);
std::string interval_text(const ComparedMetric& metric);

/// The metric that variants are ranked by: differences to the baseline with their intervals.
Chart difference_chart(const CompareResult& result);
/// Every metric in percent of the baseline's, so that they can stand side by side.
Chart metrics_chart(const CompareResult& result);

/// Whether the first of the ranking is told from the baseline, or the baseline, where that is the
/// first, from the second; so too where too few replications were made to test anything.
bool has_best(const CompareResult& result);

/// Which variant is best, by how much, and how sure that is.
std::vector<Fact> answer_facts(const CompareResult& result);

}  // namespace spillway
