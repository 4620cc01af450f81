// `spillway validate`: measured runs beside their simulations, and how far apart they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "reports/notes/study_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "reports/renderers/renderer.hpp"
#include "reports/validation/validation_report.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/gate.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/fidelity/validate/validation_json.hpp"
#include "scenarios/scenario/profiles/compute_profile_json.hpp"

namespace spillway {

namespace {

namespace fs = std::filesystem;

struct ValidateOptions {
  std::string target;
  std::string profiles;
  ValidationOptions validation;
  bool gate = false;
  CommonOptions common;
};

/// JSON files of a folder, by name.
std::vector<std::string> json_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The compute profiles among the documents of a folder.
std::vector<ComputeProfile> profiles_in(const std::string& folder) {
  std::vector<ComputeProfile> out;
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) {
    throw InputError(Fault::kIo, {folder, 0, ""}, "is no folder; expected one of profiles");
  }
  for (const std::string& path : json_files(folder)) {
    const JsonSource source = JsonSource::from_file(path);
    const nlohmann::json& root = source.root();
    if (!root.is_object() || root.value("kind", nlohmann::json()) != kComputeProfileKind) continue;
    std::vector<std::string> notes;
    out.push_back(read_compute_profile(source, notes));
    if (out.back().name.empty()) out.back().name = fs::path(path).stem().string();
  }
  return out;
}

/// A result or a profile that lies beside the cases.
bool is_document(const std::string& path) {
  const JsonSource source = JsonSource::from_file(path);
  return source.root().is_object() && source.root().contains("schema_version");
}

std::vector<std::string> case_files(const std::string& folder) {
  std::vector<std::string> out = json_files(folder);
  std::erase_if(out, is_document);
  if (out.empty()) {
    throw InputError(Fault::kUsage, {folder, 0, ""},
                     "holds no case; expected files *.json, each a validation case");
  }
  return out;
}

ValidationOutcome carry_out(const ValidateOptions& options, Progress& progress) {
  std::error_code unknown;  // where it cannot be told, reading the file says why
  const bool folder = fs::is_directory(options.target, unknown);
  std::vector<ValidationCase> cases;
  for (const std::string& path :
       folder ? case_files(options.target) : std::vector<std::string>{options.target}) {
    cases.push_back(read_case(path));
  }
  ValidationOutcome out;
  std::uint64_t done = 0;
  for (const ValidationCase& c : cases) {
    progress.update(done++, cases.size());
    const auto missing = missing_file(c, options.validation.data);
    if (missing && !folder) {
      throw InputError(Fault::kIo, {c.path, 0, "measured"},
                       fmt::format("{} is neither beside the case nor under --data", *missing));
    }
    if (missing) {
      out.skipped.push_back({c.name, *missing});
    } else {
      out.cases.push_back(validate_case(c, options.validation));
    }
  }
  progress.finish();
  if (options.profiles.empty()) return out;
  for (const ComputeProfile& profile : profiles_in(options.profiles)) {
    out.profiles.push_back(scores_of(profile));
  }
  return out;
}

nlohmann::json inputs_json(const ValidateOptions& options, const ValidationOutcome& outcome) {
  nlohmann::json out = {{"cases", nlohmann::json::array()}, {"set", options.common.set}};
  for (const CaseResult& c : outcome.cases) {
    out["cases"].push_back({{"name", c.input.name}, {"path", c.input.path}});
  }
  return out;
}

Notes warnings_of(const ValidationOutcome& outcome) {
  Notes out;
  for (const SkippedCase& skipped : outcome.skipped) {
    out.push_back(study_note("case-skipped", {{"case", skipped.name}, {"file", skipped.file}}));
  }
  if (outcome.cases.empty()) out.push_back(study_note("no-case-checked"));
  for (const CaseResult& c : outcome.cases) {
    if (!c.unexplained.empty()) {
      constexpr std::size_t kNamed = 3;
      const std::size_t named = std::min(kNamed, c.unexplained.size());
      const std::vector<std::string> first(
          c.unexplained.begin(), c.unexplained.begin() + static_cast<std::ptrdiff_t>(named));
      NoteFigures figures = {{"case", c.input.name},
                             {"parameters", fmt::format("{}", fmt::join(first, ", "))}};
      if (named < c.unexplained.size()) {
        figures.emplace_back("more", c.unexplained.size() - named);
      }
      out.push_back(study_note("parameters-unexplained", std::move(figures)));
    }
    for (const std::string& key : c.idle_tolerances()) {
      out.push_back(study_note("tolerance-idle", {{"case", c.input.name}, {"key", key}}));
    }
    for (const CheckedFigure& figure : c.checked()) {
      if (!figure.exceeds(figure.tolerance)) continue;
      out.push_back(study_note("beyond-tolerance", {{"case", c.input.name},
                                                    {"figure", metric_words(figure.name)},
                                                    {"error_share", figure.error_percent / 100},
                                                    {"tolerance_share", *figure.tolerance / 100}}));
    }
  }
  return out;
}

/// The kind of report that the name of a file asks for.
std::string format_of(const std::string& path) {
  return path.ends_with(".html") ? "html" : "md";
}

int run(const ValidateOptions& typed) {
  ValidateOptions options = typed;
  const CommonOptions& common = options.common;
  CommonOptions documents = common;  // --out is a file here
  documents.out.clear();
  std::vector<std::string> outputs;
  if (!common.out.empty()) outputs.push_back(common.out);
  if (common.json_only() && common.out == "-") {
    throw InputError(
        Fault::kUsage, {"--out", 0, ""},
        "standard output already takes the JSON document of --json -; expected a file");
  }
  check_writable(documents, outputs);
  refuse_own_inputs(common, {options.target}, outputs);
  options.validation.set = common.set;
  if (const auto seed = seed_of(common)) {
    options.validation.set.push_back(fmt::format("seed={}", *seed));
  }
  Progress progress("validating", "cases", !common.quiet);
  const ValidationOutcome outcome = carry_out(options, progress);

  Document document;
  document.kind = "validation";
  document.inputs = inputs_json(options, outcome);
  document.results = to_json(outcome);
  document.warnings = warnings_of(outcome);
  if (!common.out.empty()) {
    write_report(validation_report(document.results), format_of(common.out), common.out, common);
  }
  write_document(document, documents, "validation");
  if (common.out != "-") print_report(validation_summary(document.results), common);
  print_notes(document.warnings, common);
  // A gate that compares nothing is open for anything.
  const bool exceeded =
      outcome.cases.empty() ||
      std::any_of(outcome.cases.begin(), outcome.cases.end(), [](const CaseResult& c) {
        if (!c.idle_tolerances().empty()) return true;
        const auto checked = c.checked();
        return std::any_of(checked.begin(), checked.end(), [](const CheckedFigure& figure) {
          return figure.exceeds(figure.tolerance);
        });
      });
  return options.gate && exceeded ? kGateFailed : 0;
}

}  // namespace

void add_validate(Verb& program) {
  auto [command, options] = add_command<ValidateOptions>(
      program, "validate", "Set measured runs beside their simulations",
      "  spillway validate scenarios/validation --data profiles\n"
      "  spillway validate case.json --out RESULTS.md --gate\n",
      run);
  options.common.takes_set = true;
  command.add("CASE", options.target, kinds::kFile, "Validation case, or a folder of them")
      .require();
  command.add("--data", options.validation.data, kinds::kFolder,
              "Folder of measured files that do not lie beside their case");
  command.add("--profiles", options.profiles, kinds::kFolder,
              "Also report the held-out scores of this folder's compute profiles");
  command.add("--first", options.validation.first, kinds::kCount,
              "Compare only the earliest so many requests (default: as the case says)");
  command.add_flag("--halves", options.validation.halves,
                   "Also fit on each half of a run's time, and score the other half");
  command.add_flag("--gate", options.gate, "Exit with 99 when an error exceeds its tolerance");
  command.option("--out").describe(kinds::kFile, "File for the report: Markdown, or HTML (*.html)");
}

}  // namespace spillway
