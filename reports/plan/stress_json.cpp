#include "reports/plan/stress_json.hpp"

#include <algorithm>
#include <array>

#include "reports/document_fault.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kOutcomes = {"met", "missed", "down", "not-asked"};

StressOutcome outcome_of(const std::string& name) {
  const auto at = std::find(kOutcomes.begin(), kOutcomes.end(), name);
  if (at == kOutcomes.end()) {
    document_fault("unknown outcome \"" + name + "\"");
  }
  return static_cast<StressOutcome>(at - kOutcomes.begin());
}

json row_json(const StressRow& row) {
  json out = {{"kind", row.kind},
              {"name", row.name},
              {"change", row.change},
              {"outcome", word(row.outcome)}};
  if (row.growth) out["growth"] = *row.growth;
  if (!row.target.empty()) {
    out["target"] = row.target;
    out["value"] = row.value;
    out["limit"] = row.limit;
    out["bound"] = row.at_least ? "min" : "max";
    out["margin"] = row.margin;
  }
  if (!row.reason.empty()) out["reason"] = row.reason;
  return out;
}

StressRow stress_row_from_json(const json& j) {
  StressRow row;
  row.kind = j.at("kind");
  row.name = j.at("name");
  row.change = j.at("change");
  row.outcome = outcome_of(j.at("outcome"));
  row.reason = j.value("reason", "");
  if (j.contains("growth")) row.growth = j.at("growth").get<double>();
  if (!j.contains("target")) return row;
  row.target = j.at("target");
  row.value = j.at("value");
  row.limit = j.at("limit");
  row.at_least = j.at("bound") == "min";
  row.margin = j.at("margin");
  return row;
}

json restart_json(const ColdRestart& restart) {
  json out = {{"from_s", restart.from_s},
              {"warm_share", restart.warm_share},
              {"cold_share", restart.cold_share},
              {"at_s", restart.at_s},
              {"warm", restart.warm},
              {"cold", restart.cold}};
  if (restart.recovery_s) out["recovery_s"] = *restart.recovery_s;
  return out;
}

ColdRestart restart_from_json(const json& j) {
  ColdRestart out;
  out.from_s = j.at("from_s");
  out.warm_share = j.at("warm_share");
  out.cold_share = j.at("cold_share");
  if (j.contains("recovery_s")) out.recovery_s = j.at("recovery_s").get<double>();
  out.at_s = j.at("at_s").get<std::vector<double>>();
  out.warm = j.at("warm").get<std::vector<double>>();
  out.cold = j.at("cold").get<std::vector<double>>();
  // Columns of one table.
  const std::size_t rows = std::min({out.at_s.size(), out.warm.size(), out.cold.size()});
  for (std::vector<double>* column : {&out.at_s, &out.warm, &out.cold}) column->resize(rows);
  return out;
}

}  // namespace

std::string_view word(StressOutcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

json to_json(const PlanStress& stress) {
  json rows = json::array();
  for (const StressRow& row : stress.rows) rows.push_back(row_json(row));
  json out = {{"cell", stress.cell},
              {"growth_per_month", stress.growth_per_month},
              {"growth_assumed", stress.growth_assumed},
              {"rows", rows},
              {"notes", stress.notes}};
  if (stress.restart) out["restart"] = restart_json(*stress.restart);
  return out;
}

PlanStress stress_from_json(const json& j) {
  PlanStress out;
  out.cell = j.at("cell");
  out.growth_per_month = j.at("growth_per_month");
  out.growth_assumed = j.at("growth_assumed");
  for (const json& row : j.at("rows")) out.rows.push_back(stress_row_from_json(row));
  if (j.contains("restart")) out.restart = restart_from_json(j.at("restart"));
  out.notes = j.at("notes").get<std::vector<std::string>>();
  return out;
}

}  // namespace spillway
