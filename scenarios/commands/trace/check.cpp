// `spillway trace check`: everything that is wrong with a trace, and what it can and cannot say.
#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/commands/trace/trace_fields.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "scenarios/scenario/resolved.hpp"

namespace spillway {

namespace {

struct CheckOptions {
  TraceInput trace;
  std::size_t problems = 20;
  CommonOptions common;
};

Document check_document(const TraceCheck& check, const CheckOptions& options) {
  Document document;
  document.kind = "trace-check";
  document.inputs["trace"] =
      check.workload ? trace_inputs(*check.workload) : nlohmann::json{{"name", options.trace.path}};
  for (const TraceFinding& finding : check.findings) {
    if (finding.warning) document.warnings.push_back(finding.text);
  }
  document.results = to_document(check);
  return document;
}

std::string verdict(const TraceCheck& check, const CheckOptions& options) {
  const std::uint64_t count = check.problems.count;
  std::string out = options.trace.path + ": ";
  if (count == 0) {
    return out + fmt::format("no problem in {} rows ({})", format_count(check.rows()),
                             check.workload->source().format);
  }
  out += fmt::format("{} {}", format_count(count), count == 1 ? "problem" : "problems");
  if (!check.workload) return out;
  out += fmt::format(" in {} rows", format_count(check.rows()));
  if (!options.trace.lenient) return out;
  return out + fmt::format("; --lenient {} them out: {} the {:.0f}% that it may",
                           check.tolerable() ? "leaves" : "cannot leave",
                           check.tolerable() ? "within" : "more than", 100 * kMostQuarantined);
}

Section problem_section(const TraceCheck& check, const CheckOptions& options) {
  Section out;
  const std::vector<RowProblem>& listed = check.problems.listed;
  const std::size_t shown = std::min(listed.size(), options.problems);
  for (std::size_t i = 0; i < shown; ++i) {
    out.paragraphs.push_back(
        SourceRef{options.trace.path, listed[i].line, listed[i].field}.prefix() +
        listed[i].message);
  }
  if (shown < check.problems.count) {
    out.paragraphs.push_back(fmt::format("... and {} more (--problems N, or --json)",
                                         format_count(check.problems.count - shown)));
  }
  return out;
}

Section facts_section(const TraceCheck& check) {
  const TraceFacts& f = check.facts;
  const TraceStats& s = f.stats;
  const WorkloadSource& source = check.workload->source();
  const auto known = [](bool yes) { return std::string(yes ? "yes" : "no"); };
  Table table;
  table.header = {"the trace", "says"};
  table.rows = {{"format", source.format},
                {"requests", format_count(s.requests)},
                {"span", format_real(s.span_s) + " s"},
                {"arrivals", fmt::format("{} instants, multiples of {:.6g} s",
                                         format_count(s.distinct_arrival_times), f.time_step_s)},
                {"prefix identity", f.prefix_identity
                                        ? fmt::format("{} blocks of {} tokens, {:.1f}% reused",
                                                      format_count(s.unique_blocks), s.block_tokens,
                                                      100 * s.infinite_hit_ratio)
                                        : "no"},
                {"sessions", s.sessions > 0 ? format_count(s.sessions) : "no"},
                {"think times", known(f.think_times)},
                {"output lengths", known(s.output_tokens.max > 1)},
                {"tenants", f.tenants > 0 ? format_count(f.tenants) : "no"}};
  Section out;
  out.tables.push_back(std::move(table));
  return out;
}

Report check_report(const TraceCheck& check, const CheckOptions& options) {
  Report report;
  report.title = verdict(check, options);
  if (check.problems.count > 0) report.sections.push_back(problem_section(check, options));
  if (!check.workload) return report;
  report.sections.push_back(facts_section(check));
  if (!check.findings.empty()) {
    report.sections.emplace_back();
    for (const TraceFinding& finding : check.findings) {
      report.sections.back().paragraphs.push_back((finding.warning ? "warning: " : "note: ") +
                                                  finding.text);
    }
  }
  return report;
}

int check(const CheckOptions& options) {
  check_writable(options.common);
  refuse_own_inputs(options.common, {options.trace.path});
  Progress reading("checking", "MB", !options.common.quiet);
  const TraceCheck found = check_trace(options.trace.path, open_options(options.trace, reading));
  reading.finish();
  const Document document = check_document(found, options);
  write_document(document, options.common, "trace-check");
  print_report(check_report(found, options), options.common);
  const bool good = found.problems.count == 0 || (options.trace.lenient && found.tolerable());
  return good ? 0 : static_cast<int>(Fault::kTrace);
}

}  // namespace

void add_trace_check(Verb& trace) {
  auto [command, c] = add_command<CheckOptions>(
      trace, "check", "Every problem of a trace, and what it can and cannot say",
      "  spillway trace check requests.jsonl.gz\n"
      "  spillway trace check requests.jsonl.gz --lenient --json problems.json\n",
      check);
  command.add("TRACE", c.trace.path, kinds::kFile, "Trace file").require();
  command
      .add("--problems", c.problems, kinds::kCount, "Problems shown on the terminal (default: 20)")
      .range(std::size_t{0}, RowProblems::kMost);
  add_trace_options(command, c.trace);
}

}  // namespace spillway
