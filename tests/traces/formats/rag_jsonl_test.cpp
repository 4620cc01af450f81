// Prompts of segments: the published file's facts, and blocks cut by hand.
#include "traces/formats/rag_jsonl.hpp"

#include <vector>

#include "tests/traces/trace_text.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::chain_of;
using test::open_bytes_as_trace;
using test::values;
using Ids = std::vector<std::uint32_t>;

std::string rag(std::string_view timestamp, int input, std::string_view segments,
                std::string_view session = "\"s\"") {
  return fmt::format(
      "{{\"timestamp\":{},\"input_length\":{},\"output_length\":5,\"session_id\":{},\"segments\":{}"
      "}}\n",
      timestamp, input, session, segments);
}

TEST_CASE("the published RAG trace has its published facts", "[traces]") {
  const auto trace = test::material("traces/ragpulse_days1-4.jsonl.gz");
  const test::Figures figure(trace, "retrieval");
  const Workload w = open_trace(trace.path, {});
  const TraceStats s = trace_stats(w);
  CHECK(w.source().format == "rag");
  CHECK(s.requests == figure(4'354u, "requests"));
  CHECK(s.sessions == figure(2'439u, "sessions"));
  CHECK(s.span_s == Approx(figure(345'577, "span_s")).margin(0.5));
  CHECK(s.block_tokens == 16);
  CHECK(s.input_tokens.total == figure(12'728'210u, "input_tokens"));
  std::uint64_t blocks = 0;
  for (const std::uint32_t tokens : w.columns().input_tokens) blocks += (tokens + 15) / 16;
  CHECK(s.references == blocks);
  // Reuse by tokens of segments, and the one place where the clock starts again.
  REQUIRE(w.source().notes.size() == 2);
  const auto share = [&](const char* published, const char* name) {
    return figure(std::string(published), name);
  };
  CHECK_THAT(w.source().notes[0], ContainsSubstring(share("31.6%", "prefix_percent") +
                                                    " of the segments' tokens repeat the begin"));
  CHECK_THAT(w.source().notes[0], ContainsSubstring("; " + share("70.2%", "content_percent") +
                                                    " repeat a content seen before"));
  CHECK_THAT(w.source().notes[1], ContainsSubstring("time steps back in 1 place)"));
  CHECK(w.source().rows.reordered == figure(1'816u, "reordered"));
  // Blocks find a little less than tokens do: what begins inside a block is lost.
  if (trace.published) {
    CHECK(s.infinite_hit_ratio > 0.31);
    CHECK(s.infinite_hit_ratio < 0.317);
  } else {
    CHECK(s.infinite_hits == figure(s.infinite_hits, "infinite_hits"));
  }
}

TEST_CASE("segments are cut into blocks named by all that stands before", "[traces]") {
  const std::string both = "[[1,4],[2,6],[3,4]]";
  const Workload w = open_bytes_as_trace(rag("0", 12, "[[1,4],[2,6]]") + rag("1", 14, both) +
                                             rag("2", 6, "[[2,6]]") + rag("3", 14, both) +
                                             rag("4", 12, "[[1,4],[2,6]]"),
                                         blocks_of(4));
  CHECK(chain_of(w, 0) == Ids{0, 1, 2});     // 1 | 2 | 2 and two tokens of a template
  CHECK(chain_of(w, 1) == Ids{0, 1, 3, 4});  // 1 | 2 | 2 and 3 | half a block of 3
  CHECK(chain_of(w, 2) == Ids{5, 6});        // content 2 again, but at the beginning
  CHECK(chain_of(w, 3) == Ids{0, 1, 3, 4});  // the same prompt, to its last token
  CHECK(chain_of(w, 4) == Ids{0, 1, 7});     // templates are a request's own
  // Of 10 + 14 + 6 + 14 + 10 tokens, 10 + 14 + 10 repeat a beginning and 10 + 6 + 14 + 10 a
  // content.
  REQUIRE(w.source().notes.size() == 1);
  CHECK_THAT(w.source().notes[0], ContainsSubstring("63.0% of the segments' tokens"));
  CHECK_THAT(w.source().notes[0], ContainsSubstring("; 74.1% repeat"));
}

TEST_CASE("where segments meet does not matter within a content's own tokens", "[traces]") {
  // The same contents in blocks of 1 token: a prefix is shared to the token.
  const Workload w = open_bytes_as_trace(
      rag("0", 5, "[[1,3],[2,2]]") + rag("0", 5, "[[1,3],[4,2]]"), blocks_of(1));
  CHECK(chain_of(w, 0) == Ids{0, 1, 2, 3, 4});
  CHECK(chain_of(w, 1) == Ids{0, 1, 2, 5, 6});
}

TEST_CASE("RAG times count seconds and sessions link turns", "[traces]") {
  const Workload w = open_bytes_as_trace(rag("82", 1, "[]", "\"x\"") + rag("82.5", 1, "[]", "7") +
                                         rag("90", 1, "[]", "\"x\""));
  CHECK(values(w.columns().arrival_ns) ==
        std::vector<std::int64_t>{82'000'000'000, 82'500'000'000, 90'000'000'000});
  CHECK(values(w.columns().session) == Ids{0, 1, 0});
  REQUIRE(w.after(RequestId{2}).size() == 1);
  CHECK(raw(w.after(RequestId{2})[0]) == 0);
  CHECK(w.unique_blocks() == 3);  // a prompt of no segments shares nothing
}

TEST_CASE("RAG rows out of order are put in order, and said", "[traces]") {
  const Workload w =
      open_bytes_as_trace(rag("5", 4, "[[1,4]]") + rag("3", 8, "[[1,4]]") + rag("6", 4, "[[1,4]]"));
  CHECK(values(w.columns().input_tokens) == Ids{8, 4, 4});
  CHECK(w.source().rows.reordered == 1);
  CHECK_THAT(w.source().notes.back(), ContainsSubstring("1 of 3 rows of"));
}

}  // namespace
}  // namespace spillway
