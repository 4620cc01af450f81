// The parts of a plan's answer beside its cells: why, what to set, what it costs, what would change
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spillway {

/// A part of the headroom, and what it is for.
struct HeadroomPart {
  std::string name;
  double share = 0;
  std::string reason;
};

/// A row of the field's decision table that applies, with the figures that decide it.
struct DecisionRow {
  std::string situation;
  std::string prefer;
  std::string avoid;
  std::string measured;
};

/// A verdict that a reader must not miss: `code` is stable ("offload-hurts"), `text` for people.
struct NamedVerdict {
  std::string code;
  std::string text;
};

/// A rule of thumb of the field beside what was found here.
struct RuleOfThumb {
  std::string rule;
  std::string here;
  bool agrees = false;
};

struct PlanJudgement {
  std::string binding_kind;  ///< capacity, policy, bandwidth, compute, admission, none
  std::vector<HeadroomPart> headroom;
  std::vector<DecisionRow> decision_table;
  std::vector<NamedVerdict> verdicts;
  std::vector<RuleOfThumb> rules_of_thumb;
};

/// What to set in an engine for one configuration.
struct EngineFlags {
  std::string engine;                    ///< vllm
  std::string release;                   ///< the preset whose flags these are
  std::vector<std::string> environment;  ///< NAME=value
  std::vector<std::string> arguments;    ///< --flag value
  std::vector<std::string> comments;     ///< unit, scope and arithmetic of each that was converted
  std::vector<std::string> not_covered;  ///< what of the configuration no flag says
};

/// Of one cell, by its index in the plan.
struct CellCost {
  std::uint32_t point = 0;
  double per_month = 0;
  double per_million_tokens = 0;
  double goodput_per_cost = 0;
  bool on_front = false;  ///< not dominated in (cost, attainment)
};

struct CostItem {
  std::string name;
  double quantity = 0;
  std::string unit;
  double price = 0;  ///< for one unit and month
  double per_month = 0;
};

/// How a cell does over the scenarios of demand: its regret is what it costs more than the best for
/// each.
struct RegretRow {
  std::uint32_t point = 0;
  std::vector<double> by_demand;
  double worst = 0;
};

struct PlanCost {
  std::string currency;
  std::string source;           ///< where the prices come from
  std::vector<CostItem> items;  ///< of the recommended cell
  std::vector<CellCost> cells;
  std::vector<std::string> demands;
  std::vector<RegretRow> regret;
  std::vector<std::string> notes;
};

/// One factor, changed down and up while all else stays.
struct SensitivityRow {
  std::string factor;
  double low = 0;  ///< multiplies the factor
  double high = 0;
  double margin_low = 0;  ///< of the tightest target at the recommended cell, as a share of it
  double margin_high = 0;
  std::string needed_low;  ///< size that would be recommended there
  std::string needed_high;
  std::optional<double> changes_below;  ///< the recommendation fails where the factor is smaller
  std::optional<double> changes_above;
  std::string says;  ///< "the recommendation changes if ... falls below ..."
};

struct Sensitivity {
  double margin = 0;                 ///< with nothing changed
  std::vector<SensitivityRow> rows;  ///< by swing, the largest first
  std::vector<std::string> notes;
};

}  // namespace spillway
