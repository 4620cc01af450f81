// The path between two tiers with what it shares: media, a submitting thread, other clients.
#include "models/link/copy_path.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

struct Ends final : TransferListener, Observer {
  EventQueue queue;
  std::vector<std::int64_t> ns;
  std::vector<Direction> directions;
  std::vector<std::int64_t> bytes = std::vector<std::int64_t>(4);
  void on_transfer_done(Direction direction, std::uint32_t) override {
    ns.push_back(nanoseconds_of(queue.now()));
    directions.push_back(direction);
  }
  void on_transfer(const TransferRecord& r) override { bytes[r.link] += r.payload.count(); }
  void run() {
    while (queue.step()) {
    }
  }
};

LaneSpec lane(std::uint32_t link, std::vector<std::uint32_t> through) {
  LaneSpec out{link, make_constant_link(10'000'000'000)};
  out.through = std::move(through);
  return out;
}

LaidMedia media_of(Fabric& fabric, Observer& observer, const MediumSpec& medium) {
  return {fabric, {&medium, 1}, observer};
}

TEST_CASE("both directions share a medium fairly", "[models]") {
  Ends ends;
  Fabric fabric(ends.queue);
  CopyPath path(ends.queue, fabric, lane(0, {0}), lane(1, {0}), ends, ends,
                media_of(fabric, ends, {10'000'000'000, 2}));
  path.submit(Direction::kDown, 0, Bytes(1000), 1);
  path.submit(Direction::kUp, 1, Bytes(2000), 1);
  ends.run();
  // 5 bytes/ns each: 200 ns; the other 1,000 alone at 10.
  CHECK(ends.ns == std::vector<std::int64_t>{200, 300});
  CHECK(ends.bytes == std::vector<std::int64_t>{1000, 2000, 3000, 0});
}

TEST_CASE("a medium that serves in order comes behind the engine on the way down", "[models]") {
  Ends ends;
  Fabric fabric(ends.queue);
  CopyPath path(ends.queue, fabric, lane(0, {0}), lane(1, {0}), ends, ends,
                media_of(fabric, ends, {5'000'000'000, 2, true}));
  path.submit(Direction::kDown, 0, Bytes(1000), 1);
  path.submit(Direction::kUp, 1, Bytes(600), 1);
  ends.run();
  // Up: the medium first, 120, then the engine, 60. Down: the engine, 100, then the medium, free at
  // 120, for 200. The other way round: 200 + 100 down, and up 60, then the medium from 200 to 320.
  CHECK(ends.ns == std::vector<std::int64_t>{180, 320});
  CHECK(ends.directions == std::vector<Direction>{Direction::kUp, Direction::kDown});
}

TEST_CASE("each direction keeps its own factor while the other is busy", "[models]") {
  Ends ends;
  LaneSpec down = lane(0, {});
  LaneSpec up = lane(1, {});
  down.duplex_factor = 0.75;
  up.duplex_factor = 0.5;
  Fabric fabric(ends.queue);
  CopyPath path(ends.queue, fabric, std::move(down), std::move(up), ends, ends);
  path.submit(Direction::kDown, 0, Bytes(7500), 1);
  path.submit(Direction::kUp, 1, Bytes(15'000), 1);
  ends.run();
  // Down at 7.5 bytes/ns: 1,000 ns. Up has moved 5,000 by then, at 5; the other 10,000 go at 10.
  CHECK(ends.ns == std::vector<std::int64_t>{1000, 2000});
}

TEST_CASE("other clients load the medium with the same bytes, later", "[models]") {
  Ends ends;
  LaneSpec up = lane(1, {0});
  up.clients = 4;
  Fabric fabric(ends.queue);
  CopyPath path(ends.queue, fabric, lane(0, {}), std::move(up), ends, ends,
                media_of(fabric, ends, {20'000'000'000, 2}), 7);
  for (int i = 0; i < 10; ++i) path.submit(Direction::kUp, 0, Bytes(1'000'000), 1);
  path.submit(Direction::kDown, 0, Bytes(500), 1);
  ends.run();
  CHECK(ends.bytes == std::vector<std::int64_t>{500, 10'000'000, 40'000'000, 0});
  CHECK(path.idle());
  // Their delays are drawn from a second; these transfers take a millisecond: they did not meet.
  CHECK(ends.ns.back() == 1'000'000);
}

TEST_CASE("clients that meet slow each other down", "[models]") {
  Ends ends;
  LaneSpec up = lane(1, {0});
  up.clients = 2;
  Fabric fabric(ends.queue);
  CopyPath path(ends.queue, fabric, lane(0, {}), std::move(up), ends, ends,
                media_of(fabric, ends, {10'000'000'000, 2}), 7);
  // Four seconds of transfers; the neighbour does the same from some instant of the first second
  // on, at half the rate each.
  for (int i = 0; i < 40; ++i) path.submit(Direction::kUp, 0, Bytes(1'000'000'000), 1);
  ends.run();
  CHECK(ends.ns.back() > 7'000'000'000);
  CHECK(ends.ns.back() < 8'000'000'000);
  CHECK(ends.bytes[2] == 80'000'000'000);
}

TEST_CASE("copies are submitted by one thread, ahead of the engine", "[models]") {
  Ends ends;
  LaneSpec down = lane(0, {});
  LaneSpec up = lane(1, {});
  down.submit = up.submit = Duration(6000);
  Fabric fabric(ends.queue);
  CopyPath path(ends.queue, fabric, std::move(down), std::move(up), ends, ends);
  path.submit(Direction::kUp, 0, Bytes(20'000'000), 100);
  path.submit(Direction::kDown, 0, Bytes(100'000), 10);
  ends.run();
  // Up: 600 us of submission, copies of 20 us: 6 us + 2 ms. Down waits for the thread: 600 us, its
  // own 60 us, and the last copy's 1 us.
  CHECK(ends.ns == std::vector<std::int64_t>{661'000, 2'006'000});
}

}  // namespace
}  // namespace spillway::test
