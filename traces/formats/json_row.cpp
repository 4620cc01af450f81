#include "traces/formats/json_row.hpp"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>

#include "sim/decimal.hpp"
#include "sim/rng.hpp"
#include "sim/units.hpp"
#include "traces/formats/arrival_time.hpp"

namespace spillway {

static_assert(LineReader::kPadding >= simdjson::SIMDJSON_PADDING);

namespace {

using simdjson::dom::element_type;

constexpr std::size_t kMostIgnoredKeys = 16;
constexpr std::int64_t kMostBlockTokens = 65536;

/// Signed and unsigned hashes may meet in one file; -1 is not the name 2^64 - 1.
std::uint64_t name_of(std::int64_t id) {
  const auto bits = static_cast<std::uint64_t>(id);
  return id < 0 ? mix64(bits) : bits;
}

}  // namespace

std::string describe(const JsonValue& value) {
  switch (value.type()) {
    case element_type::NULL_VALUE:
      return "null";
    case element_type::BOOL:
      return "a boolean";
    case element_type::STRING:
      return fmt::format("the string \"{}\"", std::string_view(value).substr(0, 40));
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
      return fmt::format("{}", std::int64_t(value));
    case element_type::UINT64:
      return fmt::format("{}", std::uint64_t(value));
    case element_type::DOUBLE:
      return fmt::format("{}", double(value));
  }
  return "something else";
}

bool has_json_key(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if (at == 0 || line[at - 1] != '"' || end == line.size() || line[end] != '"') continue;
    const std::size_t behind = line.find_first_not_of(" \t", end + 1);
    if (behind != std::string_view::npos && line[behind] == ':') return true;
  }
  return false;
}

bool JsonRows::next_line(std::string_view& line) {
  do {
    if (!lines_->next(line)) return false;
  } while (line.find_first_not_of(" \t") == std::string_view::npos);
  inside_.clear();
  return true;
}

bool JsonRows::next_row(TraceRow& row, std::string_view& line) {
  row.clear();
  if (!next_line(line)) return false;
  row.line = this->line();
  return true;
}

JsonObject JsonRows::parse(std::string_view line) {
  line_ = line;
  JsonObject object;
  // The line reader guarantees the padding simdjson wants, so nothing is copied.
  const auto status = parser_.parse(line.data(), line.size(), false).get(object);
  if (status == simdjson::INCORRECT_TYPE) fail("", "expected a JSON object");
  if (status != simdjson::SUCCESS) {
    fail("", fmt::format("expected a JSON object, found something else ({})",
                         simdjson::error_message(status)));
  }
  return object;
}

std::int64_t JsonRows::tokens(std::string_view key, const JsonValue& value,
                              std::int64_t least) const {
  if (!value.is<std::int64_t>() || std::int64_t(value) < least ||
      std::int64_t(value) > kMaxTokens) {
    fail(key, fmt::format("expected a whole number of tokens from {} to {}, found {}", least,
                          kMaxTokens, describe(value)));
  }
  return std::int64_t(value);
}

std::int64_t JsonRows::time(std::string_view key, const JsonValue& value, int power) {
  const std::int64_t unit = power == kMilliseconds ? 1'000'000 : 1'000'000'000;
  const std::int64_t most = kMaxArrivalNs / unit;
  std::optional<std::int64_t> ns;
  if (value.is<std::int64_t>()) {
    const std::int64_t count = value;
    if (count >= 0 && count <= most) ns = count * unit;
  } else if (value.is<double>()) {
    ns = inside_.empty() ? arrival_time(spelling(key), power)
                         : arrival_time(fmt::format("{}", double(value)), power);
  }
  if (!ns) {
    fail(key,
         fmt::format("expected {} from 0 to {}, found {}",
                     power == kMilliseconds ? "milliseconds" : "seconds", most, describe(value)));
  }
  return *ns;
}

/// The characters of a number: a double would lose nanoseconds of a trace that spans months.
std::string_view JsonRows::spelling(std::string_view key) {
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  const auto padded = simdjson::padded_string_view(line_, line_.size() + LineReader::kPadding);
  if (spelling_parser_.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return {};
  }
  auto value = object.find_field(key);
  if (value.error() != simdjson::SUCCESS) return {};
  const std::string_view token = value.value_unsafe().raw_json_token();
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

void JsonRows::ids(std::string_view key, const JsonValue& value,
                   std::vector<std::uint64_t>& out) const {
  const std::size_t before = out.size();
  for (const JsonValue id : array(key, value, "block ids")) {
    if (id.is<std::int64_t>()) {
      out.push_back(name_of(std::int64_t(id)));
    } else if (id.is<std::uint64_t>()) {
      out.push_back(std::uint64_t(id));
    } else {
      fail(key, fmt::format("expected whole numbers of at most 64 bits, found {} at position {}",
                            describe(id), out.size() - before));
    }
  }
}

std::uint64_t JsonRows::name(std::string_view key, const JsonValue& value) const {
  if (value.is<std::int64_t>()) return name_of(std::int64_t(value));
  if (value.is<std::uint64_t>()) return std::uint64_t(value);
  if (value.is_string()) {
    const std::string_view name = value;
    return XXH3_64bits(name.data(), name.size());
  }
  fail(key, fmt::format("expected a number or a string, found {}", describe(value)));
}

bool JsonRows::put(std::string_view key, const JsonValue& value, int power, TraceRow& row) {
  if (key == "timestamp") {
    row.arrival_ns = this->time(key, value, power);
  } else if (key == "input_length") {
    row.input_tokens = tokens(key, value, 1);
  } else if (key == "output_length") {
    row.output_tokens = tokens(key, value, 0);
  } else if (key == "hash_ids") {
    ids(key, value, row.blocks);
  } else if (key == "session_id") {
    row.session = name(key, value);
  } else {
    return false;
  }
  return true;
}

std::vector<std::optional<double>> JsonRows::retention_numbers(std::string_view key,
                                                               const JsonValue& value,
                                                               std::string_view expected) const {
  simdjson::dom::array array;
  std::vector<std::optional<double>> out;
  bool good = value.get(array) == simdjson::SUCCESS;
  for (const JsonValue number : good ? array : simdjson::dom::array()) {
    double as_double = 0;
    good = good && (number.is_null() || number.get(as_double) == simdjson::SUCCESS);
    number.is_null() ? out.emplace_back() : out.emplace_back(as_double);
  }
  if (!good) fail(key, fmt::format("expected {}, found {}", expected, describe(value)));
  return out;
}

bool JsonRows::put_retention(std::string_view key, const JsonValue& value, TraceRow& row) const {
  std::string expected;
  const auto refuse = [&](const JsonValue& found) {
    fail(key, fmt::format("expected {}, found {}", expected, simdjson::to_string(found)));
  };
  if (key == kDecodeRetentionKey) {
    row.retention.decode = retention_rule(retention_numbers(key, value, kRetentionRow), expected);
    if (!row.retention.decode) refuse(value);
    return true;
  }
  if (key != kRetentionKey) return false;
  std::vector<RetentionRange>& ranges = row.retention.prompt.emplace();
  for (const JsonValue item : array(key, value, "ranges")) {
    const auto range = retention_range(retention_numbers(key, item, kRetentionRows), expected);
    if (!range) refuse(item);
    ranges.push_back(*range);
  }
  if (overlap(ranges)) fail(key, "expected ranges that do not overlap");
  return true;
}

bool JsonRows::put_hints(std::string_view key, const JsonValue& value, TraceRow& row) {
  if (key == kPollKey) {
    constexpr std::string_view kExpected = "an array of [milliseconds between rounds, rounds]";
    const simdjson::dom::array pair = array(key, value, kExpected);
    if (pair.size() != 2)
      fail(key, fmt::format("expected {}, found {}", kExpected, describe(value)));
    enter(key, 0);
    row.hints.poll_interval = Duration(this->time("", pair.at(0), kMilliseconds));
    leave();
    const JsonValue rounds = pair.at(1);
    if (!rounds.is<std::int64_t>() || std::int64_t(rounds) < 0 ||
        std::int64_t(rounds) > kMostPolls) {
      fail(key, fmt::format("expected 0 to {} rounds, found {}", kMostPolls, describe(rounds)));
    }
    row.hints.polls = static_cast<std::uint32_t>(std::int64_t(rounds));
    return true;
  }
  const std::uint32_t pin = key == kSoftPinKey   ? StoreHints::kSoft
                            : key == kHardPinKey ? StoreHints::kHard
                                                 : 0;
  if (pin == 0) return false;
  if (!value.is_bool()) {
    fail(key, fmt::format("expected true or false, found {}", describe(value)));
  }
  if (bool(value)) row.hints.pins |= pin;
  return true;
}

std::string_view JsonRows::text(std::string_view key, const JsonValue& value) const {
  if (!value.is_string()) fail(key, fmt::format("expected a string, found {}", describe(value)));
  return value;
}

JsonObject JsonRows::object(std::string_view key, const JsonValue& value) const {
  JsonObject out;
  if (value.get(out) != simdjson::SUCCESS) {
    fail(key, fmt::format("expected an object, found {}", describe(value)));
  }
  return out;
}

simdjson::dom::array JsonRows::array(std::string_view key, const JsonValue& value,
                                     std::string_view of) const {
  simdjson::dom::array out;
  if (value.get(out) != simdjson::SUCCESS) {
    fail(key, fmt::format("expected an array of {}, found {}", of, describe(value)));
  }
  return out;
}

std::uint32_t JsonRows::block_size(std::string_view key, const JsonValue& value) const {
  if (!value.is<std::int64_t>() || std::int64_t(value) < 1 ||
      std::int64_t(value) > kMostBlockTokens) {
    fail(key, fmt::format("expected a whole number of tokens from 1 to {}, found {}",
                          kMostBlockTokens, describe(value)));
  }
  return static_cast<std::uint32_t>(std::int64_t(value));
}

void JsonRows::check_given(std::string_view key, std::uint32_t said, std::uint32_t given) const {
  if (given == 0 || given == said) return;
  throw InputError(Fault::kTrace, {path(), 0, std::string(key)},
                   fmt::format("the trace says {} tokens, block_tokens {}; expected the same, or "
                               "no block_tokens",
                               said, given));
}

void JsonRows::check_blocks(std::string_view key, const TraceRow& row,
                            std::uint32_t block_tokens) const {
  const auto expected = expected_blocks(row, block_tokens);
  if (!expected) return;
  fail(key, fmt::format("expected {} ids, for {} tokens in blocks of {}, found {}", *expected,
                        row.input_tokens, block_tokens, row.blocks.size()));
}

void JsonRows::fail(std::string_view field, const std::string& message) const {
  std::string place;
  for (const auto& [list, index] : inside_) place += fmt::format("{}[{}].", list, index);
  place += field;
  if (field.empty() && !place.empty()) place.pop_back();
  throw RowError({path(), line(), place}, message);
}

void JsonRows::fail_missing(std::uint64_t seen, const JsonKeys& keys) const {
  const auto required = keys.names.first(keys.required);
  std::size_t missing = 0;
  while ((seen >> missing & 1) != 0) ++missing;
  fail(required[missing], fmt::format("missing; expected the keys {}", fmt::join(required, ", ")));
}

void JsonRows::ignore(std::string_view key) {
  if (ignored_.size() < kMostIgnoredKeys && !ignored_.contains(key)) ignored_.emplace(key);
}

std::vector<std::string> JsonRows::ignored_keys() const {
  if (ignored_.empty()) return {};
  return {fmt::format("ignored keys in {}: {}", path(), fmt::join(ignored_, ", "))};
}

}  // namespace spillway
