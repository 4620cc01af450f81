// Reuse distances, working sets, sessions and tenants by hand.
#include "traces/stats/reuse_stats.hpp"

#include "tests/traces/trace_text.hpp"
#include "traces/stats/session_stats.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::open_bytes_as_trace;
using test::row;

/// 48 s, so that an interval is a second.
Workload small() {
  return open_bytes_as_trace(row("0", "20", "1", "[1, 2]") +           // a
                                 row("500", "30", "1", "[1, 2, 3]")    // b
                                 + row("2000", "10", "1", "[4]")       // c
                                 + row("48000", "20", "1", "[1, 4]"),  // d
                             blocks_of(10));
}

TEST_CASE("reuse of a small trace", "[traces]") {
  // Last block touched first, so that the stack from the top is
  //   after a: 1 2      b finds 1 at 0, 2 at 1
  //   after b: 1 2 3
  //   after c: 4 1 2 3  d finds 1 at 1, 4 at 0
  // Distances sorted: 0 0 1 1. Gaps: 0.5 s twice (b), 47.5 s (1 in d), 46 s (4 in d).
  const ReuseStats s = reuse_stats(small());
  CHECK(s.infinite_hits == 4);
  CHECK(s.single_use_blocks == 1);  // 3
  CHECK(s.median_distance_blocks == 0.5);
  CHECK(s.p90_distance_blocks == 1);
  CHECK(s.median_gap_s == Approx((0.5 + 46) / 2));
  CHECK(s.p90_gap_s == Approx(46 + 0.7 * 1.5));  // position 2.7 of 0.5 0.5 46 47.5
  // Capacities 2 ^ (2 i / 19), rounded, once each.
  REQUIRE(s.curve.size() == 4);
  const std::vector<std::uint64_t> hits = {2, 4, 4, 4};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(s.curve[i].capacity_blocks == i + 1);
    CHECK(s.curve[i].hits == hits[i]);
  }
}

TEST_CASE("the working set of a small trace", "[traces]") {
  const WorkingSet w = reuse_stats(small()).working_set;
  CHECK(w.interval_s == 1);
  REQUIRE(w.unique.size() == 48);
  CHECK(w.unique[0] == 3);  // 1 2 3, of which a and b share two
  CHECK(w.unique[1] == 0);
  CHECK(w.unique[2] == 1);
  CHECK(w.unique[47] == 2);  // the last arrival ends the last interval
  CHECK(w.cumulative[0] == 3);
  CHECK(w.cumulative[1] == 3);
  CHECK(w.cumulative[2] == 4);
  CHECK(w.cumulative[47] == 4);
  CHECK(w.peak_unique == 3);
  // To be named again: after a 1 2; after b 1 (2 is done, 3 never is); after c 1 4; after d none.
  CHECK(w.peak_live == 2);
}

TEST_CASE("reuse without a span or without blocks", "[traces]") {
  const ReuseStats instant = reuse_stats(open_bytes_as_trace(
      row("9", "20", "1", "[1, 2]") + row("9", "20", "1", "[1, 2]"), blocks_of(10)));
  CHECK(instant.median_gap_s == 0);
  CHECK(instant.working_set.interval_s == 0);
  CHECK(instant.working_set.unique == std::vector<std::uint64_t>{2});
  CHECK(instant.working_set.cumulative == std::vector<std::uint64_t>{2});
  CHECK(instant.working_set.peak_live == 2);

  WorkloadBuilder builder("lengths only", 16);
  TraceRow lengths;
  lengths.input_tokens = 100;
  lengths.output_tokens = 1;
  builder.add(lengths);
  builder.add(lengths);
  const ReuseStats none = reuse_stats(builder.build({"lengths only", "test"}));
  CHECK(none.infinite_hits == 0);
  CHECK(none.single_use_blocks == 0);
  CHECK(none.curve.empty());
  CHECK(none.working_set.peak_live == 0);
}

TEST_CASE("the curve of a trace ends at its unique blocks", "[traces]") {
  std::string rows;
  for (int i = 0; i < 3000; ++i) {
    rows += row(std::to_string(i), "10", "1", fmt::format("[{}]", i % 1500));
  }
  const ReuseStats s = reuse_stats(open_bytes_as_trace(rows, blocks_of(10)));
  CHECK(s.curve.size() <= 20);
  CHECK(s.curve.size() >= 15);
  CHECK(s.curve.back().capacity_blocks == 1500);
  CHECK(s.curve.back().hits == 1500);  // a cycle of 1,500 hits in a cache of 1,500
  CHECK(s.curve[s.curve.size() - 2].hits == 0);
  CHECK(s.median_distance_blocks == 1499);
}

// ---- who asks

TraceRow turn(std::int64_t at_s, std::uint64_t session, std::string tenant, std::int64_t think_s) {
  TraceRow out;
  out.arrival_ns = at_s * 1'000'000'000;
  out.input_tokens = 10;
  out.output_tokens = 1;
  out.session = session;
  out.tenant = std::move(tenant);
  if (think_s >= 0) out.think_ns = think_s * 1'000'000'000;
  return out;
}

TEST_CASE("sessions, pauses and tenants of a small trace", "[traces]") {
  // Session 7: at 0, 10, 40 s. Session 8: at 5 s. Gaps: 10, 30 s.
  WorkloadBuilder builder("test", 16);
  builder.add(turn(0, 7, "zoo", -1));
  builder.add(turn(5, 8, "<b>ant</b>", -1));
  builder.add(turn(10, 7, "zoo", 4));
  builder.add(turn(40, 7, "zoo", 8));
  const Workload w = builder.build({"test", "test"});
  const SessionStats s = session_stats(w);
  CHECK(s.sessions == 2);
  CHECK(s.turns.mean == 2);
  CHECK(s.turns.p50 == 2);  // of 1 and 3
  CHECK(s.turns.p90 == Approx(2.8));
  CHECK(s.turns.max == 3);
  CHECK(s.gap_s.count == 2);
  CHECK(s.gap_s.p50 == 20);
  CHECK(s.gap_s.p90 == Approx(28));
  CHECK(s.gap_s.p99 == Approx(29.8));
  CHECK(s.think_s.count == 2);
  CHECK(s.think_s.mean == 6);
  CHECK(s.with_predecessor == 2);  // the second and third turn of session 7

  const std::vector<TenantStats> tenants = tenant_stats(w);
  REQUIRE(tenants.size() == 2);
  CHECK(tenants[0].name == "zoo");
  CHECK(tenants[0].requests == 3);
  CHECK(tenants[0].input_tokens == 30);
  CHECK(tenants[1].name == "<b>ant</b>");
  CHECK(tenants[1].requests == 1);
}

TEST_CASE("a trace without sessions or tenants says so", "[traces]") {
  const Workload w = small();
  const SessionStats s = session_stats(w);
  CHECK(s.sessions == 0);
  CHECK(s.turns.count == 0);
  CHECK(s.gap_s.count == 0);
  CHECK(s.think_s.count == 0);
  CHECK(s.with_predecessor == 0);
  CHECK(tenant_stats(w).empty());
}

}  // namespace
}  // namespace spillway
