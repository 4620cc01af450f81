#include "scenarios/commands/command.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <thread>

#include "reports/format.hpp"
#include "reports/renderers/renderer.hpp"
#include "scenarios/commands/terminal.hpp"
#include "scenarios/scenario/intake/intake.hpp"
#include "sim/output_file.hpp"

namespace spillway {

unsigned CommonOptions::thread_count() const {
  return threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

namespace {

[[noreturn]] void refuse_set(const CLI::App& app) {
  throw InputError(Fault::kUsage, {"--set", 0, ""},
                   fmt::format("{} reads no scenario, so that --set would change nothing; expected "
                               "it with run, plan, compare, flags, fit, validate or sweep plan",
                               app.get_name()));
}

}  // namespace

CLI::App* add_command(CLI::App& parent, CommandList& commands, const std::string& name,
                      const std::string& summary, const std::string& examples,
                      const std::shared_ptr<CommonOptions>& common, std::function<int()> run) {
  CLI::App* app = parent.add_subcommand(name, summary);
  app->footer(examples);
  app->add_option("--set", common->set, "Change a scenario value: key.path=value (repeatable)")
      ->group("Common");
  app->add_option("--seed", common->seed,
                  "Seed of every random draw, 0 or more (default: the scenario's, or 1)")
      ->group("Common");
  app->add_option("--threads", common->threads, "Threads (default: all cores)")
      ->check(CLI::Range(1, 4096))
      ->group("Common");
  app->add_option("--json", common->json,
                  "Write the result document to FILE, or - for standard output")
      ->group("Common");
  app->add_option("--out", common->out, "Directory for the result document and the report")
      ->group("Common");
  app->add_flag("--quiet", common->quiet, "No progress and no notes on standard error")
      ->group("Common");
  app->add_option("--color", common->color,
                  "Mark the text with colours (default: auto, on a terminal without NO_COLOR)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group("Common");
  commands.push_back({app, [app, common, run = std::move(run)] {
                        if (!common->set.empty() && !common->takes_set) refuse_set(*app);
                        return run();
                      }});
  return app;
}

std::optional<std::uint64_t> seed_of(const CommonOptions& common) {
  if (common.seed.empty()) return std::nullopt;
  std::int64_t seed = 0;
  const char* end = common.seed.data() + common.seed.size();
  const auto [at, status] = std::from_chars(common.seed.data(), end, seed);
  if (status != std::errc() || at != end || seed < 0) {
    throw InputError(Fault::kUsage, {"--seed", 0, ""},
                     fmt::format("expected a whole number, 0 or more, found \"{}\"", common.seed));
  }
  return static_cast<std::uint64_t>(seed);
}

namespace {

JsonSource with_options(JsonSource source, const CommonOptions& common) {
  if (const auto seed = seed_of(common)) source.set(fmt::format("seed={}", *seed));
  for (const std::string& assignment : common.set) source.set(assignment);
  return source;
}

}  // namespace

JsonSource open_scenario_source(const std::string& path, const CommonOptions& common) {
  const auto ends = [&](const char* end) { return path.ends_with(end); };
  try {
    return with_options(JsonSource::from_file(path), common);
  } catch (const InputError& e) {
    if (e.fault() != Fault::kUsage) throw;
    if (!ends(".yaml") && !ends(".yml") && !ends(".sh") && !ends(".log")) throw;
    throw InputError(e.fault(), {path, 0, ""},
                     fmt::format("is no scenario; `spillway init {}` makes one of a manifest, a "
                                 "command or a log",
                                 path));
  }
}

void add_scenario_input(CLI::App& command, ScenarioInput& input, const std::string& what) {
  CLI::Option* file = command.add_option("SCENARIO", input.scenario, what);
  CLI::Option* vllm =
      command.add_option("--vllm", input.vllm,
                         "In place of SCENARIO: the engine's command line, 'vllm serve ...' "
                         "(`spillway init` makes a file of it)");
  file->excludes(vllm);
  command
      .add_option("--gpu", input.gpu, "With --vllm: the GPU (default: one that holds the model)")
      ->needs(vllm);
  command.add_option("--trace", input.trace, "With --vllm: the traffic (default: made-up chat)")
      ->needs(vllm);
  command
      .add_option("--config", input.config,
                  "With --vllm: config.json of a model outside the "
                  "catalogue")
      ->needs(vllm);
  command.add_option("--release", input.release, "With --vllm: vLLM's release, e.g. 0.9.1")
      ->needs(vllm);
}

JsonSource open_scenario_source(const ScenarioInput& input, const CommonOptions& common,
                                std::vector<std::string>& assumed) {
  if (input.vllm.empty() && input.scenario.empty()) {
    throw InputError(Fault::kUsage, {"", 0, ""},
                     "SCENARIO is required, or --vllm 'vllm serve ...'");
  }
  if (input.vllm.empty()) return open_scenario_source(input.scenario, common);
  IntakeOptions options;
  options.gpu = input.gpu;
  options.trace = input.trace;
  options.config = input.config;
  options.release = input.release;
  const Intake intake = make_scenario({{"--vllm", input.vllm}}, options);
  for (const Remark& remark : intake.draft.remarks()) {
    if (remark.standing != Standing::kAssumed && remark.standing != Standing::kNotModelled)
      continue;
    assumed.push_back(fmt::format("{}: {}", remark.what, remark.why));
  }
  if (intake.model_assumed) {
    const auto model = std::find_if(assumed.begin(), assumed.end(), [](const std::string& text) {
      return text.starts_with("model");
    });
    throw InputError(Fault::kUsage, {"--vllm", 0, ""}, model == assumed.end() ? "" : *model);
  }
  return with_options(JsonSource::from_text("--vllm", intake.draft.text()), common);
}

void make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw InputError(Fault::kIo, {path, 0, ""},
                     fmt::format("cannot create the directory: {}", error.message()));
  }
}

CLI::Validator real_in(double least, double most) {
  const std::string range = fmt::format("{} to {}", least, most);
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool in = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
        return in ? std::string() : fmt::format("Value {} not in range {}", text, range);
      },
      "FLOAT in [" + range + "]", "real");
}

void check_writable(const CommonOptions& common, const std::vector<std::string>& outputs) {
  std::vector<std::string> files = outputs;
  if (!common.json.empty()) files.push_back(common.json);
  for (const std::string& path : files) {
    struct stat info {};
    const bool device = stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
    if (path == "-" || (device && !S_ISDIR(info.st_mode))) continue;  // a pipe is opened only once
    const OutputFile trial(path);
  }
  if (common.out.empty()) return;
  std::filesystem::path at = common.out;  // the part of the directory's path that exists
  std::error_code ignored;
  while (at.has_relative_path() && !std::filesystem::exists(at, ignored)) at = at.parent_path();
  if (at.empty()) at = ".";
  if (!std::filesystem::is_directory(at, ignored) || access(at.c_str(), W_OK) != 0) {
    throw InputError(
        Fault::kIo, {common.out, 0, ""},
        fmt::format("cannot write to {}; expected a directory that may be written", at.string()));
  }
}

void refuse_own_inputs(const CommonOptions& common, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
  std::vector<std::string> files = outputs;
  files.push_back(common.json);
  for (const std::string& output : files) {
    for (const std::string& input : inputs) {
      std::error_code ignored;  // what does not exist is no input
      if (!std::filesystem::equivalent(input, output, ignored)) continue;
      throw InputError(Fault::kUsage, {output, 0, ""},
                       "is the input itself; expected another file");
    }
  }
}

void write_document(const Document& document, const CommonOptions& common,
                    const std::string& name) {
  if (common.json.empty() && common.out.empty()) return;
  const std::string text = render_document(document);
  if (!common.out.empty()) {
    make_directory(common.out);
    write_file((std::filesystem::path(common.out) / (name + ".json")).string(), text);
  }
  if (!common.json.empty()) write_file(common.json, text);  // last: it may be standard output
}

void write_report(const Report& report, const std::string& format, const std::string& path,
                  const CommonOptions& common) {
  RenderOptions options;
  if (path == "-") {
    options.color = terminal_color(STDOUT_FILENO, common.color);
    options.width = terminal_width(STDOUT_FILENO);
    options.unicode = options.width > 0 && terminal_unicode();  // files hold ASCII, everywhere
  }
  std::ostringstream text;
  find_row(renderers(), "report format", format, {"--format", 0, ""})
      .make(options)
      ->render(report, text);
  write_file(path, text.str());
}

void print(const std::string& text) {
  write_file("-", text);
}

void print_report(const Report& report, const CommonOptions& common) {
  if (!common.json_only()) write_report(report, "text", "-", common);
}

void print_notes(const std::vector<std::string>& notes, const CommonOptions& common) {
  if (common.quiet) return;
  for (const std::string& note : notes) say(fmt::format("note: {}\n", printable(note)));
}

}  // namespace spillway
