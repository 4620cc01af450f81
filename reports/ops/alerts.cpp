// Alert rules as a file that Prometheus loads. Strings are JSON's, which YAML reads as they are.
#include "reports/ops/alerts.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "reports/ops/ops_text.hpp"

namespace spillway {

namespace {

std::string runbook(const OpsFigures& figures, const AlertRule& rule) {
  if (figures.kind != "plan") return "See the report of the run.";
  return fmt::format("See page \"{}\" of the plan's report: report.html#page-{}", rule.page,
                     rule.page);
}

void write_rule(const OpsFigures& figures, const AlertRule& rule, std::ostream& out) {
  const std::string description =
      fmt::format("Threshold: {} ({}). From {}.", rule.threshold, rule.why, figures.subject());
  fmt::print(out, "      - alert: {}\n        expr: {}\n        for: {}\n", rule.name,
             json_string(rule.expr), rule.lasts);
  fmt::print(out, "        labels:\n          severity: {}\n          source: spillway\n",
             rule.severity);
  fmt::print(out, "        annotations:\n          summary: {}\n", json_string(rule.summary));
  fmt::print(out, "          description: {}\n", json_string(untemplated(description)));
  fmt::print(out, "          value: {}\n", json_string("{{ $value | humanize }}"));
  fmt::print(out, "          runbook: {}\n", json_string(runbook(figures, rule)));
  if (const std::string& url = figures.alerts.runbook_url; !url.empty()) {
    fmt::print(out, "          runbook_url: {}\n", json_string(untemplated(url)));
  }
}

}  // namespace

void write_alerts(const OpsFigures& figures, std::ostream& out) {
  const AlertRules alerts = alert_rules(figures);
  fmt::print(out, "# Alert rules for Prometheus, with thresholds from {}.\n",
             one_line(untemplated(figures.subject())));
  fmt::print(out, "# Metrics as {} exports them.\n",
             figures.engine.engine.empty() ? "no engine that is known" : figures.engine.text());
  if (const std::string& matcher = figures.alerts.matcher; !matcher.empty()) {
    fmt::print(out, "# They watch the engines with {}; HostMemoryLow watches every host.\n",
               one_line(matcher));
  } else {
    fmt::print(out,
               "# They watch every engine that this Prometheus scrapes. Where it scrapes others, "
               "write them\n# again with: spillway report --matcher 'model_name=\"...\"'\n");
  }
  for (const std::string& note : alerts.notes) fmt::print(out, "# {}\n", one_line(note));
  for (const std::string& what : alerts.not_armed) {
    fmt::print(out, "# Not armed: {}\n", one_line(what));
  }
  if (alerts.rules.empty()) {
    fmt::print(out, "groups: []\n");
    return;
  }
  fmt::print(out, "groups:\n  - name: {}\n    rules:\n",
             json_string(untemplated("spillway: " + figures.scenario)));
  for (const AlertRule& rule : alerts.rules) write_rule(figures, rule, out);
}

}  // namespace spillway
