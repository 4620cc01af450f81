// What a trace is like: the results of a `trace-stats` document, straight from its JSON.
#include "reports/trace/trace_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "reports/document_fault.hpp"
#include "reports/format.hpp"
#include "reports/provenance.hpp"
#include "reports/sections.hpp"
#include "reports/trace/trace_parts.hpp"

namespace spillway {

namespace {

using nlohmann::json;

Section titled(Section section, const char* id, const char* heading) {
  section.id = id;
  section.heading = heading;
  return section;
}

void add(Section& section, Chart chart) {
  if (!chart.series.empty() || !chart.cells.empty()) section.charts.push_back(std::move(chart));
}

}  // namespace

Report trace_summary(const json& r, const Provenance& p) {
  Report report;
  report.title =
      fmt::format("{}: {} requests over {} s", p.inputs.at("trace").at("name").get<std::string>(),
                  format_count(whole<std::uint64_t>(r.at("requests"))),
                  format_real(r.at("span_s").get<double>()));
  Section source;
  source.tables.push_back(source_table(p.inputs.at("trace"), r));
  report.sections = {arrivals_section(r), reuse_section(r), clients_section(r, 0),
                     std::move(source)};
  return report;
}

Report trace_report(const json& r, const Provenance& p) {
  Report report = trace_summary(r, p);
  Section arrivals = titled(std::move(report.sections[0]), "arrivals", "Lengths and arrivals");
  add(arrivals, rate_heatmap(r));
  add(arrivals, rate_chart(r));
  add(arrivals, lengths_chart(r));
  Section reuse = titled(std::move(report.sections[1]), "reuse", "Reuse");
  add(reuse, curve_chart(r));
  add(reuse, working_set_chart(r, 0));
  Section provenance = provenance_section(p);
  provenance.id = "provenance";
  report.sections = {std::move(arrivals), std::move(reuse),
                     titled(std::move(report.sections[2]), "clients", "Sessions and tenants"),
                     titled(std::move(report.sections[3]), "source", "Source"),
                     std::move(provenance)};
  return report;
}

}  // namespace spillway
