// The recorder: one small history, every figure recomputed by hand.
#include "sim/recorder.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

Time at_s(double seconds) {
  return time_at(static_cast<std::int64_t>(seconds * 1e9));
}

RequestRecord completed(double arrival, double scheduled, double first_token, double finish) {
  RequestRecord r;
  r.due = at_s(arrival);
  r.arrival = at_s(arrival);
  r.scheduled = at_s(scheduled);
  r.first_token = at_s(first_token);
  r.finish = at_s(finish);
  r.input_tokens = 100;
  r.output_tokens = 1;
  return r;
}

RequestRecord ended(double arrival, RequestStatus status, Reason reason) {
  RequestRecord r;
  r.arrival = at_s(arrival);
  r.status = status;
  r.reason = reason;
  return r;
}

TEST_CASE("blocks that decoded tokens read from below", "[sim]") {
  // 0, 1.5 and 3 blocks: 1.5 on average; the 99th percentile lies at rank 1.98 of 0, 1, 2.
  Recorder recorder(1, 0, {});
  for (const std::uint64_t millionths : {3'000'000u, 0u, 1'500'000u}) {
    recorder.on_cold_decode(millionths);
  }
  const RunResult r = recorder.result(4096);
  CHECK(r.cold_blocks_per_token_mean == Approx(1.5));
  CHECK(r.cold_blocks_per_token_p99 == Approx(1.5 + 0.98 * 1.5));
}

TEST_CASE("nothing observed gives zeros", "[sim]") {
  const RunResult r = Recorder(1, 1, {}).result(4096);
  CHECK(r.completed == 0);
  CHECK(r.duration_s == 0);
  CHECK(r.request_throughput == 0);
  CHECK(r.goodput == 0);
  CHECK(r.cold_blocks_per_token_p99 == 0);
  REQUIRE(r.tiers.size() == 1);
  CHECK(r.tiers[0].mean_bytes == 0);
  REQUIRE(r.links.size() == 1);
  CHECK(r.links[0].busy_fraction == 0);
}

TEST_CASE("the longest queue is the longest of one engine", "[sim]") {
  // Engines 0 and 1 have 3 and 5 waiting in the same second: 5, neither 8 nor the last step's 2.
  Recorder recorder(1, 0, {});
  const auto step = [&](double start, std::uint32_t engine, std::uint32_t waiting) {
    StepRecord r;
    r.start = at_s(start);
    r.end = at_s(start + 1);
    r.engine = engine;
    r.waiting = waiting;
    recorder.on_step(r);
  };
  step(0, 0, 3);
  step(0, 1, 5);
  step(1, 0, 2);
  CHECK(recorder.result(4096).peak_waiting == 5);
}

TEST_CASE("latencies and throughputs of two requests", "[sim]") {
  Recorder recorder(2, 0, {});
  RequestRecord a = completed(0, 1, 2, 5);
  a.output_tokens = 4;
  a.cached_tokens[0] = 16;
  a.cached_tokens[1] = 32;
  recorder.on_request(a);
  RequestRecord b = completed(1, 1, 2, 2);
  b.input_tokens = 50;
  recorder.on_request(b);
  const RunResult r = recorder.result(1);

  CHECK(r.completed == 2);
  CHECK(r.duration_s == 5);               // first arrival 0 to last finish 5
  CHECK(r.request_throughput == 0.4);     // 2 / 5
  CHECK(r.output_throughput == 1);        // (4 + 1) / 5
  CHECK(r.total_token_throughput == 31);  // (100 + 50 + 4 + 1) / 5
  CHECK(r.ttft.mean_ms == 1500);          // (2,000 + 1,000) / 2
  CHECK(r.e2el.mean_ms == 3000);          // (5,000 + 1,000) / 2
  CHECK(r.queue_time.mean_ms == 500);     // (1,000 + 0) / 2
  CHECK(r.tpot.count == 1);               // one-token outputs have no gap
  CHECK(r.tpot.mean_ms == 1000);          // (5,000 - 2,000) / 3
  REQUIRE(r.prompt_tokens_by_source.size() == 3);
  CHECK(r.prompt_tokens_by_source[0].first == "local_compute");
  CHECK(r.prompt_tokens_by_source[0].second == 102);  // 150 - 16 - 32
  CHECK(r.prompt_tokens_by_source[1].second == 16);
  CHECK(r.prompt_tokens_by_source[2].second == 32);
}

TEST_CASE("requests that did not complete are counted by reason, and nowhere else", "[sim]") {
  Recorder recorder(1, 0, {});
  recorder.on_request(completed(1, 1, 1, 2));
  recorder.on_request(ended(0.5, RequestStatus::kRejected, Reason::kTooLong));
  recorder.on_request(ended(0.6, RequestStatus::kRejected, Reason::kTooLong));
  recorder.on_request(ended(0.7, RequestStatus::kFailed, Reason::kExceedsPool));
  recorder.on_request(ended(0.8, RequestStatus::kStuck, Reason::kDeadlock));
  const RunResult r = recorder.result(1);
  CHECK(r.completed == 1);
  CHECK(r.rejected == 2);
  CHECK(r.failed == 1);
  CHECK(r.stuck == 1);
  REQUIRE(r.rejected_reasons.size() == 1);
  CHECK(r.rejected_reasons[0].reason == "too_long");
  CHECK(r.rejected_reasons[0].count == 2);
  REQUIRE(r.failed_reasons.size() == 1);
  CHECK(r.failed_reasons[0].reason == "exceeds_pool");
  REQUIRE(r.stuck_reasons.size() == 1);
  CHECK(r.stuck_reasons[0].reason == "deadlock");
  CHECK(r.ttft.count == 1);
  CHECK(r.input_tokens == 100);
  CHECK(r.duration_s == 1.5);  // they did arrive: 0.5 to 2
}

TEST_CASE("requests that were never sent do not move the first arrival", "[sim]") {
  // What a closed loop leaves behind when it deadlocks: one of two requests never arrived.
  Recorder recorder(1, 1, {});
  recorder.on_request(completed(1, 1, 2, 3));
  recorder.on_transfer({0, Bytes(100), 1, at_s(1), at_s(1), at_s(2)});
  recorder.on_step({at_s(1), at_s(3), {}, 100, 0, 1, 0});
  RequestRecord unsent;
  unsent.status = RequestStatus::kStuck;
  unsent.reason = Reason::kDeadlock;
  recorder.on_request(unsent);
  const RunResult r = recorder.result(1);
  CHECK(r.stuck == 1);
  CHECK(r.duration_s == 2);                // from 1 to 3
  CHECK(r.request_throughput == 0.5);      // 1 / 2
  CHECK(r.links[0].busy_fraction == 0.5);  // 1 s of 2
}

TEST_CASE("goodput counts requests that meet every target that is set", "[sim]") {
  const auto good = [](const LatencyTargets& targets) {
    Recorder recorder(1, 0, {targets, {}, {}});
    RequestRecord a = completed(0, 0, 1, 4);  // ttft 1,000, tpot 3,000 / 3 = 1,000, e2el 4,000 ms
    a.output_tokens = 4;
    recorder.on_request(a);
    recorder.on_request(completed(0, 0, 2, 2));  // ttft and e2el 2,000 ms, no tpot
    return recorder.result(1).goodput * 4;       // over 4 s
  };
  CHECK(good({}) == 2);
  CHECK(good({1000.0, {}, {}}) == 1);
  CHECK(good({999.0, {}, {}}) == 0);
  CHECK(good({{}, 999.0, {}}) == 1);  // the one-token answer has no tpot to miss
  CHECK(good({{}, {}, 2000.0}) == 1);
  CHECK(good({1000.0, {}, 2000.0}) == 0);
}

TEST_CASE("tier levels are means and peaks of blocks in use, in bytes", "[sim]") {
  Recorder recorder(1, 0, {});
  recorder.on_request(completed(0, 0, 1, 2));
  recorder.on_tier_change({at_s(1), 0, 10, 0, 10, 10});
  recorder.on_tier_change({at_s(3), 0, 2, 7, 5, 4});
  recorder.on_step({at_s(4), at_s(5), {}, 1, 0, 1, 0});
  const RunResult r = recorder.result(8);
  REQUIRE(r.tiers.size() == 1);
  CHECK(r.tiers[0].stores == 12);
  CHECK(r.tiers[0].evictions == 7);
  CHECK(r.tiers[0].peak_bytes == 80);
  // 0 for 1 s, 10 for 2 s, 4 for 2 s: 28 block-seconds over 5 s, 8 bytes each.
  CHECK(r.tiers[0].mean_bytes == Approx(28.0 / 5 * 8).epsilon(1e-14));
}

TEST_CASE("link use is bytes, busy time and the busiest bin", "[sim]") {
  Recorder recorder(0, 2, {});
  recorder.on_request(completed(0, 0, 1, 10));
  recorder.on_transfer({1, Bytes(1000), 1, at_s(1), at_s(2), at_s(3)});
  recorder.on_transfer({1, Bytes(500), 1, at_s(2), at_s(4), at_s(6)});
  recorder.on_step({at_s(9), at_s(10), {}, 1, 0, 1, 0});
  const RunResult r = recorder.result(1);
  REQUIRE(r.links.size() == 2);
  CHECK(r.links[0].transfers == 0);
  CHECK(r.links[1].transfers == 2);
  CHECK(r.links[1].bytes == 1500);
  CHECK(r.links[1].busy_fraction == Approx(0.3));        // (1 + 2) of 10 s
  CHECK(r.links[1].peak_bytes_per_s == Approx(1000.0));  // the second from 2 to 3
}

TEST_CASE("the last bin ends with the run", "[sim]") {
  Recorder recorder(0, 0, {});
  recorder.on_step({at_s(0), at_s(1.25), {}, 10, 0, 4, 0});
  const RunResult r = recorder.result(1);
  REQUIRE(r.series[0].name == "running");
  // Four ran until 1.25 s: a mean of 4 in the quarter of a bin as well, not of 1.
  CHECK(r.series[0].values == std::vector<double>{4, 4});
}

TEST_CASE("time per output token is rounded to the nearest nanosecond", "[sim]") {
  Recorder recorder(1, 0, {});
  RequestRecord a = completed(0, 0, 0, 0);
  a.output_tokens = 4;
  a.finish = time_at(5);  // 5 / 3 = 1.67
  recorder.on_request(a);
  CHECK(recorder.result(1).tpot.mean_ms == Approx(2e-6));
}

TEST_CASE("steps, tokens, gaps and preemptions add up", "[sim]") {
  Recorder recorder(0, 0, {});
  recorder.on_step({at_s(0), at_s(2), {}, 100, 7, 3, 1});
  recorder.on_step({at_s(2), at_s(3), {}, 30, 0, 1, 0});
  recorder.on_token_gap(Duration(2'000'000), 3);
  recorder.on_token_gap(Duration(6'000'000), 1);
  recorder.on_preemption(at_s(1.5), RequestId{0});
  const RunResult r = recorder.result(1);
  CHECK(r.engine_steps == 2);
  CHECK(r.recomputed_tokens == 7);
  CHECK(r.preemptions == 1);
  CHECK(r.itl.count == 4);
  CHECK(r.itl.mean_ms == 3);  // (3 * 2 + 6) / 4
  const auto series = [&](const std::string& name) {
    for (const Series& s : r.series) {
      if (s.name == name) return s.values;
    }
    return std::vector<double>{};
  };
  const std::vector<double> running = series("running");
  REQUIRE(running.size() >= 3);
  CHECK(running[0] == 3);
  CHECK(running[2] == 1);
  const std::vector<double> tokens = series("scheduled_tokens");
  REQUIRE(tokens.size() >= 3);
  CHECK(tokens[0] == 50);  // 100 tokens over 2 s
  CHECK(tokens[2] == 30);
  const std::vector<double> preempted = series("preemptions");
  REQUIRE(preempted.size() >= 2);
  CHECK(preempted[1] == 1);
}

TEST_CASE("asking for the result twice gives the same result", "[sim]") {
  Recorder recorder(1, 0, {});
  recorder.on_request(completed(0, 0, 1, 2));
  recorder.on_tier_change({at_s(1), 0, 4, 0, 4, 4});
  recorder.on_step({at_s(1), at_s(2), {}, 1, 0, 1, 0});
  CHECK(recorder.result(8).tiers[0].mean_bytes == recorder.result(8).tiers[0].mean_bytes);
}

TEST_CASE("an observer list tells everyone everything, in order", "[sim]") {
  struct Counter final : Observer {
    explicit Counter(std::string& log_, char name_) : log(log_), name(name_) {}
    void on_step(const StepRecord&) override { log += name; }
    void on_token_gap(Duration, std::uint32_t) override { log += name; }
    void on_request(const RequestRecord&) override { log += name; }
    void on_transfer(const TransferRecord&) override { log += name; }
    void on_tier_change(const TierChange&) override { log += name; }
    void on_preemption(Time, RequestId) override { log += name; }
    std::string& log;
    char name;
  };
  std::string log;
  Counter a(log, 'a');
  Counter b(log, 'b');
  ObserverList list;
  list.add(a);
  list.add(b);
  list.on_step({});
  list.on_token_gap({}, 1);
  list.on_request({});
  list.on_transfer({});
  list.on_tier_change({});
  list.on_preemption({}, RequestId{});
  CHECK(log == "abababababab");
}

}  // namespace
}  // namespace spillway
