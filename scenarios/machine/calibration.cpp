#include "scenarios/machine/calibration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>

#include "models/calibration/fit.hpp"
#include "reports/format.hpp"
#include "scenarios/machine/samples.hpp"
#include "scenarios/machine/storage_bench.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::size_t kNamedCells = 3;  ///< of those left out, in a warning

/// Whether a section was asked for that needs a GPU: else its bench need not even look for one.
bool wants_gpu(const CalibrationOptions& options) {
  const auto on_host = [](const std::string& section) {
    return section == "dram" || section == "registration" || section == "storage" ||
           section == "kv";
  };
  return !options.host_only &&
         (options.only.empty() || !std::all_of(options.only.begin(), options.only.end(), on_host));
}

BenchLimits limits_of(const CalibrationOptions& options, const HostState& host,
                      std::vector<std::string>& scaled) {
  BenchLimits out;
  out.budget_s = options.budget_s;
  out.seed = options.seed;
  out.stop = options.stop;
  out.memory_bytes = options.memory_bytes > 0 ? options.memory_bytes : host.available_bytes / 4;
  if (out.memory_bytes > host.available_bytes && host.available_bytes > 0) {
    throw InputError(Fault::kUsage, {"--memory", 0, ""},
                     fmt::format("expected at most the {} that are available, found {}",
                                 size_of(host.available_bytes), size_of(out.memory_bytes)));
  }
  out.scratch = options.scratch;
  if (out.scratch.empty()) return out;
  const std::int64_t wanted = wanted_scratch_bytes(options.budget_s);
  std::int64_t allowed = std::max<std::int64_t>(0, host.scratch.free_bytes / 2);
  if (host.scratch.in_memory) allowed = std::min(allowed, out.memory_bytes / 2);
  out.scratch_bytes = std::min(wanted, allowed);
  if (out.scratch_bytes < wanted && out.scratch_bytes >= kLeastScratchBytes) {
    scaled.push_back(
        fmt::format("storage: a scratch file of {} instead of {}: {} are free under {}",
                    size_of(out.scratch_bytes), size_of(wanted), size_of(host.scratch.free_bytes),
                    out.scratch));
  }
  return out;
}

/// "write 64.00 KiB qd 64" of a request, for people; "1" and "true" are the plain case.
std::string request_text(const nlohmann::json& request) {
  std::vector<std::string> words;
  std::vector<std::string> sizes;
  std::vector<std::string> rest;
  for (const auto& [key, value] : request.items()) {
    if (value.is_string()) {
      words.push_back(value.get<std::string>());
    } else if (value.is_number_integer() && key.ends_with("bytes")) {
      sizes.push_back(size_of(value.get<std::int64_t>()));
    } else if (value != 1 && value != true) {
      rest.push_back(fmt::format("{} {}", key, value.dump()));
    }
  }
  words.insert(words.end(), sizes.begin(), sizes.end());
  words.insert(words.end(), rest.begin(), rest.end());
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::string utc_now() {
  namespace chrono = std::chrono;
  const auto now = chrono::floor<chrono::seconds>(chrono::system_clock::now());
  const auto day = chrono::floor<chrono::days>(now);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss time(now - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

Calibration::Calibration(const CalibrationOptions& options)
    : options_(options), host_(read_host("", options.scratch)) {
  options_.host_only = !wants_gpu(options_);
  limits_ = limits_of(options_, host_, scaled_);
  benches_ = make_benches(host_, options_.host_only, options_.harness, options_.redis);
  cells_ = collect_cells(benches_, limits_, options_.only, missing_);
  for (const auto& bench : benches_) bench->add_facts(host_.facts);
}

std::vector<std::string> Calibration::warnings() const {
  std::vector<std::string> out = host_warnings(host_);
  out.insert(out.end(), scaled_.begin(), scaled_.end());
  for (const std::string& line : missing_) out.push_back("not measured: " + line);
  return out;
}

std::size_t Calibration::measured() const {
  return static_cast<std::size_t>(
      std::count_if(cells_.begin(), cells_.end(), [](const RunCell& c) { return c.measured(); }));
}

void Calibration::open_journal(const std::string& hash, std::string& created) {
  const std::string path = journal_path(options_.profile);
  const bool exists = std::filesystem::exists(path);
  if (exists && !options_.resume) {
    throw InputError(Fault::kUsage, {path, 0, ""},
                     "an earlier calibration stopped there; --resume goes on with it, or delete it "
                     "to begin anew");
  }
  const JournalContent content = exists ? read_journal(path) : JournalContent();
  if (content.machine_hash.empty()) {
    if (options_.resume)
      notes_.emplace_back("there was nothing to resume: measured from the start");
    journal_.emplace(path, created, hash);
    return;
  }
  if (content.machine_hash != hash) {
    throw InputError(
        Fault::kUsage, {path, 0, "machine_hash"},
        fmt::format("was measured on another machine ({}; this one is {}); delete it to begin anew",
                    content.machine_hash, hash));
  }
  std::size_t taken = 0;
  for (RunCell& cell : cells_) {
    const auto found = content.rows.find(cell.key());
    if (found == content.rows.end()) continue;
    cell.row = found->second;
    ++taken;
  }
  created = content.created;
  resumed_s_ = content.spent_s;
  notes_.push_back(fmt::format("resumed: {} cells of the run that began at {} were kept{}", taken,
                               content.created,
                               content.torn ? ", a line that was cut off was not" : ""));
  journal_.emplace(path, content);
}

HardwareProfile Calibration::run(
    const std::function<void(double done_s, double total_s)>& progress) {
  if (cells_.empty()) {
    throw InputError(Fault::kUsage, {"calibrate", 0, ""},
                     fmt::format("nothing can be measured here: {}", fmt::join(missing_, "; ")));
  }
  HardwareProfile profile;
  profile.created = utc_now();
  profile.command = options_.command;
  profile.budget_s = options_.budget_s;
  profile.machine = host_.facts;
  if (!options_.profile.empty()) {
    profile.name = std::filesystem::path(options_.profile).stem().string();
    open_journal(machine_hash(profile.machine), profile.created);
  }
  RunOptions run;
  run.budget_s = options_.budget_s;
  run.spent_s = resumed_s_;
  run.seed = options_.seed;
  run.now = monotonic_s;
  run.stop = options_.stop;
  run.progress = progress;
  const double begin = monotonic_s();
  run.on_row = [&](const RunCell& cell) {
    if (journal_) journal_->append(cell, resumed_s_ + monotonic_s() - begin);
  };
  outcome_ = run_cells(benches_, cells_, run);
  if (measured() == 0 && !outcome_.stopped) {
    finish();
    if (!outcome_.lost.empty()) {
      throw InputError(Fault::kIo, {outcome_.lost.front().name, 0, ""},
                       outcome_.lost.front().reason);
    }
    double least = cells_.front().plan.expected_s;
    for (const RunCell& cell : cells_) least = std::min(least, cell.plan.expected_s);
    throw InputError(
        Fault::kInconclusive, {"--budget", 0, ""},
        fmt::format("{} s fit none of the {} cells; the shortest takes about {} s",
                    format_real(options_.budget_s), cells_.size(), format_real(least)));
  }
  profile.spent_s = outcome_.spent_s;
  profile.complete = measured() == cells_.size();
  for (const RunCell& cell : cells_) {
    if (cell.measured()) add_row(profile, cell.plan.section, cell.row, cell.key());
  }
  for (const auto& bench : benches_) bench->add_facts(profile.machine);
  profile.warnings = warnings();
  add_outcome_warnings(profile);
  FitReport report = fit_profile(profile);
  profile.fits = std::move(report.fits);
  profile.warnings.insert(profile.warnings.end(), report.warnings.begin(), report.warnings.end());
  return profile;
}

void Calibration::add_outcome_warnings(HardwareProfile& profile) const {
  std::vector<std::string>& out = profile.warnings;
  for (const auto& bench : benches_) {
    for (std::string& line : bench->warnings()) out.push_back(std::move(line));
  }
  out.insert(out.end(), notes_.begin(), notes_.end());
  for (const LostBench& lost : outcome_.lost) {
    out.push_back(fmt::format("{} was lost: {}; {} cells were not measured", lost.name, lost.reason,
                              lost.cells));
  }
  std::map<std::string, std::vector<std::string>> left_out;
  std::size_t unstable = 0;
  std::size_t invalid = 0;
  for (const RunCell& cell : cells_) {
    if (!cell.measured()) left_out[cell.plan.section].push_back(request_text(cell.plan.request));
    unstable += cell.unstable() ? 1 : 0;
    invalid += cell.measured() && !cell.row["state"].value("valid", true) ? 1 : 0;
  }
  for (auto& [section, names] : left_out) {
    const std::size_t count = names.size();
    names.resize(std::min(count, kNamedCells));
    out.push_back(fmt::format("{}: {} cells left out {}: {}{}", section, count,
                              outcome_.stopped ? "when a signal came" : "of the budget",
                              fmt::join(names, "; "), count > kNamedCells ? "; ..." : ""));
  }
  if (unstable > 0) {
    out.push_back(
        fmt::format("{} of {} cells are unstable (varied by more than {}% after {} repeats in "
                    "all): the machine "
                    "was busy, or short of budget",
                    unstable, measured(), std::lround(100 * kUnstableCv), outcome_.repeats));
  }
  if (invalid > 0) {
    out.push_back(fmt::format("{} cells failed; each says why in state.problem", invalid));
  }
}

void Calibration::finish() {
  if (journal_ && !outcome_.stopped) journal_->remove();
  journal_.reset();
}

}  // namespace spillway
