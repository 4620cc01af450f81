// How a policy and its parameters are written, and what is said of those that cannot be.
#include "policies/params.hpp"

#include "policies/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr ParamSpec kSpecs[] = {
    {.name = "small", .help = "share", .fallback = 0.1, .least = 0.01, .most = 1},
    {.name = "cap",
     .help = "n",
     .fallback = 3,
     .least = 1,
     .most = 15,
     .kind = ParamSpec::Kind::kWhole},
    {.name = "over", .help = "base", .kind = ParamSpec::Kind::kText, .text = "lru"},
};
const SourceRef kHere{"s.json", 7, "engine.eviction"};

Params parse(std::string_view given) {
  return Params(kSpecs, "foo", given, kHere);
}

TEST_CASE("parameters that are not given have their fallbacks", "[policies]") {
  const Params params = parse("");
  CHECK(params.real("small") == 0.1);
  CHECK(params.whole("cap") == 3);
  CHECK(params.text("over") == "lru");
  CHECK(params.given().empty());
}

TEST_CASE("given parameters read back in the table's order", "[policies]") {
  const Params params = parse("over=fifo:small=0.25");
  CHECK(params.real("small") == 0.25);
  CHECK(params.text("over") == "fifo");
  CHECK(params.given() == "small=0.25:over=fifo");
}

TEST_CASE("a faulty parameter says where, which, what was found and expected", "[policies]") {
  const auto fault = [](std::string_view given) {
    try {
      parse(given);
    } catch (const InputError& error) {
      CHECK(error.fault() == Fault::kUsage);
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string here = "s.json:7: engine.eviction: ";
  CHECK(fault("smal=1") == here +
                               "unknown parameter of foo \"smal\"; did you mean \"small\"? known: "
                               "cap, over, small");
  CHECK(fault("small=2") == here + "small: expected a number from 0.01 to 1, found \"2\"");
  CHECK(fault("small=nan") == here + "small: expected a number from 0.01 to 1, found \"nan\"");
  CHECK(fault("small=") == here + "small: expected a number from 0.01 to 1, found \"\"");
  CHECK(fault("cap=2.5") == here + "cap: expected a whole number from 1 to 15, found \"2.5\"");
  CHECK(fault("cap=2x") == here + "cap: expected a whole number from 1 to 15, found \"2x\"");
  CHECK(fault("cap") == here + "foo: expected key=value, found \"cap\"");
  CHECK(fault("cap=2:cap=3") == here + "foo: cap is given twice");
}

TEST_CASE("a policy that takes no parameters says so", "[policies]") {
  REQUIRE_THROWS_WITH(parse_eviction("lru:x=1", kHere),
                      "s.json:7: engine.eviction: lru takes no parameters, found \"x\"");
}

TEST_CASE("a colon with nothing behind it is a slip", "[policies]") {
  REQUIRE_THROWS_WITH(parse_eviction("lru:", kHere),
                      "s.json:7: engine.eviction: lru: expected key=value behind the colon");
}

TEST_CASE("an unknown policy names the nearest", "[policies]") {
  REQUIRE_THROWS_WITH(parse_eviction("lruu", kHere),
                      StartsWith("s.json:7: engine.eviction: unknown eviction policy \"lruu\"; "
                                 "did you mean \"lru\"?"));
}

}  // namespace
}  // namespace spillway
