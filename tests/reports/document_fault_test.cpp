// Figures of an edited document that no member holds.
#include "reports/document_fault.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

TEST_CASE("a whole number that does not fit is a fault, not a cast", "[reports]") {
  CHECK(whole<std::uint64_t>(json(7)) == 7);
  CHECK(whole<std::uint64_t>(json(7.0)) == 7);
  CHECK(whole<std::int64_t>(json(-3.0)) == -3);
  const json bad[] = {json(1e300), json(-1.0), json(18446744073709551616.0)};  // the last is 2^64
  for (const json& value : bad) {
    INFO(value.dump());
    CHECK_THROWS_AS(whole<std::uint64_t>(value), json::exception);
  }
  CHECK_THROWS_AS(whole<std::int64_t>(json(9223372036854775808.0)), json::exception);  // 2^63
  CHECK_THROWS_AS(whole<std::uint32_t>(json("7")), json::exception);
}

}  // namespace
}  // namespace spillway::test
