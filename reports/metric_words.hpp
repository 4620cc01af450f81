// Metrics and their figures as people say them: "p99 TTFT 786 ms (limit 2.0 s)".
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace spillway {

/// "p99 TTFT", "mean TPOT", "output throughput".
std::string metric_words(std::string_view metric);
/// "p99 TTFT of batch".
std::string metric_words(std::string_view metric, const std::string& tenant);
/// "786 ms", "2.0 s", "1,234 tokens/s", "3.1%".
std::string figure_words(std::string_view metric, double value);

/// Two figures of one metric, with as many digits as tell them apart.
std::pair<std::string, std::string> told_apart(std::string_view metric, double a, double b);

struct FigureWords {
  std::string_view metric;
  std::string_view tenant;
  double value = 0;
  double limit = 0;
  bool at_least = false;
};
/// "p99 TTFT 786 ms (limit 2.00 s)"; for a minimum "goodput 3.20 requests/s (at least 4.00 ...)".
/// Figures that differ look different.
std::string against_limit(const FigureWords& figure);

}  // namespace spillway
