// Writers: the same workload behind every name, to the last nanosecond.
#include "traces/formats/trace_writer.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "tests/traces/trace_text.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway {
namespace {

using test::blocks_of;
using test::error_of;
using test::open_bytes_as_trace;
using test::read_file;
using test::row;
using test::Scratch;
using test::values;

const std::vector<std::string> kNames = {"t.jsonl",  "t.jsonl.gz", "t.jsonl.zst", "t.csv",
                                         "t.csv.gz", "t.csv.zst",  "t.bin"};

Workload two_rows() {
  return open_bytes_as_trace(row("0", "600", "5", "[70, 80]") + row("1500.25", "1", "7", "[90]"));
}

TEST_CASE("every form keeps the content hash", "[traces]") {
  SyntheticConfig config;
  config.requests = 2000;
  const Workload w = generate_workload(config, 3);
  const Scratch scratch;
  for (const std::string& name : kNames) {
    write_trace(w, scratch.path(name));
    INFO(name);
    CHECK(open_trace(scratch.path(name), {}).content_hash() == w.content_hash());
  }
}

TEST_CASE("every form can be made from every other", "[traces]") {
  const Workload w = open_bytes_as_trace(row("0.5", "600", "5", "[70, 80]") +
                                         row("0.500001", "513", "7", "[70, 91]"));
  const Scratch scratch;
  for (const std::string& from : kNames) {
    write_trace(w, scratch.path("from-" + from));
    for (const std::string& to : kNames) {
      write_trace(open_trace(scratch.path("from-" + from), {}), scratch.path("to-" + to));
      INFO(from << " to " << to);
      CHECK(open_trace(scratch.path("to-" + to), {}).content_hash() == w.content_hash());
    }
  }
}

TEST_CASE("golden: JSON lines", "[traces]") {
  const Scratch scratch;
  write_trace(two_rows(), scratch.path("t.jsonl"));
  CHECK(read_file(scratch.path("t.jsonl")) ==
        "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [0, 1]}\n"
        "{\"timestamp\": 1500.25, \"input_length\": 1, \"output_length\": 7, \"hash_ids\": [2]}\n");
}

TEST_CASE("golden: CSV with and without sessions", "[traces]") {
  const Scratch scratch;
  write_trace(two_rows(), scratch.path("bare.csv"));
  CHECK(read_file(scratch.path("bare.csv")) ==
        "timestamp_ms,input_length,output_length,hash_ids\n0,600,5,0 1\n1500.25,1,7,2\n");
  const std::string header = "timestamp_ms,input_length,output_length,session_id,hash_ids\n";
  write_trace(open_bytes_as_trace(header + "0,1,1,99,5\n1,1,1,,6\n"), scratch.path("named.csv"));
  CHECK(read_file(scratch.path("named.csv")) == header + "0,1,1,0,0\n1,1,1,1,1\n");
}

TEST_CASE("golden: JSON lines with sessions", "[traces]") {
  const Scratch scratch;
  write_trace(open_bytes_as_trace("timestamp_ms,input_length,output_length,session_id,hash_ids\n"
                                  "0,1,1,99,5\n"),
              scratch.path("t.jsonl"));
  CHECK(read_file(scratch.path("t.jsonl")) ==
        "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"session_id\": 0, "
        "\"hash_ids\": [0]}\n");
}

TEST_CASE("fractions of a millisecond survive every text form", "[traces]") {
  // Trailing zeros, leading zeros behind the point, one nanosecond, a day, and thirty days.
  const std::vector<std::string> times = {"0",
                                          "0.000001",
                                          "0.05",
                                          "0.5",
                                          "1",
                                          "1.000001",
                                          "1.1",
                                          "29.29",
                                          "999.999999",
                                          "86400000.000001",
                                          "2592000000.123457"};
  std::string text;
  for (const std::string& t : times) text += row(t, "1", "1", "[1]");
  const Workload w = open_bytes_as_trace(text);
  const auto expected = std::vector<std::int64_t>{0,
                                                  1,
                                                  50'000,
                                                  500'000,
                                                  1'000'000,
                                                  1'000'001,
                                                  1'100'000,
                                                  29'290'000,
                                                  999'999'999,
                                                  86'400'000'000'001,
                                                  2'592'000'000'123'457};
  REQUIRE(values(w.columns().arrival_ns) == expected);
  const Scratch scratch;
  for (const std::string& name : kNames) {
    write_trace(w, scratch.path(name));
    CHECK(values(open_trace(scratch.path(name), {}).columns().arrival_ns) == expected);
  }
}

TEST_CASE("nanoseconds survive up to the last arrival a trace may have", "[traces]") {
  // Beyond 2^33 ms (99 days) neighbouring doubles are more than a nanosecond apart.
  const std::string header = "timestamp_ms,input_length,output_length,hash_ids\n";
  const auto arrival = [](const std::string& text) {
    return nanoseconds_of(open_bytes_as_trace(text).arrival(RequestId{0}));
  };
  CHECK(arrival(header + "9999999999.123456,1,1,5\n") == 9'999'999'999'123'456);
  CHECK(arrival(row("9999999999.123456", "1", "1", "[5]")) == 9'999'999'999'123'456);
}

TEST_CASE("JSON lines say their block size where it is not Mooncake's, CSV does not", "[traces]") {
  const Workload w = open_bytes_as_trace(row("0", "40", "1", "[1, 2, 3]"), blocks_of(16));
  const Scratch scratch;
  CHECK(write_trace(w, scratch.path("t.jsonl")).empty());
  CHECK(open_trace(scratch.path("t.jsonl"), {}).content_hash() == w.content_hash());
  const auto lost = write_trace(w, scratch.path("t.csv"));
  REQUIRE(lost.size() == 1);
  CHECK_THAT(lost[0], ContainsSubstring("read it with --block-tokens 16"));
  CHECK(open_trace(scratch.path("t.csv"), blocks_of(16)).content_hash() == w.content_hash());
}

/// Links, pauses, tenants, sessions, a partial block that is not named, and odd names.
Workload rich() {
  return open_bytes_as_trace(
      "{\"spillway_trace\": 1, \"block_tokens\": 16}\n"
      "{\"timestamp\": 0.25, \"input_length\": 40, \"output_length\": 3, \"session_id\": \"s\", "
      "\"id\": 7, \"tenant\": \"a \\\"b\\\" \\\\ \\u0007 \\u00e9\", \"hash_ids\": [5, 6]}\n"
      "{\"timestamp\": 1, \"input_length\": 32, \"output_length\": 3, \"id\": 8, "
      "\"hash_ids\": [5, 6]}\n"
      "{\"timestamp\": 2, \"input_length\": 33, \"output_length\": 3, \"session_id\": \"s\", "
      "\"after\": [7, 8], \"think_ms\": 99999999999.000001, \"hash_ids\": [5, 6, 9]}\n");
}

TEST_CASE("JSON lines hold all that a workload knows", "[traces]") {
  const Scratch scratch;
  for (const char* name : {"t.jsonl", "t.jsonl.gz", "t.bin"}) {
    CHECK(write_trace(rich(), scratch.path(name)).empty());
    INFO(name);
    CHECK(open_trace(scratch.path(name), {}).content_hash() == rich().content_hash());
  }
  const Workload back = open_trace(scratch.path("t.jsonl"), {});
  CHECK(back.source().format == "native");
  CHECK(back.think_ns(RequestId{2}) == 99'999'999'999'000'001);
  CHECK(back.source().tenants == rich().source().tenants);
}

TEST_CASE("turns that wait for nobody stay so", "[traces]") {
  // Two turns of one session, which by their ids do not wait for each other.
  const std::string turn =
      "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"session_id\": 1, \"id\": ";
  const Workload w =
      open_bytes_as_trace("{\"spillway_trace\": 1}\n" + turn + "1}\n" + turn + "2}\n");
  REQUIRE(w.after(RequestId{1}).empty());
  const Scratch scratch;
  write_trace(w, scratch.path("t.jsonl"));
  CHECK(open_trace(scratch.path("t.jsonl"), {}).content_hash() == w.content_hash());
}

TEST_CASE("real traces pass through JSON lines unchanged", "[traces]") {
  const Scratch scratch;
  OpenOptions some;
  some.limit = 300;
  for (const char* name : {"mooncake_fast25_conversation.jsonl.gz", "ragpulse_days1-4.jsonl.gz",
                           "kvcache_tester_agentic_0001-0080.jsonl.gz"}) {
    const Workload w = open_trace(test::material(std::string("traces/") + name).path, some);
    CHECK(write_trace(w, scratch.path("t.jsonl")).empty());
    INFO(name);
    CHECK(open_trace(scratch.path("t.jsonl"), {}).content_hash() == w.content_hash());
  }
}

TEST_CASE("plain rows say what they lose, and keep the rest", "[traces]") {
  const Scratch scratch;
  const auto lost = write_trace(rich(), scratch.path("t.jsonl"), TextForm::kMooncake);
  REQUIRE(lost.size() == 5);
  CHECK_THAT(lost[0], ContainsSubstring("ids made up for blocks that have none, in 1 of 3 rows"));
  CHECK_THAT(lost[1], ContainsSubstring("lost which answers a request waited for, in 1 of 3 rows"));
  CHECK_THAT(lost[2], ContainsSubstring("lost the pause before a request, in 1 of 3 rows"));
  CHECK_THAT(lost[3], ContainsSubstring("lost the tenant, in 1 of 3 rows"));
  CHECK_THAT(lost[4], ContainsSubstring("read it with --block-tokens 16"));
  const Workload back = open_trace(scratch.path("t.jsonl"), blocks_of(16));
  CHECK(back.source().format == "mooncake");
  CHECK(values(back.columns().arrival_ns) == values(rich().columns().arrival_ns));
  CHECK(test::chain_of(back, 0) == std::vector<std::uint32_t>{0, 1, 2});  // 2 is made up
  CHECK(test::chain_of(back, 2) == std::vector<std::uint32_t>{0, 1, 3});
}

TEST_CASE("CSV keeps pauses, tenants and prompts without their partial block", "[traces]") {
  // The tenant's name holds a control character, which no cell of ours does.
  const Scratch scratch;
  const auto lost = write_trace(rich(), scratch.path("t.csv"));
  REQUIRE(lost.size() == 3);
  CHECK_THAT(lost[0], ContainsSubstring("lost which answers a request waited for, in 1 of 3 rows"));
  CHECK_THAT(lost[1], ContainsSubstring("lost the tenant, in 1 of 3 rows"));
  CHECK_THAT(lost[2], ContainsSubstring("read it with --block-tokens 16"));
  const Workload back = open_trace(scratch.path("t.csv"), blocks_of(16));
  CHECK(values(back.columns().chain) == values(rich().columns().chain));
  CHECK(back.think_ns(RequestId{2}) == 99'999'999'999'000'001);

  const Workload chat = open_bytes_as_trace(
      "timestamp_ms,input_length,output_length,session_id,tenant,think_ms,hash_ids\n"
      "0,600,5,1,\"a, \"\"b\"\"\",,1 2\n1,600,5,1,c,2.5,1 2\n");
  CHECK(write_trace(chat, scratch.path("chat.csv")).empty());
  CHECK(open_trace(scratch.path("chat.csv"), {}).content_hash() == chat.content_hash());
}

TEST_CASE("plain rows where they are enough, unless the native form is asked for", "[traces]") {
  const Scratch scratch;
  write_trace(two_rows(), scratch.path("t.jsonl"), TextForm::kNative);
  CHECK(open_trace(scratch.path("t.jsonl"), {}).source().format == "native");
  CHECK(open_trace(scratch.path("t.jsonl"), {}).content_hash() == two_rows().content_hash());
  write_trace(two_rows(), scratch.path("t.jsonl"));
  CHECK(open_trace(scratch.path("t.jsonl"), {}).source().format == "mooncake");
}

TEST_CASE("rows are written as they come, and not at all without an end", "[traces]") {
  const Scratch scratch;
  TraceRow one;
  one.input_tokens = 20;
  one.output_tokens = 2;
  one.tenant = "t";
  one.blocks = {18'446'744'073'709'551'615U};
  {
    TextTraceWriter writer(scratch.path("t.jsonl"), {TextForm::kNative, 16, false});
    writer.add(one);
  }
  CHECK(scratch.listing().empty());
  TextTraceWriter writer(scratch.path("t.jsonl"), {TextForm::kNative, 16, false});
  writer.add(one);
  writer.finish();
  CHECK(writer.losses().empty());
  CHECK(read_file(scratch.path("t.jsonl")) ==
        "{\"spillway_trace\": 1, \"block_tokens\": 16}\n"
        "{\"timestamp\": 0, \"input_length\": 20, \"output_length\": 2, \"tenant\": \"t\", "
        "\"hash_ids\": [18446744073709551615]}\n");
}

TEST_CASE("equal workloads give equal files, compressed or not", "[traces]") {
  const Scratch scratch;
  for (const std::string& name : kNames) {
    write_trace(two_rows(), scratch.path("a-" + name));
    write_trace(two_rows(), scratch.path("b-" + name));
    INFO(name);
    CHECK(read_file(scratch.path("a-" + name)) == read_file(scratch.path("b-" + name)));
  }
}

TEST_CASE("compressed names hold compressed bytes", "[traces]") {
  const Scratch scratch;
  write_trace(two_rows(), scratch.path("t.jsonl.gz"));
  write_trace(two_rows(), scratch.path("t.csv.zst"));
  CHECK(read_file(scratch.path("t.jsonl.gz")).substr(0, 2) == "\x1f\x8b");
  CHECK(read_file(scratch.path("t.csv.zst")).substr(0, 4) == "\x28\xb5\x2f\xfd");
}

TEST_CASE("a name that tells no form is a usage error", "[traces]") {
  const Scratch scratch;
  for (const char* name : {"t", "t.json", "t.jsonl.bz2", "t.gz", "t.bin.gz", "t.parquet"}) {
    const InputError error = error_of([&] { write_trace(two_rows(), scratch.path(name)); });
    CHECK(error.fault() == Fault::kUsage);
    CHECK_THAT(error.what(), ContainsSubstring("cannot tell the format from the name"));
  }
  CHECK(scratch.listing().empty());
}

TEST_CASE("a trace that cannot be written leaves nothing", "[traces]") {
  const Scratch scratch;
  for (const std::string& name : kNames) {
    const InputError error =
        error_of([&] { write_trace(two_rows(), scratch.path("none/" + name)); });
    CHECK(error.fault() == Fault::kIo);
  }
  CHECK(scratch.listing().empty());
}

TEST_CASE("large traces pass through every buffer", "[traces]") {
  // About 3 MB of text: more than the writers' and readers' chunks.
  std::string text = "timestamp_ms,input_length,output_length,hash_ids\n";
  for (int i = 0; i < 20'000; ++i) {
    text += fmt::format("{}.{:03},5120,{},", i, i % 1000, i % 97);
    for (int k = 0; k < 10; ++k) text += fmt::format("{}{}", k == 0 ? "" : " ", i * 10 + k);
    text += '\n';
  }
  const Workload w = open_bytes_as_trace(text);
  const Scratch scratch;
  for (const std::string& name : kNames) {
    write_trace(w, scratch.path(name));
    CHECK(open_trace(scratch.path(name), {}).content_hash() == w.content_hash());
  }
}

}  // namespace
}  // namespace spillway
