// `spillway trace stats`: what a trace is like.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "scenarios/resolved.hpp"
#include "traces/rate_table.hpp"
#include "traces/trace_stats.hpp"

namespace spillway {

namespace {

nlohmann::json lengths_json(const LengthStats& s) {
  return {{"total", s.total}, {"mean", s.mean}, {"p50", s.p50}, {"p90", s.p90},
          {"p99", s.p99},     {"min", s.min},   {"max", s.max}};
}

struct StatsOptions {
  TraceInput trace;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

int stats(const StatsOptions& options) {
  check_writable(*options.common);
  if (is_rate_table(options.trace.path)) return show_rate_stats(options.trace, *options.common);
  const Workload workload = read_trace(options.trace, *options.common);
  const TraceStats s = trace_stats(workload);
  Document document;
  document.kind = "trace-stats";
  document.inputs = {{"trace", trace_inputs(workload)}};
  document.results = {{"requests", s.requests},
                      {"span_s", s.span_s},
                      {"requests_per_s", s.requests_per_s},
                      {"peak_requests_per_s", s.peak_requests_per_s},
                      {"distinct_arrival_times", s.distinct_arrival_times},
                      {"input_tokens", lengths_json(s.input_tokens)},
                      {"output_tokens", lengths_json(s.output_tokens)},
                      {"block_tokens", s.block_tokens},
                      {"references", s.references},
                      {"unique_blocks", s.unique_blocks},
                      {"single_use_blocks", s.single_use_blocks},
                      {"infinite_cache_hits", s.infinite_hits},
                      {"infinite_cache_hit_ratio", s.infinite_hit_ratio},
                      {"content_hash", document.inputs["trace"]["content_hash"]}};
  if (s.sessions > 0) document.results["sessions"] = s.sessions;
  document.warnings = workload.source().notes;

  Report report;
  report.title = fmt::format("{}: {} requests over {} s", options.trace.path,
                             format_count(s.requests), format_real(s.span_s));
  Table lengths;
  lengths.title = "Lengths in tokens";
  lengths.header = {"of", "total", "mean", "p50", "p90", "p99", "max"};
  const auto row = [&](const char* name, const LengthStats& l) {
    lengths.rows.push_back({name, format_count(l.total), format_real(l.mean), format_real(l.p50),
                            format_real(l.p90), format_real(l.p99), format_count(l.max)});
  };
  row("input", s.input_tokens);
  row("output", s.output_tokens);
  Table reuse;
  reuse.title = "Rate and reuse";
  reuse.header = {"figure", "value"};
  reuse.rows = {{"format", workload.source().format},
                {"requests/s, mean", format_real(s.requests_per_s)},
                {"requests/s, busiest minute", format_real(s.peak_requests_per_s)},
                {"distinct arrival times", format_count(s.distinct_arrival_times)},
                {"block references", format_count(s.references)},
                {"unique blocks", format_count(s.unique_blocks)},
                {"blocks used once", format_count(s.single_use_blocks)},
                {"hits of an infinite cache", format_count(s.infinite_hits)},
                {"hit ratio of an infinite cache", fmt::format("{:.4f}", s.infinite_hit_ratio)}};
  if (s.sessions > 0) reuse.rows.push_back({"sessions", format_count(s.sessions)});
  reuse.rows.push_back({"content hash", document.inputs["trace"]["content_hash"]});
  report.sections.emplace_back();
  report.sections.back().tables = {std::move(lengths), std::move(reuse)};
  write_document(document, *options.common, "trace-stats");
  print_report(report, *options.common);
  print_notes(document.warnings, *options.common);
  return 0;
}

}  // namespace

void add_trace_stats(CLI::App& trace, CommandList& commands) {
  auto s = std::make_shared<StatsOptions>();
  CLI::App* command = add_command(trace, commands, "stats", "Lengths, rates and reuse of a trace",
                                  "  spillway trace stats traces/samples/chat.jsonl.gz\n",
                                  s->common, [s] { return stats(*s); });
  command->add_option("TRACE", s->trace.path, "Trace file")->required();
  add_trace_options(*command, s->trace);
}

}  // namespace spillway
