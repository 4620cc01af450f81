// `spillway init`: a scenario from what people have: a command line, a manifest, a log, a
// config.json. Each value stands with its origin; what was assumed is told first.
#include <fmt/format.h>

#include <filesystem>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/shell_word.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/init_fields.hpp"
#include "scenarios/scenario/intake/intake.hpp"
#include "sim/input_file.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

struct InitOptions {
  std::vector<std::string> files;
  std::string vllm;
  IntakeOptions intake;
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

std::vector<IntakeText> read_inputs(const InitOptions& options) {
  std::vector<IntakeText> out;
  for (const std::string& file : options.files) {
    std::error_code none;
    // A command line in quotes, where a file was expected.
    if (file.find(' ') != std::string::npos && !std::filesystem::exists(file, none)) {
      out.push_back({"command line", file});
    } else if (file == "-") {
      out.push_back({"standard input", read_text_file("-")});
    } else {
      out.push_back({file, read_text_file(file)});
    }
  }
  if (!options.vllm.empty()) out.push_back({"--vllm", options.vllm});
  return out;
}

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
  const std::vector<IntakeText> inputs = read_inputs(options);
  if (!out.empty()) {
    if (std::filesystem::is_directory(out)) {
      throw InputError(Fault::kUsage, {"--out", 0, ""},
                       fmt::format("expected a file such as mine.json, found the folder {}", out));
    }
    options.intake.folder = std::filesystem::path(out).parent_path().string();
    if (options.intake.folder.empty()) options.intake.folder = ".";
    make_directory(options.intake.folder);
  }
  const Intake intake = make_scenario(inputs, options.intake);
  std::string text = fmt::format("// Made by `spillway init` from {}.\n", intake.source);
  text += "// What is marked ASSUMED nobody said: put your own values there.\n";
  text += intake.draft.text();
  if (!out.empty()) {
    refuse_own_inputs(common, options.files, {out});
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

}  // namespace

void add_init(Verb& program) {
  auto [command, options] = add_command<InitOptions>(
      program, "init", "A scenario from an engine's command, a manifest, a log or a config.json",
      "  spillway init --vllm 'vllm serve Qwen/Qwen3-14B --max-num-seqs 128' --gpu H100 --out "
      "chat.json\n"
      "  spillway init deployment.yaml --trace mine.jsonl.gz --out deployed.json\n"
      "  spillway init server.log --config config.json\n",
      run);
  command.add("FILE", options.files, kinds::kFile,
              "Command (a script, or - for standard input), Kubernetes manifest or Helm "
              "values, server log, config.json");
  command.add("--vllm", options.vllm, kinds::kCommandLine,
              "The engine's command line: 'vllm serve ...', 'python3 -m sglang.launch_server ...', "
              "'trtllm-serve ...'");
  command.add("--gpu", options.intake.gpu, kinds::kGpu,
              "GPU; H100:3g.40gb is a MIG slice (default: what the input names, else the "
              "smallest of H100, H200, B200 that holds the model)");
  command.add("--model", options.intake.model, kinds::kModel, "Model, in place of the input's");
  command.add("--config", options.intake.config, kinds::kFile,
              "config.json of a model outside the catalogue");
  command.add("--release", options.intake.release, kinds::kRelease,
              "vLLM's release, e.g. 0.9.1 (default: what the input names, else the newest)");
  command.add("--trace", options.intake.trace, kinds::kFile,
              "Traffic (default: made-up chat sessions)");
  command.add(
      "--pick", options.intake.pick, kinds::kText,
      "Which of several starts of vLLM: its number, or the name of its container or workload");
  command.add_flag("--force", options.force, "Write over a scenario that is there");
  command.option("--out").describe(kinds::kFile,
                                   "Scenario file to write (default: standard output)");
}

}  // namespace spillway
