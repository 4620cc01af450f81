// When requests are due and when they reach the server, by hand: a server that answers each request
// after a fixed time and takes any number at once.
#include "models/arrivals.hpp"

#include "tests/support/allocations.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

using Kind = ArrivalConfig::Kind;
using Fate = Arrivals::Fate;

constexpr std::int64_t kNever_ms = -1;

/// Answers after `service_ms`; those in `refused` at once, those in `silent` never.
struct Server final : RequestSink, EventHandler {
  EventQueue queue;
  Arrivals* arrivals = nullptr;
  std::int64_t service_ms = 10;
  std::vector<std::uint32_t> refused;
  std::vector<std::uint32_t> silent;
  std::vector<std::int64_t> due_ms;
  std::vector<std::int64_t> arrival_ms;
  std::vector<std::uint32_t> order;
  std::uint64_t allocated = 0;

  static bool in(const std::vector<std::uint32_t>& list, std::uint32_t id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  }
  void submit(RequestId request, Time due) override {
    const std::uint32_t id = raw(request);
    due_ms[id] = nanoseconds_of(due) / 1'000'000;
    arrival_ms[id] = nanoseconds_of(queue.now()) / 1'000'000;
    order.push_back(id);
    if (in(refused, id)) return arrivals->on_request_end(request);
    if (in(silent, id)) return;
    queue.schedule(queue.now() + std::chrono::milliseconds(service_ms), Phase::kStepDone, *this,
                   {0, 0, id});
  }
  void on_event(EventPayload payload) override {
    arrivals->on_request_end(RequestId{payload.subject});
  }

  std::vector<Fate> run(const Workload& workload, const ArrivalConfig& config) {
    due_ms.assign(workload.size(), kNever_ms);
    arrival_ms.assign(workload.size(), kNever_ms);
    Arrivals source(queue, workload, config, *this);
    arrivals = &source;
    const std::uint64_t before = allocations();
    source.start();
    while (queue.step()) {
    }
    allocated = allocations() - before;
    return source.fates();
  }
};

using Times = std::vector<std::int64_t>;

Time at_ms(std::int64_t ms) {
  return time_at(ms * 1'000'000);
}

ArrivalConfig waiting(Kind kind = Kind::kTrace) {
  ArrivalConfig config;
  config.kind = kind;
  config.wait = true;
  return config;
}

TEST_CASE("recorded times are divided by the speed", "[models]") {
  const Workload workload = workload_of_turns({{5}, {9}, {9}, {101}}, 64);
  Server server;
  ArrivalConfig config;
  config.speed = {2, 0};
  server.run(workload, config);
  CHECK(server.due_ms == Times{2, 4, 4, 50});  // 2.5, 4.5, 50.5 ms
  CHECK(server.arrival_ms == server.due_ms);
  CHECK(server.order == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("without waiting, links between requests move nothing", "[models]") {
  const Workload workload = workload_of_turns({{0}, {3, 64, 4, {0}, 5}}, 64);
  Server server;
  server.run(workload, {});
  CHECK(server.due_ms == Times{0, 3});  // though the answer to 0 comes at 10
}

TEST_CASE("clients hold back what is due while as many as allowed are in flight", "[models]") {
  // Two at a time, 10 ms each: 0 and 1 go at once, 2 and 3 when these end, 4 at 20. 5 is due at 30,
  // when nobody waits any more.
  const Workload workload = workload_of_turns({{0}, {0}, {1}, {2}, {3}, {30}}, 64);
  Server server;
  ArrivalConfig config;
  config.concurrency = 2;
  server.run(workload, config);
  CHECK(server.due_ms == Times{0, 0, 1, 2, 3, 30});
  CHECK(server.arrival_ms == Times{0, 0, 10, 10, 20, 30});
}

TEST_CASE("a turn waits for its answer and the recorded pause", "[models]") {
  // 0 ends at 10; 1 is due 5 later, though recorded at 2; it ends at 25, and 2 follows at once.
  // Speed scales neither.
  const Workload workload =
      workload_of_turns({{0}, {2, 64, 4, {0}, 5}, {4, 64, 4, {1}, 0}, {8}}, 64);
  ArrivalConfig config = waiting();
  config.speed = {4, 0};
  Server server;
  server.run(workload, config);
  CHECK(server.due_ms == Times{0, 15, 25, 2});
  CHECK(server.arrival_ms == server.due_ms);
}

TEST_CASE("a turn whose pause was not recorded comes as recorded, but after its answer",
          "[models]") {
  // 0 ends at 10: 1, recorded at 4, is due then; 2, recorded at 60, is due at 60 and not before.
  const Workload workload = workload_of_turns({{0}, {4, 64, 4, {0}}, {60, 64, 4, {1}}}, 64);
  Server server;
  server.run(workload, waiting());
  CHECK(server.due_ms == Times{0, 10, 60});
  Server faster;
  ArrivalConfig config = waiting();
  config.speed = {2, 0};
  faster.run(workload, config);
  CHECK(faster.due_ms == Times{0, 10, 30});
}

TEST_CASE("a request behind several waits for the last of them", "[models]") {
  // 1 and 2 run side by side from 10 and 40 on; 3 waits for both: 50 + 3.
  const Workload workload =
      workload_of_turns({{0}, {1, 64, 4, {0}, 0}, {2, 64, 4, {0}, 30}, {3, 64, 4, {1, 2}, 3}}, 64);
  Server server;
  server.run(workload, waiting());
  CHECK(server.due_ms == Times{0, 10, 40, 53});
}

TEST_CASE("a refused request answers with an error at once, and its session goes on", "[models]") {
  const Workload workload = workload_of_turns({{0}, {1, 64, 4, {0}, 2}, {2, 64, 4, {1}, 3}}, 64);
  Server server;
  server.refused = {0, 1};
  server.run(workload, waiting());
  CHECK(server.due_ms == Times{0, 2, 5});
}

TEST_CASE("a turn that is due while clients are busy waits like any other", "[models]") {
  // One at a time. 0 until 10, 1 (due at 1) until 20; meanwhile 2, after 0's answer, has been due
  // since 12 and goes before 3, due at 15.
  const Workload workload = workload_of_turns({{0}, {1}, {2, 64, 4, {0}, 2}, {15}}, 64);
  ArrivalConfig config = waiting();
  config.concurrency = 1;
  Server server;
  server.run(workload, config);
  CHECK(server.due_ms == Times{0, 1, 12, 15});
  CHECK(server.arrival_ms == Times{0, 10, 20, 30});
}

TEST_CASE("of requests due at one instant the earlier one in the trace goes first", "[models]") {
  // Turn 1 is due at 10 + 5, as is start 2; turn 3 (after 1) at 25, as is start 4.
  const Workload workload =
      workload_of_turns({{0}, {1, 64, 4, {0}, 5}, {15}, {16, 64, 4, {1}, 0}, {25}}, 64);
  Server server;
  server.run(workload, waiting());
  CHECK(server.order == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(server.due_ms == Times{0, 15, 15, 25, 25});
}

TEST_CASE("in a closed loop a client that is free takes what comes next", "[models]") {
  const Workload workload = workload_of_turns({{0}, {0}, {0}, {0}, {900}}, 64);
  ArrivalConfig config;
  config.kind = Kind::kClosedLoop;
  config.concurrency = 2;
  Server server;
  server.run(workload, config);
  CHECK(server.arrival_ms == Times{0, 0, 10, 10, 20});
  CHECK(server.due_ms == server.arrival_ms);
}

TEST_CASE("sessions in a closed loop: due turns first, thinking ones leave their client free",
          "[models]") {
  // One client. Session 0, 2, 5 thinks 15 and 5; sessions 1, 3 and 4 fill the gaps: 0 until 10, 1
  // until 20, 3 until 30; 2, due at 25, then goes first, and waits 5. 4 from 40 to 50, 5 due at 45.
  const Workload workload =
      workload_of_turns({{0}, {0}, {50, 64, 4, {0}, 15}, {60}, {70}, {80, 64, 4, {2}, 5}}, 64);
  ArrivalConfig config = waiting(Kind::kClosedLoop);
  config.concurrency = 1;
  Server server;
  server.run(workload, config);
  CHECK(server.arrival_ms == Times{0, 10, 30, 20, 40, 50});
  CHECK(server.due_ms == Times{0, 10, 25, 20, 40, 45});
}

TEST_CASE("a pause that was not recorded moves with its session in a closed loop", "[models]") {
  // One client. Session 1, 2 was recorded from 100 to 140 and starts at 10 here: 2 is due at 50.
  const Workload workload = workload_of_turns({{90}, {100}, {140, 64, 4, {1}}}, 64);
  ArrivalConfig config = waiting(Kind::kClosedLoop);
  config.concurrency = 1;
  Server server;
  server.run(workload, config);
  CHECK(server.due_ms == Times{0, 10, 50});
}

TEST_CASE("a Poisson process places session starts only", "[models]") {
  // The starts of the session workload come when the same process places lone requests.
  std::vector<Turn> lone;
  std::vector<Turn> sessions;
  for (std::uint64_t i = 0; i < 50; ++i) {
    lone.push_back({0});
    sessions.push_back({0});
    sessions.push_back({0, 64, 4, {2 * i}, 7});
  }
  ArrivalConfig config = waiting(Kind::kPoisson);
  config.rate_per_s = 100;
  Server alone;
  alone.run(workload_of_turns(lone, 64), config);
  Server both;
  both.run(workload_of_turns(sessions, 64), config);
  for (std::uint32_t i = 0; i < 50; ++i) {
    CHECK(both.due_ms[2 * i] == alone.due_ms[i]);
    // The answer 10 ms later, then 7 ms; milliseconds are cut, hence one less or more.
    CHECK(std::abs(both.due_ms[2 * i + 1] - both.due_ms[2 * i] - 17) <= 1);
  }
  CHECK(alone.due_ms.back() > 250);  // 50 starts at 100/s: about 500 ms
  CHECK(alone.due_ms.back() < 1000);
}

TEST_CASE("nothing due after the horizon is sent, nor what would have waited for it", "[models]") {
  // Horizon 20: 3 (due at 21) is cut; 1 is due at 10 + 11 = 21: cut, and 2 behind it; 4 is due at
  // 20 and runs.
  const Workload workload = workload_of_turns(
      {{0}, {1, 64, 4, {0}, 11}, {2, 64, 4, {1}, 0}, {20}, {21}, {22, 64, 4, {4}, 0}}, 64);
  ArrivalConfig config = waiting();
  config.horizon = at_ms(20);
  Server server;
  const auto fates = server.run(workload, config);
  CHECK(server.due_ms == Times{0, -1, -1, 20, -1, -1});
  CHECK(fates == std::vector<Fate>{Fate::kSent, Fate::kCut, Fate::kCut, Fate::kSent, Fate::kCut,
                                   Fate::kCut});
}

TEST_CASE("what was due by the horizon is sent even if clients had to hold it back", "[models]") {
  const Workload workload = workload_of_turns({{0}, {5}, {6}, {12}}, 64);
  ArrivalConfig config;
  config.concurrency = 1;
  config.horizon = at_ms(11);
  Server server;
  const auto fates = server.run(workload, config);
  CHECK(server.arrival_ms == Times{0, 10, 20, -1});
  CHECK(fates.back() == Fate::kCut);
}

TEST_CASE("a closed loop stops at the horizon", "[models]") {
  const Workload workload = workload_of_turns({{0}, {0}, {0}, {0}}, 64);
  ArrivalConfig config;
  config.kind = Kind::kClosedLoop;
  config.concurrency = 1;
  config.horizon = at_ms(10);  // the second one is due at that instant
  Server server;
  const auto fates = server.run(workload, config);
  CHECK(server.arrival_ms == Times{0, 10, -1, -1});
  CHECK(fates == std::vector<Fate>{Fate::kSent, Fate::kSent, Fate::kCut, Fate::kCut});
}

TEST_CASE("who waits for an answer that never comes is told from what the horizon cut",
          "[models]") {
  // 0 never ends, so 1 and 2 never come. With one client 3 is held back for ever, 4 was due too
  // late.
  const Workload workload =
      workload_of_turns({{0}, {1, 64, 4, {0}, 0}, {2, 64, 4, {1}, 0}, {10}, {30}}, 64);
  ArrivalConfig config = waiting();
  config.concurrency = 1;
  config.horizon = at_ms(20);
  Server server;
  server.silent = {0};
  const auto fates = server.run(workload, config);
  CHECK(fates ==
        std::vector<Fate>{Fate::kSent, Fate::kUnsent, Fate::kUnsent, Fate::kUnsent, Fate::kCut});
}

TEST_CASE("sending allocates nothing, however many turns wait", "[models]") {
  // 500 sessions of four turns that think for 0 to 99 ms, all begun within 50 ms.
  std::vector<Turn> turns;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    turns.push_back({static_cast<std::int64_t>(i / 10)});
    if (i < 500) continue;
    turns.back().after = {i - 500};
    turns.back().think_ms = static_cast<std::int64_t>(i * 37 % 100);
  }
  const Workload workload = workload_of_turns(turns, 64);
  ArrivalConfig config = waiting(GENERATE(Kind::kTrace, Kind::kPoisson, Kind::kClosedLoop));
  config.concurrency = GENERATE(7U, 600U);
  Server server;
  server.queue.reserve(4000);
  server.order.reserve(2000);
  server.run(workload, config);
  CHECK(server.order.size() == 2000);
  CHECK(server.allocated == 0);
}

TEST_CASE("a closed loop whose clients all wait for ever sends nothing more", "[models]") {
  const Workload workload = workload_of_turns({{0}, {0}, {0}}, 64);
  ArrivalConfig config;
  config.kind = Kind::kClosedLoop;
  config.concurrency = 1;
  Server server;
  server.silent = {0};
  CHECK(server.run(workload, config) ==
        std::vector<Fate>{Fate::kSent, Fate::kUnsent, Fate::kUnsent});
}

}  // namespace
}  // namespace spillway::test
