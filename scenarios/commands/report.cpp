// `spillway report`: renders a result document again.
#include <fmt/format.h>

#include "reports/compare/compare_json.hpp"
#include "reports/compare/compare_report.hpp"
#include "reports/format.hpp"
#include "reports/plan/plan_json.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/profile/profile_report.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/run/run_json.hpp"
#include "reports/run/run_report.hpp"
#include "reports/section_choice.hpp"
#include "reports/trace/trace_report.hpp"
#include "reports/validation/validation_report.hpp"
#include "scenarios/calibrate/profile_json.hpp"
#include "scenarios/commands/command.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

struct ReportOptions {
  std::string result;
  std::vector<std::string> formats = {"html"};
  std::vector<std::string> sections;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

Report build(const JsonSource& source) {
  const nlohmann::json& root = source.root();
  const auto fail = [&](const std::string& message) {
    throw InputError(Fault::kUsage, {source.name(), 0, ""}, message);
  };
  if (!root.is_object() || !root.contains("kind") || !root.contains("results")) {
    fail("expected a result document of spillway, with \"kind\" and \"results\"");
  }
  if (root.value("schema_version", nlohmann::json()) != kSchemaVersion) {
    fail(fmt::format("expected schema_version {}, found {}", kSchemaVersion,
                     root.contains("schema_version") ? root["schema_version"].dump() : "none"));
  }
  try {
    const std::string kind = root.at("kind");
    const auto& inputs = root.at("inputs");
    if (!inputs.is_object()) fail("expected an object for \"inputs\"");
    Provenance p;
    if (inputs.contains("scenario")) p.scenario = inputs["scenario"].value("name", "");
    p.inputs = inputs;
    p.warnings = root.at("warnings").get<std::vector<std::string>>();
    p.digest = root.at("digest");
    p.tool = tool_name(root.at("tool"));
    if (p.digest != digest_of(root.at("results"))) {
      p.warnings.insert(p.warnings.begin(),
                        "the results do not match their digest: edited by hand?");
    }
    if (kind == "run") return run_report(run_from_json(root.at("results")), p);
    if (kind == "plan") return plan_report(plan_from_json(root.at("results")), p);
    if (kind == "compare") return compare_report(compare_from_json(root.at("results")), p);
    if (kind == "trace-stats") return trace_report(root.at("results"), p);
    if (kind == "mrc") return mrc_report(root.at("results"), p);
    if (kind == "validation") return validation_report(root.at("results"));
    if (kind == kProfileKind) {
      std::vector<std::string> notes;
      read_profile(source, notes);  // in full, so that a report is of a sound profile
      std::erase_if(notes, [](const std::string& note) {
        return note.find("their digest") != std::string::npos;  // said above
      });
      p.warnings.insert(p.warnings.end(), notes.begin(), notes.end());
      return profile_report(root.at("results"), p);
    }
    fail(fmt::format(
        "no report for documents of kind \"{}\"; known: run, plan, compare, trace-stats, mrc, "
        "hardware-profile, validation",
        kind));
  } catch (const nlohmann::json::exception& error) {
    fail(fmt::format("not a complete result document ({})", error.what()));
  }
  return {};
}

int run(const ReportOptions& options) {
  for (const std::string& format : options.formats) {
    find_row(renderers(), "report format", format, {"--format", 0, ""});
  }
  const CommonOptions& common = *options.common;
  if (common.out.empty() && options.formats.size() > 1) {
    throw InputError(Fault::kUsage, {"--format", 0, ""},
                     "several formats need --out DIR to be written to");
  }
  check_writable(common);
  refuse_own_inputs(common, {options.result});
  const JsonSource source = JsonSource::from_file(options.result);
  Report report = build(source);
  if (!options.sections.empty()) keep_sections(report, options.sections, "--sections");
  std::string written;
  if (!common.out.empty()) {
    make_directory(common.out);
    for (const std::string& format : options.formats) {
      const std::string path =
          fmt::format("{}/report.{}", common.out, format == "text" ? "txt" : format);
      write_report(report, format, path, common);
      written += printable(path) + "\n";
    }
  }
  // The result document itself, checked: what --json means for every verb.
  if (!common.json.empty()) write_file(common.json, source.root().dump(2) + "\n");
  if (common.json_only()) return 0;
  if (common.out.empty()) {
    write_report(report, options.formats.front(), "-", common);
  } else {
    print(written);
  }
  return 0;
}

}  // namespace

void add_report(CLI::App& app, CommandList& commands) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = add_command(app, commands, "report",
                                  "Render a result document as HTML, Markdown, text or CSV",
                                  "  spillway report out/quickstart/plan.json > report.html\n"
                                  "  spillway report result.json --format html,csv --out out\n"
                                  "  spillway report plan.json --format md --sections "
                                  "decision,knee\n",
                                  options->common, [options] { return run(*options); });
  command
      ->add_option("RESULT", options->result,
                   "JSON document of a run, a plan, a comparison, trace stats or a profile")
      ->required();
  command->add_option("--format", options->formats, "html, md, text, csv")->delimiter(',');
  command
      ->add_option("--sections", options->sections,
                   "Only these pages, by name: decision, knee, ... (an unknown one lists them)")
      ->delimiter(',');
}

}  // namespace spillway
