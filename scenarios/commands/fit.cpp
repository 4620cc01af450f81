// `spillway fit`: a compute profile from what was measured: kernels, steps, requests, served loads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "reports/fields/write.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/fidelity/fit/fit_data.hpp"
#include "scenarios/fidelity/fit/fit_fields.hpp"
#include "scenarios/fidelity/fit/pair_report.hpp"
#include "scenarios/machine/calibration.hpp"
#include "scenarios/scenario/measured/measured_run.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/digest.hpp"
#include "sim/output_file.hpp"
#include "traces/byte_source.hpp"

namespace spillway {

namespace {

struct FitOptions {
  std::vector<std::string> data;
  std::string gpu;
  std::string model;
  std::uint32_t tensor_parallel = 0;
  std::vector<std::string> weights;
  std::string scenario;
  std::uint32_t first = 0;
  bool keep_warmup = false;
  std::string name;
  std::string source;
  bool explain = false;
  bool pair = false;
  CommonOptions common;
};

/// Of the file's content once unpacked.
std::string content_hash(const std::string& path) {
  const std::unique_ptr<ByteSource> bytes = open_bytes(path);
  std::vector<char> buffer(1 << 16);
  Digest digest;
  while (const std::size_t size = bytes->read(buffer.data(), buffer.size())) {
    digest.bytes(buffer.data(), size);
  }
  return digest.hex();
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// Names of data files instead of paths: a profile is read on other machines.
std::string without_folders(std::string text, const FitOptions& options) {
  for (const std::string& path : options.data) {
    for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path)) {
      if (file_name(path) == path) break;
      text.replace(at, path.size(), file_name(path));
    }
  }
  return text;
}

/// As it could be typed again beside the data: no folders, which are of this machine.
std::string command_text(const FitOptions& options) {
  std::string out = "spillway fit";
  for (const std::string& path : options.data) out += " " + file_name(path);
  if (!options.gpu.empty()) out += " --gpu " + options.gpu;
  if (!options.model.empty()) out += " --model " + options.model;
  if (options.tensor_parallel > 0) out += fmt::format(" --tp {}", options.tensor_parallel);
  if (!options.scenario.empty()) out += " --scenario " + file_name(options.scenario);
  if (options.first > 0) out += fmt::format(" --first {}", options.first);
  if (options.keep_warmup) out += " --keep-warmup";
  if (options.pair) out += " --pair";
  if (!options.weights.empty())
    out += fmt::format(" --weights {}", fmt::join(options.weights, ","));
  return out;
}

nlohmann::json inputs_json(const FitOptions& options) {
  nlohmann::json out = {{"command", command_text(options)}, {"data", nlohmann::json::array()}};
  for (const std::string& path : options.data) {
    out["data"].push_back({{"name", file_name(path)}, {"content_hash", content_hash(path)}});
  }
  return out;
}

void refuse_twice(const std::vector<std::string>& data) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code ignored;
      if (!std::filesystem::equivalent(data[i], data[j], ignored)) continue;
      throw InputError(Fault::kUsage, {data[i], 0, ""}, "is named twice; expected each file once");
    }
  }
}

/// --out's file, where it is one.
std::string fitted_path(const CommonOptions& common) {
  if (common.out.empty()) return "";
  if (!std::filesystem::is_directory(common.out)) return common.out;
  throw InputError(Fault::kIo, {common.out, 0, ""},
                   "is a directory; expected a file for the profile");
}

FitResult fit_all(const FitOptions& options) {
  FitRequest request;
  request.data = options.data;
  request.gpu = options.gpu;
  request.model = options.model;
  request.tensor_parallel = options.tensor_parallel;
  request.weights = options.weights;
  request.first = options.first;
  request.keep_warmup = options.keep_warmup;
  request.threads = options.common.thread_count();
  if (!options.scenario.empty()) {
    request.scenario = open_scenario_source(options.scenario, options.common);
  } else {
    request.set = options.common.set;
  }
  FitResult out = fit_data(request);
  for (std::string& warning : out.profile.warnings) warning = without_folders(warning, options);
  for (FitPoint& point : out.worst) point.what = without_folders(point.what, options);
  return out;
}

/// What a profile is called where nobody says: its file, else its GPU.
std::string name_of(const FitOptions& options, const std::string& path,
                    const ComputeProfile& made) {
  if (!options.name.empty()) return options.name;
  return path.empty() ? made.gpu : std::filesystem::path(path).stem().string();
}

/// Two runs of one server, for what a connector costs.
int run_pair(const FitOptions& options) {
  const CommonOptions& common = options.common;
  const auto refuse = [](const char* option, const char* what) {
    throw InputError(Fault::kUsage, {option, 0, ""}, what);
  };
  if (options.data.size() != 2) {
    refuse("--pair", "takes two logs: of the run without the tier, then of that with it");
  }
  if (options.scenario.empty()) {
    refuse("--pair", "needs --scenario FILE: that of the run with the tier, with its workload");
  }
  if (!common.out.empty()) {
    refuse("--out", "is for a profile; --pair prints costs, and --json FILE writes them");
  }
  if (options.first > 0 || options.keep_warmup || !options.weights.empty() || options.explain ||
      options.tensor_parallel > 0 || !options.gpu.empty() || !options.model.empty()) {
    refuse("--pair", "takes --scenario and no other option of fit");
  }
  check_writable(common);
  refuse_own_inputs(common, {options.data[0], options.data[1], options.scenario});
  refuse_twice(options.data);
  // All requests stay: the n-th is the n-th of the workload.
  const MeasuredRun without = load_measured({options.data[0]});
  const MeasuredRun with = load_measured({options.data[1]});
  const PairFit fit =
      fit_pair(without, with, load_scenario(open_scenario_source(options.scenario, common)));
  Document document;
  document.kind = "pair-fit";
  document.inputs = inputs_json(options);
  document.results = to_document(fit);
  document.warnings = plain_notes(fit.warnings);
  write_document(document, common, "fit");
  print_report(pair_report(fit), common);
  print_notes(document.warnings, common);
  return 0;
}

int run(const FitOptions& options) {
  if (options.pair) return run_pair(options);
  const CommonOptions& common = options.common;
  const std::string path = fitted_path(common);
  const std::vector<std::string> outputs =
      path.empty() ? std::vector<std::string>() : std::vector{path};
  CommonOptions without_folder = common;
  without_folder.out.clear();
  check_writable(without_folder, outputs);
  std::vector<std::string> read = options.data;
  if (!options.scenario.empty()) read.push_back(options.scenario);
  refuse_own_inputs(without_folder, read, outputs);
  refuse_twice(options.data);

  FitResult fit = fit_all(options);
  fit.profile.name = name_of(options, path, fit.profile);
  fit.profile.source = options.source;
  if (options.source.empty()) {
    std::vector<std::string> names;
    for (const std::string& file : options.data) names.push_back(file_name(file));
    fit.profile.source = fmt::format("{}", fmt::join(names, ", "));
  }

  const nlohmann::json inputs = inputs_json(options);
  nlohmann::json dated = inputs;
  dated["created"] = utc_now();  // beside the results, whose digest is the same on any day
  const Document profile = compute_profile_document(fit.profile, std::move(dated));
  Document document;
  document.kind = "fit";
  document.inputs = inputs;
  document.results = to_document(summary_of(fit, digest_of(profile.results), options.explain));
  document.warnings = plain_notes(fit.profile.warnings);
  if (!path.empty()) write_file(path, render_compute_profile(profile));
  write_document(document, without_folder, "fit");
  print_report(fit_report(fit, path, options.explain), common);
  print_notes(document.warnings, common);
  return 0;
}

}  // namespace

void add_fit(Verb& program) {
  auto [command, options] = add_command<FitOptions>(
      program, "fit", "Make a compute profile from what was measured",
      "  spillway fit h100_gemm.csv.gz h100_attn_*.csv.gz --gpu H100 --out h100.json\n"
      "  spillway fit RTX4090_tp1_*.csv.gz --gpu RTX4090 --model Llama-3.1-8B --out 4090.json\n"
      "  spillway fit requests.csv --scenario engine.json --first 100 --out machine.json\n"
      "  spillway fit --pair without.csv with.csv --scenario offload.json\n",
      run);
  options.common.takes_set = true;
  command.option("--out").describe(kinds::kFile, "File for the profile (default: none is written)");
  command
      .add("DATA", options.data, kinds::kFile,
           "Kernel tables, a request log, step times, or serving points")
      .require();
  command.add("--gpu", options.gpu, kinds::kGpu,
              "GPU that the data is of (default: the scenario's, else by the tables' names)");
  command.add("--model", options.model, kinds::kModel,
              "Model that whole-layer tables or requests are of (default: as for --gpu)");
  command
      .add("--tp", options.tensor_parallel, kinds::kCount,
           "Ranks that whole-layer tables were measured on (default: by name, else 1)")
      .range(1U, 64U);
  command
      .add("--weights", options.weights, kinds::kChoice,
           "Types of weights whose products to fit: bf16,fp8 (default: all in the tables)")
      .commas()
      .one_of({"bf16", "fp8"});
  command.add("--scenario", options.scenario, kinds::kScenario,
              "Scenario whose engine wrote the log (default: by --model and --gpu)");
  command.add("--first", options.first, kinds::kCount,
              "Fit to the earliest so many requests of a log; all are simulated (default: all)");
  command.add_flag("--keep-warmup", options.keep_warmup,
                   "Also fit to the requests of a log that warmed the engine up");
  command.add("--name", options.name, kinds::kName, "Name of the profile (default: of its file)");
  command.add("--source", options.source, kinds::kText,
              "Where the data comes from, for the profile (default: the files' names)");
  command.add_flag("--pair", options.pair,
                   "What a connector costs: logs of a run without the tier, then with it");
  command.add_flag("--explain", options.explain, "Show the points furthest off, and why");
}

}  // namespace spillway
