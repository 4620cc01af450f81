#include "reports/ops/promql.hpp"

#include <fmt/format.h>

namespace spillway {

namespace {

std::string by_clause(const Selector& select, std::string_view first) {
  if (first.empty() && select.by.empty()) return "sum";
  return fmt::format("sum by ({}{}{})", first, first.empty() || select.by.empty() ? "" : ", ",
                     select.by);
}

}  // namespace

std::string series_of(const EngineMetric& metric, const Selector& select, std::string_view suffix) {
  std::string matchers(metric.matchers);
  if (!matchers.empty() && !select.matchers.empty()) matchers += ",";
  matchers += select.matchers;
  return fmt::format("{}{}{}", metric.name, suffix,
                     matchers.empty() ? "" : fmt::format("{{{}}}", matchers));
}

std::string rate_of(const EngineMetric& metric, const Selector& select, std::string_view suffix) {
  return fmt::format("{} (rate({}[{}]))", by_clause(select, ""), series_of(metric, select, suffix),
                     select.window);
}

std::string quantile_of(const EngineMetric& metric, double quantile, const Selector& select) {
  return fmt::format("histogram_quantile({}, {} (rate({}[{}])))", number(quantile),
                     by_clause(select, "le"), series_of(metric, select, "_bucket"), select.window);
}

std::string mean_of(const EngineMetric& metric, const Selector& select) {
  return fmt::format("{} / {}", rate_of(metric, select, "_sum"), rate_of(metric, select, "_count"));
}

std::string number(double value) {
  return fmt::format("{}", value);
}

}  // namespace spillway
