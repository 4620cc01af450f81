// What sensitivity asks: cells with one factor moved, each answered once, within a budget of runs.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "scenarios/planner/consequences/factors.hpp"
#include "scenarios/planner/consequences/what_if.hpp"

namespace spillway {

inline constexpr std::size_t kNoFactor = ~std::size_t{0};  // everything as it is

struct Ask {
  std::size_t factor = kNoFactor;
  double at = 1;
  int point = 0;
  auto operator<=>(const Ask&) const = default;
};

class SensitivityAsks {
 public:
  /// `cells` and `factors` outlive this. `replicates`: as many of the first as the budget allows.
  /// `most_runs` 0: no budget.
  SensitivityAsks(const PlanCells& cells, const std::vector<Factor>& factors,
                  std::vector<std::uint32_t> replicates, WhatIfBatch run, std::uint64_t most_runs);

  /// Runs what is not known yet, in one batch. What the budget does not cover stays unknown, as
  /// does the whole batch where the plan's time ends first.
  void learn(std::vector<Ask> asks, bool verdict_only);
  /// Null: not known.
  const WhatIfOutcome* find(const Ask& ask) const;

  std::size_t replicates() const { return replicates_.size(); }
  std::uint64_t runs() const { return runs_; }
  /// Something was left unknown for want of runs, or of time.
  bool out_of_runs() const { return out_of_runs_; }
  bool out_of_time() const { return out_of_time_; }

 private:
  WhatIf what_if(const Ask& ask, std::uint32_t replicate, bool verdict_only) const;
  bool affordable(std::size_t asks) const;

  const PlanCells& cells_;
  const std::vector<Factor>& factors_;
  std::vector<std::uint32_t> replicates_;
  WhatIfBatch run_;
  std::uint64_t most_runs_;
  std::uint64_t runs_ = 0;
  bool out_of_runs_ = false;
  bool out_of_time_ = false;
  std::map<Ask, WhatIfOutcome> known_;
};

}  // namespace spillway
