#include "scenarios/commands/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/catalogue.hpp"

namespace spillway {

namespace {

Output parse_output(const std::string& text, const std::vector<std::string_view>& kinds) {
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
  if (std::find(kinds.begin(), kinds.end(), out.kind) == kinds.end()) {
    throw InputError(Fault::kUsage, {"--output", 0, "kind"},
                     unknown_name("output kind", out.kind, kinds));
  }
  return out;
}

}  // namespace

std::vector<Output> parse_outputs(const std::vector<std::string>& texts,
                                  const std::vector<std::string_view>& kinds,
                                  const CommonOptions& common) {
  std::vector<Output> out;
  bool taken = common.json_only();
  for (const std::string& text : texts) {
    out.push_back(parse_output(text, kinds));
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

std::vector<std::string> paths_of(const std::vector<Output>& outputs) {
  std::vector<std::string> out;
  for (const Output& output : outputs) out.push_back(output.path);
  return out;
}

Provenance provenance_of(const Document& document, const std::string& scenario) {
  return {scenario, document.inputs, document.warnings, digest_of(document.results),
          tool_name(tool_info())};
}

void write_results(const Document& document, const Report& full, const Report& summary,
                   const std::vector<Output>& outputs, const CommonOptions& common,
                   const std::function<bool(const Output&)>& special) {
  const auto write_outputs = [&](bool to_stdout) {
    for (const Output& output : outputs) {
      if ((output.path == "-") != to_stdout) continue;
      if (special && special(output)) continue;
      write_report(full, output.kind, output.path, common);
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
  if (!stdout_taken) print_report(summary, common);
  print_notes(document.warnings, common);
}

}  // namespace spillway
