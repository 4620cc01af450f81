// Expressions over an engine's metrics, in Prometheus' query language.
#pragma once

#include <string>
#include <string_view>

#include "reports/ops/engine_metrics.hpp"

namespace spillway {

/// Which series to look at, beside the metric's own matchers; empty: all.
struct Selector {
  std::string matchers{};         ///< e.g. job=~"$job"
  std::string window = "5m";      ///< of rates
  std::string by = "model_name";  ///< what sums keep apart; empty: nothing
};

/// name{matchers}
std::string series_of(const EngineMetric& metric, const Selector& select,
                      std::string_view suffix = "");
/// The sum of rates of a counter or of a histogram's part.
std::string rate_of(const EngineMetric& metric, const Selector& select,
                    std::string_view suffix = "");
/// A quantile of a histogram over the selector's window.
std::string quantile_of(const EngineMetric& metric, double quantile, const Selector& select);
std::string mean_of(const EngineMetric& metric, const Selector& select);
/// Label matchers as PromQL has them between braces, tidied: model_name="llama",namespace=~"p.*".
/// Throws InputError (exit 2) at `option` for what is none.
std::string read_matcher(std::string_view text, std::string_view option);
/// With two significant digits, or three where that would move it by more than 2.5%; down or up.
double rounded_down(double value);
double rounded_up(double value);
/// The shortest decimal that is this number.
std::string number(double value);

}  // namespace spillway
