// What several clients, ranks and copies share on the way to storage, against closed forms.
#include <map>

#include "models/tier/storage_path.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::int64_t kGBs = 1'000'000'000;
constexpr Bytes kMegabyte(1'000'000);

/// Operations of 1 MB on a drive of `rate`, behind `latency`, ten at a time.
StorageSpec drive_of(std::int64_t rate, Duration latency = microseconds(800)) {
  StorageSpec spec;
  spec.kind = StorageKind::kNvme;
  spec.read = {rate, 0, 0, LatencyQuantiles::constant(latency)};
  spec.write = spec.read;
  spec.slots = 10;
  spec.read_first = 10;
  spec.operation_bytes = kMegabyte;
  return spec;
}

/// A server of `rate` over all, 1 ms an operation.
StorageSpec server_of(std::int64_t rate) {
  StorageSpec spec = drive_of(rate, milliseconds(1));
  spec.kind = StorageKind::kKv;
  return spec;
}

LaneSpec copy_lane(std::uint32_t link, std::int64_t rate, std::vector<std::uint32_t> through = {},
                   Duration latency = microseconds(10)) {
  LaneSpec out;
  out.link = link;
  out.model = make_affine_link(latency, rate);
  out.through = std::move(through);
  return out;
}

/// Notes when each job ends, and the bytes of each link.
struct Watch final : TransferListener, StorageListener, Observer {
  EventQueue queue;
  std::map<std::uint32_t, Time> ended;
  std::map<std::uint32_t, std::int64_t> bytes;

  void on_transfer_done(Direction, std::uint32_t job) override { ended[job] = queue.now(); }
  void on_storage_done(StorageOp, std::uint32_t job) override { ended[job] = queue.now(); }
  void on_transfer(const TransferRecord& r) override { bytes[r.link] += r.payload.count(); }
  void run() {
    while (queue.step()) {
    }
  }
};

TEST_CASE("two clients of a drive wait for its bytes, not for each other's slots", "[models]") {
  Watch watch;
  Network network(watch.queue, {{}, {{drive_of(5 * kGBs), 2}}}, watch);
  StorageDevice a(network.server(0), {0, 1, 0, 1}, watch, watch);
  StorageDevice b(network.server(0), {0, 2, 2, 3}, watch, watch);
  a.submit(StorageOp::kRead, 0, kMegabyte * 5);
  b.submit(StorageOp::kRead, 1, kMegabyte * 5);
  b.submit(StorageOp::kWrite, 2, kMegabyte * 5);
  watch.run();
  // All latencies pass at once, 800 us; then the reads of a, 5 x 200 us, then those of b. Writes
  // have the drive's write rate to themselves, behind the 800 us.
  CHECK(watch.ended[0] == Time(microseconds(800 + 1000)));
  CHECK(watch.ended[1] == Time(microseconds(800 + 2000)));
  CHECK(watch.ended[2] == Time(microseconds(800 + 1000)));
  CHECK(watch.bytes ==
        std::map<std::uint32_t, std::int64_t>{{0, 5'000'000}, {2, 5'000'000}, {3, 5'000'000}});
  CHECK(network.server(0).wear().read == kMegabyte * 10);
  CHECK(network.server(0).wear().written == kMegabyte * 5);
  CHECK(network.fabric().idle());
}

TEST_CASE("two clients of a server share its rate fairly", "[models]") {
  const auto ends = [](std::uint32_t others, bool one_at_a_time) {
    Watch watch;
    StorageSpec spec = server_of(4 * kGBs);
    spec.one_at_a_time = one_at_a_time;
    Network network(watch.queue, {{}, {{spec, 2, others}}}, watch);
    StorageDevice a(network.server(0), {0, 1, 0, 1}, watch, watch);
    StorageDevice b(network.server(0), {0, 2, 2, 3}, watch, watch);
    a.submit(StorageOp::kRead, 0, kMegabyte * 4);
    b.submit(StorageOp::kWrite, 1, kMegabyte * 12);
    watch.run();
    return std::pair(watch.ended[0], watch.ended[1]);
  };
  // Reads and writes have 4 GB/s each: 1 ms and 1 ms; ten of twelve operations at once, 1 ms and
  // 2.5 ms, then two more, 1 ms and 0.5 ms.
  CHECK(ends(0, false) == std::pair(Time(milliseconds(2)), Time(milliseconds(5))));
  // Two more clients do the same: these two have half of it.
  CHECK(ends(2, false) == std::pair(Time(milliseconds(3)), Time(milliseconds(8))));
  // One rate for both directions: 14 flows share 4 GB/s until the four reads have moved 1 MB each,
  // at 1 + 3.5 ms. The ten writes have, too; two more follow, at 4.5 + 1 + 0.5 ms.
  CHECK(ends(0, true) == std::pair(Time(microseconds(4500)), Time(milliseconds(6))));
}

TEST_CASE("a drive's write cache is full for all its clients", "[models]") {
  Watch watch;
  StorageSpec spec = drive_of(5 * kGBs, Duration(0));
  spec.write_cache = WriteCacheSpec{kMegabyte * 5, kGBs, kGBs};
  Network network(watch.queue, {{}, {{spec, 2}}}, watch);
  StorageDevice a(network.server(0), {0, 1, 0, 1}, watch, watch);
  StorageDevice b(network.server(0), {0, 2, 2, 3}, watch, watch);
  a.submit(StorageOp::kWrite, 0, kMegabyte * 5);
  b.submit(StorageOp::kWrite, 1, kMegabyte * 2);
  watch.run();
  // 5 MB at 5 GB/s fill it; the other client's 2 MB go at 1 GB/s.
  CHECK(watch.ended[0] == Time(milliseconds(1)));
  CHECK(watch.ended[1] == Time(milliseconds(3)));
  CHECK(network.server(0).slow_writes() == milliseconds(2));
}

TEST_CASE("a drive's read and a GPU's copy share host memory", "[models]") {
  // Host memory moves 20 GB/s. The drive takes its 7, the copy the other 13 of its 25. The drive's
  // seven operations of 1 MB last 142,858 ns each. By then, at 1 ms, the copy has moved 13 of 25
  // MB. The other 12 go at 20 GB/s, 0.6 ms.
  Watch watch;
  Network network(watch.queue, {{{20 * kGBs, 9}}, {{drive_of(7 * kGBs, Duration(0))}}}, watch);
  StorageDevice drive(network.server(0), {0, 1, 0, 1, {0}}, watch, watch);
  CopyPath path(watch.queue, network.fabric(), copy_lane(2, 25 * kGBs, {0}, Duration(0)),
                copy_lane(3, 25 * kGBs, {0}, Duration(0)), watch, watch, network.media());
  drive.submit(StorageOp::kRead, 0, kMegabyte * 7);
  path.submit(Direction::kUp, 1, kMegabyte * 25, 1);
  watch.run();
  CHECK(watch.ended[0] == Time(Duration(7 * 142'858)));
  CHECK(watch.ended[1] == Time(microseconds(1600)));
  CHECK(watch.bytes[9] == 32'000'000);
}

TEST_CASE("a store by way of the host crosses its memory twice", "[models]") {
  // Memory of 4 GB/s. 8 MB come down at 4 of the lane's 25 GB/s, 2 ms; the drive then reads them
  // from there at 4 of its 5 GB/s, 2 ms. Of a load the same, the other way round.
  Watch watch;
  Network network(watch.queue, {{{4 * kGBs, 9}}, {{drive_of(5 * kGBs, Duration(0))}}}, watch);
  StoragePathConfig config{{{0, 1, 0, 1, {0}}}, {}};
  config.host = HostLanes{copy_lane(2, 25 * kGBs, {0}, Duration(0)),
                          copy_lane(3, 25 * kGBs, {0}, Duration(0))};
  StoragePath path(watch.queue, network, std::move(config), watch, watch);
  path.submit(Direction::kDown, 0, kMegabyte * 8, 1);
  watch.run();
  CHECK(watch.ended[0] == Time(milliseconds(4)));
  path.submit(Direction::kUp, 1, kMegabyte * 8, 1);
  watch.run();
  CHECK(watch.ended[1] == Time(milliseconds(8)));
  CHECK(watch.bytes[9] == 32'000'000);
  CHECK(path.idle());
}

TEST_CASE("a medium that serves in order lies between a client and its storage", "[models]") {
  // A NIC of 2 GB/s. A read: 1 ms, 1 MB at 4 GB/s, then 0.5 ms over the NIC. A write of another
  // client comes over the NIC first: 0.5 ms, then 1 ms and 0.25 ms.
  Watch watch;
  Network network(watch.queue, {{{2 * kGBs, 9, true}}, {{server_of(4 * kGBs), 2}}}, watch);
  StorageDevice a(network.server(0), {0, 1, 0, 1, {0}}, watch, watch);
  StorageDevice b(network.server(0), {0, 2, 2, 3, {0}}, watch, watch);
  a.submit(StorageOp::kRead, 0, kMegabyte);
  b.submit(StorageOp::kWrite, 1, kMegabyte);
  watch.run();
  CHECK(watch.ended[0] == Time(microseconds(1750)));
  CHECK(watch.ended[1] == Time(microseconds(1750)));
  CHECK(watch.bytes[9] == 2'000'000);
}

// ---- ranks
// ---------------------------------------------------------------------------------------

/// Two ranks with links of `first` and `second` bytes/s.
HostLanes two_ranks(std::int64_t first, std::int64_t second, bool stored_once) {
  HostLanes out;
  out.stored_once = stored_once;
  for (const std::uint32_t rank : {0U, 1U}) {
    const std::int64_t rate = rank == 0 ? first : second;
    out.ranks.push_back({copy_lane(2 + 2 * rank, rate), copy_lane(3 + 2 * rank, rate)});
  }
  return out;
}

TEST_CASE("what storage holds is every rank's part, over every rank's link", "[models]") {
  const auto run = [](bool stored_once) {
    Watch watch;
    Network network(watch.queue, {{}, {{drive_of(5 * kGBs)}}}, watch);
    StoragePathConfig config{{{0, 1, 0, 1}}, two_ranks(25 * kGBs, 20 * kGBs, stored_once)};
    config.copies = stored_once ? 1 : 2;
    StoragePath path(watch.queue, network, std::move(config), watch, watch);
    path.submit(Direction::kDown, 0, kMegabyte * 5, 5);
    watch.run();
    const Time down = watch.ended[0];
    path.submit(Direction::kUp, 1, kMegabyte * 5, 5);
    watch.run();
    CHECK(path.idle());
    const auto us = [](Duration d) { return std::chrono::duration_cast<microseconds>(d).count(); };
    return std::tuple(us(down - Time()), us(watch.ended[1] - down), watch.bytes);
  };
  using Bytes = std::map<std::uint32_t, std::int64_t>;
  // Each rank has 5 MB: the slower takes 10 + 250 us. 10 MB on the drive: 800 + 10 x 200 us.
  CHECK(run(false) == std::tuple(3060, 3060,
                                 Bytes{{0, 10'000'000},
                                       {1, 10'000'000},
                                       {2, 5'000'000},
                                       {3, 5'000'000},
                                       {4, 5'000'000},
                                       {5, 5'000'000}}));
  // One copy of an MLA latent: the first rank stores it, 10 + 200 us, then 800 + 5 x 200 us. It is
  // read once, and goes up to both.
  CHECK(run(true) ==
        std::tuple(
            2010, 2060,
            Bytes{{0, 5'000'000}, {1, 5'000'000}, {2, 5'000'000}, {3, 5'000'000}, {5, 5'000'000}}));
}

TEST_CASE("ranks that reach storage themselves are bounded by links of their own", "[models]") {
  const auto run = [](std::uint32_t copies) {
    Watch watch;
    Network network(watch.queue, {{}, {{server_of(12 * kGBs), 2}}}, watch);
    StoragePathConfig config;
    config.clients = {{0, 1, 1, 0, {}, {kGBs, 2 * kGBs}}, {0, 2, 3, 2, {}, {5 * kGBs, 5 * kGBs}}};
    config.copies = copies;
    StoragePath path(watch.queue, network, std::move(config), watch, watch);
    path.submit(Direction::kDown, 0, kMegabyte * 4, 1);
    path.submit(Direction::kUp, 1, kMegabyte * 4, 1);
    watch.run();
    CHECK(path.idle());
    CHECK(watch.bytes[0] == 4'000'000);
    CHECK(watch.bytes[2] == (copies == 2 ? 4'000'000 : 0));
    CHECK(watch.bytes[1] + watch.bytes[3] == 8'000'000);
    return std::pair(watch.ended[0], watch.ended[1]);
  };
  // Rank 0 reads at 1 GB/s and writes at 2, rank 1 at 5: 1 ms an operation, and 4 MB of rank 0.
  CHECK(run(2) == std::pair(Time(milliseconds(3)), Time(milliseconds(5))));
  // Stored once: by rank 0; both read it.
  CHECK(run(1) == std::pair(Time(milliseconds(3)), Time(milliseconds(5))));
}

}  // namespace
}  // namespace spillway::test
