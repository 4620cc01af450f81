// `spillway trace stats` on a table of arrival rates: a model of arrivals has no requests to
// describe, but clients, windows and rates.
#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/trace/trace_fields.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"

namespace spillway {

namespace {

Report rates_report(const std::string& path, const RateStats& s) {
  Report report;
  report.title =
      fmt::format("{}: arrival rates of {} clients over {} s", printable(path),
                  format_count(s.clients), format_count(static_cast<std::uint64_t>(s.span_s)));
  Table rates;
  rates.title = "Requests/s of all clients together, over windows";
  rates.header = {"mean", "median", "min", "max"};
  rates.rows = {{format_real(s.mean_rps), format_real(s.median_rps), format_real(s.min_rps),
                 format_real(s.max_rps)}};
  Table table;
  table.title = "The table";
  table.header = {"figure", "value"};
  table.rows = {{"rows (a client's window)", format_count(s.rows)},
                {"windows", format_count(s.windows)},
                {"seconds in a window", fmt::format("{}", s.window_s)},
                {"requests the rates add up to", format_real(s.requests)},
                {"rows with Gamma inter-arrivals", format_count(s.gamma_rows)},
                {"rows with Weibull inter-arrivals", format_count(s.rows - s.gamma_rows)},
                {"their coefficient of variation, median", format_real(s.median_cv)},
                {"their coefficient of variation, max", format_real(s.max_cv)}};
  report.sections.emplace_back();
  report.sections.back().tables = {std::move(rates), std::move(table)};
  return report;
}

}  // namespace

int show_rate_stats(const TraceInput& input, const CommonOptions& common) {
  if (input.limit > 0 || input.lenient || input.reader.block_tokens > 0 ||
      input.reader.reuse.kind != ReuseModel::Kind::kNone) {
    throw InputError(Fault::kUsage, {input.path, 0, ""},
                     "is a table of arrival rates; expected no --limit, --lenient, --block-tokens "
                     "or --reuse, which are about requests");
  }
  Progress reading("reading", "MB", !common.quiet);
  const ArrivalRates table = read_rate_table(input.path, reading.reader());
  reading.finish();
  const RateStats s = rate_stats(table);
  Document document;
  document.kind = "rate-table-stats";
  document.inputs = {{"rates", {{"name", input.path}, {"rows", s.rows}}}};
  document.results = to_document(s);
  write_document(document, common, "rate-table-stats");
  print_report(rates_report(input.path, s), common);
  return 0;
}

}  // namespace spillway
