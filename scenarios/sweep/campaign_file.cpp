#include "scenarios/sweep/campaign_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "reports/document.hpp"
#include "reports/fields/read.hpp"
#include "reports/fields/write.hpp"
#include "sim/fields.hpp"
#include "sim/input_file.hpp"
#include "sim/sha256.hpp"

namespace spillway {

template <>
struct Fields<SweepTrace> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, kNeeded);
    f("content_hash", r.hash, kNeeded);
  }
};

template <>
struct Fields<SweepWorkload> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    bool resampled = r.replication == Replication::kResampled;
    f("resampled", resampled, kNeeded);
    f("length", r.length, kNeeded);
    f("method", r.method, kNeeded);
    if constexpr (!std::is_const_v<R>) {
      r.replication = resampled ? Replication::kResampled : Replication::kIndependent;
    }
  }
};

template <>
struct Fields<SweepCell> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, kNeeded);
    f("group", r.group, kNeeded);
    f("traces", r.traces, kNeeded);
    f("keys", r.keys, kNeeded);
    f("values", r.values, kNeeded);
    f("recording", r.recording, FieldRule{.sparse = true});
  }
};

template <>
struct Fields<Campaign> {
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("id", r.id, kNeeded);
    f("name", r.name, kNeeded);
    f("experiment", r.path, kNeeded);
    f("settings", r.settings, kNeeded);
    f("replications", r.replications, kNeeded);
    f("traces", r.traces, kNeeded);
    f("workloads", r.workloads, kNeeded);
    f("cells", r.cells, kNeeded);
  }
};

namespace {

using nlohmann::json;

constexpr std::string_view kKind = "spillway-campaign";
constexpr int kVersion = 2;

}  // namespace

std::string identity_of(const Campaign& campaign) {
  json out = json::array({kVersion});
  for (const SweepCell& cell : campaign.cells) out.push_back(to_document(cell));
  return sha256(out.dump());
}

std::string render_campaign(const Campaign& campaign) {
  json body = to_document(campaign);
  body["experiment_sha256"] = sha256(campaign.text);
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
  from_document(body, out, "campaign");
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
