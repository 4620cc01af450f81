// Numbers in texts: what is one, how much of a text it takes, and what no double holds.
#include "sim/numbers.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("a whole text is a number, or none", "[sim]") {
  CHECK(parse_real("12.5") == 12.5);
  CHECK(parse_real("-3e2") == -300);
  CHECK(parse_real(".5") == 0.5);
  CHECK(parse_real("5.") == 5);
  CHECK(parse_real("0e99999") == 0);
  CHECK(parse_real("-INF") == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(parse_real("nan").value()));
  for (const char* text : {"", "-", ".", "+1", " 1", "1 ", "0x10", "1e", "e3", "1,5", "--1"}) {
    INFO(text);
    CHECK_FALSE(parse_real(text));
  }
}

TEST_CASE("what no double holds is no number", "[sim]") {
  CHECK_FALSE(parse_real("1e400"));
  CHECK_FALSE(parse_real("-1e400"));
  CHECK_FALSE(parse_real("1e-400"));
  CHECK(parse_real("1e-320") == 1e-320);  // few digits of it
}

TEST_CASE("a number at the beginning leaves the rest", "[sim]") {
  const LeadingReal gib = leading_real("1.5GiB");
  CHECK(gib.value == 1.5);
  CHECK(gib.length == 3);
  CHECK(leading_real("2e3s", false).length == 1);
  CHECK(leading_real("2e3s").value == 2000);
  CHECK(leading_real("1e+").length == 1);
  CHECK(leading_real("GiB").length == 0);
}

TEST_CASE("a whole number fits its type", "[sim]") {
  CHECK(parse_whole<std::uint32_t>("4294967295") == 4294967295);
  CHECK_FALSE(parse_whole<std::uint32_t>("4294967296"));
  CHECK_FALSE(parse_whole<std::uint32_t>("-1"));
  CHECK(parse_whole<std::int64_t>("-7") == -7);
  CHECK(parse_whole<std::uint64_t>("ff", 16) == 255);
  CHECK_FALSE(parse_whole<int>("7.0"));
  CHECK_FALSE(parse_whole<int>(""));
}

}  // namespace
}  // namespace spillway::test
