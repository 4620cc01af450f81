// `spillway calibrate`: measures this machine and writes what it found as a hardware profile.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "reports/fields/write.hpp"
#include "reports/profile/profile_report.hpp"
#include "scenarios/commands/calibrate_replay.hpp"
#include "scenarios/commands/calibrate_verify.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/ending.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/machine/calibration_fields.hpp"
#include "scenarios/machine/scratch_file.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "sim/catalogue.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

std::vector<std::string> section_names() {
  const auto sections = profile_sections();
  return {sections.begin(), sections.end()};
}
constexpr ValueKind kSection{"SECTION", "", Offer::kWords, section_names};

constexpr ValueKind kRedisServer{"SERVER", "", Offer::kNothing};

constexpr const char* kProfileFile = "hardware-profile.json";

struct CalibrateOptions {
  std::string budget = "60s";
  std::string memory;
  std::string scratch;
  std::vector<std::string> only;
  std::string verify;
  bool dry_run = false;
  bool resume = false;
  bool host_only = false;
  std::string harness;
  std::string all_reduce;
  std::string redis;
  std::string replay;
  std::string window = "30s";
  std::string api = "memcpy_async";
  CommonOptions common;
};

/// Where the profile goes: --out names a .json file or a folder, else --json its file, else it is
/// written here. Empty: to standard output only.
std::string profile_path(const CommonOptions& common) {
  if (common.out.empty()) {
    return common.json_only() ? "" : common.json.empty() ? kProfileFile : common.json;
  }
  const std::filesystem::path out = common.out;
  const bool file = out.extension() == ".json" && !std::filesystem::is_directory(out);
  return file ? common.out : (out / kProfileFile).string();
}

void check_only(const std::vector<std::string>& only) {
  const std::vector<std::string_view> known = profile_sections();
  for (const std::string& name : only) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw InputError(Fault::kUsage, {"--only", 0, ""}, unknown_name("section", name, known));
  }
}

/// The server to measure; empty: none.
std::string redis_server(const CalibrateOptions& options) {
  const bool wanted =
      std::find(options.only.begin(), options.only.end(), "kv") != options.only.end();
  if (wanted && options.redis.empty()) {
    throw InputError(Fault::kUsage, {"--only", 0, ""},
                     "kv needs a server: expected --redis HOST[:PORT] too");
  }
  return options.redis;
}

/// As it could be typed again.
std::string command_text(const CalibrateOptions& options) {
  std::string out = "spillway calibrate --budget " + options.budget;
  if (!options.memory.empty()) out += " --memory " + options.memory;
  if (options.host_only) out += " --host-only";
  if (!options.redis.empty()) out += " --redis HOST";  // a profile names no hosts
  if (!options.only.empty()) out += fmt::format(" --only {}", fmt::join(options.only, ","));
  if (!options.common.seed.empty()) out += " --seed " + options.common.seed;
  return out;
}

CalibrationOptions choices_of(const CalibrateOptions& options) {
  const CommonOptions& common = options.common;
  CalibrationOptions out;
  out.budget_s = parse_seconds(options.budget, {"--budget", 0, ""});
  if (!options.memory.empty()) {
    out.memory_bytes = parse_bytes(options.memory, {"--memory", 0, ""}).count();
    if (out.memory_bytes < 1) {
      throw InputError(Fault::kUsage, {"--memory", 0, ""}, "expected more than nothing");
    }
  }
  check_only(options.only);
  out.only = options.only;
  out.redis.server = redis_server(options);
  out.host_only = options.host_only;
  out.harness.path = options.harness;
  out.harness.all_reduce = options.all_reduce;
  out.seed = seed_of(common).value_or(1);
  out.resume = options.resume;
  out.command = command_text(options);
  out.profile = profile_path(common);
  if (out.resume && out.profile.empty()) {
    throw InputError(Fault::kUsage, {"--resume", 0, ""},
                     "expected --out or --json with a file, beside which the rows were kept");
  }
  return out;
}

/// Files are written where the profile will be, unless --scratch names another folder.
void choose_scratch(const CalibrateOptions& options, CalibrationOptions& choices) {
  choices.scratch = options.scratch;
  if (choices.scratch.empty()) {
    choices.scratch = std::filesystem::path(choices.profile).parent_path().string();
    if (choices.scratch.empty()) choices.scratch = ".";
    // A dry run does not make the folder that --out names.
    if (options.dry_run && !std::filesystem::is_directory(choices.scratch)) choices.scratch = ".";
  }
  check_scratch(choices.scratch, !options.dry_run);
}

nlohmann::json inputs_json(const CalibrationOptions& choices, const Calibration& calibration) {
  return {{"command", choices.command},
          {"budget_s", choices.budget_s},
          {"memory_bytes", calibration.limits().memory_bytes},
          {"scratch_bytes", calibration.limits().scratch_bytes},
          {"only", choices.only},
          {"host_only", choices.host_only},
          {"seed", choices.seed}};
}

/// Every cell that was planned and not measured; warnings name only a few.
nlohmann::json left_out(const Calibration& calibration) {
  nlohmann::json out = nlohmann::json::array();
  for (const RunCell& cell : calibration.cells()) {
    if (cell.measured()) continue;
    out.push_back({{"section", cell.plan.section}, {"request", cell.plan.request}});
  }
  return out;
}

int plan(const CalibrationOptions& choices, const CommonOptions& common) {
  const Calibration calibration(choices);
  Document document;
  document.kind = "calibration-plan";
  document.inputs = inputs_json(choices, calibration);
  document.results = to_document(plan_of(calibration, choices));
  document.warnings = plain_notes(calibration.warnings());
  if (!common.json.empty()) write_file(common.json, render_document(document));
  print_report(plan_summary(calibration, choices), common);
  print_notes(document.warnings, common);
  return 0;
}

int measure(CalibrationOptions choices, const CommonOptions& common) {
  Interrupt interrupt;
  choices.stop = [&] { return interrupt.raised(); };
  Calibration calibration(choices);
  Progress progress("calibrating", "s", !common.quiet);
  const HardwareProfile profile = calibration.run([&](double done_s, double total_s) {
    progress.update(static_cast<std::uint64_t>(done_s), static_cast<std::uint64_t>(total_s + 1));
  });
  progress.finish();
  const int code = calibration.stopped() ? 128 + interrupt.signal() : 0;
  if (calibration.measured() == 0) {  // nothing is better than an empty profile over a good one
    print_notes({"stopped before the first cell was measured: no profile was written"}, common);
    return code;
  }
  nlohmann::json inputs = inputs_json(choices, calibration);
  inputs["left_out"] = left_out(calibration);
  const std::string text = render_document(profile_document(profile, std::move(inputs)));
  if (!choices.profile.empty()) write_file(choices.profile, text);
  if (!common.json.empty() && common.json != choices.profile) write_file(common.json, text);
  calibration.finish();
  print_report(profile_summary(profile, choices.profile, calibration), common);
  print_notes(plain_notes(profile.warnings), common);
  return code;
}

int replay(const CalibrateOptions& options) {
  if (options.dry_run || options.resume || options.host_only || !options.redis.empty()) {
    throw InputError(
        Fault::kUsage, {"--replay", 0, ""},
        "measures nothing else; expected no --dry-run, --resume, --host-only or --redis");
  }
  GpuReplayOptions out;
  out.schedule = options.replay;
  out.window = parse_window(options.window, {"--window", 0, ""});
  out.api = options.api;
  out.harness.path = options.harness;
  if (!options.memory.empty()) {
    out.memory_bytes = parse_bytes(options.memory, {"--memory", 0, ""}).count();
  }
  return run_calibrate_replay(out, options.common);
}

int run(const CalibrateOptions& options) {
  if (!options.replay.empty() && options.verify.empty()) return replay(options);
  const CommonOptions& common = options.common;
  CalibrationOptions choices = choices_of(options);
  if (!options.verify.empty()) {
    check_writable(common);
    refuse_own_inputs(common, {options.verify});
    if (options.dry_run || options.resume || !options.replay.empty()) {
      throw InputError(Fault::kUsage, {"--verify", 0, ""},
                       "expected no --dry-run, --resume or --replay beside it");
    }
    choose_scratch(options, choices);
    return run_calibrate_verify(options.verify, choices, common);
  }
  std::vector<std::string> files;
  if (!options.dry_run && !choices.profile.empty()) {
    files.push_back(choices.profile);
    const std::string folder = std::filesystem::path(choices.profile).parent_path().string();
    if (!common.out.empty() && !folder.empty()) make_directory(folder);
  }
  CommonOptions without_folder = common;
  without_folder.out.clear();
  check_writable(without_folder, files);
  choose_scratch(options, choices);
  return options.dry_run ? plan(choices, common) : measure(choices, common);
}

}  // namespace

void add_calibrate(Verb& program) {
  auto [command, options] = add_command<CalibrateOptions>(
      program, "calibrate", "Measure this machine: memory, storage, GPU copies and kernels",
      "  spillway calibrate --dry-run\n"
      "  spillway calibrate --budget 10min --scratch /data/tmp --out machine.json\n"
      "  spillway calibrate --budget 10min --out machine.json --resume\n"
      "  spillway calibrate --redis 10.0.0.5:6379 --only kv --budget 30s --out redis.json\n"
      "  spillway calibrate --verify machine.json\n"
      "  spillway calibrate --replay result.json --window 10s\n",
      run);
  command.option("--out").describe(
      kinds::kFile, "File (.json) or folder for the profile (default: hardware-profile.json here)");
  command.add("--budget", options.budget, kinds::kDuration,
              "Time to take: 60s, 10min; cells that do not fit are left out");
  command.add("--memory", options.memory, kinds::kSize,
              "Most host memory to use at once (default: a quarter of what is available)");
  command.add("--scratch", options.scratch, kinds::kFolder,
              "Folder on the storage to measure (default: the profile's); nothing stays");
  command
      .add("--only", options.only, kSection,
           "Sections to measure, e.g. dram,storage (default: all)")
      .commas();
  command.add_flag("--host-only", options.host_only, "Leave GPUs alone");
  command.add("--harness", options.harness, kinds::kFile,
              "Program that measures GPUs (default: spillway-gpu-harness beside this one)");
  command.add("--all-reduce", options.all_reduce, kinds::kFile,
              "all_reduce_perf of NVIDIA's nccl-tests, for two GPUs or more (default: in PATH)");
  command.add("--redis", options.redis, kRedisServer,
              "Redis or Valkey server to measure too, HOST[:PORT]; its own keys are deleted again");
  command.add(
      "--replay", options.replay, kinds::kFile,
      "Play the transfers of a run on the GPU and compare: its result, or its transfers' CSV");
  command.add("--window", options.window, kinds::kWindow,
              "Part to replay: 30s (where most bytes move) or 120s+30s (from 120 s on)");
  command
      .add("--api", options.api, kinds::kChoice,
           "How to copy in a replay: memcpy_async, memcpy_batch")
      .one_of(std::vector<std::string>(kCopyApis.begin(), kCopyApis.end()));
  command.add_flag("--dry-run", options.dry_run, "Show the plan; measure and write nothing");
  command.add_flag("--resume", options.resume,
                   "Go on with a calibration that was cut short, from what it left beside --out");
  command.add(
      "--verify", options.verify, kinds::kFile,
      "Measure a tenth of PROFILE's cells and other sizes again; exit 99 where it does not hold");
}

}  // namespace spillway
