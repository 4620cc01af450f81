// Several NICs that share a transfer in slices.
#include "models/link/link_model.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr Duration kLatency = std::chrono::microseconds(10);
constexpr std::int64_t kRate = 1'000'000'000;  // of one NIC: a byte a nanosecond

std::int64_t ns(const LinkModel& link, std::int64_t bytes, std::uint32_t copies = 1) {
  return link.service_time(Bytes(bytes), copies).count();
}

TEST_CASE("the busiest NIC ends a transfer", "[models]") {
  const auto link = make_striped_link(kLatency, kRate, {4, 1000});
  // 8 slices of 1,000 bytes: two for each of four NICs.
  CHECK(ns(*link, 8000) == 10'000 + 2000);
  // 9 slices: one NIC has three.
  CHECK(ns(*link, 9000) == 10'000 + 3000);
  CHECK(ns(*link, 8001) == 10'000 + 3000);
  // Less than a slice: one NIC carries all.
  CHECK(ns(*link, 300) == 10'000 + 300);
  CHECK(link->capacity().value() == 4e9);
}

TEST_CASE("slices do not reach beyond a copy", "[models]") {
  const auto link = make_striped_link(kLatency, kRate, {4, 1000});
  // 5 copies of 1,200 bytes: 10 slices, three for the busiest, each taken as a whole one.
  CHECK(ns(*link, 6000, 5) == 10'000 + 3000);
  // 8 copies of 100 bytes: two for each NIC.
  CHECK(ns(*link, 800, 8) == 10'000 + 200);
}

TEST_CASE("one NIC is an affine link", "[models]") {
  const auto one = make_striped_link(kLatency, 700'000'000, {1, 1000});
  const auto affine = make_affine_link(kLatency, 700'000'000);
  for (const std::int64_t bytes : {1, 999, 1000, 1001, 123'457}) {
    for (const std::uint32_t copies : {1U, 3U, 7U}) {
      CHECK(ns(*one, bytes, copies) == ns(*affine, bytes, copies));
    }
  }
}

TEST_CASE("a NIC that fails leaves its slices to the others", "[models]") {
  const auto four = make_striped_link(Duration(0), kRate, {4, 1000});
  const auto three = make_striped_link(Duration(0), kRate, {3, 1000});
  CHECK(ns(*four, 12'000) == 3000);
  CHECK(ns(*three, 12'000) == 4000);
}

}  // namespace
}  // namespace spillway::test
