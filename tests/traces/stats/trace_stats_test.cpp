// Trace statistics, recomputed by hand on a trace of five requests.
#include "traces/stats/trace_stats.hpp"

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::open_bytes_as_trace;
using test::row;

TEST_CASE("statistics of a tiny trace", "[traces]") {
  // Blocks of 10 tokens. Minutes are counted from the first arrival, at 1,000 ms.
  //   minute 0: requests a, b, c   minute 1: d   minute 2: e
  const Workload w = open_bytes_as_trace(
      row("1000", "20", "1", "[1, 2]") +          // a
          row("1000", "30", "2", "[1, 2, 3]") +   // b: hits 1, 2
          row("60999", "10", "3", "[4]") +        // c: 59.999 s after the first
          row("61000", "25", "4", "[1, 5, 6]") +  // d: hits 1; exactly one minute after the first
          row("131000", "40", "10", "[4, 1, 2, 7]"),  // e: hits 4, 1, 2
      blocks_of(10));
  const TraceStats s = trace_stats(w);

  CHECK(s.requests == 5);
  CHECK(s.span_s == 130);  // 131 - 1
  CHECK(s.requests_per_s == Approx(5.0 / 130));
  CHECK(s.peak_requests_per_s == Approx(3.0 / 60));
  CHECK(s.distinct_arrival_times == 4);  // 1, 60.999, 61, 131 s

  // Inputs sorted: 10 20 25 30 40.
  CHECK(s.input_tokens.total == 125);
  CHECK(s.input_tokens.mean == 25);
  CHECK(s.input_tokens.min == 10);
  CHECK(s.input_tokens.max == 40);
  CHECK(s.input_tokens.p50 == 25);
  CHECK(s.input_tokens.p90 == Approx(36));    // position 3.6: 30 + 0.6 * 10
  CHECK(s.input_tokens.p95 == Approx(38));    // position 3.8
  CHECK(s.input_tokens.p99 == Approx(39.6));  // position 3.96
  CHECK(s.input_tokens.std == Approx(10));    // of 15 5 0 5 15: 500 / 5 = 100
  REQUIRE(s.input_tokens.percentiles.size() == 101);
  CHECK(s.input_tokens.percentiles[0] == 10);
  CHECK(s.input_tokens.percentiles[75] == 30);
  CHECK(s.input_tokens.percentiles[100] == 40);
  // Outputs: 1 2 3 4 10.
  CHECK(s.output_tokens.total == 20);
  CHECK(s.output_tokens.mean == 4);
  CHECK(s.output_tokens.p50 == 3);
  CHECK(s.output_tokens.p90 == Approx(7.6));  // 4 + 0.6 * 6

  CHECK(s.block_tokens == 10);
  CHECK(s.references == 13);  // 2 + 3 + 1 + 3 + 4
  CHECK(s.unique_blocks == 7);
  CHECK(s.infinite_hits == 6);  // 2 (b) + 1 (d) + 3 (e)
  CHECK(s.infinite_hit_ratio == Approx(6.0 / 13));
  CHECK(s.reuse.single_use_blocks == 4);  // 3, 5, 6, 7
  CHECK(s.sessions == 0);
  CHECK(s.tenants.empty());
  CHECK(s.arrivals.series == std::vector<std::uint64_t>{3, 1, 1});  // per minute
  CHECK(s.stationarity.verdict == Drift::kTooShort);
}

TEST_CASE("one request has no span, no rate and a peak of one in a minute", "[traces]") {
  const TraceStats s = trace_stats(open_bytes_as_trace(test::good_row("5000")));
  CHECK(s.span_s == 0);
  CHECK(s.requests_per_s == 0);
  CHECK(s.peak_requests_per_s == Approx(1.0 / 60));
  CHECK(s.infinite_hit_ratio == 0);
  CHECK(s.input_tokens.p99 == 600);
  CHECK(s.input_tokens.std == 0);
  CHECK(s.arrivals.verdict == Burstiness::kTooFew);
}

TEST_CASE("a block repeated within its first request is no hit", "[traces]") {
  const Workload w = open_bytes_as_trace(row("0", "20", "1", "[1, 1]"), blocks_of(10));
  CHECK(trace_stats(w).infinite_hits == 0);
  CHECK(trace_stats(w).reuse.single_use_blocks == 0);
}

TEST_CASE("a block repeated within a later request hits each time", "[traces]") {
  // "References to blocks seen in an earlier request": both of the second row's references are,
  // and `spillway replay --capacity inf` counts 2 as well.
  const Workload w = open_bytes_as_trace(
      row("0", "20", "1", "[1, 1]") + row("1", "20", "1", "[1, 1]"), blocks_of(10));
  CHECK(trace_stats(w).infinite_hits == 2);
}

TEST_CASE("sessions are counted when the trace names them", "[traces]") {
  const Workload w = open_bytes_as_trace(
      "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1],\"session_id\":9}\n"
      "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1],\"session_id\":4}\n"
      "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1],\"session_id\":9}"
      "\n");
  CHECK(trace_stats(w).sessions == 2);
}

}  // namespace
}  // namespace spillway
