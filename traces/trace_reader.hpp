// What every trace format is read into: one row per request, in the order of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

/// Hard limits on what a row may say; beyond them a trace is rejected, not clamped.
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;  ///< per request
inline constexpr std::int64_t kMaxArrivalMs = 10'000'000'000;      ///< 115 days
inline constexpr std::int64_t kMaxArrivalNs = kMaxArrivalMs * 1'000'000;

struct TraceRow {
  std::int64_t line = 0;        ///< where the row stands, for errors
  std::int64_t arrival_ns = 0;  ///< since the trace's origin
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::optional<std::uint64_t> session;
  std::vector<std::uint64_t> blocks;  ///< prefix-chained hashes, root first
};

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  /// Reads the next row into `row`, whose vectors are reused; false at the end.
  /// Throws InputError (exit 3) naming file, line and field, and what was expected.
  virtual bool next(TraceRow& row) = 0;
  /// Things about the file that the user should know, once all rows are read.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace spillway
