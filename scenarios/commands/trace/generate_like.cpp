// `spillway trace generate --like`: a trace fitted to another, and how well that went.
#include <fmt/format.h>

#include <cmath>

#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/trace/trace_fields.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/generate/fitted_generator.hpp"

namespace spillway {

namespace {

std::string figure(double value) {
  return value != 0 && std::abs(value) < 1 ? fmt::format("{:.4f}", value) : format_real(value);
}

Report report_of(const Likeness& likeness, const std::string& path, const Workload& generated) {
  Report report;
  report.title = fmt::format("{}: {} requests, {} blocks, content hash {:016x}", path,
                             format_count(generated.size()),
                             format_count(generated.unique_blocks()), generated.requests_hash());
  Table table;
  table.title = "Original and generated";
  table.header = {"statistic", "original", "generated", "error"};
  for (const LikenessRow& row : likeness.rows) {
    table.rows.push_back({row.statistic, figure(row.original), figure(row.generated),
                          fmt::format("{:+.2f}%", 100 * row.error)});
  }
  report.sections.emplace_back();
  report.sections.back().tables = {std::move(table)};
  return report;
}

Notes warnings_of(const Likeness& likeness, const Workload& original, const Workload& generated) {
  Notes out = plain_notes(original.source().notes);
  if (generated.size() < original.size()) {
    out.push_back(study_note("fewer-generated", {{"requests", likeness.requests},
                                                 {"original_requests", original.size()}}));
  } else if (generated.size() > original.size()) {
    out.push_back(study_note("more-generated"));
  }
  if (original.references() == 0) {
    out.push_back(study_note("prefixes-not-generated"));
  }
  for (const LikenessRow& row : likeness.rows) {
    if (std::abs(row.error) <= kLikenessTolerance) continue;
    out.push_back(study_note("unlike", {{"statistic", row.statistic},
                                        {"error_share", row.error},
                                        {"limit_share", kLikenessTolerance}}));
  }
  return out;
}

}  // namespace

int generate_like(const LikeOptions& options, const std::string& output, std::uint64_t seed,
                  const CommonOptions& common) {
  TraceInput input;
  input.path = options.trace;
  input.reader.block_tokens = options.block_tokens;
  const Workload original = read_trace(input, common);
  const TraceFit fit = fit_trace(original);
  const std::uint32_t requests = options.requests > 0 ? options.requests : original.size();
  const Workload generated = generate_like(fit, requests, seed);
  write_trace(generated, output);
  const Likeness likeness = compare_traces(original, generated);
  WrittenTrace written = written_trace(generated, output);
  written.likeness = likeness.rows;
  Document document = written_document(generated, written, "trace-generate");
  document.inputs["like"] = trace_inputs(original);
  document.warnings = warnings_of(likeness, original, generated);
  write_document(document, common, "trace-generate");
  print_beside(report_of(likeness, printable(output), generated), output, common);
  print_notes(document.warnings, common);
  return 0;
}

}  // namespace spillway
