// Azure's traces: the 2023 file's published facts, both years' time stamps, and every faulty cell.
#include "traces/formats/azure_csv.hpp"

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

constexpr const char* kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

TEST_CASE("Azure's conversation trace of 2023 has its published facts", "[traces]") {
  const auto trace = test::material("traces/azure_llm_2023_conv.csv.gz");
  const test::Figures figure(trace, "azure");
  const Workload w = open_trace(trace.path, {});
  const TraceStats s = trace_stats(w);
  CHECK(s.requests == figure(19'366u, "requests"));
  CHECK(s.span_s == Approx(figure(3'502.0, "span_s")).margin(0.5));
  CHECK(s.sessions == 0);
  CHECK(s.infinite_hits == 0);  // no prefix identity, so none invented
  CHECK(s.references == s.unique_blocks);
  CHECK(w.source().format == "azure");
  CHECK(w.source().rows.read() == figure(19'366u, "requests"));
  CHECK(w.source().rows.dropped == 0);
  REQUIRE(w.source().notes.size() == 1);
  CHECK_THAT(w.source().notes[0], ContainsSubstring("no hits are invented"));
  // Its first rows, as its documentation shows them:
  // 18:15:46.6805900, 50.9951690 (4.314579 s later) and 51.2224670 (4.541877 s later).
  CHECK(values(w.columns().arrival_ns.first(3)) ==
        figure(std::vector<std::int64_t>{0, 4'314'579'000, 4'541'877'000}, "first_arrivals_ns"));
  CHECK(values(w.columns().input_tokens.first(3)) == figure(Ids{374, 396, 879}, "first_inputs"));
  CHECK(values(w.columns().output_tokens.first(3)) == figure(Ids{44, 109, 55}, "first_outputs"));
}

TEST_CASE("Azure rows are what their cells say, in both years' spelling", "[traces]") {
  const Workload w = open_bytes_as_trace(std::string(kHeader) +
                                         "2024-05-10 23:59:59.009930+00:00,2162,5\r\n"
                                         "2024-05-11 00:00:00+00:00,1,0\r\n\r\n"
                                         "2024-05-11 00:00:00.0000001,513,7");
  REQUIRE(w.size() == 3);
  CHECK(values(w.columns().arrival_ns) == std::vector<std::int64_t>{0, 990'070'000, 990'070'100});
  CHECK(values(w.columns().input_tokens) == Ids{2162, 1, 513});
  CHECK(values(w.columns().output_tokens) == Ids{5, 1, 7});  // a recorded 0 counts as 1
  CHECK(w.references() == 5 + 1 + 2);                        // blocks of 512
  CHECK_FALSE(w.has_sessions());
}

TEST_CASE("Azure's columns are found by name, and others are said to be ignored", "[traces]") {
  const Workload w = open_bytes_as_trace(
      "\xef\xbb\xbfNumImages,GeneratedTokens,\"TIMESTAMP\",ContextTokens\n"
      "2,7,2024-10-15 01:02:03,600\n");
  CHECK(w.input_tokens(RequestId{0}) == 600);
  CHECK(w.output_tokens(RequestId{0}) == 7);
  REQUIRE(w.source().notes.size() == 2);
  CHECK_THAT(w.source().notes[0], ContainsSubstring("ignored columns in"));
  CHECK_THAT(w.source().notes[0], ContainsSubstring(": NumImages"));
}

TEST_CASE("civil times are exact", "[traces]") {
  struct Case {
    std::string text;
    std::int64_t seconds;
    std::int32_t nanos;
  };
  const std::vector<Case> cases = {
      {"1970-01-01 00:00:00", 0, 0},
      {"1969-12-31 23:59:59.5", -1, 500'000'000},
      {"2000-02-29T12:00:00Z", 951'825'600, 0},
      {"2023-11-16 18:15:46.6805900", 1'700'158'546, 680'590'000},
      {"2024-02-29 00:00:00.000000001", 1'709'164'800, 1},
      {"2024-05-10 00:00:00.009930+00:00", 1'715'299'200, 9'930'000},
      {"2024-05-10 02:30:00+02:30", 1'715'299'200, 0},
      {"2024-05-09 17:00:00.123456789-07:00", 1'715'299'200, 123'456'789},
      {"2024-12-31 23:59:59", 1'735'689'599, 0},
      {"9999-12-31 23:59:59", 253'402'300'799, 0},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const auto at = parse_civil_time(c.text);
    REQUIRE(at.has_value());
    CHECK(at->seconds == c.seconds);
    CHECK(at->nanos == c.nanos);
  }
}

TEST_CASE("times that there are not", "[traces]") {
  const std::vector<std::string> texts = {"",
                                          "5",
                                          "nan",
                                          "2023-11-16",
                                          "2023-11-16 18:15",
                                          "2023-11-16 18:15:46.",
                                          "2023-11-16 18:15:46.1234567890",
                                          "2023-13-16 18:15:46",
                                          "2023-00-16 18:15:46",
                                          "2023-02-29 18:15:46",
                                          "2100-02-29 18:15:46",
                                          "2024-02-30 18:15:46",
                                          "2024-04-31 18:15:46",
                                          "2023-11-00 18:15:46",
                                          "2023-11-16 24:00:00",
                                          "2023-11-16 25:15:46",
                                          "2023-11-16 18:60:46",
                                          "2023-11-16 18:15:60",
                                          "0000-11-16 18:15:46",
                                          "-023-11-16 18:15:46",
                                          "2023-1-16 18:15:46",
                                          "2023/11/16 18:15:46",
                                          "2023-11-16 18.15.46",
                                          "2023-11-16  18:15:46",
                                          " 2023-11-16 18:15:46",
                                          "2023-11-16 18:15:46 ",
                                          "2023-11-16 +8:15:46",
                                          "2023-11-16 18:15:46+00",
                                          "2023-11-16 18:15:46+0000",
                                          "2023-11-16 18:15:46+24:00",
                                          "2023-11-16 18:15:46+00:60",
                                          "2023-11-16 18:15:46Z0",
                                          "2023-11-16 18:15:46 UTC",
                                          "1700158546680"};
  for (const std::string& text : texts) {
    INFO(text);
    CHECK_FALSE(parse_civil_time(text).has_value());
  }
}

TEST_CASE("malformed Azure rows", "[traces]") {
  struct Case {
    std::string row;
    std::string says;  ///< right behind "file:3: "
  };
  const std::string time = "2023-11-16 18:15:47,";
  const std::string when =
      "TIMESTAMP: expected a date and time like 2023-11-16 18:15:46.6805900, with up to nine "
      "decimals and perhaps an offset like +00:00, found ";
  const std::string range =
      "TIMESTAMP: expected a time from the first row's to 1157 days behind it, found ";
  const std::vector<Case> cases = {
      {time + "1", "expected 3 columns, found 2"},
      {time + "1,1,1", "expected 3 columns, found 4"},
      {"2023-11-16 18:15:47;1;1", "expected 3 columns, found 1"},
      {",1,1", when + "\"\""},
      {"47,1,1", when + "\"47\""},
      {"2023-02-30 18:15:47,1,1", when + "\"2023-02-30 18:15:47\""},
      {"2023-13-01 18:15:47,1,1", when + "\"2023-13-01 18:15:47\""},
      {"2023-11-16 25:15:47,1,1", when + "\"2023-11-16 25:15:47\""},
      {"2023-11-16 18:15:45,1,1", range + "\"2023-11-16 18:15:45\""},
      {"2023-11-16 18:15:45.999,1,1", range + "\"2023-11-16 18:15:45.999\""},
      {"2123-11-16 18:15:46,1,1", range + "\"2123-11-16 18:15:46\""},
      {time + "0,1", "ContextTokens: expected 1 to 16777216, found 0"},
      {time + ",1", "ContextTokens: expected a whole number, found \"\""},
      {time + "-1,1", "ContextTokens: expected a whole number, found \"-1\""},
      {time + "1.5,1", "ContextTokens: expected a whole number, found \"1.5\""},
      {time + "nan,1", "ContextTokens: expected a whole number, found \"nan\""},
      {time + "16777217,1", "ContextTokens: expected 1 to 16777216, found 16777217"},
      {time + "1,-1", "GeneratedTokens: expected a whole number, found \"-1\""},
      {time + "1,", "GeneratedTokens: expected a whole number, found \"\""},
      {time + "1,99999999999999999999",
       "GeneratedTokens: expected a whole number, found \"99999999999999999999\""},
      {"\"2023-11-16 18:15:47,1,1",
       "expected a quote at the end of cell 1, found none on this line"},
      {time + "\"1\"2,1", "expected a comma behind the quoted cell 2, found \"2,1\""},
  };
  for (const Case& c : cases) {
    const Scratch scratch;
    const std::string path =
        scratch.file("t.csv", std::string(kHeader) + "2023-11-16 18:15:46,1,1\n" + c.row + "\n");
    const InputError error = error_of([&] { open_trace(path, {}); });
    CHECK(error.fault() == Fault::kTrace);
    CHECK(error.what() == path + ":3: " + c.says);
  }
}

TEST_CASE("malformed Azure headers", "[traces]") {
  const auto says = [](const std::string& header) {
    const InputError error =
        error_of([&] { open_bytes_as_trace(header + "\n2023-11-16 18:15:46,1,1\n"); });
    CHECK(error.fault() == Fault::kTrace);
    return std::string(error.what());
  };
  CHECK_THAT(says("TIMESTAMP,ContextTokens"),
             ContainsSubstring("trace:1: header: missing column \"GeneratedTokens\""));
  CHECK_THAT(says("Timestamp,ContextTokens,GeneratedTokens"),
             ContainsSubstring("missing column \"TIMESTAMP\""));
  CHECK_THAT(says("TIMESTAMP,ContextTokens,ContextTokens,GeneratedTokens"),
             ContainsSubstring("two columns \"ContextTokens\""));
  CHECK_THAT(says("2023-11-16 18:15:46,374,44"), ContainsSubstring("no known trace format"));
}

TEST_CASE("Azure rows out of the order of time", "[traces]") {
  const InputError error = error_of([] {
    open_bytes_as_trace(std::string(kHeader) +
                        "2023-11-16 18:15:46,1,1\n2023-11-16 18:15:48,1,1\n"
                        "2023-11-16 18:15:47.75,1,1\n");
  });
  CHECK_THAT(error.what(), ContainsSubstring("trace:4: timestamp: arrives 250 ms before"));
}

TEST_CASE("an offset counts in the order of Azure rows", "[traces]") {
  const Workload w = open_bytes_as_trace(std::string(kHeader) +
                                         "2024-05-10 12:00:00+02:00,1,1\n"
                                         "2024-05-10 10:00:01,1,1\n");
  CHECK(values(w.columns().arrival_ns) == std::vector<std::int64_t>{0, 1'000'000'000});
}

}  // namespace
}  // namespace spillway
