// BurstGPT: the first rows' published facts, the three sets of columns, and every faulty cell.
#include "traces/formats/burstgpt_csv.hpp"

#include <string>
#include <vector>

#include "tests/traces/trace_text.hpp"
#include "traces/stats/trace_stats.hpp"

namespace spillway {
namespace {

using test::error_of;
using test::open_bytes_as_trace;
using test::Scratch;
using test::values;
using Ids = std::vector<std::uint32_t>;

const std::string kFirst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
const std::string kThird =
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
    "Type\n";

TEST_CASE("the head of BurstGPT_1 has its published facts", "[traces]") {
  const auto trace = test::material("traces/burstgpt_1_head400.csv.gz");
  const test::Figures figure(trace, "burst");
  const Workload w = open_trace(trace.path, {});
  const TraceStats s = trace_stats(w);
  CHECK(w.source().format == "burstgpt");
  CHECK(w.source().rows.read() == figure(400u, "rows"));
  CHECK(w.source().rows.dropped == figure(17u, "failures"));
  CHECK(s.requests == figure(383u, "requests"));
  CHECK(s.span_s == Approx(figure(37'269, "span_s")).margin(1e-9));
  CHECK(s.sessions == 0);
  CHECK(s.infinite_hits == 0);
  REQUIRE(w.source().notes.size() == 2);
  CHECK_THAT(w.source().notes[0],
             ContainsSubstring(fmt::format("{} rows of", figure(17, "failures"))));
  CHECK_THAT(w.source().notes[0], ContainsSubstring("are recorded failures"));
  CHECK_THAT(w.source().notes[1], ContainsSubstring("no hits are invented"));
  // Its first rows, as its documentation shows them; seconds from midnight of day one.
  CHECK(values(w.columns().arrival_ns.first(3)) ==
        figure(std::vector<std::int64_t>{5'000'000'000, 45'000'000'000, 118'000'000'000},
               "first_arrivals_ns"));
  CHECK(values(w.columns().input_tokens.first(3)) == figure(Ids{472, 1087, 417}, "first_inputs"));
  CHECK(values(w.columns().output_tokens.first(3)) == figure(Ids{18, 230, 276}, "first_outputs"));
}

TEST_CASE("the third part of BurstGPT names sessions, except for the API's rows", "[traces]") {
  const Workload w = open_bytes_as_trace(
      kThird +
      "19440110.0,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,43,GPT-4,906,446,1352,Conversation log\n"
      "19440161.0,,2,ChatGPT,36,29,65,API log\n"
      "19440192.25,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,8,GPT-4,1779,123,1902,Conversation log\n"
      "19440254.0,,3,ChatGPT,935,178,1113,API log\n");
  REQUIRE(w.size() == 4);
  CHECK(values(w.columns().arrival_ns) ==
        std::vector<std::int64_t>{19'440'110'000'000'000, 19'440'161'000'000'000,
                                  19'440'192'250'000'000, 19'440'254'000'000'000});
  CHECK(values(w.columns().session) == Ids{0, 1, 0, 2});
  CHECK(values(w.columns().input_tokens) == Ids{906, 36, 1779, 935});
  CHECK(values(w.after(RequestId{2})) == std::vector<RequestId>{RequestId{0}});
  CHECK(w.source().rows.dropped == 0);
  REQUIRE(w.source().notes.size() == 1);
}

TEST_CASE("the last second of BurstGPT's 121 days is exact", "[traces]") {
  // 121 days are 10,454,400 s.
  const Workload w = open_bytes_as_trace(kFirst + "10454399.999999999,GPT-4,1,1,2,API log\n");
  CHECK(nanoseconds_of(w.arrival(RequestId{0})) == 10'454'399'999'999'999);
}

TEST_CASE("columns of BurstGPT are found by name in any order", "[traces]") {
  const Workload w = open_bytes_as_trace(
      "Log Type,Response tokens,Request tokens,Timestamp,Colour\nAPI log,7,600,5,red\n");
  CHECK(w.input_tokens(RequestId{0}) == 600);
  CHECK(w.output_tokens(RequestId{0}) == 7);
  CHECK(nanoseconds_of(w.arrival(RequestId{0})) == 5'000'000'000);
  CHECK_THAT(w.source().notes[0], ContainsSubstring(": Colour"));
}

TEST_CASE("a row without response tokens is a failure, whatever it asked", "[traces]") {
  const Workload w = open_bytes_as_trace(kFirst +
                                         "1,ChatGPT,0,0,0,Conversation log\n"
                                         "2,ChatGPT,10,1,11,Conversation log\n"
                                         "3,ChatGPT,900,0,900,API log\n");
  CHECK(w.size() == 1);
  CHECK(w.source().rows.kept == 1);
  CHECK(w.source().rows.dropped == 2);
  CHECK(w.source().rows.read() == 3);
  CHECK_THAT(w.source().notes[0], ContainsSubstring("2 rows of"));
}

TEST_CASE("failures alone are no trace", "[traces]") {
  const InputError error =
      error_of([] { open_bytes_as_trace(kFirst + "1,ChatGPT,0,0,0,Conversation log\n"); });
  CHECK(error.fault() == Fault::kTrace);
  CHECK_THAT(error.what(), ContainsSubstring("no requests"));
}

TEST_CASE("a limit counts requests, not failures", "[traces]") {
  OpenOptions options;
  options.limit = 2;
  const Workload w = open_bytes_as_trace(kFirst +
                                             "1,A,1,1,2,API log\n2,A,0,0,0,API log\n"
                                             "3,A,1,1,2,API log\n4,A,1,1,2,API log\n",
                                         options);
  CHECK(w.size() == 2);
  CHECK(w.source().rows.dropped == 1);
}

TEST_CASE("malformed BurstGPT rows", "[traces]") {
  struct Case {
    std::string row;
    std::string says;  ///< right behind "file:3: "
  };
  const std::string s = "Timestamp: expected seconds from 0 to 100000000, found ";
  const std::string in = "Request tokens: expected ";
  const std::string out = "Response tokens: expected ";
  const std::vector<Case> cases = {
      {"5,A,1,1,2", "expected 6 columns, found 5"},
      {"5,A,1,1,2,API,log", "expected 6 columns, found 7"},
      {"5,\"A,1,1,2,API log", "expected a quote at the end of cell 2, found none on this line"},
      {",A,1,1,2,API log", s + "\"\""},
      {"nan,A,1,1,2,API log", s + "\"nan\""},
      {"-1,A,1,1,2,API log", s + "\"-1\""},
      {"1e9,A,1,1,2,API log", s + "\"1e9\""},
      {"2023-11-16 18:15:46,A,1,1,2,API log", s + "\"2023-11-16 18:15:46\""},
      {"5,A,0,1,1,API log", in + "1 to 16777216, found 0"},
      {"5,A,-1,1,0,API log", in + "a whole number, found \"-1\""},
      {"5,A,,1,1,API log", in + "a whole number, found \"\""},
      {"5,A,x,0,1,API log", in + "a whole number, found \"x\""},
      {"5,A,16777217,0,1,API log", in + "0 to 16777216, found 16777217"},
      {"5,A,1,,1,API log", out + "a whole number, found \"\""},
      {"5,A,1,1.0,2,API log", out + "a whole number, found \"1.0\""},
      {"5,A,1,16777217,2,API log", out + "0 to 16777216, found 16777217"},
      {"5,A,1,18446744073709551616,2,API log",
       out + "a whole number, found \"18446744073709551616\""},
      {"3,A,1,1,2,API log",
       "timestamp: arrives 1000 ms before the row above; expected rows in order of time"},
  };
  for (const Case& c : cases) {
    const Scratch scratch;
    const std::string path = scratch.file("t.csv", kFirst + "4,A,1,1,2,API log\n" + c.row + "\n");
    const InputError error = error_of([&] { open_trace(path, {}); });
    CHECK(error.fault() == Fault::kTrace);
    CHECK(error.what() == path + ":3: " + c.says);
  }
}

TEST_CASE("malformed BurstGPT headers", "[traces]") {
  const auto says = [](const std::string& header) {
    const InputError error = error_of([&] { open_bytes_as_trace(header + "\n5,1,1\n"); });
    CHECK(error.fault() == Fault::kTrace);
    return std::string(error.what());
  };
  CHECK_THAT(says("Timestamp,Model,Request tokens"),
             ContainsSubstring("trace:1: header: missing column \"Response tokens\""));
  CHECK_THAT(says("Model,Request tokens,Response tokens"),
             ContainsSubstring("missing column \"Timestamp\""));
  CHECK_THAT(says("Timestamp,Request tokens,Response tokens,Timestamp"),
             ContainsSubstring("two columns \"Timestamp\""));
  CHECK_THAT(says("Timestamp,\"Request tokens,Response tokens"),
             ContainsSubstring("trace:1: expected a quote at the end of cell 2"));
}

}  // namespace
}  // namespace spillway
