// `spillway trace`: the group of verbs about traces.
#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/trace/trace_fields.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "sim/digest.hpp"

namespace spillway {

void check_trace_output(const CommonOptions& common, const std::vector<std::string>& inputs,
                        const std::string& output) {
  if (output == "-" && common.json_only()) {
    throw InputError(Fault::kUsage, {"--json", 0, ""},
                     "the trace goes to standard output; expected the document in a file");
  }
  refuse_own_inputs(common, inputs, {output});
  check_writable(common, {output});
}

void print_beside(const Report& report, const std::string& output, const CommonOptions& common) {
  if (output != "-") print_report(report, common);
}

WrittenTrace written_trace(const Workload& workload, const std::string& path) {
  WrittenTrace out;
  out.path = path;
  out.requests = workload.size();
  out.references = workload.references();
  out.unique_blocks = workload.unique_blocks();
  out.content_hash = hex16(workload.requests_hash());
  return out;
}

Document written_document(const Workload& workload, const WrittenTrace& written,
                          const std::string& kind, const std::vector<std::string>& losses) {
  Document document;
  document.kind = kind;
  document.inputs = {{"trace", trace_inputs(workload)}};
  document.results = to_document(written);
  document.warnings = plain_notes(workload.source().notes);
  append(document.warnings, plain_notes(losses));
  if (!losses.empty()) {
    document.warnings.push_back(study_note("hash-of-source", {{"file", written.path}}));
  }
  return document;
}

void say_written(const Workload& workload, const std::string& path, const std::string& kind,
                 const CommonOptions& common, const std::vector<std::string>& losses) {
  const WrittenTrace written = written_trace(workload, path);
  const Document document = written_document(workload, written, kind, losses);
  write_document(document, common, kind);
  if (path != "-" && !common.json_only()) {
    print(fmt::format("{}: {} requests, {} blocks, content hash {}\n", printable(path),
                      written.requests, *written.unique_blocks, written.content_hash));
  }
  print_notes(document.warnings, common);
}

AddVerb add_trace_stats, add_trace_check, add_trace_convert, add_trace_generate, add_trace_sample,
    add_trace_merge, add_trace_import;

void add_trace(Verb& program) {
  Verb& trace = program.add_verb(
      "trace", "Look at, check, convert, generate, sample, merge and import traces",
      "  spillway trace check traces/samples/chat.jsonl.gz\n"
      "  spillway trace stats traces/samples/chat.jsonl.gz\n"
      "  spillway trace generate --out chat.jsonl.gz --requests 2000\n");
  trace.add_all({add_trace_stats, add_trace_check, add_trace_convert, add_trace_generate,
                 add_trace_sample, add_trace_merge, add_trace_import});
}

}  // namespace spillway
