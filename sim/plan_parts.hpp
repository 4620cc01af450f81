// The parts of a plan's answer beside its cells: why, what to set, what it costs, what would change
// it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/fields.hpp"
#include "sim/note.hpp"

namespace spillway {

/// A part of the headroom, and what it is for.
struct HeadroomPart {
  std::string name;
  double share = 0;
  Note reason;
};

/// A row of the field's decision table that applies, with the figures that decide it. Its code
/// says which (reports/plan/advice.hpp).
struct DecisionRow {
  Note measured;
};

/// A rule of thumb of the field beside this plan's figures (reports/plan/advice.hpp).
struct RuleOfThumb {
  Note here;
  bool agrees = false;
};

/// The cell that comes nearest to the SLO, run once more on the workload itself with one thing
/// changed: what brings it nearest is what binds.
struct Counterfactual {
  std::string kind;    ///< compute, bandwidth, capacity, hbm, admission; load: asked less of it
  std::string change;  ///< in words, e.g. "twice the compute speed"
  double value = 0;    ///< of the target that is missed most as it is
  double margin = 0;   ///< of the tightest target, as a share of it
  bool met = false;    ///< every target, in this one run
};

struct Counterfactuals {
  std::string cell;                 ///< what was changed
  std::string target;               ///< the one that is missed most as it is
  Counterfactual base;              ///< nothing changed
  std::vector<Counterfactual> all;  ///< in the order asked
  Notes notes;                      ///< what could not be asked, with why
};

/// A key of the scenario that a change sets.
struct KeyChange {
  std::string key;   ///< dotted, as in --set
  std::string from;  ///< as it is; empty: not given
  std::string to;
};

/// What one target's figure came to in a change that was tried.
struct TriedTarget {
  std::string name;
  std::string tenant;  ///< whose requests; empty: everyone's
  bool at_least = false;
  double value = 0;
  double limit = 0;  ///< of `value`
  bool met = false;
};

/// What a change costs, the cheapest first. A combination is of the kind of its costliest part.
enum class ChangeKind : std::uint8_t {
  kFlag,  ///< a setting of the engine: no money
  kTier,
  kReplicas,
  kTensorParallel,
  kGpu,
  kShorter,  ///< not the system but what is asked of it: shorter contexts
  kTrace,    ///< another recording
  kLonger,   ///< more of the same workload
};
template <>
struct EnumNames<ChangeKind> {
  static constexpr std::array<std::string_view, 8> kNames = {
      "flag", "tier", "replicas", "tensor-parallel", "gpu", "shorter", "trace", "replication"};
};

/// What something costs beyond what is recommended or was asked about; less than 0: it saves.
struct MoreCost {
  double per_month = 0;
  std::string currency;
};

/// A changed configuration that was run.
struct TriedChange {
  ChangeKind kind = ChangeKind::kFlag;
  std::vector<KeyChange> changes;
  std::uint32_t replicates = 0;  ///< it ran on so many; 0: once, on the workload itself
  bool met = false;              ///< every target, in the mean of these runs
  double margin = 0;             ///< of the tightest target, as a share of it
  std::vector<TriedTarget> targets;
  std::string refused{};           ///< why it could not be run; empty: it ran
  std::optional<MoreCost> more{};  ///< of what is told as a remedy, where prices are given

  bool free() const { return kind == ChangeKind::kFlag; }
  bool holds() const { return refused.empty() && met; }
};

/// The latencies that no load and no size of a tier explains: one request at a time, and tiers
/// without bound.
struct PlanFloor {
  std::string gpu;                   ///< empty: step times are given
  std::vector<TriedTarget> targets;  ///< latencies that have an upper limit
  bool met = true;                   ///< all of these
  std::vector<TriedTarget> compute;  ///< the same with copies that take no time; of a floor missed
  std::vector<TriedChange> lowered;  ///< what was tried against a floor that is missed
};

/// The load that the nearest configuration bears with a tier without bound.
struct PlanCeiling {
  double load = 0;  ///< times the workload's own
  double requests_per_s = 0;
  bool at_least = false;  ///< the most that was tried is borne
  std::uint32_t runs = 0;
};

/// A searched key of which some values make no difference.
struct IdleAxis {
  std::string key;
  std::vector<std::string> values;  ///< that give the same runs
  bool decides = false;             ///< the answer would be one of these
};

/// What decides the answer; see reports/plan/answer.hpp for what each says.
enum class AnswerCause : std::uint8_t {
  kFits,
  kTierAddsNothing,
  kNotAdmitted,
  kStandstill,
  kNoIdentity,
  kNotBinding,
  kFloor,
  kOverload,
  kSetting,
  kLink,
  kCapacity,
  kPolicy,
  kCompute,
  kAdmission,
  kHbm,
  kShortTrace,
  kClose,
  kBudget
};
template <>
struct EnumNames<AnswerCause> {
  static constexpr std::array<std::string_view, 18> kNames = {
      "fits",    "tier-adds-nothing", "not-admitted", "standstill",  "no-identity", "not-binding",
      "floor",   "overload",          "setting",      "link",        "capacity",    "policy",
      "compute", "admission",         "hbm",          "short-trace", "close",       "budget"};
};
/// A size of 0 in whatever unit: no tier.
bool is_nothing(std::string_view size);

enum class AnswerVerdict : std::uint8_t { kMet, kMissed, kUndecided };
template <>
struct EnumNames<AnswerVerdict> {
  static constexpr std::array<std::string_view, 3> kNames = {"met", "missed", "undecided"};
};

/// Where the requests of a workload come from.
enum class LoadKind : std::uint8_t { kRecorded, kGenerated, kDrawn, kClients };
template <>
struct EnumNames<LoadKind> {
  static constexpr std::array<std::string_view, 4> kNames = {"recorded", "generated", "drawn",
                                                             "clients"};
};

/// The first line of a plan, in codes and figures.
struct PlanAnswer {
  AnswerVerdict verdict = AnswerVerdict::kUndecided;
  AnswerCause cause = AnswerCause::kClose;
  int at = -1;           ///< the cell that it is about: recommended, else the nearest
  int next_better = -1;  ///< of its size, what the objective would like next; -1: none was tried
  std::optional<TriedChange> remedy;  ///< the cheapest that meets the SLO, of a plan that does not
  std::optional<TriedChange>
      cheaper;                     ///< settings with which a smaller size does, of one that does
  std::vector<TriedChange> alone;  ///< what was tried by itself, parts of the remedy first
  std::vector<IdleAxis> idle;
  double arrive_per_s = 0;        ///< 0: arrivals follow from the answers
  double leave_per_s = 0;         ///< at the configuration that the plan speaks of
  double not_admitted_share = 0;  ///< of the requests, which no server of this sort takes
  bool limited_by_pool = false;   ///< these are longer than HBM holds
  std::uint32_t max_model_len = 0;
  LoadKind load_kind = LoadKind::kRecorded;
  bool no_identity = false;  ///< the trace names no blocks

  /// The answer would be a value that does not act: there is none.
  bool rests_on_idle_axis() const {
    return std::any_of(idle.begin(), idle.end(), [](const IdleAxis& axis) { return axis.decides; });
  }
};

/// An event that ends the recommendation.
struct BreakingEvent {
  std::string kind;              ///< of a stress row, or the factor of a sensitivity row
  std::string name;              ///< "reuse falls 5%"
  std::optional<double> factor;  ///< times what it is; none: it happens or not
  std::string target;            ///< the tightest then; empty where only the verdict is known
  double value = 0;
  double limit = 0;
  std::uint32_t replicates = 0;  ///< behind it; 0: one run of the workload itself
};

/// The next size, where it survives what the recommended one does not.
struct NextSize {
  int point = -1;
  std::string capacity;
  std::int64_t more_bytes = 0;        ///< over all engines and replicas
  std::optional<MoreCost> more;       ///< where prices are given
  std::vector<std::string> survives;  ///< events that break the recommended size
};

/// The cheapest change with which the recommendation lasts through a forecast that it fails.
struct GrowthRemedy {
  std::string forecast;  ///< "in 12 months", the last one
  double sessions = 1;   ///< times as many by then
  TriedChange change;    ///< as run with so many
};

/// How far a recommendation is from failing.
struct PlanMargin {
  std::vector<BreakingEvent> broken;  ///< the nearest first
  std::vector<std::string> survived;
  std::optional<NextSize> next;
  std::optional<GrowthRemedy> growth;
};

/// What a better policy could bring at one cell: a replay of the prompts without clock or engine.
struct PolicyBound {
  std::string cell;
  std::string policy;
  double share = 0;    ///< of all prompt blocks that the policy hits at this capacity
  double optimum = 0;  ///< that the offline optimum hits, which knows what comes
  double content = 0;  ///< that a cache without bound hits
};

struct PlanJudgement {
  bool binding_hbm = false;  ///< what lacks is capacity of HBM
  std::string binding_kind;  ///< capacity, policy, bandwidth, compute, admission, none
  std::optional<Counterfactuals> counterfactuals;  ///< of a plan that recommends nothing
  std::optional<PolicyBound> policy_bound;         ///< none: could not be replayed
  std::vector<HeadroomPart> headroom;
  std::vector<DecisionRow> decision_table;
  Notes verdicts;
  std::vector<RuleOfThumb> rules_of_thumb;
};

/// What to set in an engine for one configuration.
/// A file that an argument names.
struct EngineFile {
  std::string name;
  std::vector<std::string> lines;
};

/// A process that has to run beside the engine.
struct EngineProcess {
  std::string command;
  std::vector<std::string> arguments;  ///< --flag=value
};

struct EngineFlags {
  std::string engine;                    ///< vllm
  std::string release;                   ///< the preset whose flags these are
  std::vector<std::string> environment;  ///< NAME=value
  std::vector<std::string> arguments;    ///< --flag value
  std::vector<std::string> comments;     ///< unit, scope and arithmetic of each that was converted
  std::vector<std::string> not_covered;  ///< what of the configuration no flag says
  std::vector<EngineFile> files{};       ///< of settings that have no argument
  std::vector<EngineProcess> processes{};
};

/// Of one cell, by its index in the plan.
struct CellCost {
  std::uint32_t point = 0;
  double per_month = 0;
  std::optional<double> per_million_tokens;  ///< read and written; none: the run had none
  double goodput_per_cost = 0;  ///< requests that meet every target, per unit of currency
  bool on_front = false;        ///< attains more than every cheaper cell, by more than noise
  bool within_noise = false;    ///< attains more than a cheaper one, and that may be noise
};

struct CostItem {
  std::string name;
  double quantity = 0;
  std::string unit;
  double price = 0;  ///< for one unit and month
  double per_month = 0;
};

/// How fast a tier's drives wear out at the recommended cell.
struct DriveWear {
  std::string tier;
  double bytes_per_day = 0;  ///< written by one engine
  std::optional<double> drive_writes_per_day;
  std::optional<double> life_years;  ///< until what the drive is rated for is written
};

/// How much of one resource costs as much as a GPU.
struct BreakEven {
  std::string tier;
  double gib_per_gpu = 0;  ///< that cost as much as one GPU
  double price_ratio = 0;  ///< of a GiB of KV in GPUs to one of the tier; 0: not known
  std::string says;
};

struct PlanCost {
  std::string currency;         ///< empty: no prices, only wear is known
  std::string source;           ///< where the prices come from
  std::vector<CostItem> items;  ///< of the recommended cell
  std::vector<CellCost> cells;  ///< those with a price
  std::optional<BreakEven> break_even;
  std::vector<DriveWear> wear;
  Notes notes;
};

/// By how much a cell falls behind the best one under one demand.
struct DemandRegret {
  std::string demand;
  std::optional<double> regret;  ///< none: misses the SLO there

  bool met() const { return regret.has_value(); }
};

/// How a cell does over the scenarios of demand.
struct RegretRow {
  std::uint32_t point = 0;
  std::vector<DemandRegret> by_demand;
  double worst = 0;          ///< of those that it meets
  std::uint32_t missed = 0;  ///< demands, of those that some cell meets
};

/// Cells over the scenarios of demand, the first of which is the workload as it is.
struct PlanRegret {
  std::string measure;  ///< what regret is counted in, e.g. "USD a month"
  std::vector<std::string> demands;
  std::vector<RegretRow> rows;  ///< by demands missed, then by worst regret
  std::string says;             ///< which cell regrets least, and how the recommended one does
  Notes notes;
};

/// One factor, moved to one side.
struct SensitivitySide {
  double factor = 0;  ///< multiplies what is moved
  double margin = 0;  ///< of the tightest target at the recommended cell, as a share of it
  bool met = false;
  std::string needed;  ///< size that meets the SLO there; "none"; empty: not searched
};

/// One factor, changed down and up while all else stays.
struct SensitivityRow {
  std::string factor;
  SensitivitySide low;
  SensitivitySide high;
  /// The recommendation fails where the factor is smaller, or larger: the last tried that holds,
  /// and the nearest tried that misses the SLO.
  std::optional<double> changes_below;
  std::optional<double> changes_above;
  std::optional<double> missed_below;
  std::optional<double> missed_above;
  std::string says;  ///< "the recommendation changes if ... falls below ..."
};

struct Sensitivity {
  double margin = 0;   ///< with nothing changed
  std::string needed;  ///< the size that meets the SLO then, on the replicates used here
  std::uint32_t replicates = 0;
  std::uint64_t runs = 0;
  std::vector<SensitivityRow> rows;  ///< by swing, the largest first
  Notes notes;
};

/// What the traffic is like that a plan's cells ran on, before any replicate is drawn from it.
struct PlanWorkload {
  /// The results of a trace-stats document as JSON text: nothing here knows JSON. Its lists are
  /// cut to what a drawing needs.
  std::string stats;
  double kv_bytes_per_block = 0;  ///< of one of its blocks, on all ranks of an engine together
  std::uint64_t tenants = 0;      ///< of which `stats` names the largest
};

enum class StressOutcome : std::uint8_t {
  kMet,
  kMissed,
  kDown,     ///< nothing is left that could serve: no run
  kNotAsked  ///< `reason` says why
};
template <>
struct EnumNames<StressOutcome> {
  static constexpr std::array<std::string_view, 4> kNames = {"met", "missed", "down", "not-asked"};
};

/// One thing that may happen to the judged cell, run once on the workload itself.
struct StressRow {
  std::string kind;    ///< as-is, forecast, peak, lost-host, cold-restart, storage, link
  std::string name;    ///< "in 3 months", "peak x1.5"
  std::string change;  ///< what the run changes, in words
  std::optional<double> growth{};  ///< times the sessions or clients, where that is what changes
  StressOutcome outcome = StressOutcome::kNotAsked;
  std::string target{};  ///< the tightest one, and whose; empty without a run
  double value = 0;      ///< of what that target bounds
  double limit = 0;      ///< of that target
  bool at_least = false;
  double margin = 0;     ///< distance to it as a share of it; negative where it is missed
  std::string reason{};  ///< of what was not run
};

/// How long caches take to be of use again when they are emptied half-way through the workload.
struct ColdRestart {
  double from_s = 0;      ///< when they are emptied, since the first arrival
  double warm_share = 0;  ///< of prompt tokens from caches behind that, had they not been
  double cold_share = 0;  ///< of the same requests, on empty ones
  /// Until what comes from caches is 90% of what would have; none: not before the workload ends.
  std::optional<double> recovery_s;
  std::vector<double> at_s;  ///< middles of stretches, since the restart
  std::vector<double> warm;  ///< share of prompt tokens from caches in each
  std::vector<double> cold;
};

struct PlanStress {
  std::string cell;
  double growth_per_month = 0;  ///< of the session rate, behind the forecast
  bool growth_assumed = false;  ///< the scenario does not say
  std::vector<StressRow> rows;  ///< as it is, then in the order asked
  std::optional<ColdRestart> restart;
  Notes notes;
};

}  // namespace spillway
