// Storage read alone, as a link: the first operation, then the rest at the depth there is.
#include "models/tier/storage_link.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using std::chrono::microseconds;

constexpr std::int64_t kGB = 1'000'000'000;
constexpr Bytes kMB(1'000'000);

TEST_CASE("no more operations are in flight than there are slots", "[models]") {
  // An operation of 1 MB takes 800 us and 200 us at 5 GB/s: a depth of q moves q GB/s.
  StorageSpec spec;
  spec.read = {5 * kGB, 0, 0, LatencyQuantiles::constant(microseconds(800))};
  spec.operation_bytes = kMB;
  const auto read = [&](std::uint32_t slots, std::int64_t operations) {
    spec.slots = slots;
    return make_storage_read_link(spec, 0, nullptr)->service_time(kMB * operations, 1);
  };
  CHECK(read(2, 1) == microseconds(1000));
  // Behind the first, three at 2 GB/s.
  CHECK(read(2, 4) == microseconds(1000 + 1500));
  // Four of 64 slots: three at 4 GB/s.
  CHECK(read(64, 4) == microseconds(1000 + 750));
}

}  // namespace
}  // namespace spillway::test
