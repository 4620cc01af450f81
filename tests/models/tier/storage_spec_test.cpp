// The closed forms of a storage device, its write cache and its wear.
#include "models/tier/storage_spec.hpp"

#include "models/tier/write_cache.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kGB = 1'000'000'000;

TEST_CASE("one operation alone takes its latency and its bytes at the lowest rate", "[models]") {
  const auto latency = LatencyQuantiles::constant(microseconds(80));
  const StorageLane nvme = {7 * kGB, 0, 0, latency};
  // 2,097,152 bytes at 7 bytes/ns: 299,593.14 ns, rounded up, and 80,000.
  CHECK(operation_time(nvme, Bytes(2 << 20)) == Duration(379'594));
  const StorageLane limited = {7 * kGB, 2 * kGB, kGB, latency};
  CHECK(operation_time(limited, Bytes(kGB)) == seconds(1) + microseconds(80));
  const StorageLane free = {0, 0, 0, latency};
  CHECK(operation_time(free, Bytes(kGB)) == microseconds(80));
}

TEST_CASE("the rate grows with depth until a limit binds", "[models]") {
  // 1 MB at 5 GB/s and 800 us before it: an operation takes 1 ms, so a depth of q moves q GB/s.
  const StorageLane lane = {5 * kGB, 0, 0, LatencyQuantiles::constant(microseconds(800))};
  const Bytes bytes(1'000'000);
  CHECK(rate_at_depth(lane, bytes, 1) == Approx(1e9));
  CHECK(rate_at_depth(lane, bytes, 3) == Approx(3e9));
  CHECK(rate_at_depth(lane, bytes, 5) == Approx(5e9));
  CHECK(rate_at_depth(lane, bytes, 64) == Approx(5e9));
  CHECK(saturation_depth(lane, bytes) == 5);
  // A limit of one operation alone never binds all of them: 4 connections of 0.14 GB/s.
  const StorageLane connections = {0, kGB, 140'000'000, LatencyQuantiles::constant(Duration(0))};
  CHECK(rate_at_depth(connections, bytes, 4) == Approx(0.56e9).epsilon(1e-5));
  CHECK(saturation_depth(connections, bytes) == 8);  // 1 / 0.14 = 7.14
}

TEST_CASE("every kind has defaults that hold together, each with its source", "[models]") {
  for (const StorageKind kind :
       {StorageKind::kNvme, StorageKind::kFs, StorageKind::kObject, StorageKind::kKv}) {
    INFO(name_of(kind));
    const StorageSpec spec = default_storage(kind);
    CHECK(spec.kind == kind);
    for (const StorageLane& lane : {spec.read, spec.write}) {
      CHECK(lane.total_rate > 0);
      CHECK(lane.latency.ascending());
      CHECK(lane.latency.p50 > Duration(0));
    }
    CHECK(spec.slots > 0);
    CHECK(spec.read_first > 0);
    CHECK(spec.read_first <= spec.slots);
    CHECK_FALSE(spec.write_cache);
    CHECK(storage_sources(kind).size() >= 5);
    for (const StorageSource& s : storage_sources(kind)) CHECK_FALSE(s.source.empty());
  }
  CHECK(default_storage(StorageKind::kFs).read_first == 48);  // 0.75 of 64
}

TEST_CASE("a write cache is full after capacity / rate, and drains while idle", "[models]") {
  // 10 GB at 5 GB/s: full after 2 s; then 1 GB/s. It drains at 0.5 GB/s.
  WriteCache cache({Bytes(10 * kGB), kGB, kGB / 2}, 5 * kGB);
  Time now{};
  CHECK(cache.write(now, Bytes(5 * kGB)) == seconds(1));
  now += seconds(1);
  // 5 GB still fit (1 s), 3 GB do not (3 s).
  CHECK(cache.write(now, Bytes(8 * kGB)) == seconds(4));
  CHECK(cache.slow() == seconds(3));
  now += seconds(4);
  CHECK(cache.level_at(now) == Bytes(10 * kGB));
  // Without a pause it stays full: 2 GB take 2 s.
  CHECK(cache.write(now, Bytes(2 * kGB)) == seconds(2));
  now += seconds(2);
  // After 4 s idle 2 GB have drained: of 3 GB two are fast (0.4 s), one is slow (1 s).
  now += seconds(4);
  CHECK(cache.level_at(now) == Bytes(8 * kGB));
  CHECK(cache.write(now, Bytes(3 * kGB)) == milliseconds(1400));
  CHECK(cache.slow() == seconds(6));
  // It never holds less than nothing.
  CHECK(cache.level_at(now + seconds(3600)) == Bytes(0));
}

TEST_CASE("wear: drive writes and share of the rated endurance", "[models]") {
  DeviceWear wear;
  wear.written += Bytes(3840 * kGB);
  // 3.84 TB written to a drive of 1.92 TB: twice. Rated for 3,504 TB: 3.84 / 3504.
  CHECK(wear.drive_writes(Bytes(1920 * kGB)) == 2);
  CHECK(wear.endurance_share(Bytes(3'504'000 * kGB)) == Approx(3.84 / 3504));
}

}  // namespace
}  // namespace spillway
