// How far a plan's answer holds: changes that were tried and what each came to, in words that say
// no more than was tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/plan_result.hpp"

namespace spillway {

/// A factor that ends the recommendation when it is moved far enough to one side.
struct FactorLimit {
  std::string factor;
  bool above = false;            ///< it is missed where the factor is larger
  double holds = 1;              ///< the furthest tried that still meets the SLO; 1: as it is
  std::optional<double> misses;  ///< the nearest tried that does not; none: not known

  /// What is known to miss, or, where that is not known, the last that holds.
  double end() const { return misses.value_or(holds); }
  /// How far from 1 that is, as a ratio of at least 1.
  double distance() const;
};

/// What sensitivity found to end the recommendation, the nearest first.
std::vector<FactorLimit> factor_limits(const PlanResult& plan);
/// Of the factor of that name and side; nothing where it was not found to end.
std::optional<FactorLimit> factor_limit(const PlanResult& plan, std::string_view factor,
                                        bool above);

/// What ends the recommendation first where traffic grows: "arrival rate", the same requests sent
/// faster, or "sessions", more of them; nothing where neither was found to end it.
std::optional<FactorLimit> traffic_limit(const PlanResult& plan);

/// More traffic, as against a host or a cache that is lost.
inline bool is_growth(const StressRow& row) {
  return row.kind == "forecast" || row.kind == "peak";
}

/// "reuse at 0.95 times what it is".
std::string limit_name(const FactorLimit& limit);
/// "0.95 misses the SLO, 1 (as it is) meets it; values between were not tried".
std::string limit_figures(const FactorLimit& limit);
/// What moving the factor stands for, where its name leaves that open; else empty.
std::string factor_meaning(std::string_view factor);

/// "44.1%", or "4.50 times the limit" where a figure is more than twice what it may be.
std::string margin_text(double margin);

/// "peak x2 (2 times the sessions)": an event and, where its name leaves it open, what it changes.
std::string event_name(const StressRow& row);
/// "p99_ttft_ms 12,802, target at most 2,000", or why there was no run.
std::string event_figures(const StressRow& row);

/// Whether the search went no further with a cell because what was preferred to it holds.
bool not_needed(const PlanPoint& point);
/// The lower confidence bound of a cell's share of requests in time; nothing where so few
/// replicates ran that none was made, or where it rules nothing out.
std::optional<double> attainment_bound(const PlanPoint& point);
/// A cell's requests within SLO over its replicates, and what is certain of them.
struct Certain {
  std::string share;  ///< "99.9%"
  /// "at least 98.8%, with 95% confidence"; where that says less than the bounds of the targets one
  /// by one: "each target met with 95% confidence"
  std::string claim;
};
Certain certain_of(const PlanPoint& point, double level);

/// "99.4%", or "at most 26.0%" where some run was cut short.
std::string attainment_text(const PlanPoint& point);

/// "a, b and c".
std::string and_list(const std::vector<std::string>& names);

}  // namespace spillway
