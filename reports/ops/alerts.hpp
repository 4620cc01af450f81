// Alert rules whose thresholds come from a simulated run that was found healthy.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "reports/ops/figures.hpp"

namespace spillway {

struct AlertRule {
  std::string name;
  std::string expr;
  std::string lasts;      ///< "10m": how long it has to hold
  std::string severity;   ///< "critical" or "warning"
  std::string threshold;  ///< for people, with its unit: "2.5 s"
  std::string why;        ///< where the threshold comes from
  std::string summary;    ///< what is wrong, in a sentence
  std::string page;       ///< id of the report's page that explains it
};

struct AlertRules {
  std::vector<AlertRule> rules;
  std::vector<std::string> not_armed;  ///< what cannot be watched, with why
  std::vector<std::string> notes{};    ///< on how the rules were made
};

AlertRules alert_rules(const OpsFigures& figures);

/// As a rules file of Prometheus.
void write_alerts(const OpsFigures& figures, std::ostream& out);

}  // namespace spillway
