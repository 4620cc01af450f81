// An experiment becomes a campaign: cells, keys, traces; then a folder, all of it or nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "scenarios/experiment/replicates.hpp"
#include "scenarios/experiment/run_key.hpp"
#include "scenarios/experiment/variants.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/search_axis.hpp"
#include "scenarios/scenario/sections/sweep.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "scenarios/sweep/campaign_file.hpp"
#include "sim/input_file.hpp"
#include "sim/output_file.hpp"
#include "sim/temporary_file.hpp"
#include "traces/formats/binary_trace.hpp"

namespace spillway {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A setting that names a file where the user stands now names it wherever a worker stands.
std::string anywhere(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos) return setting;
  const std::string value = setting.substr(equals + 1);
  std::error_code none;
  if (fs::path(value).is_absolute() || !fs::is_regular_file(value, none)) return setting;
  return setting.substr(0, equals + 1) + fs::absolute(value).lexically_normal().string();
}

/// A file of the workload as it is read, before anything is made of it.
Scenario plain_reader(const Scenario& scenario, const std::string& trace) {
  Scenario out = scenario;
  out.workload->trace = trace;
  out.workload->days.clear();
  out.workload->growth = {};
  return out;
}

/// What decides how a trace file is read.
std::string reading_of(const WorkloadChoice& w, const std::string& trace) {
  json session_interval = json::object();
  if (w.reader.session_interval_s) session_interval["s"] = *w.reader.session_interval_s;
  return json{trace,
              w.limit,
              w.lenient,
              w.arrival.wait,
              w.reader.block_tokens,
              w.reader.reuse.name(),
              session_interval}
      .dump();
}

class Planner {
 public:
  Planner(const std::string& path, const std::vector<std::string>& settings,
          const ReadProgress& reading)
      : reading_(reading) {
    Campaign& c = out_.campaign;
    c.text = read_text_file(path);
    c.path = fs::absolute(path).lexically_normal().string();
    for (const std::string& setting : settings) c.settings.push_back(anywhere(setting));
  }

  PlannedCampaign plan() {
    const VariantSet set = variants();
    Campaign& c = out_.campaign;
    c.name = set.variants.front().scenario.name;
    for (const Variant& variant : set.variants) add(variant);
    number_runs(c);
    c.id = identity_of(c);
    return std::move(out_);
  }

 private:
  VariantSet variants() {
    Campaign& c = out_.campaign;
    const JsonSource source = cell_source(c, {});
    const Scenario base = load_scenario(source);
    if (!base.sweep) {
      throw InputError(Fault::kUsage, {c.path, 0, "sweep"},
                       "is missing; expected keys and their values, e.g. \"sweep\": {\"vary\": "
                       "{\"engine.max_num_seqs\": [64, 256]}}");
    }
    c.replications = base.sweep->replications;
    std::vector<Varied> varied;
    std::uint64_t runs = c.replications;
    for (const SearchAxis& axis : base.sweep->vary) {
      varied.push_back({axis.key, axis.values});
      runs = std::min(runs * axis.values.size(), kMostSweepRuns + 1);
    }
    if (runs > kMostSweepRuns) {
      throw InputError(Fault::kUsage, base.sweep->where,
                       fmt::format("expected at most {} runs; several campaigns can be merged by "
                                   "their CSV",
                                   kMostSweepRuns));
    }
    return make_variants(source, varied, {}, {vary_place(c.path), kMostCells});
  }

  void add(const Variant& variant) {
    Campaign& c = out_.campaign;
    const Scenario& scenario = variant.scenario;
    const auto index = static_cast<std::uint32_t>(c.cells.size());
    SweepCell cell;
    cell.name = variant.name;
    cell.values = variant.values;
    if (!scenario.workload->generated()) {
      cell.traces.push_back(trace_index(scenario, scenario.workload->trace));
      for (const std::string& day : scenario.workload->days) {
        cell.traces.push_back(trace_index(scenario, day));
      }
    }
    cell.group = group_of(scenario, cell.traces);
    c.cells.push_back(std::move(cell));
    for (std::uint32_t r = 0; r < c.replications; ++r) {
      c.cells.back().keys.push_back(c.key_now(scenario, {index, r}));
    }
    // Replicates of one recording are its sessions drawn again; of several days they are the days.
    if (c.replications > 1 && c.cells.back().traces.size() == 1) {
      c.cells.back().recording = c.key_now(scenario, {index, kRecordingItself});
    }
  }

  std::uint32_t trace_index(const Scenario& scenario, const std::string& trace) {
    const std::string how = reading_of(*scenario.workload, trace);
    const auto known = traces_.find(how);
    if (known != traces_.end()) return known->second;
    Workload workload = open_workload(plain_reader(scenario, trace), reading_);
    std::vector<SweepTrace>& all = out_.campaign.traces;
    const std::uint64_t hash = workload.content_hash();
    std::uint32_t at = 0;
    while (at < all.size() && all[at].hash != hash) ++at;
    if (at == all.size()) {
      all.push_back({fs::path(trace).filename().string(), hash});
      out_.workloads.push_back(std::move(workload));
    }
    traces_.emplace(how, at);
    return at;
  }

  /// Cells whose workloads are described alike share them.
  std::uint32_t group_of(const Scenario& scenario, const std::vector<std::uint32_t>& traces) {
    json described = resolved_configuration(scenario)["workload"];
    // What is done with a workload leaves it as it is.
    for (const char* use : {"speed", "arrival", "rate_per_s", "concurrency", "warmup_s",
                            "horizon_s", "classes", "trace"}) {
      described.erase(use);
    }
    described["traces"] = traces;
    described["seed"] = scenario.seed;
    const auto next = static_cast<std::uint32_t>(groups_.size());
    return groups_.emplace(described.dump(), next).first->second;
  }

  const ReadProgress& reading_;
  PlannedCampaign out_;
  std::map<std::string, std::uint32_t> traces_;  ///< by how they are read
  std::map<std::string, std::uint32_t> groups_;  ///< by how workloads are described
};

[[noreturn]] void refuse(const std::string& folder, const std::string& what) {
  throw InputError(Fault::kUsage, {folder, 0, ""}, what);
}

constexpr std::size_t kMostDifferences = 3;

/// Values by dotted key.
void flatten(const json& value, const std::string& key, std::map<std::string, std::string>& out) {
  if (!value.is_structured() || value.empty()) {
    out[key] = value.dump();
    return;
  }
  for (const auto& [name, part] : value.items()) {
    flatten(part, key.empty() ? name : key + "." + name, out);
  }
}

/// What makes one campaign another than the one that is there: the first keys of the experiment,
/// with both values, or else the files that it names.
std::string difference(const Campaign& there, const Campaign& here) {
  std::map<std::string, std::string> was;
  std::map<std::string, std::string> is;
  flatten(cell_source(there, {}).root(), "", was);
  flatten(cell_source(here, {}).root(), "", is);
  std::vector<std::string> out;
  std::map<std::string, std::string> keys = was;
  keys.insert(is.begin(), is.end());
  for (const auto& [name, value] : keys) {
    const std::string& key = name;  // what a lambda may capture in every compiler
    const auto text = [&key](const std::map<std::string, std::string>& of) {
      const auto at = of.find(key);
      return at == of.end() ? "absent" : at->second;
    };
    if (text(was) == text(is)) continue;
    out.push_back(fmt::format("{} is {} there and {} here", key, text(was), text(is)));
  }
  if (out.empty()) {
    for (const SweepTrace& trace : here.traces) {
      const auto same = [&](const SweepTrace& other) { return other.hash == trace.hash; };
      if (std::any_of(there.traces.begin(), there.traces.end(), same)) continue;
      out.push_back(fmt::format("{} has other content than when that was planned", trace.name));
    }
  }
  if (out.empty()) {
    out.emplace_back("a profile that it names has changed, or this program computes otherwise");
  }
  const std::size_t more = out.size() - std::min(out.size(), kMostDifferences);
  out.resize(out.size() - more);
  return fmt::format("{}{}", fmt::join(out, "; "),
                     more == 0 ? "" : fmt::format("; and {} more keys differ", more));
}

/// How each group's replicates come about, from the campaign's own traces.
std::vector<SweepWorkload> workloads_of(const Campaign& campaign) {
  std::vector<SweepWorkload> out;
  for (std::uint32_t cell = 0; cell < campaign.cells.size(); ++cell) {
    if (campaign.cells[cell].group < out.size()) continue;  // groups are numbered as they appear
    const Replicates replicates(campaign.runnable(cell), campaign.replications, 1, {});
    out.push_back({replicates.replication(), replicates.length(), replicates.method()});
  }
  return out;
}

/// Whether `folder` holds this campaign; nothing else may be there.
bool already_there(const Campaign& campaign, const std::string& folder) {
  std::error_code none;
  if (fs::exists(folder + "/campaign.json", none)) {
    const Campaign there = open_campaign(folder);
    if (there.id == campaign.id) return true;
    refuse(folder, fmt::format("holds the campaign of another experiment (\"{}\"): {}; expected "
                               "another folder, or the experiment as it was: {}/experiment.json",
                               there.name, difference(there, campaign), folder));
  }
  if (fs::exists(folder, none) && !(fs::is_directory(folder, none) && fs::is_empty(folder, none))) {
    refuse(folder, "is no campaign and not empty; expected a new folder");
  }
  return false;
}

void fill(PlannedCampaign& planned, const std::string& folder) {
  for (const char* part : {"", "/traces", "/segments", "/locks"}) {
    std::error_code error;
    fs::create_directories(folder + part, error);
    if (error) {
      throw InputError(Fault::kIo, {folder + part, 0, ""},
                       fmt::format("cannot create the directory: {}", error.message()));
    }
  }
  for (std::size_t i = 0; i < planned.workloads.size(); ++i) {
    write_binary_trace(planned.workloads[i], folder + "/" + planned.campaign.traces[i].file());
  }
  write_file(folder + "/experiment.json", planned.campaign.text);
  planned.campaign.folder = folder;
  planned.campaign.workloads = workloads_of(planned.campaign);
  write_file(folder + "/campaign.json", render_campaign(planned.campaign));
}

}  // namespace

PlannedCampaign plan_campaign(const std::string& path, const std::vector<std::string>& settings,
                              const ReadProgress& reading) {
  return Planner(path, settings, reading).plan();
}

bool create_campaign(PlannedCampaign& planned, const std::string& folder) {
  const fs::path place = fs::absolute(folder).lexically_normal();
  const std::string target = (place.has_filename() ? place : place.parent_path()).string();
  planned.campaign.folder = target;
  if (already_there(planned.campaign, target)) {
    planned.campaign = open_campaign(target);
    return false;
  }
  const std::string temporary = temporary_name(target);
  const Unfinished unfinished(temporary);
  std::error_code ignored;
  try {
    fill(planned, temporary);
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
  planned.campaign.folder = target;
  if (std::rename(temporary.c_str(), target.c_str()) == 0) return true;
  const int error = errno;
  fs::remove_all(temporary, ignored);
  // Somebody else was quicker.
  if (error == ENOTEMPTY || error == EEXIST) {
    if (already_there(planned.campaign, target)) return false;
  }
  throw InputError(Fault::kIo, {target, 0, ""},
                   fmt::format("cannot rename into place: {}", std::strerror(error)));
}

}  // namespace spillway
