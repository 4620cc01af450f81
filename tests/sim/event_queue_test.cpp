// The event queue: the total order (time, phase, sequence), and no way back in time.
#include "sim/event_queue.hpp"

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include "sim/rng.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

/// Writes down who was called and when, and lets a test react.
class Log final : public EventHandler {
 public:
  explicit Log(EventQueue& queue) : queue_(queue) {}
  void on_event(EventPayload payload) override {
    subjects.push_back(payload.subject);
    times.push_back(nanoseconds_of(queue_.now()));
    if (react) react(payload);
  }
  std::vector<std::uint32_t> subjects;
  std::vector<std::int64_t> times;
  std::function<void(EventPayload)> react;

 private:
  EventQueue& queue_;
};

void run(EventQueue& queue) {
  while (queue.step()) {
  }
}

TEST_CASE("an empty queue has nothing to do and time stands at zero", "[sim]") {
  EventQueue queue;
  CHECK(queue.empty());
  CHECK_FALSE(queue.step());
  CHECK(queue.now() == Time{});
  CHECK(queue.executed() == 0);
}

TEST_CASE("earlier times come first, whatever the order of scheduling", "[sim]") {
  EventQueue queue;
  Log log(queue);
  queue.schedule(time_at(30), Phase::kArrival, log, {0, 0, 3});
  queue.schedule(time_at(10), Phase::kArrival, log, {0, 0, 1});
  queue.schedule(time_at(20), Phase::kArrival, log, {0, 0, 2});
  run(queue);
  CHECK(log.subjects == std::vector<std::uint32_t>{1, 2, 3});
  CHECK(log.times == std::vector<std::int64_t>{10, 20, 30});
  CHECK(queue.now() == time_at(30));
  CHECK(queue.executed() == 3);
}

TEST_CASE("at one instant freed resources precede new work", "[sim]") {
  EventQueue queue;
  Log log(queue);
  // Scheduled in the reverse of the documented order of phases.
  queue.schedule(time_at(5), Phase::kSample, log, {0, 0, 4});
  queue.schedule(time_at(5), Phase::kStepStart, log, {0, 0, 3});
  queue.schedule(time_at(5), Phase::kArrival, log, {0, 0, 2});
  queue.schedule(time_at(5), Phase::kStepDone, log, {0, 0, 1});
  queue.schedule(time_at(5), Phase::kTransferDone, log, {0, 0, 0});
  run(queue);
  CHECK(log.subjects == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("ties of time and phase fall to the order of scheduling", "[sim]") {
  EventQueue queue;
  Log first(queue);
  Log second(queue);
  std::vector<std::uint32_t> seen;
  first.react = second.react = [&](EventPayload p) { seen.push_back(p.subject); };
  // Two handlers take turns, so an order by pointer would separate even from odd.
  for (std::uint32_t i = 0; i < 100; ++i) {
    queue.schedule(time_at(1), Phase::kArrival, i % 2 == 0 ? first : second, {0, 0, i});
  }
  run(queue);
  REQUIRE(seen.size() == 100);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
}

TEST_CASE("a random history runs in the order (time, phase, sequence)", "[sim]") {
  EventQueue queue;
  Log log(queue);
  Stream random(1, "event-queue-test");
  using Key = std::tuple<std::int64_t, int, std::uint32_t>;
  std::vector<Key> expected;
  constexpr std::uint32_t kEvents = 20'000;
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    // 500 instants for 20,000 events: forty ties an instant, eight for each phase.
    const auto at = static_cast<std::int64_t>(random.below(500));
    const auto phase = static_cast<int>(random.below(5));
    expected.emplace_back(at, phase, i);
    queue.schedule(time_at(at), static_cast<Phase>(phase), log, {0, 0, i});
  }
  std::sort(expected.begin(), expected.end());
  run(queue);
  REQUIRE(log.subjects.size() == kEvents);
  bool same = true;
  for (std::size_t i = 0; i < kEvents; ++i) {
    same = same && log.subjects[i] == std::get<2>(expected[i]);
  }
  CHECK(same);
}

TEST_CASE("an event scheduled while running at this very instant still obeys its phase", "[sim]") {
  EventQueue queue;
  Log log(queue);
  log.react = [&](EventPayload p) {
    if (p.subject != 0) return;
    queue.schedule(queue.now(), Phase::kStepStart, log, {0, 0, 2});
    // An earlier phase than the running event's: it is next, before the step that waits.
    queue.schedule(queue.now(), Phase::kTransferDone, log, {0, 0, 1});
  };
  queue.schedule(time_at(7), Phase::kArrival, log, {0, 0, 0});
  run(queue);
  CHECK(log.subjects == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(log.times == std::vector<std::int64_t>{7, 7, 7});
}

TEST_CASE("pending_now_before sees only earlier phases of this very instant", "[sim]") {
  EventQueue queue;
  Log log(queue);
  CHECK_FALSE(queue.pending_now_before(Phase::kSample));
  queue.schedule(time_at(0), Phase::kArrival, log, {});
  CHECK(queue.pending_now_before(Phase::kStepStart));
  CHECK_FALSE(queue.pending_now_before(Phase::kArrival));
  CHECK_FALSE(queue.pending_now_before(Phase::kStepDone));
  run(queue);
  queue.schedule(time_at(1), Phase::kArrival, log, {});  // later than now: not at this instant
  CHECK_FALSE(queue.pending_now_before(Phase::kSample));
}

TEST_CASE("the payload arrives as it was sent", "[sim]") {
  EventQueue queue;
  Log log(queue);
  EventPayload got;
  log.react = [&](EventPayload p) { got = p; };
  queue.schedule(time_at(1), Phase::kArrival, log, {0xffff, 0xabcd, 0xffffffff});
  run(queue);
  CHECK(got.kind == 0xffff);
  CHECK(got.epoch == 0xabcd);
  CHECK(got.subject == 0xffffffff);
}

TEST_CASE("scheduling in the past is a defect that says by how much", "[sim]") {
  EventQueue queue;
  Log log(queue);
  queue.schedule(time_at(100), Phase::kArrival, log, {});
  run(queue);
  REQUIRE_THROWS_AS(queue.schedule(time_at(99), Phase::kArrival, log, {}), InternalError);
  REQUIRE_THROWS_WITH(queue.schedule(time_at(60), Phase::kArrival, log, {}),
                      ContainsSubstring("event scheduled 40 ns in the past"));
  CHECK(queue.empty());                                    // the refused event left no trace
  queue.schedule(time_at(100), Phase::kArrival, log, {});  // the present is not the past
  CHECK(queue.step());
}

TEST_CASE("a chain of events may outlive many growths of the heap", "[sim]") {
  EventQueue queue;
  Log log(queue);
  queue.reserve(4);
  // Each event below 1,000 schedules two later ones: 1 + 2 * 1,000 events in all.
  std::uint32_t next = 1;
  log.react = [&](EventPayload p) {
    if (p.subject >= 1000) return;
    for (int i = 0; i < 2; ++i) {
      queue.schedule(queue.now() + Duration(1 + p.subject % 3), Phase::kArrival, log,
                     {0, 0, next++});
    }
  };
  queue.schedule(time_at(0), Phase::kArrival, log, {});
  run(queue);
  CHECK(queue.executed() == 2001);
  CHECK(std::is_sorted(log.times.begin(), log.times.end()));
}

}  // namespace
}  // namespace spillway
