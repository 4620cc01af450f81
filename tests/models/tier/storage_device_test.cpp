// A storage device at work against closed forms: depth, sharing, threads that prefer reads, a write
// cache, and a random stress that loses nothing.
#include "models/tier/storage_device.hpp"

#include <algorithm>
#include <map>

#include "models/tier/storage_path.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::int64_t kGB = 1'000'000'000;
constexpr Bytes kMB(1'000'000);
constexpr StorageOp kRead = StorageOp::kRead;
constexpr StorageOp kWrite = StorageOp::kWrite;

LatencyQuantiles constant(Duration d) {
  return LatencyQuantiles::constant(d);
}

/// Operations of 1 MB on a drive of 5 GB/s behind 800 us.
StorageSpec drive(std::uint32_t depth) {
  StorageSpec spec;
  spec.kind = StorageKind::kNvme;
  spec.read = {5 * kGB, 0, 0, constant(microseconds(800))};
  spec.write = spec.read;
  spec.slots = depth;
  spec.read_first = depth;
  spec.operation_bytes = kMB;
  return spec;
}

/// The same over a network: 1 GB/s for this client, 1 ms an operation.
StorageSpec shared(std::uint32_t threads) {
  StorageSpec spec = drive(threads);
  spec.kind = StorageKind::kFs;
  spec.read = {0, kGB, 0, constant(milliseconds(1))};
  spec.write = spec.read;
  return spec;
}

/// Submits jobs at given times and notes when each ends.
struct Rig final : EventHandler, StorageListener, Observer {
  struct Job {
    Time at;
    StorageOp op;
    Bytes bytes;
  };
  EventQueue queue;
  Network network;
  StorageDevice device;
  std::vector<Job> jobs;
  std::vector<Time> ended;
  std::vector<TransferRecord> records;

  explicit Rig(const StorageSpec& spec, std::uint32_t clients = 0, std::uint64_t seed = 1)
      : network(queue, {{}, {{spec, 1, clients}}}, *this),
        device(network.server(0), {0, seed, 0, 1}, *this, *this) {}

  std::uint32_t add(Duration at, StorageOp op, Bytes bytes) {
    const auto job = static_cast<std::uint32_t>(jobs.size());
    jobs.push_back({Time(at), op, bytes});
    ended.push_back(kNever);
    queue.schedule(Time(at), Phase::kArrival, *this, {0, 0, job});
    return job;
  }
  void run() {
    while (queue.step()) {
    }
    CHECK(device.idle());
  }
  Duration took(std::uint32_t job) const { return ended[job] - jobs[job].at; }

  void on_event(EventPayload payload) override {
    device.submit(jobs[payload.subject].op, payload.subject, jobs[payload.subject].bytes);
  }
  void on_storage_done(StorageOp op, std::uint32_t job) override {
    CHECK(op == jobs[job].op);
    CHECK(ended[job] == kNever);
    ended[job] = queue.now();
  }
  void on_transfer(const TransferRecord& r) override { records.push_back(r); }
};

Duration alone(const StorageSpec& spec, StorageOp op, Bytes bytes, std::uint32_t clients = 0) {
  Rig rig(spec, clients);
  rig.add(Duration(0), op, bytes);
  rig.run();
  return rig.took(0);
}

TEST_CASE("one read alone takes its latency and its bytes", "[models]") {
  StorageSpec spec = default_storage(StorageKind::kNvme);
  spec.operation_bytes = Bytes(2 << 20);
  // 80 us and 2,097,152 bytes at 7 GB/s, 299,593.14 ns.
  CHECK(alone(spec, kRead, Bytes(2 << 20)) == Duration(80'000 + 299'594));
  CHECK(alone(spec, kRead, Bytes(2 << 20)) == operation_time(spec.read, Bytes(2 << 20)));
  // Writes have 5 GB/s: 419,430.4 ns.
  CHECK(alone(spec, kWrite, Bytes(2 << 20)) == Duration(80'000 + 419'431));
}

TEST_CASE("a job that is one task keeps one thread, whatever the depth", "[models]") {
  // vLLM's fs tier: 5 files of 1 MB one after the other, each 1 ms, then 5 MB at 1 GB/s.
  StorageSpec spec = shared(32);
  spec.whole_jobs = true;
  CHECK(alone(spec, kRead, kMB * 5) == milliseconds(5 + 5));
  // Two jobs on two threads, of which one prefers writes: it takes the second read, as nothing is
  // to be written. Their latencies pass together, and their bytes share the rate.
  spec.slots = 2;
  spec.read_first = 1;
  Rig rig(spec);
  rig.add(Duration(0), kRead, kMB * 5);
  rig.add(Duration(0), kRead, kMB * 5);
  rig.add(Duration(0), kWrite, kMB);  // waits for a thread
  rig.run();
  CHECK(rig.took(0) == milliseconds(5 + 10));
  CHECK(rig.took(1) == milliseconds(5 + 10));
  CHECK(rig.took(2) == milliseconds(15 + 1 + 1));
}

TEST_CASE("equal reads at a depth of their number pay the latency once", "[models]") {
  // 5 operations of 1 MB, together: 800 us, then 5 x 200 us.
  CHECK(alone(drive(5), kRead, kMB * 5) == microseconds(1800));
  CHECK(alone(drive(64), kRead, kMB * 5) == microseconds(1800));
  // One at a time: 5 x 1 ms.
  CHECK(alone(drive(1), kRead, kMB * 5) == milliseconds(5));
  // Two at a time: the second waits 200 us for the first one's bytes, and both go on in step. Slots
  // free at 1.0 and 1.2 ms, 2.0 and 2.2 ms; the fifth has the first of them at 2.0 ms.
  CHECK(alone(drive(2), kRead, kMB * 5) == milliseconds(3));
}

TEST_CASE("the rate of a long read grows with depth and saturates", "[models]") {
  const Bytes bytes = kMB * 4000;
  for (const std::uint32_t depth : {1U, 2U, 3U, 4U, 5U, 8U, 64U}) {
    INFO("depth " << depth);
    const StorageSpec spec = drive(depth);
    const double rate = static_cast<double>(bytes.count()) / seconds_of(alone(spec, kRead, bytes));
    // min(5, depth) GB/s; a job of 4,000 operations runs as 256 tasks of 16, and the last of them
    // may leave the other slots idle.
    CHECK(rate == Approx(rate_at_depth(spec.read, kMB, depth)).epsilon(0.025));
    CHECK(rate <= rate_at_depth(spec.read, kMB, depth));
  }
}

TEST_CASE("operations share what the client and the server allow", "[models]") {
  // Four of 1 MB: 1 ms, then 4 MB at 1 GB/s.
  CHECK(alone(shared(4), kRead, kMB * 4) == milliseconds(5));
  CHECK(alone(shared(1), kRead, kMB * 4) == milliseconds(8));
  // A server of 2 GB/s that three others use as well leaves 0.5 GB/s: 1 + 8 ms.
  StorageSpec spec = shared(4);
  spec.read.total_rate = 2 * kGB;
  CHECK(alone(spec, kRead, kMB * 4) == milliseconds(5));
  CHECK(alone(spec, kRead, kMB * 4, 1) == milliseconds(5));  // 1 GB/s each
  CHECK(alone(spec, kRead, kMB * 4, 3) == milliseconds(9));
  // Connections of 0.25 GB/s: one alone has 4 ms for its MB, four fill the client's limit.
  spec.read.slot_rate = kGB / 4;
  CHECK(alone(spec, kRead, kMB) == milliseconds(5));
  CHECK(alone(spec, kRead, kMB * 4) == milliseconds(5));
  CHECK(alone(spec, kRead, kMB * 8) == milliseconds(10));
}

TEST_CASE("a single-threaded server has one limit for both directions", "[models]") {
  const auto both = [](bool one_at_a_time) {
    StorageSpec spec = shared(2);
    spec.kind = StorageKind::kKv;
    spec.read = {kGB, 0, 0, constant(milliseconds(1))};
    spec.write = spec.read;
    spec.one_at_a_time = one_at_a_time;
    Rig rig(spec);
    rig.add(Duration(0), kRead, kMB);
    rig.add(Duration(0), kWrite, kMB);
    rig.run();
    CHECK(rig.took(0) == rig.took(1));
    return rig.took(0);
  };
  CHECK(both(true) == milliseconds(3));  // 1 ms, then 2 MB at 1 GB/s
  CHECK(both(false) == milliseconds(2));
}

TEST_CASE("threads take what they prefer, and else the other", "[models]") {
  // An operation takes 1 ms on a thread, whatever else runs. 8 writes take all 4 threads; 4 reads
  // come while these work.
  const auto times = [](std::uint32_t read_first) {
    StorageSpec spec = shared(4);
    spec.read = {0, 0, kGB, constant(Duration(0))};
    spec.write = spec.read;
    spec.read_first = read_first;
    Rig rig(spec);
    rig.add(Duration(0), kWrite, kMB * 8);
    rig.add(microseconds(500), kRead, kMB * 4);
    rig.run();
    return std::pair(nanoseconds_of(rig.ended[0]), nanoseconds_of(rig.ended[1]));
  };
  const auto ms = [](std::int64_t n) { return n * 1'000'000; };
  // All prefer reads: those run from 1 to 2 ms, the other 4 writes from 2 to 3.
  CHECK(times(4) == std::pair(ms(3), ms(2)));
  // None does: the writes come first.
  CHECK(times(0) == std::pair(ms(2), ms(3)));
  // Three do: 3 reads and a write from 1 to 2 ms, the last read and 3 writes from 2 to 3.
  CHECK(times(3) == std::pair(ms(3), ms(3)));
  // One does: 1 read and 3 writes, then the last write, and 3 reads, from 2 to 3.
  CHECK(times(1) == std::pair(ms(3), ms(3)));
}

TEST_CASE("writes slow down when the cache is full", "[models]") {
  StorageSpec spec = drive(4);
  spec.write.latency = constant(Duration(0));
  spec.write_cache = WriteCacheSpec{kMB * 10, kGB, kGB / 2};
  Rig rig(spec);
  // 10 MB at 5 GB/s, 10 MB at 1 GB/s: 2 + 10 ms.
  rig.add(Duration(0), kWrite, kMB * 20);
  // After 10 ms idle 5 MB have drained: 5 MB at 5 GB/s, 1 MB at 1 GB/s.
  rig.add(milliseconds(22), kWrite, kMB * 6);
  rig.run();
  CHECK(rig.took(0) == milliseconds(12));
  CHECK(rig.took(1) == milliseconds(2));
  CHECK(rig.device.server().slow_writes() == milliseconds(11));
  CHECK(rig.device.server().wear().written == kMB * 26);
  // Reads know nothing of it.
  CHECK(alone(spec, kRead, kMB) == milliseconds(1));
}

TEST_CASE("a device tells each job once, and how long it was busy", "[models]") {
  Rig rig(drive(5));
  rig.add(Duration(0), kRead, Bytes(2'500'000));  // three operations, the last one short
  rig.add(milliseconds(5), kRead, kMB);
  rig.add(milliseconds(5), kWrite, kMB);
  rig.run();
  // 800 us + 500 us; 1 ms; 1 ms.
  REQUIRE(rig.records.size() == 3);
  CHECK(rig.records[0].link == 0);
  CHECK(rig.records[0].payload == Bytes(2'500'000));
  CHECK(rig.records[0].copies == 3);
  CHECK(rig.records[0].ended == Time(microseconds(1300)));
  CHECK(rig.records[2].link == 1);
  CHECK(rig.device.busy(kRead) == microseconds(2300));
  CHECK(rig.device.busy(kWrite) == milliseconds(1));
  CHECK(rig.device.latency(kRead).count() == 2);
}

TEST_CASE("a job's latency counts from when it came, not from when it had a slot", "[models]") {
  Rig rig(drive(1));
  rig.add(Duration(0), kRead, kMB);
  rig.add(Duration(0), kRead, kMB);
  rig.run();
  // 1 ms each, one after the other.
  const LatencyStats stats = rig.device.latency(kRead).stats();
  CHECK(stats.median_ms == 1.5);
  CHECK(stats.max_ms == 2);
}

TEST_CASE("random jobs lose nothing and outrun nothing", "[models]") {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    StorageSpec spec = seed % 2 == 0 ? shared(6) : drive(6);
    spec.read_first = 4;
    const auto us = [](int n) { return microseconds(n); };
    spec.read.latency = {us(80), us(120), us(480), us(3000)};
    if (spec.kind == StorageKind::kNvme) spec.write_cache = WriteCacheSpec{kMB * 50, kGB, kGB};
    const auto replay = [&](std::uint64_t device_seed) {
      Rig rig(spec, 0, device_seed);
      Stream stream(seed, "jobs");
      Duration at{0};
      for (int i = 0; i < 1000; ++i) {
        at += Duration(static_cast<std::int64_t>(stream.below(3'000'000)));
        rig.add(at, stream.chance(0.6) ? kRead : kWrite,
                Bytes(1 + static_cast<std::int64_t>(stream.below(9'000'000))));
      }
      rig.run();
      Bytes read(0);
      Bytes written(0);
      for (std::uint32_t job = 0; job < rig.jobs.size(); ++job) {
        const auto& j = rig.jobs[job];
        REQUIRE(rig.ended[job] != kNever);
        const StorageLane& lane = j.op == kRead ? spec.read : spec.write;
        CHECK(rig.took(job) >= lane.latency.p50 + time_at_rate(j.bytes, client_share(lane, 0)));
        (j.op == kRead ? read : written) += j.bytes;
      }
      CHECK(rig.device.server().wear().read == read);
      CHECK(rig.device.server().wear().written == written);
      Bytes told(0);
      for (const TransferRecord& r : rig.records) told += r.payload;
      CHECK(told == read + written);
      // Never more than the limit over the whole time that a direction was busy.
      CHECK(rig.device.busy(kRead) >= time_at_rate(read, client_share(spec.read, 0)));
      return rig.ended;
    };
    const auto first = replay(1);
    CHECK(replay(1) == first);
    CHECK(replay(2) != first);
  }
}

/// Notes when each job of a path ends.
struct PathRig final : TransferListener, Observer {
  EventQueue queue;
  std::map<std::uint32_t, Time> ended;
  std::vector<TransferRecord> records;

  void on_transfer_done(Direction, std::uint32_t job) override { ended[job] = queue.now(); }
  void on_transfer(const TransferRecord& r) override { records.push_back(r); }
  void run() {
    while (queue.step()) {
    }
  }
};

TEST_CASE("the way to storage leads over the host, one hop after the other", "[models]") {
  const auto lane = [](std::uint32_t link) {
    LaneSpec out;
    out.link = link;
    out.model = make_affine_link(microseconds(10), 25 * kGB);
    return out;
  };
  const auto times = [&](bool direct) {
    PathRig rig;
    StoragePathConfig config{{{0, 1, 0, 1}}, {}};
    if (!direct) config.host = HostLanes{lane(2), lane(3)};
    Network network(rig.queue, {{}, {{drive(10)}}}, rig);
    StoragePath path(rig.queue, network, std::move(config), rig, rig);
    path.submit(Direction::kDown, 7, kMB * 5, 5);
    path.submit(Direction::kUp, 8, kMB * 5, 5);
    rig.run();
    CHECK(path.idle());
    CHECK(rig.records.size() == (direct ? 2 : 4));
    Bytes told(0);
    for (const TransferRecord& r : rig.records) told += r.payload;
    CHECK(told == kMB * (direct ? 10 : 20));
    return std::pair(rig.ended[7], rig.ended[8]);
  };
  // Slots for both jobs. The host link: 10 us and 5 MB at 25 GB/s, 200 us. The drive: 800 us and 5
  // x 200 us.
  CHECK(times(false) == std::pair(Time(microseconds(2010)), Time(microseconds(2010))));
  CHECK(times(true) == std::pair(Time(microseconds(1800)), Time(microseconds(1800))));
}

TEST_CASE("directly, the GPU's link bounds the device", "[models]") {
  const StorageSpec slow = direct_storage(drive(5), BytesPerSecond(2e9), BytesPerSecond(25e9));
  CHECK(slow.write.total_rate == 2 * kGB);
  CHECK(slow.read.total_rate == 5 * kGB);
  CHECK(alone(slow, kWrite, kMB) == microseconds(1300));
  const StorageSpec fs = direct_storage(shared(4), BytesPerSecond(25e9), BytesPerSecond(0.5e9));
  CHECK(fs.write.client_rate == kGB);
  CHECK(alone(fs, kRead, kMB) == milliseconds(3));
  // Its own link is nobody else's: another client takes nothing of the 0.5 GB/s.
  CHECK(alone(fs, kRead, kMB, 1) == milliseconds(1 + 2));
  CHECK(fs.read.total_rate == 0);
}

/// A server of 4, 3 and 2 GB/s with one, two and more values of 1 MB whose bytes flow.
StorageSpec crowded(std::uint32_t connections) {
  StorageSpec spec = drive(connections);
  spec.kind = StorageKind::kKv;
  spec.read = {4 * kGB, 0, 4 * kGB, constant(Duration(0))};
  spec.read.rate_by_flows = {4 * kGB, 3 * kGB, 2 * kGB};
  spec.write = spec.read;
  return spec;
}

TEST_CASE("the rate of a server may depend on the number of values that flow", "[models]") {
  // One: 1 MB at 4 GB/s. Three: 3 MB at 2 GB/s. Four connections are served as three.
  for (const auto& [values, took] :
       {std::pair{1, microseconds(250)}, {3, microseconds(1500)}, {4, microseconds(2000)}}) {
    Rig rig(crowded(4));
    const std::uint32_t job = rig.add(Duration(0), kRead, kMB * values);
    rig.run();
    CHECK(rig.took(job) == took);
  }
  // The rate changes as values end: two share 3 GB/s until the smaller one's 0.5 MB are there,
  // after 333 us; the other's last 0.5 MB have 4 GB/s.
  Rig rig(crowded(2));
  const std::uint32_t job = rig.add(Duration(0), kRead, Bytes(1'500'000));
  rig.run();
  CHECK(std::abs((rig.took(job) - Duration(333'333 + 125'000)).count()) <= 2);
  // Another client that does the same: two values in all, and half of what they get.
  Rig shared_with(crowded(1), 1);
  const std::uint32_t half = shared_with.add(Duration(0), kRead, kMB);
  shared_with.run();
  CHECK(std::abs((shared_with.took(half) - Duration(666'667)).count()) <= 2);
}

TEST_CASE("a slower direction of a server that does one thing at a time keeps its limit",
          "[models]") {
  StorageSpec spec = crowded(2);
  spec.one_at_a_time = true;
  spec.read_first = 1;
  spec.write = {kGB, 0, kGB, constant(Duration(0))};
  // Alone: 1 MB at 4 GB/s, 1 MB at 1 GB/s. Together they share 3 GB/s, of which the write takes 1.
  Rig alone(spec);
  const std::uint32_t write = alone.add(Duration(0), kWrite, kMB);
  alone.run();
  CHECK(alone.took(write) == milliseconds(1));
  Rig both(spec);
  const std::uint32_t read = both.add(Duration(0), kRead, kMB);
  const std::uint32_t slow = both.add(Duration(0), kWrite, kMB);
  both.run();
  CHECK(both.took(read) == microseconds(500));
  CHECK(both.took(slow) == milliseconds(1));
}

}  // namespace
}  // namespace spillway::test
