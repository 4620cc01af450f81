// `spillway scenario from`, and `spillway init`, its other name: a scenario from what people have:
// a command line, a manifest, settings, a log, a config.json. Each value stands with its origin;
// what was assumed is told first.
#include <fmt/format.h>

#include <filesystem>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/shell_word.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/engine_input.hpp"
#include "scenarios/commands/init_fields.hpp"
#include "scenarios/scenario/intake/intake.hpp"
#include "sim/input_file.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

struct InitOptions {
  EngineInput input;
  bool force = false;
  CommonOptions common;
};

struct StandingHeading {
  Standing standing;
  const char* heading;
};
/// What to look at first comes first.
constexpr StandingHeading kStandings[] = {
    {Standing::kAssumed, "Assumed: check these first"},
    {Standing::kNotModelled, "Not modelled: left out"},
    {Standing::kUnknown, "Unknown: left out"},
    {Standing::kUsed, "Used"},
    {Standing::kNoEffect, "No effect on KV cache or step times"}};

/// A scenario that somebody changed is never written over.
void check_free(const std::string& path, const std::string& text, bool force) {
  std::error_code none;
  if (force || !std::filesystem::exists(path, none) || read_file(path) == text) return;
  throw InputError(
      Fault::kUsage, {path, 0, ""},
      "is there already and differs; --force writes over it, --out names another file");
}

Report summary_of(const Intake& intake, const std::string& path) {
  Report report;
  report.title = fmt::format("Scenario from {}", intake.source);
  Section& section = report.sections.emplace_back();
  for (const StandingHeading& group : kStandings) {
    Table table;
    table.title = group.heading;
    table.header = {"given", group.standing == Standing::kUsed ? "decides" : "meaning"};
    for (const Remark& remark : intake.draft.remarks()) {
      if (remark.standing == group.standing) table.rows.push_back({remark.what, remark.why});
    }
    if (!table.rows.empty()) section.tables.push_back(std::move(table));
  }
  if (path.empty()) return report;
  report.sections.emplace_back().paragraphs = {
      fmt::format("Written: {}. Next: spillway plan {}", path, shell_word(path))};
  return report;
}

InitResults results_of(const Intake& intake) {
  InitResults out;
  out.source = intake.source;
  out.model_assumed = intake.model_assumed;
  JsonSource::from_text("scenario", intake.draft.text()).root().get_to(out.scenario);
  for (const Remark& remark : intake.draft.remarks()) {
    out.remarks[static_cast<std::size_t>(remark.standing)].push_back(remark);
  }
  return out;
}

int run(const InitOptions& typed) {
  InitOptions options = typed;
  const CommonOptions& common = options.common;
  const std::string out = common.out;
  const std::vector<IntakeText> inputs = texts_of(options.input);
  if (!out.empty()) {
    if (std::filesystem::is_directory(out)) {
      throw InputError(Fault::kUsage, {"--out", 0, ""},
                       fmt::format("expected a file such as mine.json, found the folder {}", out));
    }
    options.input.intake.folder = std::filesystem::path(out).parent_path().string();
    if (options.input.intake.folder.empty()) options.input.intake.folder = ".";
    make_directory(options.input.intake.folder);
  }
  const Intake intake = make_scenario(inputs, options.input.intake);
  std::string text =
      fmt::format("// Made by `spillway scenario from` from {}.\n", printable(intake.source));
  text += "// What is marked ASSUMED nobody said: put your own values there.\n";
  text += ignored_comments(intake.draft);
  text += intake.draft.text();
  if (!out.empty()) {
    refuse_own_inputs(common, options.input.files, {out});
    check_free(out, text, options.force);
    write_file(out, text);
  }
  Document document;
  document.kind = "init";
  document.inputs = {{"source", intake.source}};
  document.results = to_document(results_of(intake));
  if (!common.json.empty()) {
    CommonOptions where = common;
    where.out.clear();
    write_document(document, where, "init");
  }
  if (common.json_only()) return 0;
  if (out.empty()) {
    print(text);
    for (const Remark& remark : intake.draft.remarks()) {
      if (remark.standing == Standing::kUsed || remark.standing == Standing::kNoEffect) continue;
      print_notes({study_note("setting-assumed", {{"what", remark.what}, {"why", remark.why}})},
                  common);
    }
  } else {
    print_report(summary_of(intake, out), common);
  }
  return 0;
}

/// Both names of the verb take the same.
void add_from(Verb& parent, const std::string& name, const std::string& summary,
              const std::string& call) {
  auto [command, options] = add_command<InitOptions>(
      parent, name, summary,
      fmt::format("  spillway {0} 'vllm serve Qwen/Qwen3-14B --max-num-seqs 128' --gpu H100 --out "
                  "chat.json\n"
                  "  spillway {0} values.yaml --trace mine.jsonl.gz --out deployed.json\n"
                  "  spillway {0} serve.sh lmcache.yaml\n"
                  "  spillway {0} server.log --config config.json\n",
                  call),
      run);
  command.add("INPUT", options.input.files, kinds::kFile,
              "A command line in quotes, or files: a script (- for standard input), Kubernetes "
              "manifest, Helm values, settings, server log, config.json");
  command.add("--vllm", options.input.vllm, kinds::kCommandLine,
              "The same as INPUT: the engine's command line, 'vllm serve ...', 'python3 -m "
              "sglang.launch_server ...', 'trtllm-serve ...'");
  add_engine_options(command, options.input);
  command.add_flag("--force", options.force, "Write over a scenario that is there");
  command.option("--out").describe(kinds::kFile,
                                   "Scenario file to write (default: standard output)");
}

}  // namespace

void add_scenario(Verb& program) {
  Verb& scenario = program.add_verb(
      "scenario", "Make a scenario from an engine's configuration",
      "  spillway scenario from 'vllm serve Qwen/Qwen3-14B --max-num-seqs 128' --out qwen3.json\n"
      "  spillway scenario from deployment.yaml\n");
  add_from(scenario, "from",
           "Print a scenario from an engine's command, manifest, settings or log: each value with "
           "its origin, and what was ignored",
           "scenario from");
}

void add_init(Verb& program) {
  add_from(program, "init", "The other name of `spillway scenario from`", "init");
}

}  // namespace spillway
