// `spillway report`: renders a result document again.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reports/compare/compare_json.hpp"
#include "reports/compare/compare_report.hpp"
#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/notes/note_fields.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/ops/figures.hpp"
#include "reports/ops/ops_formats.hpp"
#include "reports/ops/promql.hpp"
#include "reports/plan/plan_json.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/profile/profile_report.hpp"
#include "reports/provenance.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/run/run_json.hpp"
#include "reports/run/run_report.hpp"
#include "reports/section_choice.hpp"
#include "reports/trace/trace_report.hpp"
#include "reports/validation/validation_report.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

constexpr ValueKind kFormat{"FORMAT", "", Offer::kWords, names_in<formats>};

struct ReportOptions {
  std::string result;
  std::vector<std::string> formats = {"html"};
  std::vector<std::string> sections;
  std::string engines;
  AlertOptions alerts;
  CommonOptions common;
};

/// A document that was read: its report, and its figures where it is of a run or a plan.
struct Result {
  std::string kind;
  Provenance provenance;
  std::optional<RunResult> run;
  std::optional<PlanResult> plan;
  Report report;
};

[[noreturn]] void fail(const JsonSource& source, const std::string& message) {
  throw InputError(Fault::kUsage, {source.name(), 0, ""}, message);
}

Provenance provenance_from(const JsonSource& source) {
  const nlohmann::json& root = source.root();
  const auto& inputs = root.at("inputs");
  if (!inputs.is_object()) fail(source, "expected an object for \"inputs\"");
  Provenance p;
  if (inputs.contains("scenario")) p.scenario = inputs["scenario"].value("name", "");
  p.inputs = inputs;
  p.warnings = root.at("warnings").get<Notes>();  // of documents without notes
  if (root.contains("notes")) p.warnings = root["notes"].get<Notes>();
  p.digest = root.at("digest");
  p.tool = tool_name(root.at("tool"));
  if (p.digest != digest_of(root.at("results"))) {
    p.warnings.insert(p.warnings.begin(), study_note("digest-differs"));
  }
  return p;
}

Report profile_of(const JsonSource& source, Provenance& p) {
  std::vector<std::string> notes;
  read_profile(source, notes);  // in full, so that a report is of a sound profile
  std::erase_if(notes, [](const std::string& note) {
    return note.find("their digest") != std::string::npos;  // said above
  });
  append(p.warnings, plain_notes(notes));
  return profile_report(source.root().at("results"), p);
}

Report report_of(const JsonSource& source, Result& r) {
  const nlohmann::json& results = source.root().at("results");
  Provenance& p = r.provenance;
  if (r.kind == "run") return run_report(r.run.emplace(run_from_json(results)), p);
  if (r.kind == "plan") return plan_report(r.plan.emplace(plan_from_json(results)), p);
  if (r.kind == "compare") return compare_report(compare_from_json(results), p);
  if (r.kind == "trace-stats") return trace_report(results, p);
  if (r.kind == "mrc") return mrc_report(results, p);
  if (r.kind == "replay") return replay_report(results, p);
  if (r.kind == "validation") return validation_report(results);
  if (r.kind == kProfileKind) return profile_of(source, p);
  fail(source, fmt::format("no report for documents of kind \"{}\"; known: run, plan, compare, "
                           "trace-stats, mrc, replay, hardware-profile, validation",
                           r.kind));
}

Result read_result(const JsonSource& source) {
  const nlohmann::json& root = source.root();
  if (!root.is_object() || !root.contains("kind") || !root.contains("results")) {
    fail(source, "expected a result document of spillway, with \"kind\" and \"results\"");
  }
  if (root.value("schema_version", nlohmann::json()) != kSchemaVersion) {
    fail(source,
         fmt::format("expected schema_version {}, found {}", kSchemaVersion,
                     root.contains("schema_version") ? root["schema_version"].dump() : "none"));
  }
  try {
    Result out;
    out.kind = root.at("kind");
    out.provenance = provenance_from(source);
    out.report = report_of(source, out);
    return out;
  } catch (const nlohmann::json::exception& error) {
    if (error.id == kDocumentFault) fail(source, fault_text(error));
    fail(source, fmt::format("not a complete result document ({})", error.what()));
  }
}

/// Paths of the files that --out is to hold, in the order of the formats.
std::vector<std::string> files_of(const ReportOptions& options) {
  std::vector<std::string> out;
  if (options.common.out.empty()) return out;
  for (const std::string& name : options.formats) {
    const Format& format = known_format(name, "--format");
    out.push_back(fmt::format("{}/{}", options.common.out, format.file));
  }
  return out;
}

/// Checked before anything is written.
AlertOptions alert_options(const ReportOptions& options) {
  const bool asked =
      std::find(options.formats.begin(), options.formats.end(), "alerts") != options.formats.end();
  AlertOptions out = options.alerts;
  for (const auto& [name, value] :
       {std::pair("--matcher", &out.matcher), std::pair("--runbook-url", &out.runbook_url)}) {
    if (asked || value->empty()) continue;
    throw InputError(Fault::kUsage, {name, 0, ""}, "is for --format alerts");
  }
  if (!out.matcher.empty()) out.matcher = read_matcher(out.matcher, "--matcher");
  const std::string& url = out.runbook_url;
  const std::size_t host = url.find("://") + 3;
  const bool web = url.starts_with("https://") || url.starts_with("http://");
  const bool odd = std::any_of(url.begin(), url.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '<' || c == '>';
  });
  if (!url.empty() && (!web || odd || host >= url.size())) {
    throw InputError(Fault::kUsage, {"--runbook-url", 0, ""},
                     fmt::format("expected a URL as in https://wiki.example/kv, found \"{}\"",
                                 url.substr(0, 64)));
  }
  return out;
}

int run(const ReportOptions& options) {
  for (const std::string& format : options.formats) {
    known_format(format, "--format");
  }
  const AlertOptions alerts = alert_options(options);
  OpsFigures unused;
  use_engines(options.engines, "--engine", unused);  // a wrong name before anything is written
  const CommonOptions& common = options.common;
  if (common.out.empty() && options.formats.size() > 1) {
    throw InputError(Fault::kUsage, {"--format", 0, ""},
                     "several formats need --out DIR to be written to");
  }
  check_writable(common);
  const std::vector<std::string> files = files_of(options);
  refuse_own_inputs(common, {options.result}, files);
  const JsonSource source = JsonSource::from_file(options.result);
  Result result = read_result(source);
  if (!options.sections.empty()) {
    keep_sections(result.report, options.sections, "--sections");
  }
  std::vector<const Format*> chosen;  // all of them before anything is written
  for (const std::string& format : options.formats) {
    chosen.push_back(&find_format(format, result.kind, "--format"));
  }
  const std::string text = source.root().dump(2) + "\n";
  const ResultView view = {result.kind,
                           result.run ? &*result.run : nullptr,
                           result.plan ? &*result.plan : nullptr,
                           &result.provenance,
                           text,
                           options.engines,
                           alerts};
  const std::string no_alerts = without_alerts(view.plan);
  const auto left_out = [&](const Format& format) {
    return format.name == "alerts" && !no_alerts.empty();
  };
  if (!common.out.empty()) make_directory(common.out);
  std::string written;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (left_out(*chosen[i])) continue;
    write_format(*chosen[i], result.report, view, files[i], common);
    written += printable(files[i]) + "\n";
  }
  // The result document itself, checked: what --json means for every verb.
  if (!common.json.empty()) write_file(common.json, text);
  if (!common.json_only()) {
    if (!common.out.empty()) {
      print(written);
    } else if (!left_out(*chosen.front())) {
      write_format(*chosen.front(), result.report, view, "-", common);
    }
  }
  if (std::none_of(chosen.begin(), chosen.end(), [&](const Format* f) { return left_out(*f); })) {
    return 0;
  }
  // After everything else, which does make sense.
  throw InputError(result.plan->undecided ? Fault::kInconclusive : Fault::kInfeasible,
                   {options.result, 0, ""}, no_alerts);
}

std::string format_help() {
  std::string out;
  for (const Format& format : formats()) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", format.name);
    if (!format.kinds.empty()) out += fmt::format(" (of {})", format.kinds);
  }
  return out + " (default: html)";
}

}  // namespace

void add_report(Verb& program) {
  auto [command, options] = add_command<ReportOptions>(
      program, "report", "A result document as a report, metrics, alerts or a dashboard",
      "  spillway report out/quickstart/plan.json > report.html\n"
      "  spillway report result.json --format html,csv --out out\n"
      "  spillway report plan.json --format alerts,grafana,prometheus --out ops\n"
      "  spillway report plan.json --format alerts --engine vllm@0.24,lmcache > alerts.yml\n"
      "  spillway report plan.json --format alerts --matcher 'model_name=\"llama\"' > llama.yml\n"
      "  spillway report plan.json --format md --sections decision,knee\n",
      run);
  command
      .add("RESULT", options.result, kinds::kFile,
           "JSON document of a run, a plan, a comparison, trace stats or a profile")
      .require();
  command.add("--format", options.formats, kFormat, format_help()).commas();
  command.add("--engine", options.engines, kinds::kEngine,
              "NAME[@VERSION][,CACHE]: whose metrics alerts and dashboard use (default: the "
              "result's engine), as in spillway list metrics");
  command.add("--matcher", options.alerts.matcher, kinds::kText,
              "Label matchers of the engines that alerts watch, e.g. "
              "'model_name=\"llama\",namespace=\"prod\"' (default: all that are scraped)");
  command.add("--runbook-url", options.alerts.runbook_url, kinds::kText,
              "URL that every alert names as its runbook_url (default: none)");
  command
      .add("--sections", options.sections, kinds::kName,
           "Only these pages, by name: decision, knee, ... (an unknown one lists them)")
      .commas();
}

}  // namespace spillway
