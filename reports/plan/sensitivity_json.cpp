#include "reports/plan/sensitivity_json.hpp"

namespace spillway {

namespace {

using nlohmann::json;

json side_json(double factor, double margin, bool met, const std::string& needed) {
  json out = {{"factor", factor}, {"margin", margin}, {"met", met}};
  if (!needed.empty()) out["needed"] = needed;
  return out;
}

void read_side(const json& side, double& factor, double& margin, bool& met, std::string& needed) {
  factor = side.at("factor");
  margin = side.at("margin");
  met = side.at("met");
  needed = side.value("needed", "");
}

json row_json(const SensitivityRow& row) {
  json out = {{"name", row.factor},
              {"low", side_json(row.low, row.margin_low, row.met_low, row.needed_low)},
              {"high", side_json(row.high, row.margin_high, row.met_high, row.needed_high)},
              {"says", row.says}};
  if (row.changes_below) out["changes_below"] = *row.changes_below;
  if (row.changes_above) out["changes_above"] = *row.changes_above;
  if (row.missed_below) out["missed_below"] = *row.missed_below;
  if (row.missed_above) out["missed_above"] = *row.missed_above;
  return out;
}

SensitivityRow row_from_json(const json& j) {
  SensitivityRow row;
  row.factor = j.at("name");
  read_side(j.at("low"), row.low, row.margin_low, row.met_low, row.needed_low);
  read_side(j.at("high"), row.high, row.margin_high, row.met_high, row.needed_high);
  if (j.contains("changes_below")) row.changes_below = j.at("changes_below").get<double>();
  if (j.contains("changes_above")) row.changes_above = j.at("changes_above").get<double>();
  if (j.contains("missed_below")) row.missed_below = j.at("missed_below").get<double>();
  if (j.contains("missed_above")) row.missed_above = j.at("missed_above").get<double>();
  row.says = j.at("says");
  return row;
}

}  // namespace

json to_json(const Sensitivity& sensitivity) {
  json rows = json::array();
  for (const SensitivityRow& row : sensitivity.rows) rows.push_back(row_json(row));
  json out = {{"margin", sensitivity.margin},
              {"replicates", sensitivity.replicates},
              {"runs", sensitivity.runs},
              {"factors", rows},
              {"notes", sensitivity.notes}};
  if (!sensitivity.needed.empty()) out["needed"] = sensitivity.needed;
  return out;
}

Sensitivity sensitivity_from_json(const json& j) {
  Sensitivity out;
  out.margin = j.at("margin");
  out.needed = j.value("needed", "");
  out.replicates = j.at("replicates");
  out.runs = j.at("runs");
  for (const json& row : j.at("factors")) out.rows.push_back(row_from_json(row));
  out.notes = j.at("notes").get<std::vector<std::string>>();
  return out;
}

}  // namespace spillway
