// Every malformed row is refused with file, line, field and what was expected; none is clamped.
#include <string>
#include <vector>

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::error_of;
using test::good_row;
using test::open_bytes_as_trace;
using test::row;
using test::Scratch;
using namespace std::string_literals;

struct Case {
  std::string line;   ///< without its newline
  std::string place;  ///< "field: ", or "" when the row as a whole is at fault
  std::string says;   ///< part of the message right behind the place
};

/// A good row, the bad one on line 3 (behind a blank line), and a good row behind it.
void refused(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const Scratch scratch;
    const std::string path =
        scratch.file("t.jsonl", good_row("0") + "\n" + c.line + "\n" + good_row("9"));
    INFO("line: " << c.line.substr(0, 200));
    const InputError error = error_of([&] { open_trace(path, {}); });
    CHECK(error.fault() == Fault::kTrace);
    const std::string text = error.what();
    const std::string expected = path + ":3: " + c.place + c.says;
    INFO("text: " << text);
    CHECK(text.substr(0, expected.size()) == expected);
  }
}

std::string with_timestamp(const std::string& value) {
  return row(value, "600", "5", "[1, 2]");
}
std::string with_input(const std::string& value) {
  return row("1", value, "5", "[1, 2]");
}
std::string with_output(const std::string& value) {
  return row("1", "600", value, "[1, 2]");
}
std::string with_ids(const std::string& value) {
  return row("1", "600", "5", value);
}

/// The message about text that is no JSON object at all.
constexpr const char* kNotJson = "expected a JSON object, found something else (";

TEST_CASE("malformed timestamps", "[traces]") {
  const auto expected = [](const std::string& found) {
    return "expected milliseconds from 0 to 100000000000, found " + found;
  };
  const std::string at = "timestamp: ";
  refused({
      {with_timestamp("-1"), at, expected("-1")},
      {with_timestamp("-0.5"), at, expected("-0.5")},
      {with_timestamp("-9223372036854775808"), at, expected("-9223372036854775808")},
      {with_timestamp("100000000001"), at, expected("100000000001")},
      {with_timestamp("100000000000.5"), at, expected("100000000000.5")},
      {with_timestamp("9223372036854775807"), at, expected("9223372036854775807")},    // 2^63 - 1
      {with_timestamp("9223372036854775808"), at, expected("9223372036854775808")},    // 2^63
      {with_timestamp("18446744073709551615"), at, expected("18446744073709551615")},  // 2^64 - 1
      {with_timestamp("1e300"), at, expected("1e+300")},
      {with_timestamp("\"12\""), at, expected("the string \"12\"")},
      {with_timestamp("null"), at, expected("null")},
      {with_timestamp("true"), at, expected("a boolean")},
      {with_timestamp("[0]"), at, expected("an array")},
      {with_timestamp("{}"), at, expected("an object")},
  });
}

TEST_CASE("numbers that JSON does not have", "[traces]") {
  for (const char* text : {"NaN", "nan", "Infinity", "-Infinity", "inf", "1e400", "-1e400",
                           "18446744073709551616", "340282366920938463463374607431768211456",
                           "0x10", "007", "+1", ".5", "5.", "1e", "--1", "1_000", "1,5", "None"}) {
    refused({{with_timestamp(text), "", kNotJson},
             {with_input(text), "", kNotJson},
             {with_output(text), "", kNotJson},
             {with_ids("[1, "s + text + "x]"), "", kNotJson}});
  }
}

TEST_CASE("malformed input lengths", "[traces]") {
  const auto expected = [](const std::string& found) {
    return "expected a whole number of tokens from 1 to 16777216, found " + found;
  };
  const std::string at = "input_length: ";
  refused({
      {with_input("0"), at, expected("0")},
      {with_input("-0"), at, expected("0")},
      {with_input("-600"), at, expected("-600")},
      {with_input("1.5"), at, expected("1.5")},
      {with_input("600.0"), at, expected("600")},
      {with_input("6e2"), at, expected("600")},
      {with_input("16777217"), at, expected("16777217")},
      {with_input("9223372036854775808"), at, expected("9223372036854775808")},
      {with_input("\"600\""), at, expected("the string \"600\"")},
      {with_input("null"), at, expected("null")},
      {with_input("false"), at, expected("a boolean")},
      {with_input("[600]"), at, expected("an array")},
  });
}

TEST_CASE("malformed output lengths", "[traces]") {
  const auto expected = [](const std::string& found) {
    return "expected a whole number of tokens from 0 to 16777216, found " + found;
  };
  const std::string at = "output_length: ";
  refused({
      {with_output("-1"), at, expected("-1")},
      {with_output("2.5"), at, expected("2.5")},
      {with_output("16777217"), at, expected("16777217")},
      {with_output("9223372036854775808"), at, expected("9223372036854775808")},
      {with_output("\"5\""), at, expected("the string \"5\"")},
      {with_output("null"), at, expected("null")},
      {with_output("{}"), at, expected("an object")},
  });
}

TEST_CASE("malformed block ids", "[traces]") {
  const std::string at = "hash_ids: ";
  const auto not_array = [](const std::string& found) {
    return "expected an array of block ids, found " + found;
  };
  const auto not_id = [](const std::string& found) {
    return "expected whole numbers of at most 64 bits, found " + found;
  };
  refused({
      {with_ids("null"), at, not_array("null")},
      {with_ids("5"), at, not_array("5")},
      {with_ids("\"1 2\""), at, not_array("the string \"1 2\"")},
      {with_ids("{\"0\": 1}"), at, not_array("an object")},
      {with_ids("[1, 1.5]"), at, not_id("1.5 at position 1")},
      {with_ids("[1e3, 2]"), at, not_id("1000 at position 0")},
      {with_ids("[1, \"2\"]"), at, not_id("the string \"2\" at position 1")},
      {with_ids("[null, 2]"), at, not_id("null at position 0")},
      {with_ids("[1, true]"), at, not_id("a boolean at position 1")},
      {with_ids("[[1, 2]]"), at, not_id("an array at position 0")},
      {with_ids("[1, [2]]"), at, not_id("an array at position 1")},
      {with_ids("[1, {}]"), at, not_id("an object at position 1")},
      {with_ids("[1, 18446744073709551616]"), "", kNotJson},  // 2^64
      {with_ids("[1, 2,]"), "", kNotJson},
      {with_ids("[1 2]"), "", kNotJson},
  });
}

TEST_CASE("a wrong number of block ids says how many and why", "[traces]") {
  const std::string says = "expected 2 ids, ceil(600 tokens / 512 per block), found ";
  const std::string hint = "; give the trace's block size (block_tokens) if it is not 512";
  refused({
      {with_ids("[]"), "hash_ids: ", says + "0" + hint},
      {with_ids("[1]"), "hash_ids: ", says + "1" + hint},
      {with_ids("[1, 2, 3]"), "hash_ids: ", says + "3" + hint},
      {row("1", "1024", "5", "[1, 2, 3]"),
       "hash_ids: ", "expected 2 ids, ceil(1024 tokens / 512 per block), found 3"},
  });
}

TEST_CASE("missing keys", "[traces]") {
  const std::string says =
      "missing; expected the keys timestamp, input_length, output_length, hash_ids";
  refused({
      {"{\"input_length\": 600, \"output_length\": 5, \"hash_ids\": [1, 2]}", "timestamp: ", says},
      {"{\"timestamp\": 1, \"output_length\": 5, \"hash_ids\": [1, 2]}", "input_length: ", says},
      {"{\"timestamp\": 1, \"input_length\": 600, \"hash_ids\": [1, 2]}", "output_length: ", says},
      {"{\"timestamp\": 1, \"input_length\": 600, \"output_length\": 5}", "hash_ids: ", says},
      {"{}", "timestamp: ", says},
      {"{\"Timestamp\": 1, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [1, 2]}",
       "timestamp: ", says},
  });
}

TEST_CASE("duplicate keys", "[traces]") {
  const auto twice = [](const std::string& field) {
    const std::string body = good_row("1").substr(1);
    return "{" + field + ", " + body;
  };
  refused({
      {twice("\"timestamp\": 1"), "timestamp: ", "appears twice in one row"},
      {twice("\"input_length\": 600"), "input_length: ", "appears twice in one row"},
      {twice("\"output_length\": 5"), "output_length: ", "appears twice in one row"},
      {twice("\"hash_ids\": [1, 2]"), "hash_ids: ", "appears twice in one row"},
      {twice("\"session_id\": 1, \"session_id\": 1"), "session_id: ", "appears twice in one row"},
  });
}

TEST_CASE("malformed sessions", "[traces]") {
  const auto with_session = [](const std::string& value) {
    return "{\"session_id\": " + value + ", " + good_row("1").substr(1);
  };
  const std::string says = "expected a number or a string, found ";
  refused({
      {with_session("null"), "session_id: ", says + "null"},
      {with_session("1.5"), "session_id: ", says + "1.5"},
      {with_session("[]"), "session_id: ", says + "an array"},
      {with_session("{}"), "session_id: ", says + "an object"},
      {with_session("true"), "session_id: ", says + "a boolean"},
  });
}

TEST_CASE("rows that are no JSON object", "[traces]") {
  std::string good = good_row("1");
  good.pop_back();
  const std::string nested(5000, '[');
  refused({
      {"[1, 2]", "", "expected a JSON object"},
      {"5", "", "expected a JSON object"},
      {"\"text\"", "", "expected a JSON object"},
      {"null", "", "expected a JSON object"},
      {"text", "", kNotJson},
      {"{", "", kNotJson},
      {"}", "", kNotJson},
      {good.substr(0, good.size() - 1), "", kNotJson},
      {good.substr(0, good.size() / 2), "", kNotJson},
      {good + "}", "", kNotJson},
      {good + ",", "", kNotJson},
      {good + " " + good, "", kNotJson},
      {good + " # note", "", kNotJson},
      {"// " + good, "", kNotJson},
      {"{'timestamp': 1}", "", kNotJson},
      {"{timestamp: 1}", "", kNotJson},
      {"{\"timestamp\": 1,}", "", kNotJson},
      {"{\"timestamp\" 1}", "", kNotJson},
      {"{\"timestamp\": }", "", kNotJson},
      {"{\"a\": \"unterminated}", "", kNotJson},
      {"{\"a\": \"tab\there\"}", "", kNotJson},
      {"{\"a\": \"\\x41\"}", "", kNotJson},
      {"{\"a\": \"\\ud800\"}", "", kNotJson},
      {"{\"a\": " + nested + std::string(5000, ']') + "}", "", kNotJson},  // too deep
      {nested, "", kNotJson},
      {"{\"hash_ids\": " + nested, "", kNotJson},
  });
}

TEST_CASE("bytes that are no text", "[traces]") {
  const std::string body = good_row("1").substr(1, good_row("1").size() - 2);
  refused({
      {"{\"note\": \"\xff\", " + body, "", kNotJson},          // never a UTF-8 byte
      {"{\"note\": \"\xc3\", " + body, "", kNotJson},          // cut in a character
      {"{\"note\": \"\xe2\x82\", " + body, "", kNotJson},      // cut later
      {"{\"note\": \"\xc0\x80\", " + body, "", kNotJson},      // overlong NUL
      {"{\"note\": \"\xed\xa0\x80\", " + body, "", kNotJson},  // a surrogate
      {"{\"\x80\": 0, " + body, "", kNotJson},                 // in a key
      {"{\"note\": \"\0\", "s + body, "", kNotJson},           // a NUL in a string
      {"{\0 "s + body, "", kNotJson},                          // between tokens
      {"\0"s, "", kNotJson},
      {std::string(100, '\0'), "", kNotJson},
      {"\xef\xbb\xbf{" + body, "", kNotJson},  // a mark that is not the first
      {"\xff\xfe{\0", "", kNotJson},           // UTF-16
  });
}

TEST_CASE("rows out of the order of time", "[traces]") {
  const Scratch scratch;
  const std::string path =
      scratch.file("t.jsonl", good_row("5") + good_row("5") + good_row("4.5") + good_row("6"));
  const InputError error = error_of([&] { open_trace(path, {}); });
  CHECK(error.fault() == Fault::kTrace);
  CHECK(error.what() == path +
                            ":3: timestamp: arrives 0.5 ms before the row above; expected rows in "
                            "order of time");
}

TEST_CASE("the line number counts blank lines and survives compression", "[traces]") {
  const std::string text = good_row("0") + "\r\n \n\n" + good_row("1") + "broken";
  for (const std::string& bytes : {text, test::gzip(text), test::zstd(text)}) {
    const InputError error = error_of([&] { open_bytes_as_trace(bytes); });
    CHECK_THAT(error.what(), ContainsSubstring("trace:6: expected a JSON object"));
  }
}

TEST_CASE("a long string in a message is cut", "[traces]") {
  const InputError error = error_of(
      [] { open_bytes_as_trace(good_row() + with_input('"' + std::string(9999, 'x') + '"')); });
  CHECK(std::string(error.what()).size() < 300);
}

TEST_CASE("a negative id is not the same name as a large one", "[traces]") {
  // Converted to unsigned, -1 would be 2^64 - 1, and two names would turn into one block.
  CHECK(open_bytes_as_trace(row("0", "600", "5", "[-1, 18446744073709551615]")).unique_blocks() ==
        2);
}

// ---- files without a usable row

std::string whole_file_error(std::string_view bytes) {
  const InputError error = error_of([&] { open_bytes_as_trace(bytes); });
  CHECK(error.fault() == Fault::kTrace);
  return error.what();
}

TEST_CASE("files without any row", "[traces]") {
  const std::string says = "no requests; expected at least one row";
  CHECK_THAT(whole_file_error(""), ContainsSubstring(says));
  CHECK_THAT(whole_file_error("\n\n\n"), ContainsSubstring(says));
  CHECK_THAT(whole_file_error("   \n \n"), ContainsSubstring(says));
  CHECK_THAT(whole_file_error(test::gzip("")), ContainsSubstring(says));
  CHECK_THAT(whole_file_error(test::zstd("\n")), ContainsSubstring(says));
}

TEST_CASE("files of no known format list the formats", "[traces]") {
  const std::string says = ":1: no known trace format; known: agentic, azure, ";
  CHECK_THAT(whole_file_error("hello world\n"), ContainsSubstring(says));
  CHECK_THAT(whole_file_error("\xef\xbb\xbf"), ContainsSubstring("no requests"));
  CHECK_THAT(whole_file_error(std::string(1000, '\0')), ContainsSubstring(says));
  CHECK_THAT(whole_file_error("a,b,c\r\n1,2,3\r\n"), ContainsSubstring(says));
  CHECK_THAT(whole_file_error("\x89PNG\r\n\x1a\n"), ContainsSubstring(says));
}

TEST_CASE("a trace like Mooncake's without block ids is told what it lacks", "[traces]") {
  CHECK_THAT(whole_file_error(R"({"timestamp": 1, "input_length": 9, "output_length": 2})"
                              "\n"),
             ContainsSubstring("without hash_ids; expected one for each 512 tokens"));
  // What the message offers is read.
  CHECK(open_bytes_as_trace("{\"spillway_trace\": 1}\n"
                            "{\"timestamp\": 1, \"input_length\": 9, \"output_length\": 2}\n")
            .size() == 1);
}

TEST_CASE("a blank first line does not hide the rows below", "[traces]") {
  // The format is judged by the first line with content.
  CHECK(open_bytes_as_trace(std::string("\n").append(good_row())).size() == 1);
  CHECK(open_bytes_as_trace(std::string("\r\n").append(good_row())).size() == 1);
}

TEST_CASE("a trace cut in the middle of its compressed bytes is refused", "[traces]") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += good_row(std::to_string(i));
  for (const std::string& whole : {test::gzip(text), test::zstd(text)}) {
    for (const std::size_t eighths : {1u, 4u, 7u}) {
      CHECK_THAT(whole_file_error(whole.substr(0, whole.size() * eighths / 8)),
                 ContainsSubstring("truncated"));
    }
    CHECK_THAT(whole_file_error(whole.substr(0, whole.size() - 1)), ContainsSubstring("truncated"));
    CHECK_THAT(whole_file_error(whole + "x"), ContainsSubstring("expected a complete"));
  }
}

TEST_CASE("a small file that expands without end is refused by its line", "[traces]") {
  const std::string bomb = test::zstd(std::string(std::size_t{65} << 20, ' '));
  REQUIRE(bomb.size() < 100'000);
  CHECK_THAT(whole_file_error(bomb), ContainsSubstring("trace:1: line longer than 64 MiB"));
}

TEST_CASE("what cannot be opened is an I/O fault, not a trace fault", "[traces]") {
  const Scratch scratch;
  CHECK(error_of([&] { open_trace(scratch.path("none.jsonl"), {}); }).fault() == Fault::kIo);
  CHECK(error_of([&] { open_trace(scratch.path("."), {}); }).fault() == Fault::kIo);
}

}  // namespace
}  // namespace spillway
