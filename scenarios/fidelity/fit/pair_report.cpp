#include "scenarios/fidelity/fit/pair_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/format.hpp"
#include "reports/shell_word.hpp"
#include "scenarios/fidelity/fit/connector_trail.hpp"

namespace spillway {

namespace {

std::string known_from(const CostRow& row, const FittedParameter& p) {
  if (p.low <= row.least) return fmt::format("may be {}", row.least);
  return p.identified ? "these runs" : "these runs, roughly";
}

std::string cost_number(double value) {
  return value < 10 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

/// Those that are not nothing, as far as the runs tell.
ConnectorCosts certain(const PairFit& fit) {
  ConnectorCosts out = fit.costs;
  for (const CostRow& row : cost_rows()) {
    const auto found = fit.parameters.find(std::string(row.name));
    if (found == fit.parameters.end() || found->second.low > row.least) continue;
    out.*row.member = row.least;
  }
  return out;
}

Table costs_table(const PairFit& fit) {
  Table t;
  t.title = "What the connector costs, with 95% intervals";
  t.header = {"key", "value", "interval", "known from"};
  for (const CostRow& row : cost_rows()) {
    const auto found = fit.parameters.find(std::string(row.name));
    if (found == fit.parameters.end()) continue;
    const FittedParameter& p = found->second;
    t.rows.push_back({std::string(row.name), cost_number(p.value),
                      fmt::format("{} to {}", cost_number(p.low), cost_number(p.high)),
                      known_from(row, p)});
  }
  return t;
}

Table scores_table(const PairFit& fit) {
  Table t;
  t.title = "Mean errors of simulated times";
  t.header = {"run", "spans", "if the connector cost nothing", "with these costs", "bias"};
  for (const PairScore& s : fit.scores) {
    t.rows.push_back({s.part, format_count(s.points), fmt::format("{:.1f}%", s.free_mape),
                      fmt::format("{:.1f}%", s.mape), fmt::format("{:+.1f}%", s.bias)});
  }
  return t;
}

}  // namespace

std::string costs_text(const ConnectorCosts& costs) {
  std::vector<std::string> out;
  for (const CostRow& row : cost_rows()) {
    const double value = costs.*row.member;
    if (value > row.least) out.push_back(fmt::format("\"{}\": {:.4g}", row.name, value));
  }
  return fmt::format("{{{}}}", fmt::join(out, ", "));
}

Report pair_report(const PairFit& fit) {
  Report report;
  report.title = "Costs of the connector";
  report.subtitle = "from a run without a tier below HBM and one with it";
  Section section;
  section.heading = "Fit";
  section.paragraphs.push_back(fmt::format(
      "Mean time per output token: measured {:.2f} ms without the tier and {:.2f} ms with it; "
      "simulated {:.2f} and {:.2f} ms.",
      fit.measured_tpot_ms[0], fit.measured_tpot_ms[1], fit.simulated_tpot_ms[0],
      fit.simulated_tpot_ms[1]));
  section.tables.push_back(costs_table(fit));
  section.tables.push_back(scores_table(fit));
  const ConnectorCosts costs = certain(fit);
  if (!usable(fit)) {
    section.paragraphs.push_back("No costs to use: simulated and measured runs do not agree.");
  } else if (!costs.any()) {
    section.paragraphs.push_back("These runs show no cost of the connector.");
  } else {
    section.paragraphs.push_back("A scenario takes them (without those that may be none): --set " +
                                 shell_word("engine.connector_costs=" + costs_text(costs)));
  }
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace spillway
