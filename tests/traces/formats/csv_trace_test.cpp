// Our own CSV: columns by name, and every malformed cell named by file, line and column.
#include "traces/formats/csv_trace.hpp"

#include <string>
#include <vector>

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::chain_of;
using test::error_of;
using test::open_bytes_as_trace;
using test::Scratch;
using test::values;
using namespace std::string_literals;
using Ids = std::vector<std::uint32_t>;

constexpr const char* kHeader = "timestamp_ms,input_length,output_length,session_id,hash_ids\n";

Workload open_rows(const std::string& rows) {
  return open_bytes_as_trace(kHeader + rows);
}

TEST_CASE("a CSV trace is what its cells say", "[traces]") {
  const Workload w = open_rows("0,1024,100,7,12 13\n2.5,600,0,9,12 14\n3,1,1,7,5\n");
  REQUIRE(w.size() == 3);
  CHECK(w.source().format == "csv");
  CHECK(values(w.columns().arrival_ns) == std::vector<std::int64_t>{0, 2'500'000, 3'000'000});
  CHECK(values(w.columns().input_tokens) == Ids{1024, 600, 1});
  CHECK(values(w.columns().output_tokens) == Ids{100, 1, 1});  // a recorded 0 counts as 1
  CHECK(values(w.columns().session) == Ids{0, 1, 0});
  CHECK(chain_of(w, 0) == Ids{0, 1});
  CHECK(chain_of(w, 1) == Ids{0, 2});
  CHECK(chain_of(w, 2) == Ids{3});
}

TEST_CASE("columns are found by name in any order", "[traces]") {
  const Workload w = open_bytes_as_trace(
      "hash_ids,output_length,session_id,timestamp_ms,input_length\n12 13,100,7,0,1024\n");
  CHECK(w.content_hash() == open_rows("0,1024,100,7,12 13\n").content_hash());
}

TEST_CASE("the session column is optional, and so are its cells", "[traces]") {
  const std::string bare = "timestamp_ms,input_length,output_length,hash_ids\n";
  CHECK_FALSE(open_bytes_as_trace(bare + "0,1,1,5\n").has_sessions());
  CHECK_FALSE(open_rows("0,1,1,,5\n").has_sessions());
  CHECK(values(open_rows("0,1,1,,5\n0,1,1,3,5\n0,1,1,,5\n").columns().session) == Ids{0, 1, 2});
}

TEST_CASE("tenants and think times are optional, and so are their cells", "[traces]") {
  const std::string more =
      "timestamp_ms,input_length,output_length,session_id,tenant,think_ms,hash_ids\n";
  const Workload w =
      open_bytes_as_trace(more + "0,1,1,7,red,,5\n1,1,1,7,,2.5,5\n2,1,1,7,\"a, \"\"b\"\"\",0,5\n");
  CHECK(w.source().tenants == std::vector<std::string>{"red", "", "a, \"b\""});
  CHECK(values(w.columns().tenant) == Ids{0, 1, 2});
  CHECK(values(w.columns().think_ns) == std::vector<std::int64_t>{-1, 2'500'000, 0});
  const Workload none = open_bytes_as_trace(more + "0,1,1,7,,,5\n");
  CHECK(none.columns().tenant.empty());
  CHECK(none.columns().think_ns.empty());
}

TEST_CASE("CSV cells may be quoted", "[traces]") {
  const Workload w = open_bytes_as_trace(
      "\"timestamp_ms\",\"input_length\",output_length,\"session_id\",\"hash_ids\"\r\n"
      "\"0\",\"1024\",100,\"7\",\"12 13\"\r\n1,1,\"1\",\"\",\"12\"");
  CHECK(w.content_hash() == open_rows("0,1024,100,7,12 13\n1,1,1,,12\n").content_hash());
}

TEST_CASE("a CSV trace without block ids says nothing about reuse", "[traces]") {
  const Workload w = open_bytes_as_trace(
      "timestamp_ms,input_length,output_length\n0,600,1\n0,600,1\n", blocks_of(256));
  CHECK(chain_of(w, 0) == Ids{0, 1, 2});
  CHECK(chain_of(w, 1) == Ids{3, 4, 5});
  REQUIRE(w.source().notes.size() == 1);
  CHECK_THAT(w.source().notes[0], ContainsSubstring("no hits are invented"));
}

TEST_CASE("a last, partial block of a CSV trace may be left out", "[traces]") {
  const Workload w = open_rows("0,600,1,7,12\n1,500,1,7,\n2,600,1,7,12 13\n");
  CHECK(chain_of(w, 0) == Ids{0});
  CHECK(chain_of(w, 1) == Ids{});
  CHECK(chain_of(w, 2) == Ids{0, 1});
  CHECK(w.source().notes.empty());
}

TEST_CASE("CSV tolerates CRLF, a byte order mark, blank lines and no last newline", "[traces]") {
  const Workload odd = open_bytes_as_trace(
      "\xef\xbb\xbf"
      "timestamp_ms,input_length,output_length,session_id,hash_ids\r\n"
      "0,1024,100,7,12 13\r\n\r\n1,1,1,7,12");
  CHECK(odd.content_hash() == open_rows("0,1024,100,7,12 13\n1,1,1,7,12\n").content_hash());
}

TEST_CASE("numbers use all their bits", "[traces]") {
  const Workload w = open_bytes_as_trace(
      kHeader + "0,40,1,18446744073709551615,9007199254740992 9007199254740993 "s +
          "18446744073709551615\n86400000.123456,1,1,0,9007199254740993\n",
      blocks_of(16));
  CHECK(chain_of(w, 0) == Ids{0, 1, 2});
  CHECK(chain_of(w, 1) == Ids{1});
  CHECK(nanoseconds_of(w.arrival(RequestId{1})) == 86'400'000'123'456);
}

TEST_CASE("malformed CSV headers", "[traces]") {
  const auto says = [](const std::string& header) {
    const InputError error = error_of([&] { open_bytes_as_trace(header + "\n0,1,1,5\n"); });
    CHECK(error.fault() == Fault::kTrace);
    return std::string(error.what());
  };
  CHECK_THAT(says("timestamp_ms,input_length,hash_ids"),
             ContainsSubstring("trace:1: header: missing column \"output_length\""));
  CHECK_THAT(says("input_length,output_length,hash_ids"),
             ContainsSubstring("trace:1: header: missing column \"timestamp_ms\""));
  CHECK_THAT(says("timestamp_ms,input_length,input_length,output_length,hash_ids"),
             ContainsSubstring("trace:1: header: two columns \"input_length\""));
  CHECK_THAT(says("timestamp_ms,input_length,output_length,hash_ids,colour"),
             ContainsSubstring("trace:1: header: unknown column \"colour\"; expected timestamp_ms, "
                               "input_length, output_length, session_id, tenant, think_ms, "
                               "hash_ids"));
  CHECK_THAT(says("timestamp_ms,input_length,output_length,hash_ids,"),
             ContainsSubstring("unknown column \"\""));
  CHECK_THAT(says("timestamp_ms, input_length,output_length,hash_ids"),
             ContainsSubstring("unknown column \" input_length\""));
  CHECK_THAT(says("timestamp_ms;input_length;output_length;hash_ids"),
             ContainsSubstring("no known trace format"));
}

TEST_CASE("malformed CSV rows", "[traces]") {
  struct Case {
    std::string row;
    std::string says;  ///< right behind "file:3: "
  };
  const std::string ms = "timestamp_ms: expected milliseconds from 0 to 100000000000, found ";
  const std::string in = "input_length: expected ";
  const std::string out = "output_length: expected ";
  const std::string ids = "hash_ids: expected ";
  const std::vector<Case> cases = {
      {"1,1,1,7", "expected 5 columns, found 4"},
      {"1,1,1,7,5,9", "expected 5 columns, found 6"},
      {"text", "expected 5 columns, found 1"},
      {" ", "expected 5 columns, found 1"},
      {",1,1,7,5", ms + "\"\""},
      {"x,1,1,7,5", ms + "\"x\""},
      {"-1,1,1,7,5", ms + "\"-1\""},
      {"-0.001,1,1,7,5", ms + "\"-0.001\""},
      {"nan,1,1,7,5", ms + "\"nan\""},
      {"inf,1,1,7,5", ms + "\"inf\""},
      {"1e400,1,1,7,5", ms + "\"1e400\""},
      {"100000000001,1,1,7,5", ms + "\"100000000001\""},
      {"9223372036854775808,1,1,7,5", ms + "\"9223372036854775808\""},
      {" 1,1,1,7,5", ms + "\" 1\""},
      {"1 ,1,1,7,5", ms + "\"1 \""},
      {"\" 1\",1,1,7,5", ms + "\" 1\""},
      {"1\"\",1,1,7,5", ms + "\"1\"\"\""},
      {"\"1,1,1,7,5", "expected a quote at the end of cell 1, found none on this line"},
      {"1,1,1,7,\"5", "expected a quote at the end of cell 5, found none on this line"},
      {"1,1,1,7,\"5\"\"", "expected a quote at the end of cell 5, found none on this line"},
      {"1,\"1\"1,1,7,5", "expected a comma behind the quoted cell 2, found \"1,1,7,5\""},
      {"0x10,1,1,7,5", ms + "\"0x10\""},
      {"1,0,1,7,5", in + "1 to 16777216, found 0"},
      {"1,-1,1,7,5", in + "a whole number, found \"-1\""},
      {"1,1.5,1,7,5", in + "a whole number, found \"1.5\""},
      {"1,1e2,1,7,5", in + "a whole number, found \"1e2\""},
      {"1,16777217,1,7,5", in + "1 to 16777216, found 16777217"},
      {"1,9223372036854775808,1,7,5", in + "1 to 16777216, found 9223372036854775808"},
      {"1,18446744073709551616,1,7,5", in + "a whole number, found \"18446744073709551616\""},
      {"1,,1,7,5", in + "a whole number, found \"\""},
      {"1,1,-1,7,5", out + "a whole number, found \"-1\""},
      {"1,1,16777217,7,5", out + "0 to 16777216, found 16777217"},
      {"1,1,1,x,5", "session_id: expected a whole number, found \"x\""},
      {"1,1,1,-7,5", "session_id: expected a whole number, found \"-7\""},
      {"1,512,1,7,", ids + "1 ids for 512 tokens in blocks of 512, found 0"},
      {"1,513,1,7,", ids + "1 or 2 ids for 513 tokens in blocks of 512, found 0"},
      {"1,1,1,7,5 6", ids + "0 or 1 ids for 1 tokens in blocks of 512, found 2"},
      {"1,1024,1,7,5", ids + "2 ids for 1024 tokens in blocks of 512, found 1"},
      {"1,1024,1,7,5  6", ids + "a whole number, found \"\""},
      {"1,1,1,7, 5", ids + "a whole number, found \"\""},
      {"1,1024,1,7,5;6", ids + "a whole number, found \"5;6\""},
      {"1,1,1,7,-5", ids + "a whole number, found \"-5\""},
      {"1,1,1,7,18446744073709551616", ids + "a whole number, found \"18446744073709551616\""},
      {"1,1,1,7,5\0"s, ids + "a whole number, found \"5"},  // what() ends at the NUL
      {"1,1,1,7,\xff", ids + "a whole number, found \"\xff\""},
  };
  for (const Case& c : cases) {
    const Scratch scratch;
    const std::string path =
        scratch.file("t.csv", kHeader + "0,1,1,7,5\n"s + c.row + "\n9,1,1,7,5\n");
    const InputError error = error_of([&] { open_trace(path, {}); });
    CHECK(error.fault() == Fault::kTrace);
    CHECK_THAT(error.what(), Catch::Matchers::StartsWith(path + ":3: " + c.says));
  }
}

TEST_CASE("malformed think times of CSV rows", "[traces]") {
  const auto says = [](const std::string& cell) {
    const InputError error = error_of([&] {
      open_bytes_as_trace("timestamp_ms,input_length,output_length,think_ms\n0,1,1," + cell + "\n");
    });
    CHECK(error.fault() == Fault::kTrace);
    return std::string(error.what());
  };
  for (const char* cell : {"-1", "nan", "x", " ", "1e99"}) {
    CHECK_THAT(says(cell), ContainsSubstring("trace:2: think_ms: expected milliseconds from 0 to "
                                             "100000000000, found \"" +
                                             std::string(cell) + "\""));
  }
}

TEST_CASE("CSV rows out of the order of time", "[traces]") {
  const InputError error = error_of([] { open_rows("5,1,1,7,5\n\n4,1,1,7,5\n"); });
  CHECK_THAT(error.what(), ContainsSubstring("trace:4: timestamp: arrives 1 ms before"));
}

TEST_CASE("a header alone is no trace", "[traces]") {
  const InputError error = error_of([] { open_rows(""); });
  CHECK(error.fault() == Fault::kTrace);
  CHECK_THAT(error.what(), ContainsSubstring("no requests; expected at least one row"));
}

TEST_CASE("CSV is recognised by its header", "[traces]") {
  CHECK(looks_like_csv("timestamp_ms,input_length,output_length,hash_ids"));
  CHECK(
      looks_like_csv("\xef\xbb\xbf"
                     "input_length,timestamp_ms"));
  CHECK_FALSE(looks_like_csv("{\"input_length\": 1, \"hash_ids\": [1]}"));
  CHECK_FALSE(looks_like_csv("input_length"));
  CHECK_FALSE(looks_like_csv("a,b,c"));
}

}  // namespace
}  // namespace spillway
