// A column over a large space of ids of which few are in use.
#include "sim/sparse_column.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("what was never placed reads as zero, its neighbours too", "[sim]") {
  SparseColumn<std::uint32_t> column(1'000'000);
  column.place(999'999) = 7;
  column.place(16) = 3;
  column.place(17) = 4;
  CHECK(column[999'999] == 7);
  CHECK(column[16] == 3);
  CHECK(column[17] == 4);
  for (const std::uint32_t id : {0U, 15U, 18U, 31U, 32U, 999'998U}) CHECK(column[id] == 0);
}

TEST_CASE("a column of no ids has none to read", "[sim]") {
  const SparseColumn<std::uint32_t> column(0);
  CHECK(column[0] == 0);
}

}  // namespace
}  // namespace spillway::test
