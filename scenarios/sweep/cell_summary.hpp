// What the replicates of a cell say together: means with 95% intervals, and how many of them meet
// the SLO.
//
// Intervals are those of a plan (planner/target_bound.hpp): for the mean over replicates of a
// figure, on the log scale, wider where the figure scatters much and where replicates are draws of
// one recording; shares of requests (attainment, rejected_share) are of all replicates' requests
// together. A share of replicates that meet the SLO is a count and no confidence: a plan has
// that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/sweep/campaign.hpp"
#include "scenarios/sweep/merge.hpp"
#include "scenarios/sweep/varied_columns.hpp"

namespace spillway {

struct CellFigure {
  std::string name;
  std::uint32_t runs = 0;  ///< replicates that have it; latencies: that completed a request
  double mean = 0;         ///< over these
  /// From kLeastReplications on, where replicates differ.
  std::optional<std::pair<double, double>> interval;
  std::optional<double> recording;  ///< of the run on the recording itself
};

struct CellTarget {
  std::string name;    ///< a result key, e.g. p99_ttft_ms
  std::string tenant;  ///< whose requests; empty: everyone's
  bool at_least = false;
  double target = 0;
  std::uint32_t met = 0;  ///< replicates
  double share = 0;       ///< of the replicates that are judged
};

struct CellSummary {
  std::string name;
  ColumnValues values;
  std::uint32_t done = 0;    ///< replicates that were run, failed ones left out
  std::uint32_t failed = 0;  ///< that could not be made
  std::uint32_t missing = 0;
  std::vector<CellFigure> figures;
  std::vector<CellTarget> targets;
  std::uint32_t met = 0;          ///< replicates that meet every target and finish every request
  std::optional<bool> recording;  ///< whether the recording itself does
  std::string verdict;            ///< "met in 3 of 5"; empty: no SLO, or no run yet

  std::uint32_t judged() const { return done + failed; }
  double share() const { return static_cast<double>(met) / judged(); }
};

/// As Campaign::cells.
std::vector<CellSummary> summarise_cells(const Campaign& campaign, const Merged& merged);

const CellFigure* find_figure(const CellSummary& cell, std::string_view name);

}  // namespace spillway
