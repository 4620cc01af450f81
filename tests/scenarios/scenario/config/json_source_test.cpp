// JSON with comments that remembers lines: what is accepted, and where each error is said to stand.
#include "scenarios/scenario/config/json_source.hpp"

#include <filesystem>

#include "tests/sim/input_error.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

using namespace std::string_literals;

JsonSource source_of(std::string_view text) {
  return JsonSource::from_text("s.json", text);
}

std::string error_text(std::string_view text) {
  return error_of([&] { source_of(text); }).what();
}

/// "s.json:LINE: " at the front of the message.
void refused_at(std::string_view text, int line, const std::string& says) {
  INFO("text: " << text);
  const std::string message = error_text(text);
  INFO("message: " << message);
  CHECK(message.starts_with("s.json:" + std::to_string(line) + ": "));
  CHECK_THAT(message, ContainsSubstring(says));
}

TEST_CASE("comments are allowed between any two tokens and are not data", "[scenarios]") {
  const JsonSource source = source_of(
      "// first line\n"
      "{ // after a brace\n"
      "\"a\": // before a value\n"
      "[1, /* inside */ 2], \"b\": \"// not a comment\"}\n"
      "// last line without a newline");
  CHECK(source.root() == nlohmann::json({{"a", {1, 2}}, {"b", "// not a comment"}}));
}

TEST_CASE("a byte order mark is skipped", "[scenarios]") {
  CHECK(source_of("\xEF\xBB\xBF{\"a\": 1}").root()["a"] == 1);
}

TEST_CASE("each value is known by the line of its key", "[scenarios]") {
  const JsonSource source = source_of(
      "{\n"                 // 1
      "\"a\":\n"            // 2: the key
      "7,\n"                // 3
      "\"b\": {\"c\": [\n"  // 4
      "1,\n"                // 5
      "{\"d\": 2}\n"        // 6
      "]}}\n");
  CHECK(source.where("/a").line == 2);
  CHECK(source.where("/b/c").line == 4);
  CHECK(source.where("/b/c/0").line == 5);
  CHECK(source.where("/b/c/1/d").line == 6);
  CHECK(source.where("/b/c/1/d").field == "b.c.1.d");
}

TEST_CASE("a number at the end of a line stands on that line", "[scenarios]") {
  // The parser sees where a number ends only by reading the newline behind it.
  const JsonSource source = source_of("[\n10,\n20\n,\n30\n]");
  CHECK(source.where("/0").line == 2);
  CHECK(source.where("/1").line == 3);
  CHECK(source.where("/2").line == 5);
}

TEST_CASE("a missing value takes the line of what encloses it", "[scenarios]") {
  const JsonSource source = source_of("{\n\"a\": {\n\"b\": 1}}");
  CHECK(source.where("/a/absent").line == 2);
  CHECK(source.where("/absent").line == 1);
}

TEST_CASE("keys with slashes, tildes and dots keep their line and their name", "[scenarios]") {
  const JsonSource source = source_of("{\n\"a/b\": {\n\"~1\": 1,\n\"\": 2}}");
  const std::string inner = "/" + escaped_key("a/b") + "/";
  CHECK(source.where(inner + escaped_key("~1")).line == 3);
  CHECK(source.where(inner + escaped_key("~1")).field == "a/b.~1");
  CHECK(source.where(inner).line == 4);
}

TEST_CASE("a repeated key is an error at its second line", "[scenarios]") {
  refused_at("{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", 3, "the key \"a\" appears twice");
  refused_at("{\"o\": {\"x\": 1,\n\"x\": 1}}", 2, "the key \"x\" appears twice");
}

TEST_CASE("the same key in two objects is no repetition", "[scenarios]") {
  CHECK(source_of("{\"a\": {\"x\": 1}, \"b\": [{\"x\": 2}, {\"x\": 3}]}").root().size() == 2);
}

TEST_CASE("text that is no JSON is refused on the line of the bad token", "[scenarios]") {
  refused_at("{\"a\": 1,\n}", 2, "syntax error");         // trailing comma in an object
  refused_at("[1,\n2,\n]", 3, "syntax error");            // and in an array
  refused_at("{\"a\": 1\n\"b\": 2}", 2, "syntax error");  // comma forgotten
  refused_at("{\"a\"\n1\n}", 2, "syntax error");          // colon forgotten before a number
  refused_at("{'a': 1}", 1, "syntax error");
  refused_at("{a: 1}", 1, "syntax error");
  refused_at("{\n\"a\": tru\n}", 2, "syntax error");
  refused_at("{}\n{}", 2, "syntax error");  // a second document
  refused_at("{\n\"a\": \"no end\n}", 2, "syntax error");
  refused_at("{\n/* no end", 2, "ends early");
}

TEST_CASE("truncated text is refused on its last line", "[scenarios]") {
  const std::string whole = "{\n\"a\": [1,\n{\"b\": \"text\"}],\n\"c\": true}";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO("size " << size);
    const std::string part = whole.substr(0, size);
    const InputError error = error_of([&] { source_of(part); });
    CHECK(error.fault() == Fault::kUsage);
  }
  refused_at("{\n\"a\": [1,", 2, "the JSON ends early, inside a; cut off, or a");
  refused_at("{\n\"a\": {\"b\": [tr", 2, "ends early, inside a.b;");
  refused_at("{\n\"a\": \"no end", 2, "the JSON ends early; ");
}

TEST_CASE("an empty text is refused", "[scenarios]") {
  refused_at("", 1, "holds no JSON");
  refused_at("  \n\t", 2, "holds no JSON");
  refused_at("// only a comment\n", 1, "holds no JSON");
}

TEST_CASE("numbers that JSON does not have are refused", "[scenarios]") {
  for (const char* number : {"NaN", "Infinity", "-inf", "+1", ".5", "5.", "007", "0x10", "1e"}) {
    refused_at("{\n\"a\": "s + number + "\n}", 2, "syntax error");
  }
}

TEST_CASE("a number beyond every double is refused on its own line", "[scenarios]") {
  refused_at("{\n\"a\": 1e400\n}", 2, "1e400");
  refused_at("[\n-1e400\n]", 2, "-1e400");
}

TEST_CASE("64-bit integers keep every digit", "[scenarios]") {
  const JsonSource source =
      source_of("[9223372036854775807, 9223372036854775808, -9223372036854775808]");
  CHECK(source.root()[0].get<std::uint64_t>() == 9223372036854775807u);  // 2^63 - 1
  CHECK(source.root()[1].get<std::uint64_t>() == 9223372036854775808u);  // 2^63
  CHECK(source.root()[2].get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("text that is not UTF-8 is refused on its line", "[scenarios]") {
  refused_at("{\n\"a\": \"caf\xE9\"}", 2, "ill-formed UTF-8");
  refused_at("{\n\n\"\xC0\xAF\": 1}", 3, "ill-formed UTF-8");
  refused_at("{\"a\": \"\xED\xA0\x80\"}", 1, "ill-formed UTF-8");  // a lone surrogate
  refused_at("{\"a\": \"\\uD800\"}", 1, "surrogate");
}

TEST_CASE("a NUL byte is refused, not taken for the end", "[scenarios]") {
  refused_at("{}\n\0{\"a\": 1}"s, 2, "contains a NUL byte");
  refused_at("{\0\"\0a\0\"\0:\0001\0}\0"s, 1, "contains a NUL byte");  // UTF-16
}

TEST_CASE("nesting is limited to 64 levels", "[scenarios]") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(source_of(nested(64)).root().is_array());
  refused_at(nested(100'000), 1, "nested more than 64 deep");
}

TEST_CASE("a syntax error quotes little of a long token", "[scenarios]") {
  CHECK(error_text("{\"a\": \"" + std::string(100'000, 'x')).size() < 400);
}

TEST_CASE("the fault of bad content is the caller's", "[scenarios]") {
  const auto read = [] { JsonSource::from_text("t", "{", Fault::kTrace); };
  CHECK(error_of(read).fault() == Fault::kTrace);
}

TEST_CASE("a file that cannot be read is an I/O fault", "[scenarios]") {
  const Scratch scratch;
  const auto open = [](const std::string& path) {
    return error_of([&] { JsonSource::from_file(path); });
  };
  CHECK(open(scratch.path("absent.json")).fault() == Fault::kIo);
  CHECK_THAT(open(scratch.path("absent.json")).what(),
             ContainsSubstring("absent.json: cannot open: No such file or directory"));
  CHECK(open(scratch.path("")).fault() == Fault::kIo);
  CHECK_THAT(open(scratch.path("")).what(), ContainsSubstring("is a directory; expected a file"));
  CHECK_THAT(open(scratch.path(std::string(5000, 'a'))).what(),
             ContainsSubstring("cannot open: File name too long"));
}

TEST_CASE("an empty file is a content fault", "[scenarios]") {
  const Scratch scratch;
  const std::string path = scratch.file("empty.json", "");
  const InputError error = error_of([&] { JsonSource::from_file(path); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), ContainsSubstring("empty.json:1: "));
}

}  // namespace
}  // namespace spillway::test
