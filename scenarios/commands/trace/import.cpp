// `spillway trace import`: the requests of a measured run as a trace, and the run as a document.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/scenario/measured/measured_document.hpp"
#include "traces/formats/trace_writer.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kBlockTokens = 512;  // of rows that share nothing: any size does

struct ImportOptions {
  std::vector<std::string> files;
  MeasuredOptions measured;
  CommonOptions common;
};

/// What a trace cannot hold of a run, and a log not of its requests.
Notes losses_of(const MeasuredRun& run) {
  Notes out = plain_notes(run.notes);
  if (!run.requests.empty()) out.push_back(study_note("log-without-blocks"));
  return out;
}

Document document_of(const MeasuredRun& run) {
  Document document;
  document.kind = kMeasuredKind;
  document.inputs = {{"files", run.files}};
  document.results = to_json(run);
  document.warnings = losses_of(run);
  return document;
}

std::string summary_of(const MeasuredRun& run) {
  std::string out = fmt::format("{}: {}", printable(run.name), requests_text(run.requests.size()));
  if (!run.counters.empty()) out += fmt::format(", {} samples of counters", run.counters.size());
  const auto metrics = metrics_of(run);
  for (const char* key : {"mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms"}) {
    if (const auto at = metrics.find(key); at != metrics.end()) {
      out += fmt::format(", {} {:.1f}", key, at->second);
    }
  }
  return out + "\n";
}

int import(const ImportOptions& options) {
  CommonOptions common = options.common;
  std::string trace;
  std::swap(trace, common.out);  // here --out names a file
  const std::string document = trace.ends_with(".json") ? trace : "";
  if (!document.empty()) trace.clear();
  check_trace_output(common, options.files, document.empty() ? trace : document);
  const MeasuredRun run = load_measured(options.files, options.measured);
  const Document written = document_of(run);
  if (!trace.empty()) {
    if (run.requests.empty()) {
      throw InputError(Fault::kTrace, {options.files[0], 0, ""},
                       "expected a request log among the files, found none: nothing to write as a "
                       "trace");
    }
    write_trace(workload_of(run, kBlockTokens), trace, TextForm::kNative);
  }
  if (!document.empty()) {
    CommonOptions file;
    file.json = document;
    write_document(written, file, std::string(kMeasuredKind));
  }
  write_document(written, common, std::string(kMeasuredKind));
  if (trace != "-" && !common.json_only()) print(summary_of(run));
  print_notes(written.warnings, common);
  return 0;
}

}  // namespace

void add_trace_import(Verb& trace) {
  auto [command, i] = add_command<ImportOptions>(
      trace, "import", "The requests of a measured run as a trace",
      "  spillway trace import requests.csv.gz timeseries.csv meta.json --out t.jsonl\n"
      "  spillway trace import bench.json server.log --out run.json\n",
      import);
  command.option("--out").require().describe(
      kinds::kFile,
      "Trace to write (.jsonl.gz, .bin, ...; - for rows on stdout), or the run itself (.json)");
  command
      .add("MEASURED", i.files, kinds::kFile,
           "Request log, counters, engine arguments, server log, result of vllm bench serve, "
           "GuideLLM or AIPerf; each is known by its content")
      .require();
  command.add_flag("--skip-warmup", i.measured.skip_warmup,
                   "Leave out requests at the front that warmed the engine up");
  command.add_flag("--allow-missing", i.measured.allow_missing,
                   "Note requests that the log lacks instead of refusing it");
}

}  // namespace spillway
