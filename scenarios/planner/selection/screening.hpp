// The runs of every cell and how it stands: what screening and verification share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/planner/selection/selection.hpp"
#include "scenarios/planner/selection/target_judge.hpp"

namespace spillway {

/// Of alpha, what a verdict `missed` may spend on the screening; the rest is for fresh replicates.
inline constexpr double kScreeningPart = 0.75;

/// The runs of one cell, and what they say so far.
struct CellRecord {
  std::vector<CellSample> screened;
  std::vector<CellSample> fresh;  ///< of one length: the greatest
  std::uint32_t length = 1;       ///< of the fresh ones
  double score = 0;               ///< least distance to a limit, in standard errors
  bool missed = false;            ///< shown
  bool excluded = false;          ///< cold-limited, or without requests for some target
  bool held = false;              ///< shown, on fresh runs
  bool cut = false;               ///< some run of the screening was cut

  const std::vector<CellSample>& best_runs() const { return fresh.empty() ? screened : fresh; }
};

class CellRecords {
 public:
  explicit CellRecords(const SelectionProblem& problem);

  CellRecord& operator[](std::uint32_t cell) { return cells_[cell]; }
  const CellRecord& operator[](std::uint32_t cell) const { return cells_[cell]; }
  const std::vector<TargetJudge>& judges() const { return judges_; }
  std::size_t targets() const { return judges_.size(); }

  /// Takes the answer to one request.
  void add(const RunRequest& request, CellSample sample);
  /// Marks cells that the screening shows to miss, at kScreeningPart of `alpha` for each cell.
  void mark_missed(double alpha);
  /// How figures of target `index` usually scatter among cells near its limit.
  std::optional<double> usual(std::size_t index) const;
  /// Ranks all cells by what is known, smoothed along lines that have a shape.
  void score();
  /// The shape around the boundary of the line that holds `cell`.
  const char* boundary(std::uint32_t cell) const;

 private:
  void score_alone(std::uint32_t cell);
  void smooth(const std::vector<std::uint32_t>& line);

  const SelectionProblem& problem_;
  std::vector<TargetJudge> judges_;
  std::vector<CellRecord> cells_;
  std::vector<std::vector<double>> distances_;  ///< by cell and target
  std::vector<std::vector<double>> errors_;
  std::vector<bool> violated_;  ///< by line: some target rises and falls
};

}  // namespace spillway
