// Cost and regret of a plan by name.
#pragma once

#include "sim/fields.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

template <>
struct Fields<CostItem> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("What is paid for."));
    f("quantity", r.quantity, says("How many units."));
    f("unit", r.unit, says("The unit."));
    f("price", r.price, says("Price of one unit for a month."));
    f("per_month", r.per_month, says("Cost each month."));
  }
};

template <>
struct Fields<CellCost> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("point", r.point, says("Index of the cell in points."));
    f("per_month", r.per_month, says("Cost each month."));
    f("per_million_tokens", r.per_million_tokens,
      says("Cost of a million prompt and output tokens."));
    f("goodput_per_cost", r.goodput_per_cost,
      says("Requests that meet every latency target, per unit of currency."));
    f("on_front", r.on_front,
      says("Its attainment exceeds that of every cheaper cell, by more than noise."));
    f("within_noise", r.within_noise,
      says("Its attainment exceeds that of a cheaper cell by no more than noise."));
  }
};

template <>
struct Fields<BreakEven> {
  static constexpr std::string_view kHelp = "How much of one resource costs as much as a GPU.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("tier", r.tier, says("The resource."));
    f("gib_per_gpu", r.gib_per_gpu, says("GiB of it that cost as much as one GPU."));
    f("price_ratio", r.price_ratio,
      says("Price of a GiB of KV cache in GPUs, divided by its price here; 0: not known."));
    f("says", r.says, says("The same in words."));
  }
};

template <>
struct Fields<DriveWear> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("tier", r.tier, says("The storage tier."));
    f("bytes_per_day", r.bytes_per_day, says("Bytes that one engine writes each day."));
    f("drive_writes_per_day", r.drive_writes_per_day,
      says("Times a day that the whole drive is written."));
    f("life_years", r.life_years, says("Time until the rated bytes are written."));
  }
};

template <>
struct Fields<PlanCost> {
  static constexpr std::string_view kName = "plan_cost";
  static constexpr std::string_view kHelp = "What the cells cost, and how fast drives wear out.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("currency", r.currency, says("Currency of the prices; empty: no prices were given."));
    f("source", r.source, says("Where the prices come from."));
    f("items", r.items, says("What the recommended cell costs, item by item."));
    f("cells", r.cells, says("Each cell with a price."));
    f("break_even", r.break_even, says("How much of the tier costs as much as a GPU."));
    f("wear", r.wear, says("Wear of each storage tier at the recommended cell."));
    f("notes", r.notes, says("What the figures leave out."));
  }
};

template <>
struct Fields<DemandRegret> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("demand", r.demand, says("The demand."));
    f("met", derived(r.met()), says("Whether the cell meets the SLO under this demand."));
    f("regret", r.regret, says("How far the cell is from the best one under this demand."));
  }
};

template <>
struct Fields<RegretRow> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("point", r.point, says("Index of the cell in points."));
    f("by_demand", r.by_demand, says("Regret under each demand, in the order of demands."));
    f("worst", r.worst, says("Largest regret among the demands that it meets."));
    f("missed", r.missed, says("Demands that it misses and another cell meets."));
  }
};

template <>
struct Fields<PlanRegret> {
  static constexpr std::string_view kName = "plan_regret";
  static constexpr std::string_view kHelp = "Cells compared over scenarios of demand.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("measure", r.measure, says("Unit of regret, e.g. USD a month."));
    f("demands", r.demands, says("Each demand; the first is the workload as it is."));
    f("rows", r.rows, says("Cells, by missed demands, then by worst regret."));
    f("says", r.says, says("Which cell regrets least, and how the recommended one does."));
    f("notes", r.notes, says("How to read the table."));
  }
};

}  // namespace spillway
