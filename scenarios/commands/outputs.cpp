#include "scenarios/commands/outputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "reports/ops/ops_formats.hpp"
#include "reports/provenance.hpp"
#include "scenarios/commands/ending.hpp"
#include "scenarios/commands/terminal.hpp"
#include "sim/catalogue.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

/// A verb's own outputs and the formats beside them, each once.
std::vector<std::string_view> kinds_of(std::string_view kind,
                                       const std::vector<std::string_view>& own) {
  std::vector<std::string_view> out = own;
  for (const std::string_view format : formats_of(kind)) {
    if (std::find(own.begin(), own.end(), format) == own.end()) out.push_back(format);
  }
  return out;
}

Output parse_output(const std::string& text, std::string_view kind,
                    const std::vector<std::string_view>& own) {
  Output out;
  std::string_view rest = text;
  while (!rest.empty()) {
    // A path may hold commas, so it takes the rest.
    const bool path = rest.starts_with("path=");
    const std::size_t end = path ? rest.size() : std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (path) {
      out.path = part.substr(5);
    } else if (part.starts_with("kind=")) {
      out.kind = part.substr(5);
    } else {
      out.kind.clear();
      break;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (out.kind.empty() || out.path.empty()) {
    throw InputError(Fault::kUsage, {"--output", 0, ""},
                     fmt::format("expected kind=KIND,path=FILE, found \"{}\"", text));
  }
  if (std::find(own.begin(), own.end(), out.kind) != own.end()) return out;
  const std::vector<std::string_view> fitting = formats_of(kind);
  if (std::find(fitting.begin(), fitting.end(), out.kind) != fitting.end()) return out;
  const std::vector<std::string_view> all = names_of(formats());
  if (std::find(all.begin(), all.end(), out.kind) != all.end()) {
    find_format(out.kind, kind, "--output");  // says which kinds it fits
  }
  throw InputError(Fault::kUsage, {"--output", 0, "kind"},
                   unknown_name("output kind", out.kind, kinds_of(kind, own)));
}

}  // namespace

std::vector<Output> parse_outputs(const std::vector<std::string>& texts, std::string_view kind,
                                  const std::vector<std::string_view>& own,
                                  const CommonOptions& common) {
  std::vector<Output> out;
  bool taken = common.json_only();
  for (const std::string& text : texts) {
    out.push_back(parse_output(text, kind, own));
    if (out.back().path != "-") continue;
    if (taken) {
      throw InputError(
          Fault::kUsage, {"--output", 0, "path"},
          fmt::format("standard output already takes {}; expected a file",
                      common.json_only() ? "the JSON document of --json -" : "another --output"));
    }
    taken = true;
  }
  return out;
}

void add_output(Verb& command, std::vector<std::string>& texts, std::string_view kind,
                const std::vector<std::string_view>& own) {
  static constexpr ValueKind kOutput{"kind=KIND,path=FILE", "", Offer::kWords};
  const std::vector<std::string_view> kinds = kinds_of(kind, own);
  Option& option =
      command.add("--output", texts, kOutput,
                  fmt::format("kind={},path=FILE (repeatable)", fmt::join(kinds, "|")));
  for (const std::string_view name : kinds)
    option.words.push_back(fmt::format("kind={},path=", name));
}

std::vector<std::string> paths_of(const std::vector<Output>& outputs) {
  std::vector<std::string> out;
  for (const Output& output : outputs) out.push_back(output.path);
  return out;
}

Provenance provenance_of(const Document& document, const std::string& scenario) {
  return {scenario, document.inputs, document.warnings, digest_of(document.results),
          tool_name(tool_info())};
}

void write_format(const Format& format, const Report& report, const ResultView& view,
                  const std::string& path, const CommonOptions& common) {
  if (format.make != nullptr) {
    write_report(report, std::string(format.name), path, common);
    return;
  }
  std::ostringstream text;
  format.write(view, text);
  write_file(path, text.str());
}

AnswerRoom answer_room() {
  AnswerRoom out;
  const std::size_t width = terminal_width(STDOUT_FILENO);
  if (width == 0) return out;
  return {std::min(width, out.columns), terminal_unicode()};
}

void add_details(Verb& command, bool& details) {
  command.add_flag("--details", details,
                   "Print everything that was found, not one screen; --notes adds all notes");
}

NoteRoom glance_room() {
  constexpr std::size_t kLabel = 6;  // "note: "
  return {kMostNotes, std::max<std::size_t>(answer_room().columns, 40) - kLabel};
}

void write_results(const Document& document, const Report& full, const Report& summary,
                   const std::vector<Output>& outputs, const CommonOptions& common,
                   const std::function<bool(const Output&)>& special, ResultView view) {
  write_results(document, full, Told{summary, document.warnings}, outputs, common, special,
                std::move(view));
}

void write_results(const Document& document, const Report& full, const Told& told,
                   const std::vector<Output>& outputs, const CommonOptions& common,
                   const std::function<bool(const Output&)>& special, ResultView view) {
  const bool shown = std::any_of(outputs.begin(), outputs.end(),
                                 [](const Output& output) { return output.kind == "json"; });
  const std::string text = shown ? render_document(document) : std::string();
  view.kind = document.kind;
  view.document = text;
  const Interrupt until_written;  // files of one answer belong together
  const auto write_outputs = [&](bool to_stdout) {
    for (const Output& output : outputs) {
      if ((output.path == "-") != to_stdout) continue;
      if (special && special(output)) continue;
      if (const std::string why = without_alerts(view.plan);
          output.kind == "alerts" && !why.empty()) {
        print_notes({why}, common);
        continue;
      }
      write_format(find_format(output.kind, view.kind, "--output"), full, view, output.path,
                   common);
    }
  };
  write_outputs(false);
  if (!common.out.empty()) {
    make_directory(common.out);
    write_report(full, "html", common.out + "/report.html", common);
  }
  // A run's document is simply the result.
  write_document(document, common, document.kind == "run" ? "result" : document.kind);
  write_outputs(true);
  const bool stdout_taken = std::any_of(outputs.begin(), outputs.end(),
                                        [](const Output& output) { return output.path == "-"; });
  if (!stdout_taken) print_report(told.report, common);
  print_notes(told.notes, common, told.room);
}

}  // namespace spillway
