// What a comparison shows: the ranking, what each difference goes with, and every metric.
#pragma once

#include "reports/report.hpp"
#include "sim/compare_result.hpp"

namespace spillway {

struct Provenance;

Report compare_report(const CompareResult& result, const Provenance& provenance);
/// The part of it that a terminal shows when asked for details.
Report compare_summary(const CompareResult& result, const std::string& scenario);
/// The part that fits one screen: the ranking's front, and what the best one's rank goes with.
Report compare_glance(const CompareResult& result, const std::string& scenario);

/// "12.3%", "1.50 GiB", "0.021 a request", "3.20 ms".
std::string quantity_text(MovedQuantity::Unit unit, double value);

}  // namespace spillway
