// Writers: the same workload behind every name, to the last nanosecond.
#include "traces/trace_writer.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "tests/traces/trace_text.hpp"
#include "traces/synthetic.hpp"

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

TEST_CASE("text forms carry no block size, so reading them must name it", "[traces]") {
  const Workload w = open_bytes_as_trace(row("0", "40", "1", "[1, 2, 3]"), blocks_of(16));
  const Scratch scratch;
  write_trace(w, scratch.path("t.jsonl"));
  CHECK(open_trace(scratch.path("t.jsonl"), blocks_of(16)).content_hash() == w.content_hash());
  const InputError error = error_of([&] { open_trace(scratch.path("t.jsonl"), {}); });
  CHECK_THAT(error.what(), ContainsSubstring("give the trace's block size"));
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
  for (const char* name : {"t", "t.json", "t.jsonl.bz2", "t.gz", "t.bin.gz", "t.parquet", "-"}) {
    const std::string path = std::string(name) == "-" ? "-" : scratch.path(name);
    const InputError error = error_of([&] { write_trace(two_rows(), path); });
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
