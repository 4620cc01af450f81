#include "traces/mooncake_jsonl.hpp"

#include <fmt/ranges.h>
#include <simdjson.h>
#include <xxhash.h>

#include <array>
#include <set>

#include "sim/rng.hpp"
#include "sim/units.hpp"
#include "traces/arrival_time.hpp"

namespace spillway {

static_assert(LineReader::kPadding >= simdjson::SIMDJSON_PADDING);

namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::array<std::string_view, 4> kRequired = {"timestamp", "input_length", "output_length",
                                                       "hash_ids"};
enum Seen : unsigned { kTimestamp = 1, kInput = 2, kOutput = 4, kHashes = 8, kSession = 16 };
constexpr unsigned kAllRequired = kTimestamp | kInput | kOutput | kHashes;

/// What stands there, in words: for "expected X, found Y".
std::string describe(const element& value) {
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

class MooncakeReader final : public TraceReader {
 public:
  MooncakeReader(std::unique_ptr<LineReader> lines, const ReaderOptions& options)
      : lines_(std::move(lines)),
        block_tokens_(options.block_tokens > 0 ? options.block_tokens : kMooncakeBlockTokens) {}

  std::uint32_t block_tokens() const override { return block_tokens_; }

  bool next(TraceRow& row) override {
    row.clear();
    std::string_view line;
    do {
      if (!lines_->next(line)) return false;
    } while (line.find_first_not_of(" \t") == std::string_view::npos);
    row.line = lines_->line();
    parse(line, row);
    const std::int64_t expected = ceil_div(row.input_tokens, block_tokens_);
    if (static_cast<std::int64_t>(row.blocks.size()) != expected) {
      fail(
          "hash_ids",
          fmt::format("expected {} ids, ceil({} tokens / {} per block), found {}; give the trace's "
                      "block size (block_tokens) if it is not {}",
                      expected, row.input_tokens, block_tokens_, row.blocks.size(), block_tokens_));
    }
    return true;
  }

  std::vector<std::string> notes() const override {
    if (ignored_.empty()) return {};
    return {fmt::format("ignored keys in {}: {}", lines_->path(), fmt::join(ignored_, ", "))};
  }

 private:
  void parse(std::string_view line, TraceRow& row) {
    // The line reader guarantees the padding simdjson wants, so nothing is copied.
    simdjson::dom::object object;
    const auto status = parser_.parse(line.data(), line.size(), false).get(object);
    if (status == simdjson::INCORRECT_TYPE) fail("", "expected a JSON object");
    if (status != simdjson::SUCCESS) {
      fail("", fmt::format("expected a JSON object, found something else ({})",
                           simdjson::error_message(status)));
    }
    unsigned seen = 0;
    for (const auto field : object) {
      const std::string_view key = field.key;
      if (key == "timestamp") {
        row.arrival_ns = timestamp(once(seen, kTimestamp, key), field.value, line);
      } else if (key == "input_length") {
        row.input_tokens = tokens(once(seen, kInput, key), field.value, 1);
      } else if (key == "output_length") {
        row.output_tokens = tokens(once(seen, kOutput, key), field.value, 0);
      } else if (key == "hash_ids") {
        hashes(once(seen, kHashes, key), field.value, row.blocks);
      } else if (key == "session_id") {
        row.session = session(once(seen, kSession, key), field.value);
      } else if (ignored_.size() < 16) {
        ignored_.emplace(key);
      }
    }
    if ((seen & kAllRequired) != kAllRequired) {
      for (std::size_t i = 0; i < kRequired.size(); ++i) {
        if ((seen & (1U << i)) == 0) {
          fail(kRequired[i],
               fmt::format("missing; expected the keys {}", fmt::join(kRequired, ", ")));
        }
      }
    }
  }

  std::string_view once(unsigned& seen, unsigned which, std::string_view key) {
    if ((seen & which) != 0) fail(key, "appears twice in one row");
    seen |= which;
    return key;
  }

  std::int64_t timestamp(std::string_view key, const element& value, std::string_view line) {
    std::optional<std::int64_t> ns;
    if (value.is<std::int64_t>()) {
      const std::int64_t ms = value;
      if (ms >= 0 && ms <= kMaxArrivalMs) ns = ms * 1'000'000;
    } else if (value.is<double>()) {
      ns = arrival_time(spelling(key, line), 6);
    }
    if (!ns) {
      fail(key, fmt::format("expected milliseconds from 0 to {}, found {}", kMaxArrivalMs,
                            describe(value)));
    }
    return *ns;
  }

  /// The characters of a number: a double would lose nanoseconds of a trace that spans months.
  std::string_view spelling(std::string_view key, std::string_view line) {
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    std::string_view token;
    const auto padded = simdjson::padded_string_view(line, line.size() + LineReader::kPadding);
    if (spelling_parser_.iterate(padded).get(document) != simdjson::SUCCESS ||
        document.get_object().get(object) != simdjson::SUCCESS) {
      return {};
    }
    auto value = object.find_field(key);
    if (value.error() != simdjson::SUCCESS) return {};
    token = value.value_unsafe().raw_json_token();
    return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  }

  std::int64_t tokens(std::string_view key, const element& value, std::int64_t least) {
    if (!value.is<std::int64_t>() || std::int64_t(value) < least ||
        std::int64_t(value) > kMaxTokens) {
      fail(key, fmt::format("expected a whole number of tokens from {} to {}, found {}", least,
                            kMaxTokens, describe(value)));
    }
    return std::int64_t(value);
  }

  void hashes(std::string_view key, const element& value, std::vector<std::uint64_t>& out) {
    out.clear();
    simdjson::dom::array array;
    if (value.get(array) != simdjson::SUCCESS) {
      fail(key, fmt::format("expected an array of block ids, found {}", describe(value)));
    }
    for (const element id : array) {
      if (id.is<std::int64_t>()) {
        out.push_back(name_of(std::int64_t(id)));
      } else if (id.is<std::uint64_t>()) {
        out.push_back(std::uint64_t(id));
      } else {
        fail(key, fmt::format("expected whole numbers of at most 64 bits, found {} at position {}",
                              describe(id), out.size()));
      }
    }
  }

  /// Signed and unsigned hashes may meet in one file; -1 is not the name 2^64 - 1.
  static std::uint64_t name_of(std::int64_t id) {
    const auto bits = static_cast<std::uint64_t>(id);
    return id < 0 ? mix64(bits) : bits;
  }

  std::uint64_t session(std::string_view key, const element& value) {
    if (value.is<std::int64_t>()) return name_of(std::int64_t(value));
    if (value.is<std::uint64_t>()) return std::uint64_t(value);
    if (value.is_string()) {
      const std::string_view name = value;
      return XXH3_64bits(name.data(), name.size());
    }
    fail(key, fmt::format("expected a number or a string, found {}", describe(value)));
  }

  [[noreturn]] void fail(std::string_view field, const std::string& message) const {
    throw RowError({lines_->path(), lines_->line(), std::string(field)}, message);
  }

  std::unique_ptr<LineReader> lines_;
  std::uint32_t block_tokens_;
  simdjson::dom::parser parser_;
  simdjson::ondemand::parser spelling_parser_;
  std::set<std::string> ignored_;
};

}  // namespace

bool looks_like_mooncake(std::string_view first_line) {
  return first_line.find("\"hash_ids\"") != std::string_view::npos &&
         first_line.find("\"input_length\"") != std::string_view::npos;
}

std::unique_ptr<TraceReader> make_mooncake_reader(std::unique_ptr<LineReader> lines,
                                                  const ReaderOptions& options) {
  return std::make_unique<MooncakeReader>(std::move(lines), options);
}

}  // namespace spillway
