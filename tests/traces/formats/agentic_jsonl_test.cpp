// Agent sessions: the published file's facts, and who waits for whom, by hand.
#include "traces/formats/agentic_jsonl.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "tests/traces/trace_text.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::chain_of;
using test::error_of;
using test::open_bytes_as_trace;
using test::values;
using Ids = std::vector<std::uint32_t>;

/// A session from the JSON text of its requests, with blocks of 4 tokens.
std::string session(std::string_view id, std::string_view requests,
                    std::string_view more = "\"hash_id_scope\":\"local\",") {
  return fmt::format("{{\"id\":\"{}\",\"models\":[\"m\"],\"block_size\":4,{}\"requests\":[{}]}}\n",
                     id, more, requests);
}

/// A request of two blocks and a token; `times` are its api_time and think_time, as JSON.
std::string request(std::string_view t, std::string_view times,
                    std::string_view hash_ids = "[1,2]") {
  return fmt::format(
      "{{\"t\":{},\"type\":\"n\",\"model\":\"m\",\"in\":9,\"out\":3,\"hash_ids\":{}{}}}", t,
      hash_ids, times);
}

std::string agent(std::string_view t, std::string_view duration_ms, std::string_view requests) {
  return fmt::format(
      "{{\"t\":{},\"type\":\"subagent\",\"agent_id\":\"a\",\"duration_ms\":{},\"requests\":[{}]}}",
      t, duration_ms, requests);
}

Ids after_of(const Workload& w, std::uint32_t r) {
  Ids out;
  for (const RequestId before : w.after(RequestId{r})) out.push_back(raw(before));
  std::sort(out.begin(), out.end());
  return out;
}

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

TEST_CASE("the published agent sessions have their published facts", "[traces]") {
  const auto trace = test::material("traces/kvcache_tester_agentic_0001-0080.jsonl.gz");
  const test::Figures figure(trace, "agents");
  const Workload w = open_trace(trace.path, {});
  const TraceStats s = trace_stats(w);
  CHECK(w.source().format == "agentic");
  CHECK(s.sessions == figure(77u, "sessions"));
  CHECK(s.requests == figure(4'955u, "requests"));
  CHECK(s.block_tokens == 64);
  CHECK(s.input_tokens.total == figure(630'138'251u, "input_tokens"));
  CHECK(s.references == figure(9'843'462u, "references"));
  CHECK(s.unique_blocks == figure(480'063u, "unique_blocks"));
  CHECK(s.infinite_hits == s.references - s.unique_blocks);  // no id twice in a request
  CHECK(s.infinite_hit_ratio == Approx(figure(0.951, "hit_ratio")).margin(0.0005));

  std::uint64_t floors = 0;
  std::uint64_t links = 0;
  std::uint64_t several = 0;
  std::uint64_t pauses = 0;
  for (std::uint32_t i = 0; i < w.size(); ++i) {
    const RequestId r{i};
    floors += w.chain(r).size() == w.input_tokens(r) / 64 ? 1 : 0;
    links += w.after(r).size();
    several += w.after(r).size() > 1 ? 1 : 0;
    pauses += w.think_ns(r) >= 0 ? 1 : 0;
  }
  CHECK(floors == s.requests);
  // Each of 77 sessions starts with a request that waits for none. 11 sub-agents begin behind nine
  // requests; two stand at the end, so seven requests wait for several: the request before and one
  // sub-agent, or three of them, or one.
  CHECK(several == figure(7u, "several"));
  CHECK(links == figure(4'955u - 77 + 9, "links"));
  // Every later request records its pause but 13, behind sub-agents or first in one, where the end
  // of the answer before is not recorded either.
  CHECK(pauses == figure(4'955u - 77 - 13, "pauses"));
}

TEST_CASE("published agent blocks name prefixes, and belong to one session", "[traces]") {
  const auto trace = test::material("traces/kvcache_tester_agentic_0001-0080.jsonl.gz");
  const Workload w = open_trace(trace.path, {});
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> owner(w.unique_blocks(), kNone);
  std::vector<std::uint32_t> parent(w.unique_blocks(), kNone);
  std::uint64_t violations = 0;
  for (std::uint32_t i = 0; i < w.size(); ++i) {
    std::uint32_t before = kNone;
    for (const TraceBlockId id : w.chain(RequestId{i})) {
      if (owner[raw(id)] == kNone) {
        owner[raw(id)] = w.columns().session[i];
        parent[raw(id)] = before;
      }
      const bool same = owner[raw(id)] == w.columns().session[i] && parent[raw(id)] == before;
      violations += same ? 0 : 1;
      before = raw(id);
    }
  }
  CHECK(violations == 0);
}

TEST_CASE("a turn of an agent waits for the one before it and the recorded pause", "[traces]") {
  const Workload w = open_bytes_as_trace(
      session("a", request("0.0", ",\"api_time\":7.34,\"think_time\":0.0") + "," +
                       request("10.5", ",\"api_time\":2,\"think_time\":3.16")));
  REQUIRE(w.size() == 2);
  CHECK(w.block_tokens() == 4);
  CHECK(after_of(w, 0).empty());
  CHECK(w.think_ns(RequestId{0}) == kThinkUnknown);
  CHECK(after_of(w, 1) == Ids{0});
  CHECK(w.think_ns(RequestId{1}) == 3'160'000'000);
  CHECK(nanoseconds_of(w.arrival(RequestId{1})) == 10'500'000'000);
  CHECK(chain_of(w, 1) == Ids{0, 1});
}

TEST_CASE("sub-agents run beside one another, and the next turn waits for all", "[traces]") {
  // r0 [0, 2]. Agent A ended at 12 s after 9.5 s: from 2.5 s. Agent B ended at 11 s after 10 s,
  // which is before r0's answer: from 2 s. r1 at 15 s.
  const std::string a = agent("12", "9500",
                              request("0", ",\"api_time\":1,\"think_time\":0") + "," +
                                  request("4", ",\"api_time\":1,\"think_time\":2.5"));
  const std::string b = agent("11", "10000", request("0", ",\"api_time\":5,\"think_time\":0"));
  const std::string main0 = request("0", ",\"api_time\":2,\"think_time\":0");
  const std::string main1 = request("15", ",\"api_time\":3,\"think_time\":13");
  const Workload w = open_bytes_as_trace(session("s", main0 + "," + a + "," + b + "," + main1));
  REQUIRE(w.size() == 5);
  // In order of time: r0 at 0, B at 2, A at 2.5 and 6.5, r1 at 15.
  std::vector<double> arrivals;
  for (const std::int64_t ns : w.columns().arrival_ns) arrivals.push_back(seconds(ns));
  CHECK(arrivals == std::vector<double>{0, 2, 2.5, 6.5, 15});
  CHECK(after_of(w, 1) == Ids{0});
  CHECK(seconds(w.think_ns(RequestId{1})) == 0);
  CHECK(after_of(w, 2) == Ids{0});
  CHECK(seconds(w.think_ns(RequestId{2})) == 0.5);
  CHECK(after_of(w, 3) == Ids{2});
  CHECK(seconds(w.think_ns(RequestId{3})) == 2.5);
  // The latest of r0 (2), B (7) and A (7.5) is A; 15 - 7.5.
  CHECK(after_of(w, 4) == Ids{0, 1, 3});
  CHECK(seconds(w.think_ns(RequestId{4})) == 7.5);
  CHECK(values(w.columns().session) == Ids(5, 0));
  CHECK(w.unique_blocks() == 2);  // a sub-agent's ids are the session's
}

TEST_CASE("a turn that began before its sub-agent's recorded end has no pause", "[traces]") {
  const std::string main0 = request("0", ",\"api_time\":2,\"think_time\":0");
  const std::string long_agent = agent("12", "10000", request("0", ",\"api_time\":9"));
  const std::string main1 = request("10", ",\"api_time\":1,\"think_time\":8");
  const Workload w = open_bytes_as_trace(session("s", main0 + "," + long_agent + "," + main1));
  CHECK(w.think_ns(RequestId{2}) == 0);
}

TEST_CASE("the pause behind an answer without a recorded end is what the row says", "[traces]") {
  // The third row's 7 s count from the first answer's end: its own pause is shorter. The fourth
  // says nothing, and nothing follows from its time.
  const Workload w = open_bytes_as_trace(
      session("s", request("0", ",\"api_time\":2,\"think_time\":0") + "," +
                       request("5", ",\"think_time\":3") + "," + request("9", ",\"think_time\":7") +
                       "," + request("9.5", "")));
  CHECK(values(w.columns().think_ns) ==
        std::vector<std::int64_t>{kThinkUnknown, 3'000'000'000, 7'000'000'000, kThinkUnknown});
  CHECK(after_of(w, 2) == Ids{1});
}

TEST_CASE("a pause that is not recorded follows from the times", "[traces]") {
  const Workload w = open_bytes_as_trace(
      session("s", request("0", ",\"api_time\":2") + "," + request("5.25", "")));
  CHECK(w.think_ns(RequestId{1}) == 3'250'000'000);
}

TEST_CASE("sub-agents may stand first, last, or hold sub-agents of their own", "[traces]") {
  const std::string inner = agent("3", "1000", request("0", ",\"api_time\":1"));
  const std::string outer = agent("10", "5000", request("0", ",\"api_time\":1") + "," + inner);
  const Workload first = open_bytes_as_trace(session("s", outer));
  // The outer starts at 5 s, its request ends at 6; the inner starts 5 + 3 - 1 = 7 s in.
  CHECK(values(first.columns().arrival_ns) ==
        std::vector<std::int64_t>{5'000'000'000, 7'000'000'000});
  CHECK(after_of(first, 0).empty());
  CHECK(after_of(first, 1) == Ids{0});
  CHECK(first.think_ns(RequestId{1}) == 1'000'000'000);
  const Workload last =
      open_bytes_as_trace(session("s", request("0", ",\"api_time\":1") + "," + outer));
  CHECK(last.size() == 3);
  const Workload empty = open_bytes_as_trace(
      session("s", request("0", ",\"api_time\":1") + "," + agent("3", "1000", "") + "," +
                       request("5", ",\"api_time\":1,\"think_time\":4")));
  CHECK(after_of(empty, 1) == Ids{0});
}

TEST_CASE("equal ids in two sessions are different blocks, unless their scope is global",
          "[traces]") {
  const std::string one = request("0", "");
  CHECK(open_bytes_as_trace(session("a", one) + session("b", one)).unique_blocks() == 4);
  const std::string global = "\"hash_id_scope\":\"global\",";
  CHECK(
      open_bytes_as_trace(session("a", one, global) + session("b", one, global)).unique_blocks() ==
      2);
  CHECK(open_bytes_as_trace(session("a", one, "") + session("b", one, "")).unique_blocks() == 4);
}

TEST_CASE("sessions start one interval apart, which is said", "[traces]") {
  const std::string text = session("a", request("0", "")) + session("b", request("0", ""));
  const Workload usual = open_bytes_as_trace(text);
  CHECK(nanoseconds_of(usual.arrival(RequestId{1})) == 60'000'000'000);
  REQUIRE(usual.source().notes.size() == 1);
  CHECK_THAT(usual.source().notes[0], ContainsSubstring("session k starts at 60 s x k"));
  OpenOptions options;
  options.reader.session_interval_s = 0.25;
  CHECK(nanoseconds_of(open_bytes_as_trace(text, options).arrival(RequestId{1})) == 250'000'000);
  options.reader.session_interval_s = 0;
  CHECK(nanoseconds_of(open_bytes_as_trace(text, options).arrival(RequestId{1})) == 0);
}

TEST_CASE("only a trace without a clock takes a session interval", "[traces]") {
  OpenOptions options;
  options.reader.session_interval_s = 5;
  const InputError error = error_of([&] { open_bytes_as_trace(test::good_row(), options); });
  CHECK(error.fault() == Fault::kUsage);
  CHECK_THAT(error.what(), ContainsSubstring("a trace of format mooncake has a clock"));
}

TEST_CASE("the block size of agent sessions is the file's", "[traces]") {
  const std::string text = session("a", request("0", ""));
  CHECK(open_bytes_as_trace(text, blocks_of(4)).block_tokens() == 4);
  const InputError error = error_of([&] { open_bytes_as_trace(text, blocks_of(16)); });
  CHECK(error.fault() == Fault::kTrace);
  CHECK_THAT(error.what(), ContainsSubstring("the trace says 4 tokens, block_tokens 16"));
}

TEST_CASE("an answer of no tokens, and a prompt below one block, are agent requests too",
          "[traces]") {
  const Workload w = open_bytes_as_trace(
      session("a", "{\"t\":0,\"type\":\"s\",\"in\":3,\"out\":0,\"hash_ids\":[]}"));
  CHECK(w.output_tokens(RequestId{0}) == 1);
  CHECK(w.chain(RequestId{0}).empty());
}

TEST_CASE("a fault leaves its whole agent session out", "[traces]") {
  const std::string good = session("a", request("0", ""));
  const std::string bad = session("b", request("0", "") + "," + request("0", "", "[1]"));
  RowProblems problems;
  OpenOptions options;
  options.problems = &problems;
  const Workload w = open_bytes_as_trace(
      good + bad + session("c", request("0", "") + "," + request("5", "")), options);
  REQUIRE(problems.listed.size() == 1);
  CHECK(problems.listed[0].line == 2);
  CHECK(problems.listed[0].field == "requests[1].hash_ids");
  CHECK(w.size() == 3);
  CHECK(nanoseconds_of(w.arrival(RequestId{1})) == 60'000'000'000);
  CHECK(after_of(w, 2) == Ids{1});
}

TEST_CASE("an agent session may have a byte order mark and blank lines", "[traces]") {
  const std::string text = session("a", request("0", ""));
  CHECK(open_bytes_as_trace("\xef\xbb\xbf" + text + "\n\r\n").content_hash() ==
        open_bytes_as_trace(text).content_hash());
}

}  // namespace
}  // namespace spillway
