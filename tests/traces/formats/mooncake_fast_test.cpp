// The fast path of Mooncake's format: what it takes, what it leaves, and that nobody can tell.
#include "traces/formats/mooncake_fast.hpp"

#include <cstring>

#include "tests/fuzz/mutator.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/formats/mooncake_jsonl.hpp"

namespace spillway {
namespace {

/// Whether the fast path takes this line; digits lie behind it, as an earlier line may leave them.
bool takes(std::string_view line, TraceRow& row) {
  const std::string padded = std::string(line) + std::string(LineReader::kPadding, '7');
  return read_canonical_mooncake(std::string_view(padded).substr(0, line.size()), row);
}
bool takes(std::string_view line) {
  TraceRow row;
  return takes(line, row);
}

/// good_row() with one part replaced, and no newline.
std::string with(std::string_view from, std::string_view to) {
  std::string out = test::good_row("27482");
  out.pop_back();
  const std::size_t at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

TEST_CASE("the fast path reads what Mooncake writes", "[traces]") {
  TraceRow row;
  REQUIRE(takes(with("[1, 2]", "[0, 18446744073709551615, 12345678, 1234567890123456]"), row));
  CHECK(row.arrival_ns == 27'482'000'000);
  CHECK(row.input_tokens == 600);
  CHECK(row.output_tokens == 5);
  CHECK_FALSE(row.session.has_value());
  CHECK(row.blocks ==
        std::vector<std::uint64_t>{0, ~std::uint64_t{0}, 12'345'678, 1'234'567'890'123'456});
}

TEST_CASE("the fast path reads numbers of every length", "[traces]") {
  std::uint64_t value = 0;
  for (int digits = 1; digits <= 19; ++digits) {
    value = 10 * value + static_cast<std::uint64_t>(digits % 10);
    TraceRow row;
    REQUIRE(takes(with("1, 2", std::to_string(value)), row));
    CHECK(row.blocks == std::vector<std::uint64_t>{value});
  }
}

TEST_CASE("the fast path reads what this program writes", "[traces]") {
  TraceRow row;
  REQUIRE(takes(with("27482, ", "1.000001, "), row));
  CHECK(row.arrival_ns == 1'000'001);
  REQUIRE(takes(with("27482, ", "1.5, "), row));
  CHECK(row.arrival_ns == 1'500'000);
  REQUIRE(takes(with("\"hash_ids", "\"session_id\": 7, \"hash_ids"), row));
  CHECK(row.session == 7);
  std::string compact = test::good_row();
  std::erase(compact, ' ');
  std::erase(compact, '\n');
  CHECK(takes(compact));
}

TEST_CASE("the fast path leaves every other spelling to the general reader", "[traces]") {
  CHECK(takes(with("1, 2", "1, 2")));
  for (const char* ids : {"01", "-0", "-1", "1.0", "1e3", "18446744073709551616", "1 2", "1,", ",1",
                          "99999999999999999999", "100000000000000000000", "", "null", "\"1\"",
                          "0x1", "+1", "00", "1  ,2", "1,  2"}) {
    CAPTURE(ids);
    CHECK_FALSE(takes(with("1, 2", ids)));
  }
  for (const char* time : {"-0", "-1", "00", "1.", ".5", "1.0000001", "1e3", "1.5e3", "true",
                           "100000000000", "100000000001", "99999999999999999999"}) {
    CAPTURE(time);
    CHECK_FALSE(takes(with("27482", time)));
  }
  for (const char* tokens : {"0", "-1", "16777217", "0600", "600.0", "6e2"}) {
    CAPTURE(tokens);
    CHECK_FALSE(takes(with("600", tokens)));
  }
  const std::string good = with("1", "1");
  for (const std::string& line :
       {" " + good, good + "x", good + "}", good + "  ", good + std::string(1, '\0'), "{}" + good,
        std::string(), std::string("{"), with("timestamp", "timestamq"),
        with("\"output_length\": 5, ", ""), with("\"output_length\"", "\"input_length\""),
        with("\"hash_ids\"", "\"x\": 1, \"hash_ids\""),
        with("\"hash_ids\"", "\"session_id\"\"hash_ids\""),
        with("\"hash_ids\"", "\"session_id\": \"a\", \"hash_ids\"")}) {
    CAPTURE(line);
    CHECK_FALSE(takes(line));
  }
  for (std::size_t cut = 0; cut < good.size(); ++cut) CHECK_FALSE(takes(good.substr(0, cut)));
}

TEST_CASE("a row that the fast path leaves is untouched", "[traces]") {
  TraceRow row;
  row.line = 9;
  CHECK_FALSE(takes(with("2]", "2]]"), row));
  CHECK(row.line == 9);
  CHECK(row.arrival_ns == 0);
  CHECK(row.input_tokens == 0);
  CHECK(row.blocks.empty());
  CHECK_FALSE(row.session.has_value());
}

class Text final : public ByteSource {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t got = std::min(size, text_.size() - at_);
    std::memcpy(out, text_.data() + at_, got);
    at_ += got;
    return got;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

/// What a reader makes of the first row behind an empty line, errors included.
std::string outcome(std::string_view text) {
  auto lines = std::make_unique<LineReader>("t", std::make_unique<Text>("\n" + std::string(text)));
  ReaderOptions options;
  options.block_tokens = 16;
  const auto reader = make_mooncake_reader(std::move(lines), options);
  TraceRow row;
  try {
    if (!reader->next(row)) return "no row";
  } catch (const RowError& error) {
    return error.what();
  }
  return fmt::format("{} {} {} {} {} {} {}", row.line, row.arrival_ns, row.input_tokens,
                     row.output_tokens, row.session.has_value(), row.session.value_or(0),
                     fmt::join(row.blocks, ","));
}

TEST_CASE("fuzz: no line is read otherwise than by the general reader", "[fuzz]") {
  // A space before the brace changes nothing but who reads the line.
  const test::Mutator mutate(
      {"{\"timestamp\": 27482, \"input_length\": 33, \"output_length\": 52, \"hash_ids\": [46, "
       "18446744073709551615, 9223372036854775808]}",
       "{\"timestamp\":0.25,\"input_length\":16,\"output_length\":0,\"hash_ids\":[7]}",
       "{\"timestamp\": 3, \"input_length\": 20, \"output_length\": 1, \"session_id\": 12, "
       "\"hash_ids\": [123456789, 1234567890123456]}"},
      {"0",
       "-0",
       "1",
       "-1",
       "00",
       "9",
       ".",
       "1.5",
       "1e3",
       "16777216",
       "16777217",
       "100000000000",
       "99999999999.999999",
       "18446744073709551616",
       ",",
       ", ",
       ":",
       "[",
       "]",
       "{",
       "}",
       " ",
       "\t",
       "\r",
       "\n",
       "\"",
       "\\",
       "\"timestamp\": 1, ",
       "\"session_id\": 4, ",
       "\"x\": [], ",
       std::string(1, '\0'),
       "\xff"});
  std::size_t fast = 0;
  std::size_t accepted = 0;
  std::size_t different = 0;
  for (std::uint64_t round = 0; round < 40'000; ++round) {
    Stream random(1, "mooncake-fast", round);
    const std::string text = mutate(random);
    const std::string as_is = outcome(text);
    if (as_is != outcome(" " + text) && ++different < 5) {
      FAIL_CHECK("round " << round << ": " << text << " gives " << as_is << ", not "
                          << outcome(" " + text));
    }
    fast += takes(text.substr(0, text.find('\n'))) ? 1 : 0;
    accepted += as_is.starts_with("2 ") ? 1 : 0;
  }
  CHECK(different == 0);
  CHECK(fast > 1'500);  // both paths were at work
  CHECK(accepted > 2'000);
  CHECK(40'000 - fast > 20'000);
}

}  // namespace
}  // namespace spillway
