// `spillway trace stats`: what a trace is like.
#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "reports/provenance.hpp"
#include "reports/trace/trace_report.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/trace_stats_fields.hpp"
#include "traces/formats/rate_table.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {

namespace {

struct StatsOptions {
  TraceInput trace;
  std::vector<std::string> outputs;
  CommonOptions common;
};

int stats(const StatsOptions& options) {
  const CommonOptions& common = options.common;
  const std::vector<Output> outputs = parse_outputs(options.outputs, "trace-stats", {}, common);
  check_writable(common, paths_of(outputs));
  refuse_own_inputs(common, {options.trace.path}, paths_of(outputs));
  if (is_rate_table(options.trace.path)) {
    if (!outputs.empty()) {
      throw InputError(Fault::kUsage, {"--output", 0, ""},
                       "is for traces; a rate table has a report on the terminal and a document");
    }
    return show_rate_stats(options.trace, common);
  }
  const Workload workload = read_trace(options.trace, common);
  Document document;
  document.kind = "trace-stats";
  document.inputs = {{"trace", trace_inputs(workload)}};
  TraceStats found = trace_stats(workload);
  found.content_hash = document.inputs["trace"]["content_hash"];
  document.results = to_document(found);
  document.warnings = plain_notes(workload.source().notes);

  const Provenance provenance = provenance_of(document, "");
  write_results(document, trace_report(document.results, provenance),
                trace_summary(document.results, provenance), outputs, common);
  return 0;
}

}  // namespace

void add_trace_stats(Verb& trace) {
  auto [command, s] = add_command<StatsOptions>(
      trace, "stats", "Lengths, arrivals, reuse and drift of a trace",
      "  spillway trace stats traces/samples/chat.jsonl.gz\n"
      "  spillway trace stats t.jsonl --output kind=html,path=stats.html\n",
      stats);
  command.add("TRACE", s.trace.path, kinds::kFile, "Trace file").require();
  add_output(command, s.outputs, "trace-stats");
  add_trace_options(command, s.trace);
}

}  // namespace spillway
