// What the readers of JSON lines share: lines to objects, values to tokens, times and ids, and the
// words that say what is wrong with them.
//
// A reader calls next_line(), then parse(), then each() on the object it gets; whatever is amiss
// ends in RowError with file, line and the path of the key.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/byte_source.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

using JsonValue = simdjson::dom::element;
using JsonObject = simdjson::dom::object;

/// What stands there, in words: for "expected X, found Y".
std::string describe(const JsonValue& value);

/// Whether a line of JSON has this key, at whatever depth: enough to tell formats apart, and works
/// on a line that is broken further on.
bool has_json_key(std::string_view line, std::string_view key);

/// The keys that one kind of object may have; the first `required` of them must be there.
struct JsonKeys {
  std::span<const std::string_view> names;
  std::size_t required = 0;
};

/// Powers of ten from a unit of time to nanoseconds.
inline constexpr int kMilliseconds = 6;
inline constexpr int kSeconds = 9;

class JsonRows {
 public:
  explicit JsonRows(std::unique_ptr<LineReader> lines) : lines_(std::move(lines)) {}

  /// The next line with content; false at the end.
  bool next_line(std::string_view& line);
  /// The same, as the start of a row.
  bool next_row(TraceRow& row, std::string_view& line);
  std::int64_t line() const { return lines_->line(); }
  const std::string& path() const { return lines_->path(); }
  /// The next line with content, without taking it.
  std::string_view peek_line() { return lines_->peek_content(); }
  /// The object on that line; valid until the next call.
  JsonObject parse(std::string_view line);

  /// Calls use(which, value) for every key of `object` that `keys` names, and unknown(key) for any
  /// other. A key that comes twice or is missing is a fault.
  template <class Use, class Unknown>
  void each(const JsonObject& object, const JsonKeys& keys, Use use, Unknown unknown) {
    std::uint64_t seen = 0;
    for (const auto field : object) {
      const std::string_view key = field.key;
      std::size_t which = 0;
      while (which < keys.names.size() && key != keys.names[which]) ++which;
      if (which == keys.names.size()) {
        unknown(key);
        continue;
      }
      if ((seen >> which & 1) != 0) fail(key, "appears twice in one row");
      seen |= std::uint64_t{1} << which;
      use(which, field.value);
    }
    const std::uint64_t all = (std::uint64_t{1} << keys.required) - 1;
    if ((seen & all) != all) fail_missing(seen, keys);
  }
  /// The same, with unknown keys remembered for ignored_keys().
  template <class Use>
  void each(const JsonObject& object, const JsonKeys& keys, Use use) {
    each(object, keys, use, [this](std::string_view key) { ignore(key); });
  }

  std::int64_t tokens(std::string_view key, const JsonValue& value, std::int64_t least) const;
  /// Nanoseconds, rounded down, of a number >= 0 in a unit of 10^power ns. Exact to the last digit
  /// for a key of the row itself; further inside, to the fifteen digits of a double.
  std::int64_t time(std::string_view key, const JsonValue& value, int power);
  /// Appends block ids to `out`.
  void ids(std::string_view key, const JsonValue& value, std::vector<std::uint64_t>& out) const;
  /// A number or a string that names something.
  std::uint64_t name(std::string_view key, const JsonValue& value) const;
  /// Puts a value into the row where its key is one that all formats write alike: timestamp (in
  /// units of 10^power ns), input_length, output_length, hash_ids or session_id. False for others.
  bool put(std::string_view key, const JsonValue& value, int power, TraceRow& row);
  /// Whether the key says how long KV is kept, retention or decode_retention; puts it into the row.
  bool put_retention(std::string_view key, const JsonValue& value, TraceRow& row) const;
  /// Whether the key asks something of an object store: soft_pin, hard_pin or poll_ms.
  bool put_hints(std::string_view key, const JsonValue& value, TraceRow& row);
  std::string_view text(std::string_view key, const JsonValue& value) const;
  JsonObject object(std::string_view key, const JsonValue& value) const;
  simdjson::dom::array array(std::string_view key, const JsonValue& value,
                             std::string_view of) const;

  /// Tokens in a block, as a file says them.
  std::uint32_t block_size(std::string_view key, const JsonValue& value) const;
  /// Throws InputError when the user has given another block size than the file.
  void check_given(std::string_view key, std::uint32_t said, std::uint32_t given) const;
  /// A row's blocks are all that are full, with or without the partial one behind them.
  void check_blocks(std::string_view key, const TraceRow& row, std::uint32_t block_tokens) const;

  /// Places of faults are told from the row down: enter("requests", 3) ... leave().
  void enter(std::string_view list, std::size_t index) { inside_.emplace_back(list, index); }
  void leave() { inside_.pop_back(); }
  [[noreturn]] void fail(std::string_view field, const std::string& message) const;

  /// A note about the keys that were ignored, or none.
  std::vector<std::string> ignored_keys() const;

 private:
  std::vector<std::optional<double>> retention_numbers(std::string_view key, const JsonValue& value,
                                                       std::string_view expected) const;
  void ignore(std::string_view key);
  std::string_view spelling(std::string_view key);
  [[noreturn]] void fail_missing(std::uint64_t seen, const JsonKeys& keys) const;

  std::unique_ptr<LineReader> lines_;
  std::string_view line_;
  std::vector<std::pair<std::string_view, std::size_t>> inside_;
  simdjson::dom::parser parser_;
  simdjson::ondemand::parser spelling_parser_;
  std::set<std::string, std::less<>> ignored_;
};

}  // namespace spillway
