// What every trace format is read into: one row per request, in the order of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "sim/retention.hpp"
#include "sim/store_hints.hpp"

namespace spillway {

/// Hard limits on what a row may say; beyond them a trace is rejected, not clamped.
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;  ///< per request
inline constexpr std::int64_t kMaxArrivalMs = 100'000'000'000;     ///< 1157 days
inline constexpr std::int64_t kMaxArrivalNs = kMaxArrivalMs * 1'000'000;

/// The client's pause before a row is not recorded.
inline constexpr std::int64_t kThinkUnknown = -1;

struct TraceRow {
  std::int64_t line = 0;        ///< where the row stands, for errors
  std::int64_t arrival_ns = 0;  ///< since the trace's origin
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::optional<std::uint64_t> session;
  std::optional<std::uint64_t> id;        ///< names the row for other rows' `after`
  std::vector<std::uint64_t> after;       ///< ids of the rows whose answers this one waited for
  std::int64_t think_ns = kThinkUnknown;  ///< pause between the last such answer and this row
  std::string tenant;                     ///< empty: none
  KvRetention retention;                  ///< how long its KV is kept
  StoreHints hints;                       ///< what it asks of an object store
  bool identified = true;  ///< false: the format says nothing about reuse, `blocks` is empty
  /// Prefix-chained hashes of the prompt's blocks, root first; a last, partial block may be absent.
  std::vector<std::uint64_t> blocks;
  std::uint32_t own_blocks = 0;  ///< behind these: in no other row, and without names

  /// Forgets the previous row and keeps its memory.
  void clear() {
    line = arrival_ns = input_tokens = output_tokens = 0;
    session.reset();
    id.reset();
    after.clear();
    think_ns = kThinkUnknown;
    tenant.clear();
    retention = {};
    hints = {};
    identified = true;
    blocks.clear();
    own_blocks = 0;
  }
};

/// An answer's length as a workload holds it: a recorded 0 counts as 1.
inline std::uint32_t recorded_output_tokens(const TraceRow& row) {
  return row.output_tokens < 1 ? 1 : static_cast<std::uint32_t>(row.output_tokens);
}

/// What to expect, as words ("1 or 2"), where a row names another number of blocks than all that
/// are full, with or without the partial one behind them; nothing where it does not.
std::optional<std::string> expected_blocks(const TraceRow& row, std::uint32_t block_tokens);

/// What is wrong with a trace that has no row left.
inline constexpr char kNoRequests[] = "no requests; expected at least one row";

/// A fault of one row (exit 3). The reader stands behind that row and may be asked for the next;
/// any other InputError ends the reading.
class RowError final : public InputError {
 public:
  RowError(const SourceRef& where, const std::string& message)
      : InputError(Fault::kTrace, where, message) {}
};

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  /// Reads the next row into `row`, whose vectors are reused; false at the end.
  /// Throws RowError for a fault of one row, InputError (exit 3) for one of the whole file, naming
  /// file, line and field, and what was expected.
  virtual bool next(TraceRow& row) = 0;
  /// Tokens in a full block of this trace, known before the first row.
  virtual std::uint32_t block_tokens() const = 0;
  /// Rows left out on purpose so far, e.g. recorded failures; `notes` says why.
  virtual std::uint64_t dropped() const { return 0; }
  /// Things about the file that the user should know, once all rows are read.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace spillway
