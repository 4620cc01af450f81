// Mooncake Store's master without a clock: puts, leases, eviction by exact shares, the SSD.
//
// Objects of 10 bytes; times in milliseconds.
#include "models/engine/stores/mooncake_store.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Source = MooncakeStore::Source;

constexpr Bytes kObject(10);

Time ms(std::int64_t count) {
  return time_at(count * 1'000'000);
}

MooncakeConfig settings() {
  MooncakeConfig config;
  config.lease = std::chrono::milliseconds(100);
  config.soft_pin = std::chrono::milliseconds(1000);
  config.put_discard = std::chrono::milliseconds(30);
  config.put_release = std::chrono::milliseconds(600);
  return config;
}

/// A store whose objects are put and ended at one instant.
struct Store {
  explicit Store(const MooncakeConfig& config, std::int64_t objects, std::int64_t ssd_objects = 0)
      : store(config, {1000, kObject * objects, kObject * ssd_objects}) {}

  bool put(std::uint32_t key, std::int64_t at, std::uint32_t pins = 0) {
    const auto put = store.put_start(BlockId{key}, kObject, {Duration(0), 0, pins}, ms(at));
    if (put) store.put_end(*put, ms(at));
    return put.has_value();
  }
  void put_all(std::uint32_t from, std::uint32_t to, std::int64_t at) {
    for (std::uint32_t key = from; key < to; ++key) REQUIRE(put(key, at));
  }
  Source find(std::uint32_t key, std::int64_t at) { return store.find(BlockId{key}, ms(at)); }
  /// Without asking, which would renew.
  std::uint32_t held() const { return store.replicas(); }
  /// A heartbeat, and the writes of its buckets.
  std::size_t beat() {
    const auto full = store.heartbeat();
    const std::vector<MooncakeStore::Bucket> buckets(full.begin(), full.end());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      store.written(buckets[i], i + 1 == buckets.size());
    }
    return buckets.size();
  }
  ~Store() { store.check_consistent(); }

  MooncakeStore store;
};

TEST_CASE("a check evicts a share of the objects, the oldest leases first", "[models]") {
  Store s(settings(), 100);
  for (std::uint32_t key = 0; key < 90; ++key) REQUIRE(s.put(key, key));
  // 90 of 100 are not above 0.9.
  s.store.check(ms(100));
  CHECK(s.held() == 90);
  REQUIRE(s.put(90, 100));
  // used 0.91: target 0.91 - 0.90 + 0.05 = 0.06 of 91 objects, 5.46, so 6. In doubles 0.91 - 0.9
  // is more than 0.01, which does not matter here; it would with 100 objects.
  s.store.check(ms(110));
  CHECK(s.held() == 85);
  CHECK(s.find(5, 110) == Source::kNowhere);
  CHECK(s.find(6, 110) == Source::kMemory);
}

TEST_CASE("shares are exact", "[models]") {
  Store s(settings(), 100);
  for (std::uint32_t key = 0; key < 100; ++key) REQUIRE(s.put(key, key));
  // used 1: target 1 - 0.90 + 0.05 = 0.15 of 100 objects is 15. In doubles it is more than 0.15,
  // and the next whole number would be 16.
  s.store.check(ms(100));
  CHECK(s.held() == 85);
}

TEST_CASE("all objects with the same lease go together", "[models]") {
  Store s(settings(), 100);
  s.put_all(0, 40, 0);
  s.put_all(40, 95, 1);
  // 0.95: 10% of 95 objects is 9.5, so 10; the tenth has its lease in common with 40.
  s.store.check(ms(10));
  CHECK(s.held() == 55);
  CHECK(s.store.counters().evicted == 40);
}

TEST_CASE("objects under a lease count, and stay", "[models]") {
  Store s(settings(), 20);
  s.put_all(0, 20, 0);
  for (std::uint32_t key = 0; key < 18; ++key) CHECK(s.find(key, 1) == Source::kMemory);
  // 15% of 20 are 3, and only two have no lease.
  s.store.check(ms(10));
  CHECK(s.held() == 18);
  // Nothing can go until the leases end at 101 ms; a put without room asks for it.
  s.put_all(20, 22, 20);
  CHECK_FALSE(s.put(22, 20));
  for (std::uint32_t key : {20U, 21U}) s.find(key, 21);
  s.store.check(ms(100));
  CHECK(s.held() == 20);
  CHECK(s.store.wants_check());
  s.store.check(ms(110));
  CHECK(s.held() == 2);  // 18 ended together
  CHECK(s.store.counters().idle_checks == 1);
}

TEST_CASE("soft pins go second, as many as are missing; hard pins never", "[models]") {
  MooncakeConfig config = settings();
  config.eviction_ratio = 100'000'000;
  Store s(config, 20);
  for (std::uint32_t key = 0; key < 19; ++key) REQUIRE(s.put(key, key, StoreHints::kSoft));
  REQUIRE(s.put(19, 19, StoreHints::kHard));
  // used 1: target 0.2, least max(0.1, 0.1) of 19 objects: 1.9, so 2.
  s.store.check(ms(20));
  CHECK(s.held() == 18);
  config.evict_soft_pinned = false;
  Store kept(config, 20);
  for (std::uint32_t key = 0; key < 20; ++key) REQUIRE(kept.put(key, 0, StoreHints::kSoft));
  kept.store.check(ms(20));
  CHECK(kept.held() == 20);
  kept.store.check(ms(999));
  CHECK(kept.held() == 20);
  kept.store.check(ms(1000));  // the pins have run out
  CHECK(kept.held() == 0);     // with the same lease
}

TEST_CASE("replicas go to the segments with most room, as many as have some", "[models]") {
  MooncakeConfig config = settings();
  config.segments = 3;
  config.replicas = 2;
  Store s(config, 9);
  const auto put = [&](std::uint32_t key) {
    return s.store.put_start(BlockId{key}, kObject, {}, ms(0));
  };
  for (std::uint32_t key = 0; key < 4; ++key) CHECK(put(key)->replicas == 2);
  CHECK(put(4)->replicas == 1);  // eight of nine are taken
  CHECK_FALSE(put(5));
  CHECK(s.store.wants_check());
  CHECK(s.store.used() == kObject * 9);
}

TEST_CASE("an unfinished put is there, then may be replaced, then is gone", "[models]") {
  Store s(settings(), 3);
  const auto first = s.store.put_start(BlockId{1}, kObject, {}, ms(0));
  REQUIRE(first);
  CHECK(s.find(1, 10) == Source::kNowhere);
  CHECK_FALSE(s.store.put_start(BlockId{1}, kObject, {}, ms(30)));
  const auto second = s.store.put_start(BlockId{1}, kObject, {}, ms(31));
  REQUIRE(second);
  CHECK(s.store.used() == kObject * 2);
  s.store.put_end(*first, ms(40));  // too late: it was replaced
  CHECK(s.find(1, 40) == Source::kNowhere);
  s.store.put_end(*second, ms(50));
  CHECK(s.find(1, 50) == Source::kMemory);
  CHECK(s.store.next_expiry() == ms(600));
  s.store.free_abandoned(ms(600));
  CHECK(s.store.used() == kObject);
  CHECK(s.store.next_expiry() == Time::max());
  const auto third = s.store.put_start(BlockId{2}, kObject, {}, ms(700));
  s.store.free_abandoned(ms(1300));
  s.store.put_end(*third, ms(1300));
  CHECK(s.find(2, 1300) == Source::kNowhere);
  CHECK(s.store.used() == kObject);
}

MooncakeConfig offloading() {
  MooncakeConfig config = settings();
  config.offload = true;
  config.bucket_keys = 4;
  config.bucket_bytes = kObject * 100;
  return config;
}

TEST_CASE("buckets are full, and the rest waits, pinned", "[models]") {
  Store s(offloading(), 10, 100);
  s.put_all(0, 10, 0);
  CHECK(s.beat() == 2);
  CHECK(s.store.on_ssd() == 8);
  // Two are pinned: 8 objects count. used 1: 15% are 1.2, so 2, and all have the same lease.
  s.store.check(ms(10));
  CHECK(s.held() == 2);
  CHECK(s.find(0, 10) == Source::kSsd);
  CHECK(s.find(9, 10) == Source::kMemory);
  CHECK_FALSE(s.put(0, 11));  // it is there
  // Pins end by themselves too.
  s.store.expire_pins(ms(599));
  CHECK(s.store.next_expiry() == ms(600));
  s.store.expire_pins(ms(600));
  CHECK(s.store.counters().pins_expired == 2);
}

TEST_CASE("an object that would exceed a bucket's bytes closes it", "[models]") {
  MooncakeConfig config = offloading();
  config.bucket_bytes = kObject * 2 + Bytes(5);
  Store s(config, 10, 100);
  s.put_all(0, 5, 0);
  CHECK(s.beat() == 2);
  CHECK(s.store.on_ssd() == 4);
}

TEST_CASE("oldest buckets make room, and above the watermark more of them go", "[models]") {
  MooncakeConfig config = offloading();
  config.bucket_keys = 2;
  Store s(config, 100, 10);
  s.put_all(0, 8, 0);
  CHECK(s.beat() == 4);
  CHECK(s.store.on_ssd() == 8);  // 0.8
  s.put_all(8, 10, 1);
  CHECK(s.beat() == 1);  // 1.0, above 0.90: one bucket goes
  CHECK(s.store.on_ssd() == 8);
  CHECK(s.store.counters().ssd_evicted == 2);
  s.put_all(10, 16, 2);
  CHECK(s.beat() == 3);  // two of them make room, the last brings 1.0
  CHECK(s.store.on_ssd() == 8);
  CHECK(s.store.counters().ssd_evicted == 8);
}

TEST_CASE("eviction to the SSD frees nothing before it is written", "[models]") {
  MooncakeConfig config = offloading();
  config.offload_on_evict = true;
  config.bucket_keys = 1;
  Store s(config, 20, 100);
  for (std::uint32_t key = 0; key < 20; ++key) REQUIRE(s.put(key, key));
  // Three are wanted; nothing is freed, so all 20 are queued.
  s.store.check(ms(20));
  CHECK(s.held() == 20);
  CHECK(s.store.counters().queued == 20);
  CHECK(s.beat() == 20);
  s.store.check(ms(30));
  CHECK(s.held() == 17);
  CHECK(s.find(0, 30) == Source::kSsd);
}

TEST_CASE("what finds no room in the queue stays, or is forced out", "[models]") {
  MooncakeConfig config = offloading();
  config.offload_on_evict = true;
  config.queue_limit = 8;
  {
    Store s(config, 20, 100);
    for (std::uint32_t key = 0; key < 20; ++key) REQUIRE(s.put(key, key));
    s.store.check(ms(20));
    CHECK(s.held() == 20);
    CHECK(s.store.counters().queued == 8);
  }
  config.offload_force_evict = true;
  Store s(config, 20, 100);
  for (std::uint32_t key = 0; key < 20; ++key) REQUIRE(s.put(key, key));
  // Half of the limit is queued in one check; then three are freed.
  s.store.check(ms(20));
  CHECK(s.store.counters().queued == 4);
  CHECK(s.held() == 17);
  CHECK(s.find(4, 20) == Source::kNowhere);
  CHECK(s.find(3, 20) == Source::kMemory);
}

}  // namespace
}  // namespace spillway::test
