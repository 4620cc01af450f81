#include "scenarios/fidelity/fit/fit_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/catalogue/gpu_spec.hpp"
#include "models/releases/presets.hpp"
#include "scenarios/fidelity/fit/fit_tables.hpp"
#include "scenarios/fidelity/fit/front_end_fit.hpp"
#include "scenarios/fidelity/fit/log_fit.hpp"
#include "scenarios/fidelity/fit/named_in_paths.hpp"
#include "scenarios/fidelity/fit/serving_points.hpp"
#include "scenarios/fidelity/fit/step_times.hpp"
#include "scenarios/fidelity/fit/unknown_data.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "sim/error.hpp"
#include "traces/byte_source.hpp"
#include "traces/formats/csv_table.hpp"

namespace spillway {

namespace {

struct Kinds {
  std::vector<std::string> tables;
  std::vector<std::string> steps;
  std::vector<std::string> serving;
  std::vector<std::string> logs;  ///< and what else a measured run consists of
};

/// What the readers of a measured run take for theirs.
bool is_measured_table(std::string_view header) {
  return is_csv_header(header, "arrival") ||
         (is_csv_header(header, "running") && is_csv_header(header, "waiting"));
}

Kinds kinds_of(const std::vector<std::string>& data) {
  Kinds out;
  for (const std::string& path : data) {
    LineReader lines(path, open_bytes(path));
    std::string_view line;
    const std::string header = lines.next(line) ? std::string(line) : std::string();
    if (kernel_table_kind(header)) {
      out.tables.push_back(path);
    } else if (is_step_times(header)) {
      out.steps.push_back(path);
    } else if (is_serving_points(header)) {
      out.serving.push_back(path);
    } else if (header.empty() && lines.peek_content().empty()) {
      refuse_unknown_data(path, "");
    } else if (is_table_header(header) && !is_measured_table(header)) {
      refuse_unknown_data(path, header);
    } else {
      out.logs.push_back(path);
    }
  }
  return out;
}

/// Throws where two kinds of data would decide the same parameters.
void check_together(const Kinds& kinds) {
  const auto refuse = [](const std::string& file, const char* what) {
    throw InputError(Fault::kUsage, {file, 0, ""}, what);
  };
  if (!kinds.serving.empty() &&
      kinds.tables.size() + kinds.steps.size() + kinds.logs.size() + kinds.serving.size() > 1) {
    refuse(kinds.serving.front(), "holds serving points; expected them alone, in one file");
  }
  if (kinds.steps.size() > 1) {
    refuse(kinds.steps.back(), "is a second table of step times; expected one");
  }
  if (!kinds.steps.empty() && !kinds.logs.empty()) {
    refuse(kinds.steps.front(),
           "holds step times, another file a request log, which decide the same parameters; "
           "expected one of them");
  }
}

/// The scenario of a log where the user has none: vLLM of the version, and with the sizes, that the
/// run reports.
JsonSource scenario_of_run(const FitRequest& request, const MeasuredFacts& facts,
                           const std::string& file) {
  const std::string model = request.model.empty() ? facts.model.value_or("") : request.model;
  if (model.empty() || request.gpu.empty()) {
    throw InputError(Fault::kUsage, {file, 0, ""},
                     "a log's fit simulates the engine that wrote it; expected --scenario FILE, or "
                     "--model and --gpu");
  }
  find_model(model, request.model.empty() ? SourceRef{facts.source, 0, "model"}
                                          : SourceRef{"--model", 0, ""});
  find_gpu(request.gpu, {"--gpu", 0, ""});
  std::string preset = "vllm";
  for (const EnginePreset& known : engine_presets()) {
    if (known.vllm > 0) continue;
    const std::string version(known.name.substr(known.name.find('@') + 1));
    if (facts.version && facts.version->starts_with(version + ".")) preset = known.name;
  }
  nlohmann::json engine = {{"preset", preset}};
  const auto put = [&](const char* key, const std::optional<std::uint32_t>& value) {
    if (value) engine[key] = *value;
  };
  put("num_gpu_blocks", facts.num_gpu_blocks);
  put("max_num_seqs", facts.max_num_seqs);
  put("max_num_batched_tokens", facts.max_num_batched_tokens);
  put("max_model_len", facts.max_model_len);
  put("tensor_parallel_size", facts.tensor_parallel_size);
  put("data_parallel_size", facts.data_parallel_size);
  if (facts.enable_expert_parallel.value_or(false)) engine["enable_expert_parallel"] = true;
  const nlohmann::json scenario = {{"name", "fit"},
                                   {"model", {{"name", model}}},
                                   {"gpu", request.gpu},
                                   {"engine", std::move(engine)},
                                   {"workload", {{"trace", "none"}}}};
  return JsonSource::from_text(file, scenario.dump());
}

/// What was assumed where nobody gave a scenario.
std::string assumed(const Scenario& scenario) {
  return fmt::format(
      "no --scenario: the data were taken to be of {} with {} blocks of {} tokens{}; where the "
      "engine was another, so is the profile",
      scenario.preset, scenario.engine.num_gpu_blocks, scenario.engine.block_tokens,
      scenario.pool_given ? "" : " (worked out)");
}

/// Throws where --gpu or --model contradict the scenario, which would be heard instead.
void check_names(const FitRequest& request, const Scenario& scenario) {
  const auto refuse = [](const char* option, std::string_view given, std::string_view known) {
    throw InputError(Fault::kUsage, {option, 0, ""},
                     fmt::format("is {}, the scenario's {}; expected one of the two, or both the "
                                 "same",
                                 given, known));
  };
  if (!request.gpu.empty() && scenario.gpu != nullptr) {
    const GpuSpec& gpu = find_gpu(request.gpu, {"--gpu", 0, ""});
    if (gpu.name != scenario.gpu->name) refuse("--gpu", gpu.name, scenario.gpu->name);
  }
  if (!request.model.empty() && scenario.model->spec != nullptr) {
    const ModelSpec& model = find_model(request.model, {"--model", 0, ""});
    if (model.name != scenario.model->spec->name) {
      refuse("--model", model.name, scenario.model->spec->name);
    }
  }
}

/// Throws where whole layers were measured on other ranks than the engine has: neither products nor
/// heads are of one width then.
void check_ranks(const std::string& file, const ComputeProfile& tables, const Scenario& scenario) {
  const std::uint32_t ranks = scenario.engine.tensor_parallel;
  if (tables.model.empty() || tables.tensor_parallel == ranks) return;
  throw InputError(
      Fault::kUsage, {file, 0, ""},
      fmt::format("holds layers on {} rank{}, the scenario's engine has tensor_parallel_size {}; "
                  "expected tables of {} rank{}, or --tp {} where these are (their names do not "
                  "say so)",
                  tables.tensor_parallel, tables.tensor_parallel == 1 ? "" : "s", ranks, ranks,
                  ranks == 1 ? "" : "s", ranks));
}

/// The user's scenario, whose workload gives way to the log's, and so may be missing.
JsonSource with_workload(JsonSource source) {
  if (source.root().is_object() && !source.root().contains("workload")) {
    source.set("workload.trace=none", "the log");
  }
  return source;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// What the engine's own times add to kernels that tables told.
FitResult with_kernels(FitResult fit, const std::optional<FitResult>& kernels) {
  if (!kernels) return fit;
  append(fit.profile.warnings, kernels->profile.warnings);
  fit.worst.insert(fit.worst.end(), kernels->worst.begin(), kernels->worst.end());
  return fit;
}

FitResult fit_kernel_tables(const FitRequest& request, const std::vector<std::string>& files,
                            const Scenario* scenario) {
  KernelTableOptions options;
  options.weights = request.weights;
  std::vector<std::string> notes;
  const auto guessed = [&](const char* what, std::string_view name) {
    notes.push_back(
        fmt::format("{} {}, as the files' names say; --{} would say otherwise", what, name, what));
  };
  if (!request.gpu.empty()) {
    options.gpu = &find_gpu(request.gpu, {"--gpu", 0, ""});
  } else if (scenario != nullptr) {
    options.gpu = scenario->gpu;
  } else if (const GpuSpec* gpu = gpu_named_in(files)) {
    options.gpu = gpu;
    guessed("gpu", gpu->name);
  }
  if (options.gpu == nullptr) {
    throw InputError(Fault::kUsage, {"--gpu", 0, ""},
                     "the kernel tables' names do not say of which one GPU they are; expected its "
                     "name");
  }
  if (!request.model.empty()) {
    options.model = &find_model(request.model, {"--model", 0, ""});
  } else if (scenario != nullptr) {
    options.model = scenario->model->spec;
  } else if (const ModelSpec* model = model_named_in(files)) {
    options.model = model;
    guessed("model", model->name);
  }
  if (request.tensor_parallel > 0) options.tensor_parallel = request.tensor_parallel;
  FitResult out = fit_tables(files, options);
  out.profile.warnings.insert(out.profile.warnings.begin(), notes.begin(), notes.end());
  return out;
}

}  // namespace

FitResult fit_data(const FitRequest& request) {
  const Kinds kinds = kinds_of(request.data);
  check_together(kinds);
  std::vector<std::string> notes;
  if (!request.scenario && !request.set.empty() && kinds.steps.empty() && kinds.logs.empty()) {
    notes.push_back(
        "--set changes nothing: there is no --scenario, and no engine behind such data");
  }
  if (!kinds.serving.empty()) {
    const ServingPoints points = read_serving_points(kinds.serving.front());
    ServingOptions options;
    options.threads = request.threads;
    FitResult out = fit_serving(
        points,
        request.scenario ? with_workload(*request.scenario) : serving_scenario(points, options),
        options);
    append(out.profile.warnings, notes);
    return out;
  }
  std::optional<MeasuredRun> run;
  std::optional<Scenario> scenario;
  if (!kinds.logs.empty()) {
    run = load_measured(kinds.logs, {.skip_warmup = !request.keep_warmup,
                                     .keeps_warmup = "--keep-warmup",
                                     .allow_missing = false});
  }
  if (request.scenario) {
    scenario = load_scenario(with_workload(*request.scenario));
    check_names(request, *scenario);
  } else if (run || !kinds.steps.empty()) {
    JsonSource source = scenario_of_run(request, run ? run->facts : MeasuredFacts{},
                                        run ? kinds.logs.front() : kinds.steps.front());
    for (const std::string& assignment : request.set) source.set(assignment);
    scenario = load_scenario(source);
    notes.push_back(assumed(*scenario));
  }
  std::optional<FitResult> kernels;
  if (!kinds.tables.empty()) {
    kernels = fit_kernel_tables(request, kinds.tables, scenario ? &*scenario : nullptr);
    if (scenario) check_ranks(kinds.tables.front(), kernels->profile, *scenario);
    if (!run && kinds.steps.empty()) {
      append(kernels->profile.warnings, notes);
      return std::move(*kernels);
    }
  }
  LogFitOptions options;
  options.first = request.first;
  if (kernels) options.kernels = kernels->profile;
  if (!run) {
    FitResult out =
        with_kernels(fit_steps(read_step_times(kinds.steps.front()), *scenario, options), kernels);
    append(out.profile.warnings, notes);
    return out;
  }
  FitResult out = with_kernels(fit_log(*run, *scenario, options), kernels);
  append(out.profile.warnings, notes);
  append(out.profile.warnings, run->notes);
  if (has_client_view(*run)) out.profile.warnings.push_back(fit_front_end(*run).text());
  return out;
}

}  // namespace spillway
