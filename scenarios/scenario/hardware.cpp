#include "scenarios/scenario/hardware.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

#include "models/calibration/fit.hpp"
#include "models/calibration/fit_table.hpp"
#include "models/calibration/kv_fit.hpp"
#include "models/calibration/plausible.hpp"
#include "reports/document.hpp"
#include "scenarios/scenario/bundled_files.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

namespace fs = std::filesystem;

/// Names of the profiles in a folder: its .json files of the right kind, by their look.
void add_names(const fs::path& folder, std::set<std::string>& names) {
  std::error_code none;  // a folder that is not there holds none
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
  }
}

constexpr double kMostKvClients = 1024;  ///< of a table: each number of them has a rate

std::int64_t rate_of_gbs(double gbs) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(gbs * 1e9));
}

/// What was fitted of `copy`, which names its method; of the kernels, the one with most blocks.
const FitRecord* copy_fit(const HardwareChoice& hardware, std::string_view dir,
                          const ProfileCopy& copy) {
  const auto of_api = [&](const std::string& api) {
    return find_fit(hardware.fits,
                    fmt::format("copy/{}/{}/{}/{}", dir, api, copy.mem, copy.pattern));
  };
  if (copy.method == "batch") return of_api("memcpy_batch");
  if (copy.method == "dma") return of_api("memcpy_async");
  for (const int blocks : {16, 8, 4, 2, 1}) {
    if (const FitRecord* fit = of_api(fmt::format("kernel_{}", blocks))) return fit;
  }
  return nullptr;
}

double param_or(const FitRecord* fit, const char* name, double otherwise) {
  if (fit == nullptr) return otherwise;
  const auto it = fit->params.find(name);
  return it == fit->params.end() ? otherwise : it->second;
}

std::string known_copies(const HardwareChoice& hardware, std::string_view dir) {
  std::vector<std::string> out;
  const std::string prefix = fmt::format("copy/{}/", dir);
  for (const FitRecord& fit : hardware.fits) {
    if (fit.target.starts_with(prefix)) out.push_back(fit.target.substr(prefix.size()));
  }
  return out.empty() ? "none" : fmt::format("{}", fmt::join(out, ", "));
}

void refuse_impossible(const HardwareProfile& profile, const JsonSource& source) {
  const std::vector<Implausible> bad = implausible_cells(profile);
  if (bad.empty()) return;
  const Implausible& first = bad.front();
  const bool compute =
      first.section == "hbm" || first.section == "gemm" || first.section == "attention";
  throw InputError(
      Fault::kUsage,
      source.where(
          fmt::format("/results/{}{}/{}", compute ? "compute/" : "", first.section, first.index)),
      fmt::format("{}; expected what a machine can measure{}. Mark such a cell with state.valid "
                  "false, or measure again",
                  first.what,
                  bad.size() > 1 ? fmt::format(" ({} cells are beyond it)", bad.size()) : ""));
}

void check_tables(const HardwareChoice& choice, const JsonSource& source) {
  for (std::size_t i = 0; i < choice.fits.size(); ++i) {
    const FitTable& table = choice.fits[i].table;
    const auto bad = std::find_if(table.values.begin(), table.values.end(),
                                  [](double value) { return !(value > 0); });
    if (bad == table.values.end()) continue;
    throw InputError(
        Fault::kUsage,
        source.where(
            fmt::format("/results/fits/{}/table/values/{}", i, bad - table.values.begin())),
        fmt::format("{}: expected rates above 0, found {}", choice.fits[i].target, *bad));
  }
}

constexpr std::string_view kReduceTarget = "collective/all_reduce/";

/// Ranks of a fit of all-reduces; 0 where its target does not end in a number of them.
std::uint32_t ranks_of(const FitRecord& fit) {
  const std::string_view text = std::string_view(fit.target).substr(kReduceTarget.size());
  std::uint32_t ranks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  return error == std::errc() && end == text.data() + text.size() ? ranks : 0;
}

void check_reduces(const HardwareChoice& choice, const JsonSource& source) {
  for (std::size_t i = 0; i < choice.fits.size(); ++i) {
    const FitRecord& fit = choice.fits[i];
    if (!fit.target.starts_with(kReduceTarget)) continue;
    const SourceRef where = source.where(fmt::format("/results/fits/{}", i));
    if (ranks_of(fit) < 2) {
      throw InputError(Fault::kUsage, where,
                       fmt::format("{}: expected 2 ranks or more", fit.target));
    }
    if (!(param_or(&fit, "latency_us", -1) >= 0) || !(param_or(&fit, "gbs", 0) > 0)) {
      throw InputError(Fault::kUsage, where,
                       fmt::format("{}: expected latency_us from 0 and gbs above 0", fit.target));
    }
  }
}

/// Figures that nobody should trust come with a word about it.
void note_quality(const HardwareProfile& profile, const HardwareChoice& choice, Notes& notes) {
  std::size_t cells = 0;
  std::size_t unstable = 0;
  const auto count = [&](const auto& rows) {
    for (const auto& row : rows) {
      ++cells;
      unstable += row.state.stable ? 0 : 1;
    }
  };
  count(profile.copy);
  count(profile.contention);
  count(profile.dram);
  count(profile.storage);
  count(profile.kv);
  if (unstable > 0) {
    notes.push_back(
        scenario_note("profile-unstable",
                      {{"hardware", choice.name}, {"cells", unstable}, {"cells_in_all", cells}}));
  }
  constexpr double kPoor = 25;
  std::vector<std::string> poor;
  for (const FitRecord& fit : choice.fits) {
    if (fit.held_out_p95 <= kPoor) continue;
    poor.push_back(fmt::format("{} ({:.0f}%)", fit.target, fit.held_out_p95));
  }
  if (poor.empty()) return;
  constexpr std::size_t kNamed = 3;
  const std::size_t more = poor.size() > kNamed ? poor.size() - kNamed : 0;
  poor.resize(poor.size() - more);
  NoteFigures figures = {{"hardware", choice.name},
                         {"limit_share", kPoor / 100},
                         {"fits", fmt::format("{}", fmt::join(poor, ", "))}};
  if (more > 0) figures.emplace_back("more", more);
  notes.push_back(scenario_note("profile-fits-poorly", std::move(figures)));
}

}  // namespace

std::string find_hardware(const std::string& named, const std::string& folder,
                          const SourceRef& where, std::string_view what, std::string_view advice) {
  const fs::path beside = folder;
  if (named.find('/') != std::string::npos || named.ends_with(".json") ||
      (lies_here(where, named) && fs::is_regular_file(named))) {
    return path_beside(folder, where, named);
  }
  const fs::path shipped = bundled_files("scenarios/hardware");
  for (const fs::path& place : {shipped, beside}) {
    const fs::path file = place / (named + ".json");
    std::error_code none;
    // A scenario of the same name is not its own profile.
    if (named.empty() || fs::equivalent(file, where.file, none)) continue;
    if (fs::is_regular_file(file, none)) return file.string();
  }
  std::set<std::string> names;
  add_names(shipped, names);
  // Beside a scenario lie other scenarios too: they are no suggestions, unless nearly named.
  std::set<std::string> near;
  add_names(beside.empty() ? "." : beside, near);
  const std::vector<std::string_view> candidates(near.begin(), near.end());
  const std::string_view nearest = nearest_name(named, candidates);
  if (!nearest.empty()) names.insert(std::string(nearest));
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw InputError(
      Fault::kUsage, where,
      fmt::format("{}; a profile is a name in {} or beside the scenario, or a path. {}",
                  unknown_name(what, named, known), shipped.string(), advice));
}

HardwareChoice load_hardware(const std::string& path, const SourceRef& where, Notes& notes) {
  const JsonSource source = JsonSource::from_file(path);
  std::vector<std::string> found;
  const HardwareProfile profile = read_profile(source, found);
  notes.insert(notes.end(), found.begin(), found.end());
  refuse_impossible(profile, source);
  HardwareChoice out;
  out.path = path;
  out.name = fs::path(path).stem().string();  // a file may have been renamed
  out.created = profile.created;
  out.digest = digest_of(source.root().at("results"));
  out.machine = profile.machine;
  out.machine_hash = profile.machine_hash;
  out.where = where;
  out.fits = profile.fits;
  if (out.fits.empty()) {
    FitReport report = fit_profile(profile);
    out.fits = std::move(report.fits);
    notes.insert(notes.end(), report.warnings.begin(), report.warnings.end());
  }
  check_tables(out, source);
  check_reduces(out, source);
  note_quality(profile, out, notes);
  if (source.root().contains("digest") && source.root()["digest"] != out.digest) {
    notes.push_back(scenario_note("profile-edited", {{"hardware", out.name}}));
  }
  if (!profile.complete) {
    notes.push_back(scenario_note("profile-incomplete", {{"hardware", out.name}}));
  }
  return out;
}

bool has_copies(const HardwareChoice& hardware) {
  return std::any_of(hardware.fits.begin(), hardware.fits.end(),
                     [](const FitRecord& fit) { return fit.target.starts_with("copy/"); });
}

ProfileLink profile_link(const HardwareChoice& hardware, std::string_view dir,
                         const ProfileCopy& copy, const SourceRef& where) {
  ProfileCopy wanted = copy;
  if (wanted.method.empty()) {
    wanted.method = "batch";
    if (copy_fit(hardware, dir, wanted) == nullptr) wanted.method = "dma";
  }
  const FitRecord* fit = copy_fit(hardware, dir, wanted);
  if (fit == nullptr || fit->table.x.empty()) {
    throw InputError(
        Fault::kUsage, where,
        fmt::format(
            "hardware profile {} holds no {} copies by {} with {} memory, {}; it holds: {}. "
            "Measure them with: spillway calibrate --only copy,contention --budget 10min "
            "--out {}",
            hardware.name, dir, wanted.method, copy.mem, copy.pattern, known_copies(hardware, dir),
            fs::path(hardware.path).filename().string()));
  }
  ProfileLink out;
  out.method = wanted.method;
  const std::string api = fit->target.substr(fit->target.find('/', 5) + 1);
  const FitRecord* submit = find_fit(hardware.fits, "submit/" + api.substr(0, api.find('/')));
  out.table = rate_table(fit->table, fmt::format("hardware profile {} ({}), {}", hardware.name,
                                                 hardware.machine_hash, fit->target));
  out.table.job_latency = microseconds_up(param_or(submit, "per_job_us", 0));
  out.submit = microseconds_up(param_or(submit, "per_copy_us", 0));
  out.duplex_factor = std::clamp(
      param_or(find_fit(hardware.fits, fmt::format("duplex/{}", dir)), "factor", 1), 0.01, 1.0);
  return out;
}

std::vector<MeasuredReduce> measured_reduces(const HardwareChoice& hardware) {
  std::vector<MeasuredReduce> out;
  for (const FitRecord& fit : hardware.fits) {
    if (!fit.target.starts_with(kReduceTarget)) continue;
    out.push_back({ranks_of(fit), param_or(&fit, "latency_us", 0), param_or(&fit, "gbs", 0) * 1e9});
  }
  std::sort(out.begin(), out.end(),
            [](const MeasuredReduce& a, const MeasuredReduce& b) { return a.ranks < b.ranks; });
  return out;
}

std::vector<std::string_view> use_storage(const HardwareChoice& hardware, StorageSpec& spec) {
  std::vector<std::string_view> out;
  const auto bytes_per_s = [](double gbs) { return static_cast<std::int64_t>(gbs * 1e9); };
  const auto lane = [&](const char* target, StorageLane& to, std::string_view rate,
                        std::string_view latency) {
    const FitRecord* fit = find_fit(hardware.fits, target);
    if (fit == nullptr || param_or(fit, "total_gbs", 0) <= 0) return;
    to.total_rate = bytes_per_s(param_or(fit, "total_gbs", 0));
    to.slot_rate = bytes_per_s(param_or(fit, "slot_gbs", 0));
    double last = param_or(fit, "latency_us", 0);
    to.latency.p50 = microseconds_up(last);
    const std::pair<const char*, Duration*> tail[] = {
        {"p90_us", &to.latency.p90}, {"p99_us", &to.latency.p99}, {"p999_us", &to.latency.p999}};
    for (const auto& [name, quantile] : tail) {
      last = std::max(last, param_or(fit, name, last));
      *quantile = microseconds_up(last);
    }
    out.push_back(rate);
    out.push_back(latency);
  };
  lane("storage/read", spec.read, "read_bandwidth", "read_latency_us");
  lane("storage/write", spec.write, "write_bandwidth", "write_latency_us");
  const FitRecord* sustained = find_fit(hardware.fits, "storage/sustained_write");
  if (const double cache = param_or(sustained, "cache_bytes", 0); cache > 0) {
    WriteCacheSpec w;
    w.capacity = Bytes(static_cast<std::int64_t>(cache));
    w.sustained_rate =
        std::min(spec.write.total_rate, bytes_per_s(param_or(sustained, "sustained_gbs", 0)));
    w.drain_rate = w.sustained_rate;  // Model: not measured
    spec.write_cache = w;
  }
  return out;
}

std::vector<std::string_view> use_kv_server(const HardwareChoice& hardware, StorageSpec& spec,
                                            Duration& lookup) {
  std::vector<std::string_view> out;
  const auto lane = [&](const char* target, StorageLane& to, std::string_view latency) {
    const FitRecord* fit = find_fit(hardware.fits, target);
    if (param_or(fit, "total_gbs", 0) <= 0 || param_or(fit, "slot_gbs", 0) <= 0) return;
    to.total_rate = rate_of_gbs(param_or(fit, "total_gbs", 0));
    to.slot_rate = rate_of_gbs(param_or(fit, "slot_gbs", 0));
    to.client_rate = 0;  // what the client allows is in what was measured with it
    // Model: without a tail. What a command waits beyond it comes from the others' values.
    to.latency =
        LatencyQuantiles::constant(microseconds_up(std::max(0.0, param_or(fit, "latency_us", 0))));
    out.push_back(latency);
  };
  lane("kv/read", spec.read, "read_latency_us");
  lane("kv/write", spec.write, "write_latency_us");
  if (out.empty()) return out;
  out.insert(out.end(), {"client_limit", "connection_limit", "server_limit"});
  if (const FitRecord* mixed = find_fit(hardware.fits, "kv/mixed")) {
    spec.one_at_a_time = param_or(mixed, "one_at_a_time", 1) > 0;
    out.push_back("single_threaded");
  }
  if (const FitRecord* exists = find_fit(hardware.fits, "kv/lookup")) {
    lookup = microseconds_up(std::max(0.0, param_or(exists, "latency_us", 0)));
    out.push_back("lookup_us");
  }
  return out;
}

std::optional<std::pair<Bytes, Bytes>> use_kv_rates(const HardwareChoice& hardware,
                                                    StorageSpec& spec) {
  std::optional<std::pair<Bytes, Bytes>> out;
  const auto bytes = static_cast<double>(spec.operation_bytes.count());
  const auto lane = [&](const char* target, StorageLane& to) {
    const FitRecord* fit = find_fit(hardware.fits, target);
    if (fit == nullptr || fit->table.x.empty() || fit->table.y.back() > kMostKvClients) return;
    to.rate_by_flows.clear();
    for (double n = 1; n <= fit->table.y.back(); ++n) {
      to.rate_by_flows.push_back(rate_of_gbs(kv_flow_rate(*fit, bytes, n)));
    }
    to.slot_rate = to.rate_by_flows.front();
    to.total_rate = *std::max_element(to.rate_by_flows.begin(), to.rate_by_flows.end());
    const double low = fit->table.x.front();
    const double high = fit->table.x.back();
    if (bytes < low || bytes > high) {
      out = {Bytes(static_cast<std::int64_t>(low)), Bytes(static_cast<std::int64_t>(high))};
    }
  };
  lane("kv/read", spec.read);
  lane("kv/write", spec.write);
  return out;
}

std::vector<std::string> machine_differences(const MachineFacts& profile,
                                             const MachineFacts& here) {
  std::vector<std::string> out;
  const auto text = [&](const char* fact, const std::string& a, const std::string& b) {
    if (a.empty() || b.empty() || a == b) return;
    out.push_back(fmt::format("{}: profile {}, here {}", fact, a, b));
  };
  text("cpu", profile.cpu, here.cpu);
  constexpr double kSame = 0.03;  // the kernel's own share differs between boots
  const auto a = static_cast<double>(profile.memory_bytes);
  const auto b = static_cast<double>(here.memory_bytes);
  if (a > 0 && b > 0 && std::abs(a - b) > kSame * std::max(a, b)) {
    out.push_back(fmt::format("memory: profile {:.1f} GiB, here {:.1f} GiB", a / 1073741824.0,
                              b / 1073741824.0));
  }
  if (profile.numa.size() != here.numa.size() && !profile.numa.empty() && !here.numa.empty()) {
    out.push_back(
        fmt::format("numa nodes: profile {}, here {}", profile.numa.size(), here.numa.size()));
  }
  const auto gpus = [](const MachineFacts& machine) {
    std::vector<std::string> names;
    for (const GpuFacts& gpu : machine.gpus) names.push_back(gpu.name);
    std::sort(names.begin(), names.end());
    return names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, " + "));
  };
  text("gpus", gpus(profile), gpus(here));
  if (gpus(profile) == gpus(here)) {
    for (std::size_t i = 0; i < profile.gpus.size(); ++i) {
      text("gpu uuid", profile.gpus[i].uuid, here.gpus[i].uuid);
    }
  }
  text("driver", profile.driver, here.driver);
  return out;
}

}  // namespace spillway
