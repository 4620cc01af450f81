// Tables of measured rates, by hand.
#include "models/link/link_model.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("a table's job pays its latency once and its copies one by one", "[models]") {
  RateTable table;
  table.job_latency = Duration(7'000);
  table.per_copy = Duration(5'000);
  table.copy_bytes = {1000, 1'000'000};
  table.copies = {1, 1000};
  table.gbs = {8, 8, 8, 8};
  const auto link = make_table_link(table);
  // 7 us, 5 us a copy, and 640,000 bytes at 8 bytes/ns.
  CHECK(link->service_time(Bytes(640'000), 1).count() == 7'000 + 5'000 + 80'000);
  CHECK(link->service_time(Bytes(640'000), 64).count() == 7'000 + 64 * 5'000 + 80'000);
}

}  // namespace
}  // namespace spillway::test
