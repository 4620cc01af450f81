#include "scenarios/sweep/campaign_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "reports/document.hpp"
#include "sim/input_file.hpp"
#include "sim/sha256.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr std::string_view kKind = "spillway-campaign";
constexpr int kVersion = 2;

json cell_json(const SweepCell& cell) {
  json out = {{"name", cell.name},
              {"group", cell.group},
              {"traces", cell.traces},
              {"keys", cell.keys},
              {"values", json::array()}};
  if (!cell.recording.empty()) out["recording"] = cell.recording;
  for (const auto& [key, value] : cell.values) out["values"].push_back({key, value});
  return out;
}

SweepCell read_cell(const json& in) {
  SweepCell out;
  out.name = in.at("name");
  out.group = in.at("group");
  in.at("traces").get_to(out.traces);
  in.at("keys").get_to(out.keys);
  out.recording = in.value("recording", "");
  for (const json& pair : in.at("values")) out.values.emplace_back(pair.at(0), pair.at(1));
  return out;
}

json body_of(const Campaign& campaign) {
  json out = {{"id", campaign.id},
              {"name", campaign.name},
              {"experiment", campaign.path},
              {"experiment_sha256", sha256(campaign.text)},
              {"settings", campaign.settings},
              {"replications", campaign.replications},
              {"traces", json::array()},
              {"workloads", json::array()},
              {"cells", json::array()}};
  for (const SweepTrace& trace : campaign.traces) {
    out["traces"].push_back({{"name", trace.name}, {"content_hash", trace.hash}});
  }
  for (const SweepWorkload& workload : campaign.workloads) {
    out["workloads"].push_back({{"resampled", workload.replication == Replication::kResampled},
                                {"length", workload.length},
                                {"method", workload.method}});
  }
  for (const SweepCell& cell : campaign.cells) out["cells"].push_back(cell_json(cell));
  return out;
}

void read_body(const json& body, Campaign& out) {
  out.id = body.at("id");
  out.name = body.at("name");
  out.path = body.at("experiment");
  body.at("settings").get_to(out.settings);
  out.replications = body.at("replications");
  for (const json& trace : body.at("traces")) {
    out.traces.push_back({trace.at("name"), trace.at("content_hash")});
  }
  for (const json& workload : body.at("workloads")) {
    out.workloads.push_back(
        {workload.at("resampled") ? Replication::kResampled : Replication::kIndependent,
         workload.at("length"), workload.at("method")});
  }
  for (const json& cell : body.at("cells")) out.cells.push_back(read_cell(cell));
}

}  // namespace

std::string identity_of(const Campaign& campaign) {
  json out = json::array({kVersion});
  for (const SweepCell& cell : campaign.cells) out.push_back(cell_json(cell));
  return sha256(out.dump());
}

std::string render_campaign(const Campaign& campaign) {
  const json body = body_of(campaign);
  nlohmann::ordered_json out;
  out["kind"] = kKind;
  out["version"] = kVersion;
  out["tool"] = tool_info();
  out["digest"] = digest_of(body);
  out["campaign"] = body;
  return out.dump(1) + "\n";
}

Campaign open_campaign(const std::string& folder) {
  const std::filesystem::path place = std::filesystem::absolute(folder).lexically_normal();
  Campaign out;
  out.folder = (place.has_filename() ? place : place.parent_path()).string();
  const std::string path = out.folder + "/campaign.json";
  const auto refuse = [&](const std::string& what) {
    throw InputError(Fault::kUsage, {path, 0, ""}, what);
  };
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    throw InputError(Fault::kUsage, {folder, 0, ""},
                     "holds no campaign; expected a folder made by spillway sweep plan EXPERIMENT "
                     "-o FOLDER");
  }
  const json file = json::parse(read_text_file(path), nullptr, false);
  if (!file.is_object() || file.value("kind", json()) != kKind) {
    refuse("expected a campaign of spillway sweep plan, found something else");
  }
  if (file.value("version", json()) != kVersion) {
    refuse(fmt::format("expected a campaign of version {}, found another one; plan it anew",
                       kVersion));
  }
  const json body = file.value("campaign", json::object());
  if (file.value("digest", json()) != digest_of(body)) {
    refuse("was altered since it was written; plan the campaign anew in another folder");
  }
  read_body(body, out);
  out.text = read_text_file(out.folder + "/experiment.json");
  if (body.at("experiment_sha256") != sha256(out.text)) {
    throw InputError(Fault::kUsage, {out.folder + "/experiment.json", 0, ""},
                     "was altered since the campaign was planned; put it back, or plan a campaign "
                     "of its own in another folder");
  }
  number_runs(out);
  return out;
}

}  // namespace spillway
