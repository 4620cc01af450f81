#include "sim/retention.hpp"

#include <algorithm>
#include <cmath>

namespace spillway {

namespace {

constexpr double kMostToken = 1 << 30;
constexpr double kMostMs = 1e11;
constexpr double kNsPerMs = 1e6;

bool whole(const std::optional<double>& number, double most) {
  return number && *number >= 0 && *number <= most && *number == std::floor(*number);
}

}  // namespace

std::optional<RetentionRule> retention_rule(RetentionNumbers numbers, std::string& expected) {
  if (numbers.size() != 2) {
    expected = kRetentionRow;
    return std::nullopt;
  }
  if (!whole(numbers[0], kMostRetention)) {
    expected = "a priority, a whole number from 0 to 100";
    return std::nullopt;
  }
  RetentionRule rule;
  rule.priority = static_cast<std::uint32_t>(*numbers[0]);
  if (!numbers[1]) return rule;
  if (!(*numbers[1] >= 0 && *numbers[1] <= kMostMs)) {
    expected = "milliseconds from 0 to 100000000000, or null for good";
    return std::nullopt;
  }
  rule.duration = Duration(std::llround(*numbers[1] * kNsPerMs));
  return rule;
}

std::optional<RetentionRange> retention_range(RetentionNumbers numbers, std::string& expected) {
  if (numbers.size() != 4) {
    expected = kRetentionRows;
    return std::nullopt;
  }
  const bool open = !numbers[1];
  if (!whole(numbers[0], kMostToken) || !(open || whole(numbers[1], kMostToken)) ||
      (!open && *numbers[1] <= *numbers[0])) {
    expected = "a first token and, behind it, a token at which the range ends, or null";
    return std::nullopt;
  }
  const auto rule = retention_rule(numbers.subspan(2), expected);
  if (!rule) return std::nullopt;
  RetentionRange range;
  range.begin = static_cast<std::uint32_t>(*numbers[0]);
  if (!open) range.end = static_cast<std::uint32_t>(*numbers[1]);
  range.rule = *rule;
  return range;
}

bool overlap(std::span<const RetentionRange> ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (std::size_t k = i + 1; k < ranges.size(); ++k) {
      if (std::max(ranges[i].begin, ranges[k].begin) < std::min(ranges[i].end, ranges[k].end)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace spillway
