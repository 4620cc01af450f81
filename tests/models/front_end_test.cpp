// The API server by hand: an engine that gives each request a token every 10 ms from the instant
// it gets it, without a limit.
#include "models/front_end.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kMs = 1'000'000;

struct Answers final : RequestSink, EventHandler, RequestEndListener, Observer {
  EventQueue queue;
  FrontEnd* front_end = nullptr;
  const Workload* workload = nullptr;
  std::vector<std::int64_t> engine_us;  ///< when the engine got each
  std::vector<std::uint32_t> left;
  std::vector<RequestRecord> records;
  std::vector<std::int64_t> ended_us;
  std::vector<std::int64_t> gaps_us;
  std::vector<std::int64_t> first_ns;

  static std::int64_t us(Time t) { return nanoseconds_of(t) / 1000; }

  void submit(RequestId request, Time) override {
    engine_us[raw(request)] = us(queue.now());
    queue.schedule(queue.now() + Duration(10 * kMs), Phase::kStepDone, *this, {0, 0, raw(request)});
  }
  void on_event(EventPayload payload) override {
    const RequestId request{payload.subject};
    const Time now = queue.now();
    front_end->on_token(request);
    if (first_ns[payload.subject] == 0) first_ns[payload.subject] = nanoseconds_of(now);
    if (--left[payload.subject] > 0) {
      queue.schedule(now + Duration(10 * kMs), Phase::kStepDone, *this, payload);
      return;
    }
    RequestRecord r;
    r.request = request;
    r.due = time_at(0);
    r.arrival = r.scheduled = time_at(engine_us[payload.subject] * 1000);
    r.first_token = time_at(first_ns[payload.subject]);
    r.finish = now;
    r.ttft[static_cast<std::size_t>(TtftStage::kStep)] = r.first_token - r.arrival;
    front_end->on_request(r);
    front_end->on_request_end(request);
  }
  void on_request(const RequestRecord& r) override { records.push_back(r); }
  void on_token_gap(Duration gap, std::uint32_t count) override {
    for (std::uint32_t i = 0; i < count; ++i) gaps_us.push_back(gap.count() / 1000);
  }
  void on_request_end(RequestId) override { ended_us.push_back(us(queue.now())); }

  /// All requests of `work` come at time 0.
  FrontEndStats run(const Workload& work, const FrontEndConfig& config) {
    workload = &work;
    engine_us.assign(work.size(), -1);
    first_ns.assign(work.size(), 0);
    for (std::uint32_t i = 0; i < work.size(); ++i) {
      left.push_back(work.output_tokens(RequestId{i}));
    }
    FrontEnd under_test(queue, work, config, Time{}, *this, nullptr);
    front_end = &under_test;
    under_test.connect(*this, *this);
    for (std::uint32_t i = 0; i < work.size(); ++i) under_test.submit(RequestId{i}, Time{});
    while (queue.step()) {
    }
    return under_test.stats();
  }
};

using Micros = std::vector<std::int64_t>;

/// `count` requests of so many tokens.
Workload alike(std::uint32_t count, std::uint32_t input, std::uint32_t output) {
  const std::vector<Turn> rows(count, Turn{0, input, output});
  return workload_of_turns(rows, 64);
}

TEST_CASE("a burst waits for one event loop, and prompts for its tokeniser", "[models]") {
  // The loop takes 2 ms a request; the tokeniser 1 us a token, 64 us, behind it; then 1 ms.
  Answers answers;
  FrontEndConfig config;
  config.request = Duration(2 * kMs);
  config.prompt_token = Duration(1000);
  config.delay = Duration(kMs);
  answers.run(alike(3, 64, 1), config);
  CHECK(answers.engine_us == Micros{3064, 5064, 7064});
  // Chunks cost nothing: tokens 10 ms after the engine got each.
  CHECK(answers.ended_us == Micros{13064, 15064, 17064});
  const RequestRecord& last = answers.records[2];
  CHECK(last.arrival == time_at(0));
  CHECK(last.way_in == Duration(7'064'000));
  CHECK(last.ttft[static_cast<std::size_t>(TtftStage::kFrontEnd)] == Duration(7'064'000));
  CHECK(last.ttft[static_cast<std::size_t>(TtftStage::kStep)] == Duration(10 * kMs));
}

TEST_CASE("a second process takes every other request", "[models]") {
  Answers answers;
  FrontEndConfig config;
  config.processes = 2;
  config.request = Duration(2 * kMs);
  answers.run(alike(4, 64, 1), config);
  CHECK(answers.engine_us == Micros{2000, 2000, 4000, 4000});
}

TEST_CASE("chunks of one step go out one after the other", "[models]") {
  // Three requests get a token at 10 ms and at 20 ms; a chunk takes 1 ms.
  Answers answers;
  FrontEndConfig config;
  config.chunk = Duration(kMs);
  const FrontEndStats stats = answers.run(alike(3, 64, 2), config);
  CHECK(answers.ended_us == Micros{21'000, 22'000, 23'000});
  CHECK(answers.gaps_us == Micros{10'000, 10'000, 10'000});
  CHECK(answers.records[1].first_token == time_at(12 * kMs));
  CHECK(stats.chunks == 6);
  CHECK(stats.tokens == 6);
  CHECK(stats.busy == Duration(6 * kMs));
  CHECK(stats.span == Duration(23 * kMs));
}

TEST_CASE("tokens that find a chunk of theirs waiting go out with it", "[models]") {
  // A chunk takes 15 ms, a token comes every 10: at 10, 20, 30 and 40 ms.
  Answers answers;
  FrontEndConfig config;
  config.chunk = Duration(15 * kMs);
  const FrontEndStats stats = answers.run(alike(1, 64, 4), config);
  // Written by 25 ms: the first. By 40 ms: the second. By 55 ms: the third and the fourth.
  CHECK(answers.gaps_us == Micros{15'000, 15'000});
  CHECK(answers.ended_us == Micros{55'000});
  CHECK(stats.tokens == 4);
  CHECK(stats.chunks == 3);
}

TEST_CASE("the loop takes turns between chunks and requests", "[models]") {
  // Requests take 4 ms each, chunks 4 ms. The first request is in the engine at 4 ms, its token
  // comes at 14 ms: behind the request under way (12 to 16 ms), before the fifth.
  Answers answers;
  FrontEndConfig config;
  config.request = Duration(4 * kMs);
  config.chunk = Duration(4 * kMs);
  answers.run(alike(5, 64, 1), config);
  CHECK(answers.ended_us[0] == 20'000);
  CHECK(answers.engine_us == Micros{4000, 8000, 12'000, 16'000, 24'000});
}

TEST_CASE("what is turned away is told at once, as of its arrival at the server", "[models]") {
  struct Refusing final : RequestSink, RequestEndListener, Observer {
    FrontEnd* front_end = nullptr;
    EventQueue* queue = nullptr;
    std::vector<RequestRecord> records;
    std::uint32_t ends = 0;
    void submit(RequestId request, Time) override {
      RequestRecord r;
      r.request = request;
      r.arrival = queue->now();
      r.status = RequestStatus::kRejected;
      front_end->on_request(r);
      front_end->on_request_end(request);
    }
    void on_request(const RequestRecord& r) override { records.push_back(r); }
    void on_request_end(RequestId) override { ++ends; }
  };
  EventQueue queue;
  Refusing engine;
  const Workload work = alike(1, 64, 1);
  FrontEndConfig config;
  config.request = Duration(2 * kMs);
  FrontEnd front_end(queue, work, config, Time{}, engine, nullptr);
  engine.front_end = &front_end;
  engine.queue = &queue;
  front_end.connect(engine, engine);
  front_end.submit(RequestId{0}, Time{});
  while (queue.step()) {
  }
  REQUIRE(engine.records.size() == 1);
  CHECK(engine.records[0].arrival == Time{});
  CHECK(engine.ends == 1);
}

}  // namespace
}  // namespace spillway::test
