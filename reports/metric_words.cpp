#include "reports/metric_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "reports/format.hpp"
#include "sim/plan_result.hpp"

namespace spillway {

namespace {

/// Parts of a metric's name that are abbreviations of the field.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAbbreviations = {
    {{"ttft", "TTFT"},
     {"tpot", "TPOT"},
     {"itl", "ITL"},
     {"e2el", "end-to-end latency"},
     {"ms", ""}}};

/// "786 ms", "4.2 ms", "2.0 s", "1,234 s": as people say them.
std::string duration_words(double ms) {
  if (ms < 0.95) return format_real(ms) + " ms";
  if (ms < 9.95) return fmt::format("{:.1f} ms", ms);
  if (ms < 999.5) return fmt::format("{:.0f} ms", ms);
  if (ms < 9950) return fmt::format("{:.1f} s", ms / 1000);
  return format_count(static_cast<std::uint64_t>(std::llround(ms / 1000))) + " s";
}

}  // namespace

std::string metric_words(std::string_view metric) {
  std::vector<std::string> out;
  while (!metric.empty()) {
    const std::size_t end = metric.find('_');
    std::string_view part = metric.substr(0, end);
    for (const auto& [name, words] : kAbbreviations) {
      if (part == name) part = words;
    }
    if (!part.empty()) out.emplace_back(part);
    metric = end == std::string_view::npos ? std::string_view() : metric.substr(end + 1);
  }
  return fmt::format("{}", fmt::join(out, " "));
}

std::string metric_words(std::string_view metric, const std::string& tenant) {
  return target_label(metric_words(metric), tenant);
}

std::string figure_words(std::string_view metric, double value) {
  if (metric.ends_with("_ms")) return duration_words(value);
  if (metric.ends_with("_share")) return format_percent(value);
  if (metric.ends_with("token_throughput") || metric == "output_throughput") {
    return format_real(value) + " tokens/s";
  }
  if (metric == "goodput" || metric == "request_throughput") {
    return format_real(value) + " requests/s";
  }
  return format_real(value);
}

std::pair<std::string, std::string> told_apart(std::string_view metric, double a, double b) {
  std::string one = figure_words(metric, a);
  std::string other = figure_words(metric, b);
  if (one != other || a == b) return {one, other};
  const std::size_t at = one.find_last_of(" %");
  const std::string unit = at == std::string::npos ? "" : one.substr(at);
  const double scale = unit == " s" ? 1e-3 : unit == "%" ? 100 : 1;
  for (int digits = 4; digits < 16 && one == other; ++digits) {
    one = fmt::format("{:.{}g}{}", a * scale, digits, unit);
    other = fmt::format("{:.{}g}{}", b * scale, digits, unit);
  }
  return {one, other};
}

std::string against_limit(const FigureWords& f) {
  const auto [value, limit] = told_apart(f.metric, f.value, f.limit);
  return fmt::format("{} {} ({} {})", metric_words(f.metric, std::string(f.tenant)), value,
                     f.at_least ? "at least" : "limit", limit);
}

}  // namespace spillway
