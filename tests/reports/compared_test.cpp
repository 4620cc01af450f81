// Figures next to their limit.
#include "reports/compared.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("figures that are compared get the digits that tell them apart", "[reports]") {
  using Texts = std::vector<std::string>;
  // 1.0% of requests may miss, 0.96% do, and 1.04% is not ruled out.
  CHECK(format_percents({0.0096, 0.0104, 0.01}) == Texts{"0.96%", "1.04%", "1.00%"});
  CHECK(format_percents({0.005, 0.01}) == Texts{"0.5%", "1.0%"});
  CHECK(format_percents({0.01, 0.01}) == Texts{"1.0%", "1.0%"});
  CHECK(format_percents({0.999951, 1}) == Texts{"99.995%", "100.000%"});
  CHECK(format_reals({2000.4, 2000}) == Texts{"2,000.4", "2,000.0"});
  CHECK(format_reals({-12345.6, -12346}) == Texts{"-12,345.6", "-12,346.0"});
  CHECK(format_reals({1.001, 1}) == Texts{"1.001", "1.000"});
  CHECK(format_reals({0.10001, 0.1}) == Texts{"0.10001", "0.1"});
  CHECK(format_reals({812, 2000}) == Texts{"812", "2,000"});
  // "100.0" and "100" are the same to a reader.
  CHECK(format_reals({99.96, 100}) == Texts{"99.96", "100.0"});
  // Beyond six more digits they count as equal.
  CHECK(format_percents({0.5, 0.5 + 1e-12}) == Texts{"50.0000000%", "50.0000000%"});
  CHECK(format_reals({std::nan(""), std::nan("")}).size() == 2);
}

}  // namespace
}  // namespace spillway::test
