// How long the KV of a request is worth keeping, as requests of TensorRT-LLM say it
// (executor::KvCacheRetentionConfig): a priority for ranges of prompt tokens and one for what is
// generated, each for good or for some time after its last use.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

/// What is evicted first has the lowest priority (kMinRetentionPriority and kMaxRetentionPriority).
inline constexpr std::uint32_t kDefaultRetention = 35;
inline constexpr std::uint32_t kMostRetention = 100;

struct RetentionRule {
  std::uint32_t priority = kDefaultRetention;
  std::optional<Duration> duration;  ///< none: for good
  auto operator<=>(const RetentionRule&) const = default;
};

/// Prompt tokens [begin, end).
struct RetentionRange {
  std::uint32_t begin = 0;
  std::uint32_t end = ~std::uint32_t{0};
  RetentionRule rule;
  auto operator<=>(const RetentionRange&) const = default;
};

/// What one request says; nothing where it leaves that to the workload.
struct KvRetention {
  std::optional<std::vector<RetentionRange>> prompt;
  std::optional<RetentionRule> decode;
  auto operator<=>(const KvRetention&) const = default;
};

/// Numbers as a document has them in a row; nothing for null.
using RetentionNumbers = std::span<const std::optional<double>>;

inline constexpr char kRetentionKey[] = "retention";
inline constexpr char kDecodeRetentionKey[] = "decode_retention";
inline constexpr char kRetentionRows[] =
    "an array of [first token, token behind the last or null, priority, milliseconds or null]";
inline constexpr char kRetentionRow[] = "[priority, milliseconds or null]";

/// [priority, duration in ms]; nothing, and what was expected in `expected`, where it is none.
std::optional<RetentionRule> retention_rule(RetentionNumbers numbers, std::string& expected);
/// [begin, end, priority, duration in ms].
std::optional<RetentionRange> retention_range(RetentionNumbers numbers, std::string& expected);
/// A token is in at most one of them (executor::KvCacheRetentionConfig).
bool overlap(std::span<const RetentionRange> ranges);

}  // namespace spillway
