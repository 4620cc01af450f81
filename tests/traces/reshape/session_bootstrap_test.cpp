// Replicates of a trace: what is drawn, what stays, which blocks stay shared, and how near rates,
// lengths and reuse stay to the original, measured.
#include "traces/reshape/session_bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/session_rows.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/generate/synthetic.hpp"
#include "traces/reshape/workload_rows.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

struct Request {
  std::int64_t arrival_s = 0;
  std::optional<std::uint64_t> session{};
  std::vector<std::uint64_t> blocks{};
  std::uint32_t input_tokens = 100;
};

Workload of(const std::vector<Request>& requests) {
  WorkloadBuilder builder("t", 100);
  TraceRow row;
  for (const Request& request : requests) {
    row.clear();
    row.arrival_ns = request.arrival_s * 1'000'000'000;
    row.input_tokens = request.input_tokens;
    row.output_tokens = 1;
    row.blocks = request.blocks;
    row.session = request.session;
    builder.add(row);
  }
  return builder.build({"t", "test", {"a note"}});
}

/// References to blocks seen before: what a cache without bound would hit.
double reused(const Workload& workload) {
  return static_cast<double>(workload.references() - workload.unique_blocks()) /
         static_cast<double>(workload.references());
}

double mean_input(const Workload& workload) {
  double sum = 0;
  for (const std::uint32_t tokens : workload.columns().input_tokens) sum += tokens;
  return sum / workload.size();
}

double requests(const Workload& workload) {
  return workload.size();
}

/// From the first request to the last.
double span(const Workload& workload) {
  const auto arrival = workload.columns().arrival_ns;
  return static_cast<double>(arrival.back() - arrival.front());
}

TEST_CASE("a replicate is the same for equal seed and number, and another one otherwise",
          "[traces]") {
  const Workload trace = generate_workload({}, 1);
  const SessionBootstrap bootstrap(trace);
  CHECK(bootstrap.replicate(1, 0).content_hash() == bootstrap.replicate(1, 0).content_hash());
  std::set<std::uint64_t> hashes = {trace.content_hash()};
  for (std::uint64_t i = 0; i < 4; ++i) hashes.insert(bootstrap.replicate(1, i).content_hash());
  hashes.insert(bootstrap.replicate(2, 0).content_hash());
  CHECK(hashes.size() == 6);
}

TEST_CASE("sessions start when sessions started, and keep their turns", "[traces]") {
  // Two turns 5 s apart in every session: whatever is drawn, starts are 0, 10, ... and the second
  // turn follows 5 s later, with its own two blocks behind the shared one.
  std::vector<Request> requests;
  for (std::uint64_t s = 0; s < 30; ++s) {
    const auto start = static_cast<std::int64_t>(10 * s);
    requests.push_back({start, s, {0, 10 * s + 1}, 200});
    requests.push_back({start + 5, s, {0, 10 * s + 1, 10 * s + 2}, 300});
  }
  const Workload trace = of(requests);
  const Workload replicate = SessionBootstrap(trace).replicate(3, 7);
  REQUIRE(replicate.size() == 60);
  for (std::uint32_t r = 0; r < 60; ++r) {
    CHECK(nanoseconds_of(replicate.arrival(RequestId{r})) == r * 5'000'000'000LL);
    CHECK(replicate.chain(RequestId{r}).size() == 2 + r % 2);
    CHECK(replicate.columns().session[r] == r / 2);
    CHECK(replicate.chain(RequestId{r})[0] == TraceBlockId{0});
    if (r % 2 == 1) {
      CHECK(replicate.chain(RequestId{r})[1] == replicate.chain(RequestId{r - 1})[1]);
      REQUIRE(replicate.after(RequestId{r}).size() == 1);
      CHECK(replicate.after(RequestId{r})[0] == RequestId{r - 1});
    }
  }
  // One shared block, and two of its own for each of 30 sessions, drawn twice or not.
  CHECK(replicate.unique_blocks() == 61);
  CHECK(replicate.source().notes == std::vector<std::string>{"a note"});
}

TEST_CASE("a copy has blocks of its own, and shares what its original shared", "[traces]") {
  // Requests without sessions or common prefixes but one: 0 and 1 share block 7.
  std::vector<Request> requests = {{0, {}, {7, 1}, 200}, {1, {}, {7, 2}, 200}};
  for (std::uint64_t i = 2; i < 10; ++i) {
    requests.push_back({static_cast<std::int64_t>(i), {}, {100 + i}, 100});
  }
  const Workload trace = of(requests);
  const SessionBootstrap bootstrap(trace);
  CHECK(bootstrap.sessions() == 10);
  CHECK(bootstrap.strata() == 1);
  int doubled = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Workload replicate = bootstrap.replicate(1, i);
    std::uint32_t with_seven = 0;
    std::map<std::uint32_t, int> uses;
    for (std::uint32_t r = 0; r < 10; ++r) {
      const auto chain = replicate.chain(RequestId{r});
      with_seven += chain.size() == 2 ? 1 : 0;
      for (const TraceBlockId id : chain) ++uses[raw(id)];
    }
    int repeated = 0;
    for (const auto& [id, count] : uses) repeated += count > 1 ? 1 : 0;
    CHECK(repeated == (with_seven > 1 ? 1 : 0));  // block 7 alone
    CHECK(replicate.unique_blocks() == 10 + (with_seven > 0 ? 1 : 0));
    doubled += with_seven > 2 ? 1 : 0;
  }
  CHECK(doubled > 0);  // one of the two was drawn twice, at least
}

TEST_CASE("sessions are drawn from their own stratum", "[traces]") {
  // Two hundred requests: ten stretches of twenty. A prompt's length says where it is from.
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 200; ++i) requests.push_back({i, {}, {i}, 100 - i / 20});
  const Workload trace = of(requests);
  const SessionBootstrap bootstrap(trace);
  CHECK(bootstrap.strata() == 10);
  CHECK_THAT(bootstrap.method(), ContainsSubstring("within 10 parts of as many sessions"));
  const Workload replicate = bootstrap.replicate(1, 0);
  for (std::uint32_t i = 0; i < 200; ++i) {
    CHECK(replicate.input_tokens(RequestId{i}) == 100 - i / 20);
  }
}

TEST_CASE("two days are drawn hour by hour", "[traces]") {
  // Thirty requests an hour for 48 hours; the prompt's length is the hour of the day.
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 48 * 30; ++i) {
    requests.push_back({120 * static_cast<std::int64_t>(i), {}, {i}, 1 + (i / 30) % 24});
  }
  const Workload trace = of(requests);
  const SessionBootstrap bootstrap(trace);
  CHECK(bootstrap.strata() == 24);
  CHECK_THAT(bootstrap.method(), ContainsSubstring("hours of the day"));
  const Workload replicate = bootstrap.replicate(1, 0);
  for (std::uint32_t i = 0; i < replicate.size(); ++i) {
    CHECK(replicate.input_tokens(RequestId{i}) == 1 + (i / 30) % 24);
  }
}

TEST_CASE("turns that wait for one another are one session", "[traces]") {
  std::vector<test::Turn> turns;
  for (std::int64_t i = 0; i < 20; ++i) {
    turns.push_back({1000 * i, 64, 4, {}, -1, {}});
    turns.push_back({1000 * i + 500, 64, 4, {turns.size() - 1}, 250, {}});
  }
  const Workload trace = test::workload_of_turns(turns, 64);
  const SessionBootstrap bootstrap(trace);
  CHECK(bootstrap.sessions() == 20);
  CHECK_THAT(bootstrap.method(), ContainsSubstring("chains of answers waited for"));
  const Workload replicate = bootstrap.replicate(1, 0);
  REQUIRE(replicate.size() == 40);
  for (std::uint32_t r = 1; r < 40; r += 2) {
    REQUIRE(replicate.after(RequestId{r}).size() == 1);
    CHECK(replicate.after(RequestId{r})[0] == RequestId{r - 1});
    CHECK(replicate.think_ns(RequestId{r}) == 250'000'000);
  }
}

/// Mean over ten replicates of a figure, relative to the original's.
template <class Figure>
double relative(const Workload& trace, const SessionBootstrap& bootstrap, Figure figure) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 10; ++i) sum += figure(bootstrap.replicate(1, i));
  return sum / 10 / figure(trace);
}

/// Counts, lengths and reuse stay within `share` of the original's on average over ten replicates.
/// A trace ends in the middle of its last sessions. Drawn for a later start these go on behind its
/// end, so that the span grows and the rate over it falls: at most by `longer`.
void check_likeness(const Workload& trace, double share, double longer) {
  const SessionBootstrap bootstrap(trace);
  const double counts = relative(trace, bootstrap, requests);
  const double lengths = relative(trace, bootstrap, mean_input);
  const double reuse = relative(trace, bootstrap, reused);
  const double spans = relative(trace, bootstrap, span);
  INFO(bootstrap.method() << "; requests " << counts << ", prompt tokens " << lengths << ", reuse "
                          << reuse << " of " << reused(trace) << ", span " << spans);
  CHECK(std::fabs(counts - 1) < share);
  CHECK(std::fabs(lengths - 1) < share);
  CHECK(std::fabs(reuse - 1) < share);
  CHECK(spans > 0.99);
  CHECK(spans < 1 + longer);
}

TEST_CASE("a short recording is drawn several times in a row", "[traces]") {
  // 40 sessions of two turns 5 s apart, one every 10 s: 390 s of starts and a mean gap are 400 s.
  // Block 0 is everyone's; sessions 2k and 2k + 1 share block 1000 + k; the rest is their own.
  std::vector<Request> requests;
  for (std::uint64_t s = 0; s < 40; ++s) {
    const auto start = static_cast<std::int64_t>(10 * s);
    requests.push_back({start, s, {0, 1000 + s / 2, 10 * s + 1}, 300});
    requests.push_back({start + 5, s, {0, 1000 + s / 2, 10 * s + 1, 10 * s + 2}, 400});
  }
  const Workload trace = of(requests);
  const SessionBootstrap bootstrap(trace);
  const Workload replicate = bootstrap.replicate(3, 7, 3);
  REQUIRE(replicate.size() == 3 * trace.size());
  for (std::uint32_t r = 0; r < replicate.size(); ++r) {  // on through the seams
    CHECK(nanoseconds_of(replicate.arrival(RequestId{r})) == r * 5'000'000'000LL);
    CHECK(replicate.columns().session[r] == r / 2);
  }
  // It begins with the replicate of one recording.
  const Workload one = bootstrap.replicate(3, 7);
  for (std::uint32_t r = 0; r < one.size(); ++r) {
    CHECK(test::chain_of(replicate, r) == test::chain_of(one, r));
  }
  // Own blocks (two for each of 120 sessions) are never met again, block 0 always is, and a pair's
  // is by its own recording alone: it is local in time.
  std::map<std::uint32_t, std::set<std::uint32_t>> sessions_of_block;
  std::map<std::uint32_t, std::set<std::uint32_t>> recordings_of_block;
  for (std::uint32_t r = 0; r < replicate.size(); ++r) {
    for (const TraceBlockId id : replicate.chain(RequestId{r})) {
      sessions_of_block[raw(id)].insert(r / 2);
      recordings_of_block[raw(id)].insert(r / 2 / 40);
    }
  }
  std::size_t own = 0;
  for (const auto& [id, sessions] : sessions_of_block) {
    if (recordings_of_block[id].size() > 1) CHECK(id == 0);
    own += sessions.size() == 1 ? 1 : 0;
  }
  CHECK(sessions_of_block[0].size() == 120);
  CHECK(own >= 240);
}

/// What arrives within some seconds, as a recording of that time would have it: sessions that began
/// before or go on behind are cut.
Workload recorded(const Workload& all, std::int64_t from_s, std::int64_t to_s) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    const std::int64_t at_s = nanoseconds_of(all.arrival(RequestId{r})) / 1'000'000'000;
    if (at_s >= from_s && at_s < to_s) rows.push_back(r);
  }
  return select_rows(all, rows);
}

TEST_CASE("three short recordings in a row are like one that is three times as long", "[traces]") {
  // Against the truth: 45 minutes out of the middle of generated chat, and replicates of three
  // recordings of its three quarters of an hour. Means over two replicates of each.
  constexpr int kSeeds = 4;
  constexpr double kRuns = kSeeds * 3 * 2;
  double ratios[4] = {};
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SyntheticConfig config;
    config.requests = 11'000;
    const Workload all = generate_workload(config, seed);
    REQUIRE(span(all) > 3300e9);
    const Workload truth = recorded(all, 600, 3300);
    for (std::int64_t part = 0; part < 3; ++part) {
      const Workload quarter = recorded(all, 600 + 900 * part, 1500 + 900 * part);
      const SessionBootstrap bootstrap(quarter);
      for (std::uint64_t i = 0; i < 2; ++i) {
        const Workload replicate = bootstrap.replicate(1, i, 3);
        ratios[0] += requests(replicate) / requests(truth) / kRuns;
        ratios[1] += mean_input(replicate) / mean_input(truth) / kRuns;
        ratios[2] += reused(replicate) / reused(truth) / kRuns;
        ratios[3] += span(replicate) / span(truth) / kRuns;
      }
    }
  }
  INFO("requests " << ratios[0] << ", prompt tokens " << ratios[1] << ", reuse " << ratios[2]
                   << ", span " << ratios[3]);
  CHECK(std::fabs(ratios[0] - 1) < 0.02);
  CHECK(std::fabs(ratios[1] - 1) < 0.02);
  CHECK(std::fabs(ratios[2] - 1) < 0.025);  // each recording cuts sessions at both of its ends
  CHECK(std::fabs(ratios[3] - 1) < 0.04);   // the last sessions go on behind the end
}

TEST_CASE("replicates of generated chat keep counts, lengths and reuse", "[traces]") {
  SyntheticConfig config;
  config.requests = 4000;
  check_likeness(generate_workload(config, 1), 0.02, 0.10);
}

TEST_CASE("replicates of recorded conversations keep counts, lengths and reuse", "[traces]") {
  const auto trace = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  check_likeness(open_trace(trace.path, {}), 0.03, 0.15);
}

TEST_CASE("replicates of recorded retrieval keep counts, lengths and reuse", "[traces]") {
  const auto trace = test::material("traces/ragpulse_days1-4.jsonl.gz");
  check_likeness(open_trace(trace.path, {}), 0.05, 0.05);
}

}  // namespace
}  // namespace spillway
