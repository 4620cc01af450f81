// `spillway trace sample`: a smaller trace with the same reuse, or none.
#include <fmt/format.h>

#include <algorithm>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/trace/trace_fields.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "sim/digest.hpp"
#include "traces/formats/trace_writer.hpp"

namespace spillway {

namespace {

struct TraceSampleOptions {
  TraceInput trace;
  SampleOptions sample;
  CommonOptions common;
};

double sessions_of(const Workload& workload) {
  const auto session = workload.columns().session;
  return session.empty() ? 0 : 1.0 + *std::max_element(session.begin(), session.end());
}

std::vector<KeptFigure> kept_of(const Workload& original, const Workload& sample) {
  const auto arrival = original.columns().arrival_ns;
  const double span_s = static_cast<double>(arrival.back() - arrival.front()) / 1e9;
  const auto rate = [&](const Workload& w) { return span_s > 0 ? w.size() / span_s : 0; };
  const auto references = [](const Workload& w) { return static_cast<double>(w.references()); };
  std::vector<KeptFigure> out = {
      {"requests", "requests", 1.0 * original.size(), 1.0 * sample.size()},
      {"references", "block references", references(original), references(sample)},
      {"unique_blocks", "unique blocks", 1.0 * original.unique_blocks(),
       1.0 * sample.unique_blocks()},
      {"requests_per_s", "requests/s, over the trace's span", rate(original), rate(sample)}};
  if (original.has_sessions()) {
    out.push_back({"sessions", "sessions", sessions_of(original), sessions_of(sample)});
  }
  return out;
}

SampledTrace results_of(const Workload& original, const TraceSample& sample,
                        const TraceSampleOptions& options, bool written) {
  SampledTrace out;
  out.written = written;
  if (written) out.path = options.common.out;
  out.options = options.sample;
  out.largest_difference = sample.largest_difference;
  out.units = sample.units;
  out.chosen_units = sample.chosen_units;
  out.choices = sample.choices;
  out.kept_by_time = sample.kept_by_time;
  out.content_hash = hex16(sample.workload.requests_hash());
  out.kept = kept_of(original, sample.workload);
  out.curve = sample.ratios;
  return out;
}

Report sample_report(const SampledTrace& sample, const std::string& trace) {
  Report report;
  report.title =
      fmt::format("{:.4g}% of {}: hit ratios differ by up to {:.2f} points over all sizes",
                  100 * sample.options.share, trace, 100 * sample.largest_difference);
  Table curve;
  curve.title = "LRU hit ratio, capacities scaled by the share";
  curve.header = {"capacity", "in the sample", "original", "sample", "difference"};
  for (const SampledRatio& at : sample.curve) {
    curve.rows.push_back({format_count(at.capacity_blocks), format_count(at.sample_blocks),
                          fmt::format("{:.4f}", at.original), fmt::format("{:.4f}", at.sample),
                          fmt::format("{:.4f}", at.difference())});
  }
  Table figures;
  figures.title = "Kept";
  figures.header = {"figure", "original", "sample", "share"};
  for (const KeptFigure& figure : sample.kept) {
    figures.rows.push_back({figure.name, format_real(figure.original), format_real(figure.sample),
                            fmt::format("{:.4f}", figure.share())});
  }
  report.sections.emplace_back();
  report.sections.back().tables = {std::move(curve), std::move(figures)};
  return report;
}

/// What the user should know about this sample, beside its figures.
Notes notes_of(const Workload& original, const TraceSample& sample, const SampleOptions& options,
               bool written) {
  Notes out = plain_notes(original.source().notes);
  const auto [least, most] =
      std::minmax_element(sample.kept_by_time.begin(), sample.kept_by_time.end());
  const bool any = most != sample.kept_by_time.end();  // of references
  if (any && (*most > 2 * options.share || *least < options.share / 2)) {
    NoteFigure kept("kept_share", *least);
    kept.most = *most;
    out.push_back(study_note("sample-uneven", {kept}));
  }
  if (written) return out;
  out.push_back(study_note("sample-declined", {{"difference_share", sample.largest_difference},
                                               {"limit_share", options.max_difference}}));
  const double request = static_cast<double>(original.references()) / original.size();
  const std::uint64_t smallest = sample.ratios.front().sample_blocks;
  if (static_cast<double>(smallest) < request) {
    out.push_back(study_note("sample-below-request", {{"mean_blocks", std::llround(request)},
                                                      {"blocks", smallest}}));
  }
  return out;
}

int sample(const TraceSampleOptions& options) {
  CommonOptions common = options.common;
  common.out.clear();  // here --out names the trace
  SampleOptions choice = options.sample;
  choice.seed = seed_of(common).value_or(choice.seed);
  check_trace_output(common, {options.trace.path}, options.common.out);
  const Workload workload = read_trace(options.trace, common);
  const TraceSample sample = sample_trace(workload, choice);
  const bool written = sample.largest_difference <= choice.max_difference;
  if (written) write_trace(sample.workload, options.common.out);

  Document document;
  document.kind = "trace-sample";
  document.inputs = {{"trace", trace_inputs(workload)}, {"seed", choice.seed}};
  const SampledTrace results = results_of(workload, sample, options, written);
  document.results = to_document(results);
  document.warnings = notes_of(workload, sample, choice, written);
  write_document(document, common, "trace-sample");
  print_beside(sample_report(results, options.trace.path), options.common.out, common);
  print_notes(document.warnings, common);
  return written ? 0 : static_cast<int>(Fault::kInconclusive);
}

}  // namespace

void add_trace_sample(Verb& trace) {
  auto [command, s] = add_command<TraceSampleOptions>(
      trace, "sample", "Write a share of a trace's sessions with the same hit ratios",
      "  spillway trace sample t.jsonl.gz --share 0.1 --out tenth.jsonl.gz\n"
      "  spillway trace sample t.jsonl.gz --share 0.5 --max-difference 0.05 --out half.bin\n"
      "Hit ratios of the sample are compared with the trace's, at capacities scaled by the share;\n"
      "where they differ by more than --max-difference, nothing is written (exit 5).\n",
      sample);
  command.option("--out").require().describe(kinds::kFile,
                                             "Trace file to write (.jsonl.gz, .bin, ...)");
  command.add("TRACE", s.trace.path, kinds::kFile, "Trace file").require();
  command.add("--share", s.sample.share, kinds::kShare, "Share of the trace to keep (default: 0.1)")
      .range<double>(1e-6, 1);
  command
      .add("--max-difference", s.sample.max_difference, kinds::kShare,
           "Largest difference of hit ratios (default: 0.02)")
      .range<double>(0, 1);
  add_trace_options(command, s.trace);
}

}  // namespace spillway
