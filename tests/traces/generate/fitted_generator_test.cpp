// Traces like another: the parts (exchange, interleaving, fit), and how like the result is.
#include "traces/generate/fitted_generator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "sim/digest.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/generate/exchange.hpp"
#include "traces/generate/interleaving.hpp"
#include "traces/generate/likeness.hpp"
#include "traces/generate/synthetic.hpp"
#include "traces/stats/trace_stats.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

using test::values;

// ---- exchange and interleaving

TEST_CASE("an exchange uses every value once, for one of about its size", "[traces]") {
  const std::vector<double> sizes = {5, 0, 100, 104, 1000, 5, 98, 0, 1e6};
  Exchange exchange(sizes.size(), [&](std::uint32_t i) { return sizes[i]; });
  Stream stream(1, "test");
  std::set<std::vector<std::uint32_t>> seen;
  for (int round = 0; round < 50; ++round) {
    exchange.shuffle(stream);
    std::vector<std::uint32_t> in;
    for (const std::uint32_t i : {0U, 2U, 3U, 4U, 5U, 6U, 8U}) {
      in.push_back(exchange.stand_in(i));
      CHECK(std::abs(sizes[in.back()] / sizes[i] - 1) < 0.1);
    }
    seen.insert(in);
    std::sort(in.begin(), in.end());
    CHECK(in == std::vector<std::uint32_t>{0, 2, 3, 4, 5, 6, 8});
  }
  CHECK(seen.size() > 5);
}

TEST_CASE("a shuffle moves things by a few places", "[traces]") {
  Stream stream(1, "test");
  const std::vector<std::uint32_t> order = shuffled_nearby(1000, 0.02, stream);
  std::uint32_t moved = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    CHECK(std::abs(static_cast<int>(order[i]) - static_cast<int>(i)) <= 22);
    moved += order[i] == i ? 0 : 1;
  }
  CHECK(moved > 800);
}

TEST_CASE("sessions that fit together are interleaved exactly", "[traces]") {
  // The rows of 0 1 0 2 1 0 2 2, told session by session.
  const std::vector<InterleavedSession> sessions = {{0, 0, {2, 3}}, {1, 1, {3}}, {2, 3, {3, 1}}};
  std::vector<std::uint32_t> order;
  for (const InterleavedTurn& turn : interleave(sessions)) order.push_back(turn.session);
  CHECK(order == std::vector<std::uint32_t>{0, 1, 0, 2, 1, 0, 2, 2});
}

TEST_CASE("an interleaving has every turn once and in order", "[traces]") {
  Stream stream(1, "test");
  std::vector<InterleavedSession> sessions;
  std::size_t turns = 0;
  for (std::uint32_t s = 0; s < 200; ++s) {
    InterleavedSession session{s, s * 5, {}};
    const std::uint64_t steps = stream.below(9);
    for (std::uint64_t i = 0; i < steps; ++i) {
      session.steps.push_back(static_cast<std::uint32_t>(stream.below(300)));  // 0 counts as 1
    }
    turns += 1 + session.steps.size();
    sessions.push_back(session);
  }
  std::map<std::uint32_t, std::uint32_t> next;
  const std::vector<InterleavedTurn> order = interleave(sessions);
  bool in_order = true;
  for (const InterleavedTurn& turn : order) {
    in_order = in_order && turn.turn == next[turn.session]++;
  }
  CHECK(order.size() == turns);
  CHECK(in_order);
}

// ---- the fit

TEST_CASE("a fit says where each prompt was seen before", "[traces]") {
  const Workload w = test::open_bytes_as_trace(test::row("0", "1500", "5", "[1, 2, 3]") +
                                               test::row("10", "2000", "6", "[1, 2, 4, 5]") +
                                               test::row("10", "3000", "7", "[1, 2, 4, 6, 7, 8]") +
                                               test::row("40", "1500", "8", "[1, 2, 3]"));
  const TraceFit fit = fit_trace(w);
  CHECK(fit.identified);
  CHECK_FALSE(fit.sessions);
  CHECK(fit.gaps_ns == std::vector<std::int64_t>{10'000'000, 0, 30'000'000});
  REQUIRE(fit.turns.size() == 4);
  // Each row continues one above: of their prompts only the partial block is left out, but for the
  // last, which repeats row 0, whose first two blocks others have used since.
  REQUIRE(fit.by_start.size() == 1);
  using Prefix = FittedTurn::Prefix;
  CHECK(fit.turns[0].prefix == Prefix::kNone);
  CHECK(fit.turns[0].added == 3);
  CHECK(fit.turns[1].prefix == Prefix::kSession);
  CHECK(fit.turns[1].left == 0);
  CHECK(fit.turns[2].depth == 3);
  CHECK(fit.turns[2].back == 1);
  const FittedTurn& again = fit.turns[3];
  CHECK(again.prefix == Prefix::kSession);
  CHECK(again.back == 3);
  CHECK(again.depth == 3);
  CHECK(again.left == -1);
  CHECK(again.gap == 3);
  CHECK(again.fresher == 2);
  CHECK(again.uses == 1);
  CHECK(again.added == 0);
}

TEST_CASE("a prefix that several sessions use is no session's own", "[traces]") {
  const Workload w = test::open_bytes_as_trace(test::row("0", "1200", "5", "[1, 2, 3]") +
                                               test::row("10", "1500", "6", "[1, 4, 5]") +
                                               test::row("20", "1600", "7", "[1, 6, 7, 8]"));
  const TraceFit fit = fit_trace(w);
  CHECK(fit.by_start.size() == 3);
  CHECK(fit.turns[2].prefix == FittedTurn::Prefix::kShared);
  CHECK(fit.turns[2].depth == 1);
  CHECK(fit.turns[2].gap == 1);
  CHECK(fit.turns[2].uses == 2);
  CHECK(fit.turns[2].left == 1);
  CHECK(fit.turns[2].beyond == 1);
}

// ---- the generated trace

Workload chat(std::uint32_t requests, std::uint32_t tenants = 1) {
  SyntheticConfig config;
  config.requests = requests;
  config.tenants = tenants;
  config.turns = 6;
  config.sessions_per_s = 0.5;
  return generate_workload(config, 1);
}

double worst_error(const Workload& original, const Workload& generated) {
  double worst = 0;
  for (const LikenessRow& row : compare_traces(original, generated).rows) {
    worst = std::max(worst, std::abs(row.error));
  }
  return worst;
}

TEST_CASE("a generated trace is another one, and the same for the same seed", "[traces]") {
  const Workload original = chat(3000);
  const TraceFit fit = fit_trace(original);
  const auto hash = [&](std::uint64_t seed) {
    return generate_like(fit, 3000, seed).content_hash();
  };
  CHECK(hash(1) == hash(1));
  CHECK(hash(1) != hash(2));
  CHECK(hash(1) != original.content_hash());
  const Workload made = generate_like(fit, 3000, 1);
  CHECK(values(made.columns().input_tokens) != values(original.columns().input_tokens));
  CHECK(made.size() == 3000);
}

TEST_CASE("golden: the trace like another", "[traces]") {
  const Workload made = generate_like(fit_trace(chat(2000)), 2500, 7);
  CHECK(hex16(made.content_hash()) == "3a4d1ce08872762b");
}

TEST_CASE("a generated trace obeys every rule of a trace file", "[traces]") {
  const Workload original = chat(3000);
  const Workload w = generate_like(fit_trace(original), 7000, 1);
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> parent(w.unique_blocks(), kNone - 1);
  std::uint32_t violations = 0;
  for (std::uint32_t i = 0; i < w.size(); ++i) {
    const RequestId r{i};
    const auto blocks = static_cast<std::int64_t>(w.chain(r).size());
    violations += blocks == ceil_div(w.input_tokens(r), w.block_tokens()) ? 0 : 1;
    std::uint32_t before = kNone;
    for (const TraceBlockId id : w.chain(r)) {
      if (parent[raw(id)] == kNone - 1) parent[raw(id)] = before;
      violations += parent[raw(id)] == before ? 0 : 1;
      before = raw(id);
    }
  }
  CHECK(violations == 0);
  CHECK(std::is_sorted(w.columns().arrival_ns.begin(), w.columns().arrival_ns.end()));
}

TEST_CASE("chat and tenants come out like they went in", "[traces]") {
  const Workload original = chat(20'000, GENERATE(1U, 5U));
  const Workload made = generate_like(fit_trace(original), 20'000, 1);
  CHECK(worst_error(original, made) < 0.05);
  CHECK(made.source().tenants.size() == original.source().tenants.size());
  const TraceStats a = trace_stats(original);
  const TraceStats b = trace_stats(made);
  CHECK(a.sessions == b.sessions);
  CHECK(a.span_s == Approx(b.span_s));
}

TEST_CASE("a longer trace keeps the rate, a shorter one is the beginning", "[traces]") {
  const Workload original = chat(20'000);
  const TraceFit fit = fit_trace(original);
  CHECK(worst_error(original, generate_like(fit, 50'000, 1)) < 0.08);
  const Likeness shorter = compare_traces(original, generate_like(fit, 10'000, 1));
  CHECK(shorter.requests == 10'000);
  for (const LikenessRow& row : shorter.rows) {
    INFO(row.statistic);
    CHECK(std::abs(row.error) < 0.08);
  }
}

TEST_CASE("a trace without identity is fitted in rate and lengths, and invents no reuse",
          "[traces]") {
  WorkloadBuilder builder("plain", 16);
  TraceRow row;
  Stream stream(1, "plain");
  for (int i = 0; i < 500; ++i) {
    row.arrival_ns += static_cast<std::int64_t>(stream.exponential(1e9));
    row.input_tokens = 1 + static_cast<std::int64_t>(stream.below(3000));
    row.output_tokens = 1 + static_cast<std::int64_t>(stream.below(300));
    row.identified = false;
    builder.add(row);
  }
  const Workload original = builder.build({"plain", "test"});
  const Workload made = generate_like(fit_trace(original), 500, 1);
  CHECK(made.references() == 0);
  CHECK(worst_error(original, made) < 0.05);
  CHECK(values(made.columns().input_tokens) != values(original.columns().input_tokens));
}

TEST_CASE("traces of one request or of equal requests can be continued", "[traces]") {
  const std::string one = test::row("5", "100", "5", "[1]");
  const Workload single = generate_like(fit_trace(test::open_bytes_as_trace(one)), 5, 1);
  CHECK(single.size() == 5);
  CHECK(single.arrival(RequestId{4}) == single.arrival(RequestId{0}));
  const Workload equal = generate_like(fit_trace(test::open_bytes_as_trace(one + one + one)), 6, 1);
  CHECK(equal.unique_blocks() == 2);  // one of each period
  CHECK(equal.references() == 6);
}

TEST_CASE("the conversation trace comes out within 5% at every statistic", "[traces]") {
  const auto trace = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const Workload original = open_trace(trace.path, {});
  const TraceFit fit = fit_trace(original);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Likeness likeness = compare_traces(original, generate_like(fit, original.size(), seed));
    REQUIRE(likeness.rows.size() == 11);
    for (const LikenessRow& row : likeness.rows) {
      INFO(row.statistic << " of seed " << seed);
      CHECK(std::abs(row.error) <= kLikenessTolerance);
    }
  }
}

}  // namespace
}  // namespace spillway
