#include "reports/plan/cost_json.hpp"

#include <fmt/format.h>

#include "reports/document_fault.hpp"

namespace spillway {

namespace {

using nlohmann::json;

std::optional<double> number_in(const json& j, const char* key) {
  return j.contains(key) ? std::optional(j.at(key).get<double>()) : std::nullopt;
}

json wear_json(const DriveWear& wear) {
  json out = {{"tier", wear.tier}, {"bytes_per_day", wear.bytes_per_day}};
  if (wear.drive_writes_per_day) out["drive_writes_per_day"] = *wear.drive_writes_per_day;
  if (wear.life_years) out["life_years"] = *wear.life_years;
  return out;
}

DriveWear wear_from_json(const json& j) {
  return {j.at("tier"), j.at("bytes_per_day"), number_in(j, "drive_writes_per_day"),
          number_in(j, "life_years")};
}

json cell_json(const CellCost& cell) {
  json out = {{"point", cell.point},
              {"per_month", cell.per_month},
              {"goodput_per_cost", cell.goodput_per_cost},
              {"on_front", cell.on_front},
              {"within_noise", cell.within_noise}};
  if (cell.per_million_tokens) out["per_million_tokens"] = *cell.per_million_tokens;
  return out;
}

CellCost cell_from_json(const json& j) {
  return {j.at("point"),
          j.at("per_month"),
          number_in(j, "per_million_tokens"),
          j.at("goodput_per_cost"),
          j.at("on_front"),
          j.at("within_noise")};
}

}  // namespace

json to_json(const PlanCost& cost) {
  json items = json::array();
  for (const CostItem& item : cost.items) {
    items.push_back({{"name", item.name},
                     {"quantity", item.quantity},
                     {"unit", item.unit},
                     {"price", item.price},
                     {"per_month", item.per_month}});
  }
  json cells = json::array();
  for (const CellCost& cell : cost.cells) cells.push_back(cell_json(cell));
  json wear = json::array();
  for (const DriveWear& drive : cost.wear) wear.push_back(wear_json(drive));
  json out = {{"currency", cost.currency},
              {"source", cost.source},
              {"items", items},
              {"cells", cells},
              {"wear", wear},
              {"notes", cost.notes}};
  if (cost.break_even) {
    out["break_even"] = {{"tier", cost.break_even->tier},
                         {"gib_per_gpu", cost.break_even->gib_per_gpu},
                         {"price_ratio", cost.break_even->price_ratio},
                         {"says", cost.break_even->says}};
  }
  return out;
}

PlanCost cost_from_json(const json& j) {
  PlanCost cost;
  cost.currency = j.at("currency");
  cost.source = j.at("source");
  for (const json& item : j.at("items")) {
    cost.items.push_back({item.at("name"), item.at("quantity"), item.at("unit"), item.at("price"),
                          item.at("per_month")});
  }
  for (const json& cell : j.at("cells")) cost.cells.push_back(cell_from_json(cell));
  for (const json& wear : j.at("wear")) cost.wear.push_back(wear_from_json(wear));
  if (j.contains("break_even")) {
    const json& even = j.at("break_even");
    cost.break_even =
        BreakEven{even.at("tier"), even.at("gib_per_gpu"), even.at("price_ratio"), even.at("says")};
  }
  cost.notes = j.at("notes").get<std::vector<std::string>>();
  return cost;
}

json to_json(const PlanRegret& regret) {
  json rows = json::array();
  for (const RegretRow& row : regret.rows) {
    json by_demand = json::array();
    for (std::size_t i = 0; i < row.by_demand.size(); ++i) {
      json one = {{"demand", regret.demands[i]}, {"met", row.by_demand[i].has_value()}};
      if (row.by_demand[i]) one["regret"] = *row.by_demand[i];
      by_demand.push_back(std::move(one));
    }
    rows.push_back({{"point", row.point},
                    {"by_demand", by_demand},
                    {"worst", row.worst},
                    {"missed", row.missed}});
  }
  return {{"measure", regret.measure},
          {"demands", regret.demands},
          {"rows", rows},
          {"says", regret.says},
          {"notes", regret.notes}};
}

PlanRegret regret_from_json(const json& j) {
  PlanRegret regret;
  regret.measure = j.at("measure");
  regret.demands = j.at("demands").get<std::vector<std::string>>();
  for (const json& r : j.at("rows")) {
    RegretRow row{r.at("point"), {}, r.at("worst"), r.at("missed")};
    for (const json& one : r.at("by_demand")) row.by_demand.push_back(number_in(one, "regret"));
    if (row.by_demand.size() != regret.demands.size()) {
      document_fault(
          fmt::format("results.regret.rows.{}.by_demand: expected {} entries, one for "
                      "each of demands, found {}",
                      regret.rows.size(), regret.demands.size(), row.by_demand.size()));
    }
    regret.rows.push_back(std::move(row));
  }
  regret.says = j.at("says");
  regret.notes = j.at("notes").get<std::vector<std::string>>();
  return regret;
}

}  // namespace spillway
