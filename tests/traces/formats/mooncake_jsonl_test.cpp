// Mooncake's format: a real trace's published facts, and every liberty a valid row may take.
#include "traces/formats/mooncake_jsonl.hpp"

#include <algorithm>
#include <vector>

#include "tests/traces/trace_text.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::chain_of;
using test::good_row;
using test::open_bytes_as_trace;
using test::row;
using test::values;
using Ids = std::vector<std::uint32_t>;

TEST_CASE("the FAST'25 conversation trace has its published facts", "[traces]") {
  const auto trace = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const test::Figures figure(trace, "conversation");
  const Workload w = open_trace(trace.path, {});
  const TraceStats s = trace_stats(w);
  CHECK(s.requests == figure(12'031u, "requests"));
  CHECK(s.input_tokens.total == figure(144'793'823u, "input_tokens"));
  CHECK(s.output_tokens.total == figure(4'122'048u, "output_tokens"));
  CHECK(s.references == figure(288'500u, "references"));
  CHECK(s.unique_blocks == figure(182'790u, "unique_blocks"));
  CHECK(s.infinite_hits == figure(105'710u, "infinite_hits"));
  CHECK(s.infinite_hit_ratio == Approx(figure(0.3664, "hit_ratio")).margin(0.00005));
  CHECK(s.distinct_arrival_times == figure(1'180u, "distinct_arrival_times"));
  CHECK(s.span_s == Approx(figure(3537.0, "span_s")).margin(0.5));
  CHECK(s.sessions == 0);
  CHECK(w.source().format == "mooncake");
  CHECK(w.source().notes.empty());

  // Its first rows, as its documentation shows them; its ids are dense by first use already.
  CHECK(w.input_tokens(RequestId{0}) == figure(6758u, "first_input"));
  CHECK(w.output_tokens(RequestId{1}) == figure(490u, "second_output"));
  CHECK(chain_of(w, 1) ==
        figure(Ids{0, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27}, "second_chain"));

  // An id always has the same parent, no id repeats inside a request, block 0 is everywhere.
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> parent(w.unique_blocks(), kNone - 1);
  std::vector<std::uint32_t> last(w.unique_blocks(), kNone);
  std::uint32_t violations = 0;
  for (std::uint32_t r = 0; r < w.size(); ++r) {
    std::uint32_t before = kNone;
    violations += raw(w.chain(RequestId{r}).front()) == 0 ? 0 : 1;
    for (const TraceBlockId id : w.chain(RequestId{r})) {
      if (parent[raw(id)] == kNone - 1) parent[raw(id)] = before;
      violations += parent[raw(id)] == before && last[raw(id)] != r ? 0 : 1;
      last[raw(id)] = r;
      before = raw(id);
    }
  }
  CHECK(violations == 0);
}

TEST_CASE("a row is what it says", "[traces]") {
  const Workload w =
      open_bytes_as_trace(row("0", "600", "5", "[40, 41]") + row("1250", "513", "7", "[40, 42]"));
  REQUIRE(w.size() == 2);
  CHECK(nanoseconds_of(w.arrival(RequestId{0})) == 0);
  CHECK(nanoseconds_of(w.arrival(RequestId{1})) == 1'250'000'000);
  CHECK(w.input_tokens(RequestId{1}) == 513);
  CHECK(w.output_tokens(RequestId{1}) == 7);
  CHECK(chain_of(w, 0) == Ids{0, 1});
  CHECK(chain_of(w, 1) == Ids{0, 2});
  CHECK_FALSE(w.has_sessions());
}

TEST_CASE("keys may come in any order and with any spacing", "[traces]") {
  const Workload w = open_bytes_as_trace(
      "\t{ \"hash_ids\" :[ 1 ,2 ] , \"output_length\":5,\"input_length\":600,\"timestamp\":3 }  "
      "\n");
  CHECK(w.content_hash() == open_bytes_as_trace(good_row("3")).content_hash());
}

TEST_CASE("JSON lines tolerate CRLF, a byte order mark, blank lines and no last newline",
          "[traces]") {
  const std::string plain = good_row("0") + good_row("1") + good_row("2");
  std::string odd = "\xef\xbb\xbf" + plain;
  odd.replace(odd.find('\n'), 1, "\r\n\r\n \t\n\n");
  odd.pop_back();
  CHECK(open_bytes_as_trace(odd).content_hash() == open_bytes_as_trace(plain).content_hash());
}

TEST_CASE("fractions of a millisecond count to the nanosecond", "[traces]") {
  const Workload w = open_bytes_as_trace(good_row("0.000001") + good_row("0.29") +
                                         good_row("1.5e3") + good_row("86400000.123456"));
  CHECK(values(w.columns().arrival_ns) ==
        std::vector<std::int64_t>{1, 290'000, 1'500'000'000, 86'400'000'123'456});
}

TEST_CASE("what is finer than a nanosecond is rounded down", "[traces]") {
  const Workload w = open_bytes_as_trace(good_row("1.0000009"));
  CHECK(nanoseconds_of(w.arrival(RequestId{0})) == 1'000'000);
}

TEST_CASE("minus zero is zero", "[traces]") {
  const std::string timestamp = GENERATE("-0", "-0.0", "-0e5");
  const Workload w = open_bytes_as_trace(good_row(timestamp));
  CHECK(nanoseconds_of(w.arrival(RequestId{0})) == 0);
}

TEST_CASE("the limits themselves are allowed", "[traces]") {
  // 2^24 tokens, in blocks of 2^16: 256 ids; 10^10 ms is the last arrival.
  std::string ids = "[0";
  for (int i = 1; i < 256; ++i) ids += fmt::format(",{}", i);
  const Workload w =
      open_bytes_as_trace(row("100000000000", "16777216", "16777216", ids + "]"), blocks_of(65536));
  CHECK(w.input_tokens(RequestId{0}) == 16'777'216);
  CHECK(nanoseconds_of(w.arrival(RequestId{0})) == kMaxArrivalNs);
}

TEST_CASE("an answer of no tokens counts as one", "[traces]") {
  CHECK(open_bytes_as_trace(row("0", "1", "0", "[1]")).output_tokens(RequestId{0}) == 1);
}

TEST_CASE("block ids are 64-bit numbers, not doubles", "[traces]") {
  // 2^53 and 2^53 + 1 are one double; 2^64 - 1 needs every bit.
  const Workload w = open_bytes_as_trace(
      row("0", "2048", "1", "[9007199254740992, 9007199254740993, 18446744073709551615, 0]"));
  CHECK(chain_of(w, 0) == Ids{0, 1, 2, 3});
}

TEST_CASE("ids are names: their values do not matter", "[traces]") {
  const std::string small = row("0", "1024", "1", "[0, 1]") + row("1", "1024", "1", "[0, 2]");
  const std::string large = row("0", "1024", "1", "[9007199254740993, 7]") +
                            row("1", "1024", "1", "[9007199254740993, 18446744073709551615]");
  CHECK(open_bytes_as_trace(small).content_hash() == open_bytes_as_trace(large).content_hash());
}

TEST_CASE("a list of a million ids is valid", "[traces]") {
  // 16,000,000 tokens in blocks of 16.
  std::string ids = "[0";
  for (int i = 1; i < 1'000'000; ++i) ids += fmt::format(",{}", i);
  const Workload w = open_bytes_as_trace(row("0", "16000000", "1", ids + "]"), blocks_of(16));
  CHECK(w.references() == 1'000'000);
  CHECK(w.unique_blocks() == 1'000'000);
  CHECK(raw(w.chain(RequestId{0}).back()) == 999'999);
}

TEST_CASE("the block size may differ from Mooncake's", "[traces]") {
  const Workload w = open_bytes_as_trace(row("0", "40", "1", "[1, 2, 3]"), blocks_of(16));
  CHECK(w.block_tokens() == 16);
  CHECK(w.references() == 3);
}

std::string session_row(std::string_view session) {
  return fmt::format(
      "{{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1]{}{}}}\n",
      session.empty() ? "" : ",\"session_id\":", session);
}

TEST_CASE("sessions may be numbers or strings", "[traces]") {
  const Workload w = open_bytes_as_trace(session_row("\"chat-a\"") + session_row("7") +
                                         session_row("\"chat-b\"") + session_row("\"chat-a\"") +
                                         session_row("7") + session_row("18446744073709551615"));
  CHECK(values(w.columns().session) == Ids{0, 1, 2, 0, 1, 3});
}

TEST_CASE("the string \"7\" and the number 7 are different sessions", "[traces]") {
  const Workload w = open_bytes_as_trace(session_row("\"7\"") + session_row("7"));
  CHECK(values(w.columns().session) == Ids{0, 1});
}

TEST_CASE("rows without a session among rows with one stand alone", "[traces]") {
  const Workload w =
      open_bytes_as_trace(session_row("") + session_row("7") + session_row("") + session_row("7"));
  CHECK(values(w.columns().session) == Ids{0, 1, 2, 1});
}

TEST_CASE("unknown keys are ignored, and said once", "[traces]") {
  const test::Scratch scratch;
  const std::string line =
      "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1],"
      "\"type\":\"chat\",\"nested\":{\"timestamp\":[9]}}\n";
  const std::string path = scratch.file("t.jsonl", line + line);
  const Workload w = open_trace(path, {});
  CHECK(w.size() == 2);
  CHECK(nanoseconds_of(w.arrival(RequestId{0})) == 0);  // a key inside another is not ours
  CHECK(w.source().notes == std::vector<std::string>{"ignored keys in " + path + ": nested, type"});
}

TEST_CASE("any number of unknown keys takes bounded memory", "[traces]") {
  std::string text = good_row();
  for (int i = 0; i < 100; ++i) {
    text += fmt::format(
        "{{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1],\"k{}\":0}}\n",
        i);
  }
  const Workload w = open_bytes_as_trace(text);
  REQUIRE(w.source().notes.size() == 1);
  CHECK(std::count(w.source().notes[0].begin(), w.source().notes[0].end(), ',') == 15);  // 16 keys
}

TEST_CASE("an escaped key is the key it spells", "[traces]") {
  const Workload w = open_bytes_as_trace(
      good_row() +
      "{\"time\\u0073tamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1]}\n");
  CHECK(w.size() == 2);
}

TEST_CASE("only the first rows are read when a limit is set", "[traces]") {
  OpenOptions options;
  options.limit = 2;
  // The third row is broken, which nobody asked to read.
  const Workload w = open_bytes_as_trace(good_row("0") + good_row("1") + "broken\n", options);
  CHECK(w.size() == 2);
}

TEST_CASE("mooncake is recognised by two of its keys", "[traces]") {
  CHECK(looks_like_mooncake(good_row()));
  CHECK_FALSE(looks_like_mooncake("{\"hash_ids\": [1]}"));
  CHECK_FALSE(looks_like_mooncake("timestamp_ms,input_length,output_length,hash_ids"));
}

}  // namespace
}  // namespace spillway
