#include "scenarios/commands/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <thread>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/renderers/wrap.hpp"
#include "scenarios/commands/terminal.hpp"
#include "scenarios/commands/text_fields.hpp"
#include "scenarios/scenario/intake/intake.hpp"
#include "sim/numbers.hpp"
#include "sim/output_file.hpp"

namespace spillway {

unsigned CommonOptions::thread_count() const {
  return threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

void refuse_set(const Verb& verb) {
  throw InputError(Fault::kUsage, {"--set", 0, ""},
                   fmt::format("{} reads no scenario, so that --set would change nothing; expected "
                               "it with run, plan, compare, flags, fit, validate, sweep plan or "
                               "trace generate --benchmark",
                               verb.name));
}

Verb& add_command(Verb& parent, const std::string& name, const std::string& summary,
                  const std::string& examples, CommonOptions& common, std::function<int()> run) {
  Verb& verb = parent.add_verb(name, summary, examples);
  const std::size_t first = verb.options.size();
  verb.add("--set", common.set, kinds::kAssignment,
           "Change a scenario value: key.path=value (repeatable)");
  verb.add("--seed", common.seed, kinds::kCount,
           "Seed of every random draw, 0 or more (default: the scenario's, or 1)");
  verb.add("--threads", common.threads, kinds::kCount, "Threads (default: all cores)")
      .range(1, 4096);
  verb.add("--json", common.json, kinds::kFile,
           "Write the result document to FILE, or - for standard output");
  verb.add("--out", common.out, kinds::kFolder, "Directory for the result document and the report");
  verb.add_flag("--quiet", common.quiet,
                "No progress on standard error, and no notes without --notes");
  verb.add_flag("--notes", common.notes, "Print every note in full, assumptions too");
  verb.add("--color", common.color, kinds::kChoice,
           "Mark the text with colours (default: auto, on a terminal without NO_COLOR)")
      .one_of({"auto", "always", "never"});
  for (std::size_t i = first; i < verb.options.size(); ++i) verb.options[i].group = "Common";
  verb.run = [&verb, &common, run = std::move(run)] {
    if (!common.set.empty() && !common.takes_set) refuse_set(verb);
    return run();
  };
  return verb;
}

std::optional<std::uint64_t> seed_of(const CommonOptions& common) {
  if (common.seed.empty()) return std::nullopt;
  const std::int64_t seed = parse_whole<std::int64_t>(common.seed).value_or(-1);
  if (seed < 0) {
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
    throw InputError(
        e.fault(), {path, 0, ""},
        fmt::format("is no scenario; give it to --from-engine-config, or let `spillway "
                    "scenario from {}` make one",
                    path));
  }
}

std::vector<std::string> ScenarioInput::paths() const {
  std::vector<std::string> out = engine.files;
  if (!scenario.empty()) out.push_back(scenario);
  return out;
}

void add_scenario_input(Verb& command, ScenarioInput& input, const std::string& what) {
  Option& file = command.add("SCENARIO", input.scenario, kinds::kScenario, what);
  Option& from = command.add(
      "--from-engine-config", input.engine.files, kinds::kFile,
      "In place of SCENARIO: the engine's configuration in one or more files, or its command line "
      "in quotes (`spillway scenario from` writes the scenario that this makes)");
  Option& vllm = command.add("--vllm", input.engine.vllm, kinds::kCommandLine,
                             "In place of SCENARIO: the engine's command line, 'vllm serve ...'");
  file.excludes(from);
  file.excludes(vllm);
  add_engine_options(command, input.engine, "With --from-engine-config or --vllm: ");
}

JsonSource open_scenario_source(const ScenarioInput& input, const CommonOptions& common,
                                Notes& assumed) {
  if (!input.engine.given()) {
    if (const std::string option = input.engine.typed_option(); !option.empty()) {
      throw InputError(Fault::kUsage, {option, 0, ""}, "needs --from-engine-config or --vllm");
    }
    if (input.scenario.empty()) {
      throw InputError(Fault::kUsage, {"", 0, ""},
                       "SCENARIO is required, or --from-engine-config FILE, or --vllm 'vllm serve "
                       "...'");
    }
    return open_scenario_source(input.scenario, common);
  }
  const Intake intake = make_scenario(texts_of(input.engine), input.engine.intake);
  for (const Remark& remark : intake.draft.remarks()) {
    if (remark.standing == Standing::kUsed || remark.standing == Standing::kNoEffect) continue;
    if (intake.model_assumed && remark.what.starts_with("model")) {
      throw InputError(Fault::kUsage, {intake.source, 0, ""},
                       fmt::format("{}: {}", remark.what, remark.why));
    }
    assumed.push_back(study_note("setting-assumed", {{"what", remark.what}, {"why", remark.why}}));
  }
  // No path: what is relative in the scenario is so to the current folder.
  const char* const name = input.engine.files.empty() ? "--vllm" : "--from-engine-config";
  return with_options(JsonSource::from_text(name, intake.draft.text()), common);
}

void make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw InputError(Fault::kIo, {path, 0, ""},
                     fmt::format("cannot create the directory: {}", error.message()));
  }
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

void print_listing(const std::string& title, std::vector<Table> shown, std::span<const Table> rows,
                   nlohmann::json inputs, const CommonOptions& common) {
  std::vector<ListRow> told;
  for (const Table& table : rows) {
    for (const std::vector<std::string>& cells : table.rows) {
      ListRow& row = told.emplace_back();
      for (std::size_t i = 0; i < cells.size(); ++i) row[table.header[i]] = cells[i];
    }
  }
  Document document;
  document.kind = "list";
  document.inputs = std::move(inputs);
  document.results = to_document(told);
  write_document(document, common, "list");
  Report report;
  report.title = title;
  report.sections.emplace_back();
  report.sections.back().tables = std::move(shown);
  print_report(report, common);
}

void print_listing(const std::string& title, Table table, nlohmann::json inputs,
                   const CommonOptions& common) {
  const Table rows = table;
  print_listing(title, std::vector<Table>{std::move(table)}, std::span(&rows, 1), std::move(inputs),
                common);
}

void print_notes(const Notes& notes, const CommonOptions& common, const NoteRoom& room) {
  if (common.quiet && !common.notes) return;
  std::vector<std::string> lines;
  if (common.notes) {
    for (const Note& note : by_grade(notes)) lines.push_back(note.text);
  } else {
    lines = shown_notes(notes, room);
  }
  const std::size_t width = terminal_width(STDERR_FILENO);  // elsewhere a note is a line
  for (const std::string& line : lines) {
    say(fmt::format("{}\n", fmt::join(wrapped("note: " + printable(line), width, 6), "\n")));
  }
}

}  // namespace spillway
