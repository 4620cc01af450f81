// A streamed trace says what the whole Workload says.
#include "traces/request_stream.hpp"

#include "sim/rng.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway {
namespace {

struct Streamed {
  StreamedTrace all;
  std::vector<std::int64_t> arrival_ns;
  std::vector<std::uint64_t> chain_begin{0};
  std::vector<TraceBlockId> chain;
  std::size_t batches = 0;
};

Streamed stream(const std::string& path, const OpenOptions& options = {}) {
  TraceFile file(path, options);
  REQUIRE(file.streams());
  Streamed out;
  out.all = stream_requests(file, [&](const RequestBatch& batch) {
    CHECK(raw(batch.first) == out.arrival_ns.size());
    CHECK(batch.chain_begin[0] == out.chain.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      out.arrival_ns.push_back(batch.arrival_ns[i]);
      const auto chain = batch.chain_of(i);
      out.chain.insert(out.chain.end(), chain.begin(), chain.end());
      out.chain_begin.push_back(out.chain.size());
      for (const TraceBlockId id : chain) REQUIRE(raw(id) < batch.blocks);
    }
    ++out.batches;
  });
  return out;
}

void check_equal(const Streamed& streamed, const Workload& workload) {
  CHECK(streamed.arrival_ns == test::values(workload.columns().arrival_ns));
  CHECK(streamed.chain_begin == test::values(workload.columns().chain_begin));
  CHECK(streamed.chain == test::values(workload.columns().chain));
  CHECK(streamed.all.unique_blocks == workload.unique_blocks());
  CHECK(streamed.all.block_tokens == workload.block_tokens());
  CHECK(streamed.all.requests_hash == workload.requests_hash());
  CHECK(streamed.all.source.rows.kept == workload.size());
  CHECK(streamed.all.source.rows.quarantined == workload.source().rows.quarantined);
  CHECK(streamed.all.source.format == workload.source().format);
  CHECK(streamed.all.source.notes == workload.source().notes);
}

TEST_CASE("a stream of many batches is the whole workload", "[traces]") {
  const test::Scratch scratch;
  SyntheticConfig config;
  config.requests = 20'000;
  config.block_tokens = 64;
  const Workload whole = generate_workload(config, 3);
  for (const char* name : {"t.jsonl", "t.jsonl.gz", "t.csv.zst"}) {
    write_trace(whole, scratch.path(name));
    OpenOptions options;
    options.reader.block_tokens = 64;
    const Streamed streamed = stream(scratch.path(name), options);
    CHECK(streamed.batches > 3);
    check_equal(streamed, open_trace(scratch.path(name), options));
    options.limit = 700;
    check_equal(stream(scratch.path(name), options), open_trace(scratch.path(name), options));
  }
}

TEST_CASE("a stream obeys the same rules about faulty rows", "[traces]") {
  const test::Scratch scratch;
  std::string text;
  for (int i = 0; i < 200; ++i) text += test::good_row(std::to_string(1000 + i));
  const std::string early = scratch.file("early", text + test::good_row("5"));
  const auto both_say = [&](const std::string& path, const std::string& what) {
    const auto streamed = [&] {
      TraceFile file(path, {});
      stream_requests(file, [](const RequestBatch&) {});
    };
    CHECK_THROWS_WITH(streamed(), ContainsSubstring(what));
    CHECK_THROWS_WITH(open_trace(path, {}), ContainsSubstring(what));
  };
  both_say(early, "early:201: timestamp: arrives 1194 ms before the row above");
  both_say(scratch.file("broken", text + "{"), "broken:201: expected a JSON object");
  OpenOptions lenient;
  lenient.lenient = true;
  check_equal(stream(early, lenient), open_trace(early, lenient));
  const std::string none = scratch.file("none", test::row("0", "0", "1", "[]"));
  RowProblems problems;
  OpenOptions listing;
  listing.problems = &problems;
  TraceFile file(none, listing);
  CHECK_THROWS_WITH(stream_requests(file, [](const RequestBatch&) {}),
                    ContainsSubstring("no requests"));
  CHECK(problems.count == 1);
}

TEST_CASE("the binary form is no stream", "[traces]") {
  const test::Scratch scratch;
  write_trace(generate_workload({}, 1), scratch.path("t.bin"));
  CHECK_FALSE(TraceFile(scratch.path("t.bin"), {}).streams());
}

TEST_CASE("what blocks are called is no part of a workload", "[traces]") {
  // The same requests under small ids and under random 64-bit hashes.
  Stream random(4, "names");
  std::vector<std::uint64_t> names;
  for (int i = 0; i < 500; ++i) names.push_back(random.bits());
  std::string small;
  std::string large;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t a = random.below(500);
    const std::uint64_t b = random.below(500);
    small += test::row(std::to_string(i), "600", "1", fmt::format("[{}, {}]", a, b));
    large += test::row(std::to_string(i), "600", "1", fmt::format("[{}, {}]", names[a], names[b]));
  }
  CHECK(test::open_bytes_as_trace(small).content_hash() ==
        test::open_bytes_as_trace(large).content_hash());
}

}  // namespace
}  // namespace spillway
