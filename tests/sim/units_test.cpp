// Units: integer time, counted quantities that do not mix, ids that index only their own vectors.
#include "sim/units.hpp"

#include <type_traits>
#include <utility>

#include "sim/ids.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <class Vector, class Id>
concept IndexableBy = requires(Vector v, Id id) {
  v[id];
};

// What must not compile is the point of strong units, so it is asserted at compile time.
static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, Tokens>);
static_assert(!Addable<Bytes, std::int64_t>);
static_assert(!Comparable<Blocks, Tokens>);
static_assert(!Addable<Time, Time>);
static_assert(Addable<Time, Duration>);
static_assert(!std::is_convertible_v<std::int64_t, Bytes>);
static_assert(!std::is_convertible_v<std::int64_t, Time>);
static_assert(!std::is_convertible_v<double, BytesPerSecond>);
static_assert(!std::is_convertible_v<std::uint32_t, RequestId>);
static_assert(IndexableBy<IdVector<BlockId, int>, BlockId>);
static_assert(!IndexableBy<IdVector<BlockId, int>, RequestId>);
static_assert(!IndexableBy<IdVector<BlockId, int>, std::uint32_t>);

TEST_CASE("time counts nanoseconds and converts without surprise", "[sim]") {
  const Time t = time_at(1'500'000'000);
  CHECK(nanoseconds_of(t) == 1'500'000'000);
  CHECK(seconds_of(t) == 1.5);
  CHECK(seconds_of(t - time_at(500'000'000)) == 1.0);
  CHECK(milliseconds_of(Duration(2'500'000)) == 2.5);
  CHECK(nanoseconds_of(Time{}) == 0);
}

TEST_CASE("quantities add, compare and scale by whole numbers", "[sim]") {
  Bytes b(10);
  b += Bytes(5);  // 15
  b -= Bytes(3);  // 12
  CHECK(b == Bytes(12));
  CHECK(Bytes(2) * 3 == Bytes(6));
  CHECK(3 * Bytes(2) == Bytes(6));
  CHECK(Bytes(7) / 2 == Bytes(3));
  CHECK(Bytes(7) / Bytes(2) == 3);
  CHECK(Bytes(1) < Bytes(2));
  CHECK(Tokens().count() == 0);
  CHECK((Tokens(3) - Tokens(5)).count() == -2);
}

TEST_CASE("binary size literals are powers of 1024", "[sim]") {
  CHECK((1_KiB).count() == 1024);
  CHECK((3_MiB).count() == 3 * 1024 * 1024);
  CHECK(64_GiB == Bytes(68'719'476'736));
}

TEST_CASE("a rate of 25 GB/s is 25e9 bytes per second", "[sim]") {
  const BytesPerSecond rate(25e9);
  CHECK(rate.gigabytes() == 25);
  CHECK(rate < BytesPerSecond(26e9));
}

TEST_CASE("ceil_div rounds up only where something is left over", "[sim]") {
  CHECK(ceil_div(0, 512) == 0);
  CHECK(ceil_div(1, 512) == 1);
  CHECK(ceil_div(512, 512) == 1);
  CHECK(ceil_div(513, 512) == 2);
}

TEST_CASE("an id vector reads what its own ids wrote", "[sim]") {
  IdVector<SlotId, int> v(3, 7);
  v[SlotId{1}] = 8;
  CHECK(v.size() == 3);
  CHECK(std::vector<int>(v.begin(), v.end()) == std::vector<int>{7, 8, 7});
  CHECK(std::as_const(v)[SlotId{2}] == 7);
  v.assign(1, 0);
  CHECK(v.size() == 1);
}

}  // namespace
}  // namespace spillway
