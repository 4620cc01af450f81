// Random transfers over shared paths: against a plain fluid simulation, and against what no
// fabric can do.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/rng.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_rig.hpp"

namespace spillway::test {
namespace {

struct FluidFlow {
  long double left;
  long double maximum;
  std::vector<std::size_t> media;
  std::int64_t start;
  long double rate = 0;
  std::int64_t end = -1;
};

/// Max-min shares from the definition: raise all rates together; a flow stops at its maximum or
/// when one of its media is full.
void share(std::vector<FluidFlow*>& flows, const std::vector<long double>& capacity) {
  std::vector<long double> left = capacity;
  std::vector<FluidFlow*> open = flows;
  for (FluidFlow* flow : open) flow->rate = 0;
  while (!open.empty()) {
    long double step = std::numeric_limits<long double>::max();
    for (const FluidFlow* flow : open) step = std::min(step, flow->maximum - flow->rate);
    std::vector<long double> crossing(capacity.size(), 0);
    for (const FluidFlow* flow : open) {
      for (const std::size_t m : flow->media) crossing[m] += 1;
    }
    for (std::size_t m = 0; m < capacity.size(); ++m) {
      if (crossing[m] > 0) step = std::min(step, left[m] / crossing[m]);
    }
    for (FluidFlow* flow : open) {
      flow->rate += step;
      for (const std::size_t m : flow->media) left[m] -= step;
    }
    const long double least = 1e-12L;
    std::erase_if(open, [&](const FluidFlow* flow) {
      return flow->maximum - flow->rate < least ||
             std::any_of(flow->media.begin(), flow->media.end(),
                         [&](std::size_t m) { return left[m] < least * 64; });
    });
  }
}

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// A flow ends at the first nanosecond by which it has moved everything, and then gives its share
/// back, as the fabric's do where several media are linked.
void flow_all(std::vector<FluidFlow>& flows, const std::vector<long double>& capacity) {
  std::sort(flows.begin(), flows.end(),
            [](const FluidFlow& a, const FluidFlow& b) { return a.start < b.start; });
  std::size_t next = 0;
  std::int64_t now = 0;
  std::vector<FluidFlow*> active;
  while (next < flows.size() || !active.empty()) {
    std::int64_t until = next < flows.size() ? flows[next].start : kNever;
    for (const FluidFlow* flow : active) {
      const long double rest = std::ceil(flow->left / flow->rate - 1e-7L);
      until = std::min(until, now + static_cast<std::int64_t>(std::max(rest, 0.0L)));
    }
    for (FluidFlow* flow : active) flow->left -= flow->rate * static_cast<long double>(until - now);
    now = until;
    std::erase_if(active, [&](FluidFlow* flow) {
      if (flow->left > 1e-6L) return false;
      flow->end = now;
      return true;
    });
    while (next < flows.size() && flows[next].start <= now) {
      active.push_back(&flows[next++]);
    }
    share(active, capacity);
  }
}

TEST_CASE("shares over several media equal a plain fluid simulation to the nanosecond",
          "[models]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Stream random(seed, "fluid");
    FabricRig rig;
    std::vector<long double> capacity;
    std::vector<MediumId> media;
    for (int m = 0; m < 4; ++m) {
      const auto rate = static_cast<std::int64_t>(5 + random.below(20));
      capacity.push_back(static_cast<long double>(rate));
      media.push_back(rig.medium(rate));
    }
    struct Path {
      RouteId route;
      std::int64_t rate;
      std::vector<std::size_t> media;
    };
    std::vector<Path> paths;
    for (int p = 0; p < 6; ++p) {
      Path path;
      path.rate = static_cast<std::int64_t>(1 + random.below(15));
      Hop hop{.station = rig.station(0, path.rate, 1000)};
      for (std::size_t m = 0; m < media.size(); ++m) {
        if (p == 0 || m == static_cast<std::size_t>(p % 4) || random.chance(0.3)) {
          path.media.push_back(m);
          hop.media.push_back(media[m]);
        }
      }
      path.route = rig.route({hop});
      paths.push_back(path);
    }
    std::vector<FluidFlow> flows;
    std::int64_t at = 0;
    for (int i = 0; i < 150; ++i) {
      const Path& path = paths[random.below(paths.size())];
      at += static_cast<std::int64_t>(random.below(4000));
      const auto bytes = static_cast<std::int64_t>(1 + random.below(40'000));
      rig.at(at, path.route, bytes);
      const long double alone = static_cast<long double>(ceil_div(bytes, path.rate));
      flows.push_back({static_cast<long double>(bytes), static_cast<long double>(bytes) / alone,
                       path.media, at});
    }
    rig.run();
    flow_all(flows, capacity);
    const auto ends = rig.ends();
    for (std::size_t i = 0; i < flows.size(); ++i) CHECK(ends[i] == flows[i].end);
  }
}

TEST_CASE("ten thousand random transfers over shared paths break no law", "[models]") {
  // Eight GPUs on two root ports, one host memory, a NIC, a storage pool of 16 places; routes of
  // one to three hops. Link numbers: stations from 0, media from 100.
  Stream random(7, "stress");
  FabricRig rig;
  std::uint32_t next_link = 0;
  std::vector<std::int64_t> capacity;  // bytes/ns, by medium
  std::vector<MediumId> media;
  for (const std::int64_t rate : {40, 40, 70, 5, 9}) {
    media.push_back(rig.medium(rate, 100 + static_cast<std::uint32_t>(media.size())));
    capacity.push_back(rate);
  }
  const StationId pool = rig.station(2000, 3, 16, next_link++);
  std::vector<RouteId> routes;
  std::vector<std::vector<std::uint32_t>> links;  // stations of each route
  std::vector<std::int64_t> least;                // ns per byte, times 1000, and latency
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    const std::uint32_t down_link = next_link++;
    const std::uint32_t up_link = next_link++;
    const StationId down = rig.station(0, 25, 1, down_link);
    const StationId up = rig.station(10, 24, 1, up_link);
    rig.fabric.pair(down, 0.8, up, 0.7);
    const MediumId root = media[gpu / 4];
    const Hop away{.station = down, .media = {root, media[2]}};
    const Hop store{.station = pool, .media = {media[4]}, .priority = 1};
    const Hop load{.station = pool, .media = {media[4], media[3]}, .priority = 0};
    const Hop towards{.station = up, .media = {media[2], root}};
    routes.push_back(rig.route({away}));
    links.push_back({down_link});
    routes.push_back(rig.route({towards}));
    links.push_back({up_link});
    routes.push_back(rig.route({away, store}));
    links.push_back({down_link, 0});
    routes.push_back(rig.route({load, towards}));
    links.push_back({0, up_link});
  }
  std::int64_t at = 0;
  std::vector<std::size_t> route_of;
  for (int i = 0; i < 10'000; ++i) {
    at += static_cast<std::int64_t>(random.below(12'000));
    if (i % 100 == 0) at += 1'000'000;  // now and then the paths run empty
    route_of.push_back(random.below(routes.size()));
    const auto bytes = static_cast<std::int64_t>(1 + random.below(400'000));
    rig.at(at, routes[route_of.back()], bytes, static_cast<std::uint32_t>(1 + random.below(64)));
  }
  rig.run();
  const auto ends = rig.ends();

  // Bytes in = bytes out: each job ends, and each of its hops tells its bytes once.
  std::vector<std::int64_t> expected(next_link, 0);
  std::vector<std::int64_t> told(next_link, 0);
  for (std::size_t i = 0; i < rig.jobs.size(); ++i) {
    REQUIRE(ends[i] >= 0);
    for (const std::uint32_t link : links[route_of[i]]) expected[link] += rig.jobs[i].bytes;
    // No transfer before its data could arrive: 25 bytes/ns at most through each hop.
    const auto hops = static_cast<std::int64_t>(links[route_of[i]].size());
    CHECK(ends[i] - rig.jobs[i].at >= hops * ceil_div(rig.jobs[i].bytes, 25));
    // A hop through the pool is 2,000 ns and 3 bytes/ns.
    if (hops == 2) {
      CHECK(ends[i] - rig.jobs[i].at >=
            2000 + ceil_div(rig.jobs[i].bytes, 3) + ceil_div(rig.jobs[i].bytes, 25));
    }
  }
  std::vector<std::vector<TransferRecord>> crossing(media.size());
  for (const TransferRecord& r : rig.records) {
    CHECK(r.started >= r.submitted);
    if (r.link >= 100) {
      crossing[r.link - 100].push_back(r);
    } else {
      told[r.link] += r.payload.count();
    }
  }
  CHECK(told == expected);

  // No window above capacity: what both began and ended within a window went through in it. All
  // windows from the start of one flow (every seventh) to the end of another.
  for (std::size_t m = 0; m < media.size(); ++m) {
    auto& flows = crossing[m];
    REQUIRE(flows.size() > 1000);
    std::sort(flows.begin(), flows.end(),
              [](const TransferRecord& a, const TransferRecord& b) { return a.ended < b.ended; });
    std::int64_t worst = 0;  // bytes above what fits
    double fullest = 0;
    for (std::size_t from = 0; from < flows.size(); from += 7) {
      const Time begin = flows[from].started;
      std::int64_t bytes = 0;
      for (const TransferRecord& r : flows) {
        if (r.started < begin) continue;
        bytes += r.payload.count();
        const std::int64_t fits = capacity[m] * (r.ended - begin).count();
        worst = std::max(worst, bytes - fits);
        if ((r.ended - begin).count() > 100'000) {
          fullest = std::max(fullest, static_cast<double>(bytes) / static_cast<double>(fits));
        }
      }
    }
    INFO("medium " << m);
    CHECK(worst <= 0);
    CHECK(fullest > 0.5);  // the test is not idle
  }
}

TEST_CASE("two runs of the same transfers end alike, event for event", "[models]") {
  const auto run = [] {
    Stream random(3, "again");
    FabricRig rig;
    const MediumId medium = rig.medium(5);
    const RouteId route = rig.route({{.station = rig.station(3, 2, 8), .media = {medium}}});
    for (int i = 0; i < 500; ++i) {
      rig.at(static_cast<std::int64_t>(random.below(20'000)), route,
             static_cast<std::int64_t>(1 + random.below(500)));
    }
    rig.run();
    return std::make_pair(rig.ended, rig.queue.executed());
  };
  CHECK(run() == run());
}

/// Sends a transfer whenever one has ended.
struct ClosedLoop final : RouteListener {
  EventQueue queue;
  Fabric fabric{queue};
  Stream random{5, "closed"};
  RouteId route{};
  std::uint32_t left = 40'000;
  std::uint64_t at_half = 0;
  void send(std::uint32_t job) {
    if (left == 0) return;
    if (--left == 20'000) at_half = allocations();
    // Few sizes, so that flows meet again; copies make the thread matter now and then.
    const auto bytes = static_cast<std::int64_t>(1000 * (1 + random.below(9)));
    fabric.submit(route, job, Bytes(bytes), static_cast<std::uint32_t>(1 + random.below(4)), *this);
  }
  void on_route_done(RouteId, std::uint32_t job) override { send(job); }
};

TEST_CASE("the fabric allocates only when a buffer meets a new maximum", "[models]") {
  ClosedLoop loop;
  Fabric& fabric = loop.fabric;
  const StationId thread = fabric.add_station({make_per_copy_service(Duration(40)), 1});
  const StationId pool = fabric.add_station({std::make_unique<PlainService>(50, 2), 32});
  const StationId engine = fabric.add_station({std::make_unique<PlainService>(0, 20), 1});
  const StationId back = fabric.add_station({std::make_unique<PlainService>(0, 20), 1});
  fabric.pair(engine, 0.8, back, 0.6);
  const Hop hops[] = {
      {.station = thread, .pipelined = true},
      {.station = engine},
      {.station = pool, .media = {fabric.add_medium(20'000'000'000)}},
      {.station = back, .media = {fabric.add_medium(15'000'000'000)}},
  };
  loop.route = fabric.add_route(hops);
  for (std::uint32_t i = 0; i < 200; ++i) loop.send(i);
  while (loop.queue.step()) {
  }
  CHECK(fabric.idle());
  // A few may come yet in the second 20,000: a bucket's flows are as many as never before.
  CHECK(allocations() - loop.at_half <= 20);
}

}  // namespace
}  // namespace spillway::test
