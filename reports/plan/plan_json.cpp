#include "reports/plan/plan_json.hpp"

#include <fmt/format.h>

#include "reports/document_fault.hpp"
#include "reports/fields/read.hpp"
#include "reports/fields/write.hpp"
#include "reports/plan/plan_fields.hpp"

namespace spillway {

using nlohmann::json;

namespace {

/// Every index of a cell that the document holds, before anything is looked up by it: somebody may
/// have edited the file.
void check_indices(const json& j) {
  const json& points = j.at("points");
  const std::size_t cells = points.size();
  const auto check = [&](const json& value, const std::string& field) {
    check_index(value, "results." + field, cells, "cells (points)");
  };
  for (const NamedCell& cell : kNamedCells) {
    const std::string key = std::string(cell.name) + "_index";
    if (j.contains(key)) check(j.at(key), key);
  }
  for (std::size_t i = 0; i < cells; ++i) {
    if (!points.at(i).contains("difference")) continue;
    check(points.at(i).at("difference").at("to_index"),
          fmt::format("points.{}.difference.to_index", i));
  }
  const auto check_rows = [&](const char* part, const char* list) {
    if (!j.contains(part)) return;
    const json& rows = j.at(part).at(list);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      check(rows.at(i).at("point"), fmt::format("{}.{}.{}.point", part, list, i));
    }
  };
  check_rows("cost", "cells");
  check_rows("regret", "rows");
  if (j.contains("margin") && j.at("margin").contains("next_size")) {
    check(j.at("margin").at("next_size").at("index"), "margin.next_size.index");
  }
}

/// A regret for each demand.
void check_regrets(const PlanRegret& regret) {
  for (std::size_t i = 0; i < regret.rows.size(); ++i) {
    const std::size_t found = regret.rows[i].by_demand.size();
    if (found == regret.demands.size()) continue;
    document_fault(
        fmt::format("results.regret.rows.{}.by_demand: expected {} entries, one for each of "
                    "demands, found {}",
                    i, regret.demands.size(), found));
  }
}

}  // namespace

json to_json(const PlanResult& plan) {
  return to_document(plan);
}

PlanResult plan_from_json(const json& j) {
  check_indices(j);
  PlanResult plan = read_document<PlanResult>(j);
  if (plan.regret) check_regrets(*plan.regret);
  return plan;
}

}  // namespace spillway
