// Stations, media and routes against closed forms, to the nanosecond.
#include "tests/support/catch.hpp"
#include "tests/support/fabric_rig.hpp"

namespace spillway::test {
namespace {

using Ends = std::vector<std::int64_t>;

TEST_CASE("a job is its latency, then its bytes; places are taken in order", "[models]") {
  FabricRig rig;
  const RouteId route = rig.route({{.station = rig.station(100, 2, 2)}});
  for (int i = 0; i < 3; ++i) rig.at(0, route, 1000);
  rig.at(10, route, 500);
  rig.run();
  // Two places: 100 + 1000 / 2 = 600 each; the third begins at 600, the fourth too.
  CHECK(rig.ends() == Ends{600, 600, 1200, 950});
}

TEST_CASE("what goes first goes before what came first", "[models]") {
  FabricRig rig;
  const StationId station = rig.station(0, 1);
  const RouteId read = rig.route({{.station = station, .priority = 0}});
  const RouteId write = rig.route({{.station = station, .priority = 1}});
  rig.at(0, write, 100);
  rig.at(1, write, 100);
  rig.at(2, write, 100);
  rig.at(3, read, 10);
  rig.at(4, read, 10);
  rig.run();
  // The first write is not interrupted; the reads then go before the writes that came earlier.
  CHECK(rig.ends() == Ends{100, 220, 320, 110, 120});
}

TEST_CASE("store and forward: the next hop begins when the last byte has left", "[models]") {
  FabricRig rig;
  const StationId a = rig.station(5, 1, 1, 0);
  const StationId b = rig.station(7, 2, 1, 1);
  const RouteId route = rig.route({{.station = a}, {.station = b}});
  rig.at(0, route, 100);
  rig.at(0, route, 100);
  rig.run();
  // a: 105, 210. b: 105 + 7 + 50 = 162; 210 + 57 = 267.
  CHECK(rig.ends() == Ends{162, 267});
  REQUIRE(rig.records.size() == 4);
  CHECK(rig.records[0].link == 0);
  CHECK(rig.records[1].link == 1);
  CHECK(rig.records[1].submitted == time_at(105));
  CHECK(rig.records[1].ended == time_at(162));
}

TEST_CASE("a flow alone on a wide medium ends when it would without", "[models]") {
  FabricRig rig;
  const RouteId route = rig.route({{.station = rig.station(11, 3), .media = {rig.medium(7)}}});
  rig.at(0, route, 1000);
  rig.at(5000, route, 999);
  rig.run();
  // 11 + ceil(1000 / 3) = 345; 5000 + 11 + 333.
  CHECK(rig.ends() == Ends{345, 5344});
}

TEST_CASE("a medium bounds a flow that could move faster", "[models]") {
  FabricRig rig;
  const RouteId route = rig.route({{.station = rig.station(0, 10), .media = {rig.medium(3)}}});
  rig.at(0, route, 1000);
  rig.run();
  CHECK(rig.ends() == Ends{334});  // ceil(1000 / 3)
}

TEST_CASE("two equal flows share a medium in halves", "[models]") {
  FabricRig rig;
  const RouteId route = rig.route({{.station = rig.station(0, 10, 2), .media = {rig.medium(10)}}});
  rig.at(0, route, 3000);
  rig.at(100, route, 3000);
  rig.run();
  // 1,000 bytes by 100; both at 5 B/ns: 2,000 more take 400. The second then has 1,000 left, alone
  // at 10 B/ns: 100.
  CHECK(rig.ends() == Ends{500, 600});
}

TEST_CASE("three flows at thirds end on the whole nanosecond", "[models]") {
  FabricRig rig;
  const RouteId route = rig.route({{.station = rig.station(0, 1, 3), .media = {rig.medium(1)}}});
  for (int i = 0; i < 3; ++i) rig.at(0, route, 1'000'000'000);
  rig.run();
  CHECK(rig.ends() == Ends{3'000'000'000, 3'000'000'000, 3'000'000'000});
}

TEST_CASE("flows of unequal sizes leave one after another", "[models]") {
  // n flows of sizes s_1 < ... < s_n, all at 0 on a medium of C bytes/ns: the k-th ends
  // (s_k - s_{k-1}) (n - k + 1) / C behind the one before. All times in one fraction of 7.
  FabricRig rig;
  const RouteId route = rig.route({{.station = rig.station(0, 100, 50), .media = {rig.medium(7)}}});
  Ends expected;
  std::int64_t bytes_by = 0;  // moved by the medium when the k-th ends
  constexpr std::int64_t kFlows = 40;
  for (std::int64_t k = 0; k < kFlows; ++k) {
    const std::int64_t step = k % 3 == 0 ? 100'003 : 17 * k + 1;
    bytes_by += step * (kFlows - k);
    const std::int64_t before = k == 0 ? 0 : rig.jobs.back().bytes;
    rig.at(0, route, before + step);
    expected.push_back(ceil_div(bytes_by, 7));
  }
  rig.run();
  CHECK(rig.ends() == expected);
}

TEST_CASE("what a slow flow cannot use goes to the others", "[models]") {
  FabricRig rig;
  const MediumId medium = rig.medium(10);
  const RouteId slow = rig.route({{.station = rig.station(0, 1), .media = {medium}}});
  const RouteId fast = rig.route({{.station = rig.station(0, 100, 2), .media = {medium}}});
  rig.at(0, slow, 1000);
  rig.at(0, fast, 900);
  rig.at(0, fast, 1800);
  rig.run();
  // Slow: 1 B/ns. The others 4.5 each: 200 ns; then 9 for the 900 left: 100 more.
  CHECK(rig.ends() == Ends{1000, 200, 300});
}

TEST_CASE("two media in series: the tighter one decides, and the rest is free for others",
          "[models]") {
  FabricRig rig;
  const MediumId root = rig.medium(10);
  const MediumId nic = rig.medium(4);
  const auto engine = [&] { return rig.station(0, 100); };
  const RouteId both = rig.route({{.station = engine(), .media = {root, nic}}});
  const RouteId both2 = rig.route({{.station = engine(), .media = {nic, root}}});
  const RouteId one = rig.route({{.station = engine(), .media = {root}}});
  rig.at(0, both, 400);
  rig.at(0, both2, 800);
  rig.at(0, one, 1400);
  rig.run();
  // nic: 2 each, so 6 are left of root. `both` ends at 200; `both2` (400 left) then takes the nic's
  // 4 and `one` (200 left) the other 6: 33.3 ns. `both2` ends at 200 + 400 / 4.
  CHECK(rig.ends() == Ends{200, 300, 234});
  CHECK(rig.fabric.busy(nic) == Duration(300));
  CHECK(rig.fabric.busy(root) == Duration(300));
}

TEST_CASE("duplex: each direction keeps its own share while the other moves", "[models]") {
  FabricRig rig;
  const StationId down = rig.station(0, 1);
  const StationId up = rig.station(0, 1);
  rig.fabric.pair(down, 0.5, up, 0.25);
  const RouteId d = rig.route({{.station = down}});
  const RouteId u = rig.route({{.station = up}});
  rig.at(0, d, 1000);
  rig.at(400, u, 1000);
  rig.run();
  // Down: 400 alone, 600 at a half: ends at 1600. Up: 1200 x 0.25 = 300 by then, 700 alone.
  CHECK(rig.ends() == Ends{1600, 2300});
}

TEST_CASE("duplex holds under media too, and a latency disturbs nobody", "[models]") {
  FabricRig rig;
  const StationId down = rig.station(100, 1);
  const StationId up = rig.station(200, 1);
  rig.fabric.pair(down, 0.5, up, 0.25);
  const MediumId wide = rig.medium(50);
  const RouteId d = rig.route({{.station = down, .media = {wide}}});
  const RouteId u = rig.route({{.station = up, .media = {wide}}});
  rig.at(0, d, 1000);
  rig.at(400, u, 1000);
  rig.run();
  // Down moves from 100, alone until 600: 500; then at a half: 1,000 more, ends at 1600. Up moves
  // 1000 x 0.25 = 250 by then, 750 alone.
  CHECK(rig.ends() == Ends{1600, 2350});
}

TEST_CASE("a pipelined hop feeds the next with the first copy", "[models]") {
  FabricRig rig;
  const StationId thread = rig.thread(6, 0);
  const StationId engine = rig.station(0, 1, 1, 1);
  const RouteId route = rig.route({{.station = thread, .pipelined = true}, {.station = engine}});
  rig.at(0, route, 1000, 10);     // copies of 100 ns: the engine is the slower one
  rig.at(5000, route, 20, 10);    // copies of 2 ns: submission is
  rig.at(9000, route, 50, 1);     // one copy: nothing to overlap
  rig.at(20'000, route, 400, 2);  // two jobs: the thread is free again
  rig.at(20'000, route, 400, 2);  // before the engine is
  rig.run();
  // 6 + 1000; 5000 + 60 + 2; 9000 + 6 + 50; 20,006 + 400; 20,406 + 400.
  CHECK(rig.ends() == Ends{1006, 5062, 9056, 20'406, 20'806});
  // The thread is told of, too: 60 ns for the first job.
  CHECK(rig.records[0].link == 0);
  CHECK(rig.records[0].ended == time_at(60));
}

TEST_CASE("both directions submit through one thread", "[models]") {
  FabricRig rig;
  const StationId thread = rig.fabric.add_station({make_per_copy_service(Duration(5)), 1});
  const RouteId d =
      rig.route({{.station = thread, .pipelined = true}, {.station = rig.station(0, 1)}});
  const RouteId u =
      rig.route({{.station = thread, .pipelined = true}, {.station = rig.station(0, 1)}});
  rig.at(0, d, 100, 100);
  rig.at(0, u, 100, 100);
  rig.run();
  // Copies of one byte: submission decides, 500 ns a job, one job after the other.
  CHECK(rig.ends() == Ends{501, 1001});
}

TEST_CASE("every byte on a medium is told, with the time it moved", "[models]") {
  FabricRig rig;
  const MediumId medium = rig.medium(10, 7);
  const RouteId route = rig.route({{.station = rig.station(50, 10, 2, 3), .media = {medium}}});
  rig.at(0, route, 1000);
  rig.at(0, route, 1000);
  rig.run();
  REQUIRE(rig.records.size() == 4);
  CHECK(rig.records[0].link == 3);
  CHECK(rig.records[0].started == time_at(0));
  CHECK(rig.records[1].link == 7);
  CHECK(rig.records[1].started == time_at(50));
  CHECK(rig.records[1].ended == time_at(250));
  CHECK(rig.fabric.busy(medium) == Duration(200));
  CHECK(rig.fabric.idle());
}

}  // namespace
}  // namespace spillway::test
