// What would change a plan, by name: factors moved one by one, and events run one by one.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "sim/fields.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

inline constexpr std::array<std::string_view, 7> kStressKinds = {
    "as-is", "forecast", "peak", "lost-host", "cold-restart", "storage", "link"};

template <>
struct Fields<SensitivitySide> {
  static constexpr std::string_view kName = "sensitivity_side";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("factor", r.factor, says("Multiple of the factor."));
    f("margin", r.margin,
      signed_figure("Distance to the tightest target, as a share of it; negative: missed."));
    f("met", r.met, says("Whether the recommended size meets the SLO."));
    f("needed", r.needed, if_any("The size that meets the SLO, or none."));
  }
};

template <>
struct Fields<SensitivityRow> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.factor, says("The factor, moved while all else stays."));
    f("low", r.low, says("The factor moved down."));
    f("high", r.high, says("The factor moved up."));
    f("changes_below", r.changes_below,
      says("Smallest multiple tried at which the recommendation meets the SLO."));
    f("changes_above", r.changes_above,
      says("Largest multiple tried at which the recommendation meets the SLO."));
    f("missed_below", r.missed_below, says("The nearest smaller multiple that misses the SLO."));
    f("missed_above", r.missed_above, says("The nearest larger multiple that misses the SLO."));
    f("says", r.says, says("The same in words."));
  }
};

template <>
struct Fields<Sensitivity> {
  static constexpr std::string_view kName = "sensitivity";
  static constexpr std::string_view kHelp = "Which inputs would change the recommendation.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("margin", r.margin, signed_figure("Margin of the tightest target with nothing moved."));
    f("needed", r.needed, if_any("The size that meets the SLO with nothing moved."));
    f("replicates", r.replicates, says("Replicates, the same for every factor.", 1));
    f("runs", r.runs, says("Runs that this took."));
    f("factors", r.rows, says("Each factor, by how far it moves the margin."));
    f("notes", r.notes, says("What the figures leave out."));
  }
};

template <>
struct Fields<StressRow> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("kind", r.kind, one_of(kStressKinds, "Kind of the event."));
    f("name", r.name, says("The event, e.g. peak x1.5."));
    f("change", r.change, says("What the run changes, in words."));
    f("growth", r.growth, says("Multiple of the sessions or clients."));
    f("outcome", r.outcome, says("Whether the cell meets the SLO; down: no server is left."));
    f("target",
      together(!r.target.empty(),
               [&](auto&& g) {
                 g("target", r.target, says("The tightest target, and its tenant."));
                 g("value", r.value, says("Figure of that target."));
                 g("limit", r.limit, says("Limit of that target."));
                 g("bound", either(r.at_least, "min", "max"),
                   says("Whether the limit is a minimum."));
                 g("margin", r.margin,
                   signed_figure("Distance to the limit, as a share of it; negative: missed."));
               }),
      {});
    f("reason", r.reason, if_any("Why the event was not run."));
  }
};

template <>
struct Fields<ColdRestart> {
  static constexpr std::string_view kHelp =
      "Caches emptied half-way through the workload, compared with the same requests without.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("from_s", r.from_s, says("When the caches are emptied, since the first arrival."));
    f("warm_share", r.warm_share,
      says("Share of later prompt tokens from caches, had they not been emptied.", 0, 1));
    f("cold_share", r.cold_share,
      says("Share of the same prompt tokens from caches that were emptied.", 0, 1));
    f("recovery_s", r.recovery_s,
      says("Time until emptied caches supply 90% of what full ones would."));
    f("at_s", r.at_s, says("Middle of each stretch of time, since the restart."));
    f("warm", r.warm, says("Share of prompt tokens from full caches in each stretch."));
    f("cold", r.cold, says("Share of prompt tokens from emptied caches in each stretch."));
  }
  /// Columns of one table.
  static void finish(ColdRestart& r) {
    const std::size_t rows = std::min({r.at_s.size(), r.warm.size(), r.cold.size()});
    for (std::vector<double>* column : {&r.at_s, &r.warm, &r.cold}) column->resize(rows);
  }
};

template <>
struct Fields<PlanStress> {
  static constexpr std::string_view kName = "plan_stress";
  static constexpr std::string_view kHelp =
      "What may happen to one cell, each event run once on the workload itself.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("cell", r.cell, says("The cell."));
    f("growth_per_month", r.growth_per_month, says("Growth of sessions that the forecasts use."));
    f("growth_assumed", r.growth_assumed, says("The scenario does not give that growth."));
    f("rows", r.rows, says("The workload as it is, then each event."));
    f("restart", r.restart, says("How long emptied caches take to be useful again."));
    f("notes", r.notes, says("How to read the rows."));
  }
};

}  // namespace spillway
