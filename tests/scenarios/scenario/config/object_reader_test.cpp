// Typed reading of objects: every error says where, what was expected and what was found.
#include "scenarios/scenario/config/object_reader.hpp"

#include "scenarios/scenario/config/json_source.hpp"
#include "tests/sim/input_error.hpp"

namespace spillway::test {
namespace {

constexpr std::string_view kColours[] = {"blue", "red"};
constexpr Key kKnown[] = {integer_key("alpha", 2, 10, "A count."),
                          number_key("beta", 0, 1, "A share."),
                          choice_key("gamma", kColours, "A colour.")};

/// {"alpha": VALUE} with alpha on line 2.
JsonSource alpha(std::string_view value) {
  return JsonSource::from_text("s.json", fmt::format("{{\n\"alpha\": {}\n}}", value));
}

template <class Read>
std::string message_of(std::string_view value, Read read) {
  const JsonSource source = alpha(value);
  const ObjectReader top(source, "", "the test", kKnown);
  return error_of([&] { read(top); }).what();
}

template <class Read>
void finds(Read read, std::string_view value, const std::string& expected) {
  INFO("value: " << value);
  CHECK(message_of(value, read) == "s.json:2: alpha: expected " + expected);
}

TEST_CASE("an unknown key names its line, the nearest known key and all others", "[scenarios]") {
  const JsonSource source = JsonSource::from_text("s.json", "{\"alpha\": 1,\n\"bta\": 2}");
  const InputError error = error_of([&] { ObjectReader(source, "", "the test", kKnown); });
  CHECK(std::string(error.what()) ==
        "s.json:2: bta: unknown key of the test \"bta\"; did you mean \"beta\"? known: alpha, "
        "beta, gamma");
  CHECK(error.fault() == Fault::kUsage);
}

TEST_CASE("unknown keys with slashes or without letters stand on their own line", "[scenarios]") {
  const auto message = [](std::string_view text) {
    const JsonSource source = JsonSource::from_text("s.json", text);
    return std::string(error_of([&] { ObjectReader(source, "", "the test", kKnown); }).what());
  };
  CHECK_THAT(message("{\n\n\"a/b\": 1}"), ContainsSubstring("s.json:3: a/b: unknown key"));
  CHECK_THAT(message("{\n\n\"~\": 1}"), ContainsSubstring("s.json:3: ~: unknown key"));
  CHECK_THAT(message("{\n\n\"\": 1}"), ContainsSubstring("s.json:3: unknown key"));
}

TEST_CASE("an unknown key in a nested object names the object", "[scenarios]") {
  const auto read = [](const ObjectReader& top) { top.object("alpha", kKnown); };
  CHECK(message_of("{\"gama\": 1}", read) ==
        "s.json:2: alpha.gama: unknown key of alpha \"gama\"; did you mean \"gamma\"? known: "
        "alpha, beta, gamma");
}

TEST_CASE("texts of another type", "[scenarios]") {
  const auto read = [](const ObjectReader& top) { top.text("alpha"); };
  finds(read, "5", "a string, found 5");
  finds(read, "true", "a string, found true");
  finds(read, "[\"a\"]", "a string, found [\"a\"]");
  finds(read, "{}", "a string, found {}");
}

TEST_CASE("flags of another type", "[scenarios]") {
  const auto read = [](const ObjectReader& top) { top.boolean("alpha"); };
  finds(read, "1", "true or false, found 1");
  finds(read, "\"true\"", "true or false, found \"true\"");
}

TEST_CASE("whole numbers out of range or of another type", "[scenarios]") {
  const auto read = [](const ObjectReader& top) { top.integer("alpha", 2, 10); };
  const std::string what = "a whole number from 2 to 10, found ";
  finds(read, "1", what + "1");
  finds(read, "11", what + "11");
  finds(read, "-3", what + "-3");
  finds(read, "3.0", what + "3.0");
  finds(read, "2.5", what + "2.5");
  finds(read, "\"3\"", what + "\"3\"");
  finds(read, "4294967298", what + "4294967298");                        // 2^32 + 2
  finds(read, "9223372036854775808", what + "9223372036854775808");      // 2^63
  finds(read, "18446744073709551615", what + "18446744073709551615");    // 2^64 - 1
  finds(read, "18446744073709551618", what + "1.8446744073709552e+19");  // 2^64 + 2
}

TEST_CASE("whole numbers up to 2^63 - 1 are read, larger ones are not wrapped", "[scenarios]") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const JsonSource most = alpha("9223372036854775807");
  CHECK(ObjectReader(most, "", "t", kKnown).integer("alpha", 0, kMost) == kMost);
  const JsonSource more = alpha("9223372036854775808");
  CHECK_THROWS_AS(ObjectReader(more, "", "t", kKnown).integer("alpha", 0, kMost), InputError);
}

TEST_CASE("limits and choices are those of the key's row", "[scenarios]") {
  finds([](const ObjectReader& top) { top.integer("alpha"); }, "11",
        "a whole number from 2 to 10, found 11");
  const auto at = [](std::string_view text, auto read) {
    const JsonSource source = JsonSource::from_text("s.json", text);
    return std::string(
        error_of([&] { read(ObjectReader(source, "", "the test", kKnown)); }).what());
  };
  CHECK(at("{\"beta\": 2}", [](const ObjectReader& top) { top.number("beta"); }) ==
        "s.json:1: beta: expected a number from 0 to 1, found 2");
  CHECK(at("{\"gamma\": \"rot\"}", [](const ObjectReader& top) { top.text("gamma"); }) ==
        "s.json:1: gamma: unknown gamma \"rot\"; did you mean \"red\"? known: blue, red");
}

TEST_CASE("numbers out of range or of another type", "[scenarios]") {
  const auto read = [](const ObjectReader& top) { top.number("alpha", 0, 1); };
  finds(read, "-0.1", "a number from 0 to 1, found -0.1");
  finds(read, "1.5", "a number from 0 to 1, found 1.5");
  finds(read, "\"nan\"", "a number from 0 to 1, found \"nan\"");
  finds(read, "false", "a number from 0 to 1, found false");
}

TEST_CASE("arrays of strings and numbers check every item", "[scenarios]") {
  const auto texts = [](const ObjectReader& top) { top.texts("alpha"); };
  finds(texts, "\"a\"", "an array, each item a string, found \"a\"");
  finds(texts, "[\"a\", 5]", "an array, each item a string, found 5");
  const auto numbers = [](const ObjectReader& top) { top.numbers("alpha", 0, 9); };
  finds(numbers, "5", "an array of numbers from 0 to 9, found 5");
  finds(numbers, "[1, 10]", "an array of numbers from 0 to 9, found 10");
  finds(numbers, "[1, null]", "an array of numbers from 0 to 9, found null");
}

TEST_CASE("objects and arrays of objects of another type", "[scenarios]") {
  const auto object = [](const ObjectReader& top) { top.object("alpha", kKnown); };
  CHECK(message_of("[]", object) == "s.json:2: alpha: expected an object for alpha, found []");
  const auto objects = [](const ObjectReader& top) { top.objects("alpha", kKnown); };
  finds(objects, "{}", "an array of objects, found {}");
  CHECK(message_of("[{},\n\n7\n]", objects) ==
        "s.json:4: alpha.1: expected an object for alpha[], found 7");
}

TEST_CASE("a long value is quoted in part", "[scenarios]") {
  const auto read = [](const ObjectReader& top) { top.integer("alpha"); };
  const std::string message = message_of('"' + std::string(5000, 'x') + '"', read);
  CHECK(message.size() < 200);
  CHECK(message.ends_with("..."));
}

TEST_CASE("absent and null values are nothing", "[scenarios]") {
  const JsonSource source = alpha("null");
  const ObjectReader top(source, "", "the test", kKnown);
  for (const char* key : {"alpha", "beta"}) {
    CHECK_FALSE(top.has(key));
    CHECK_FALSE(top.text(key));
    CHECK_FALSE(top.integer(key));
    CHECK_FALSE(top.number(key, 0, 1));
    CHECK_FALSE(top.object(key, kKnown));
    CHECK(top.objects(key, kKnown).empty());
  }
}

TEST_CASE("a required value that is missing says what was expected", "[scenarios]") {
  const auto text = [](const ObjectReader& top) { top.require_text("beta"); };
  CHECK(message_of("1", text) == "s.json:1: beta: missing; expected a string");
  const auto integer = [](const ObjectReader& top) { top.require_integer("beta", 1, 9); };
  CHECK(message_of("1", integer) == "s.json:1: beta: missing; expected a whole number from 1 to 9");
  const auto inner = [](const ObjectReader& top) {
    top.object("alpha", kKnown)->require_number("beta", 0, 1);
  };
  CHECK(message_of("{}", inner) == "s.json:2: alpha.beta: missing; expected a number from 0 to 1");
}

TEST_CASE("a key that would be ignored is refused with the reason", "[scenarios]") {
  const auto read = [](const ObjectReader& top) { top.refuse({"beta", "alpha"}, "only at night"); };
  CHECK(message_of("1", read) == "s.json:2: alpha: only at night");
  const JsonSource absent = alpha("null");
  CHECK_NOTHROW(ObjectReader(absent, "", "t", kKnown).refuse({"alpha"}, "only at night"));
}

}  // namespace
}  // namespace spillway::test
