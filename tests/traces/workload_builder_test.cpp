// The workload builder: interning, sessions, and what only several rows together can get wrong.
#include "traces/workload_builder.hpp"

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::chain_of;
using test::error_of;
using test::values;

TraceRow row_of(std::int64_t arrival_ns, std::vector<std::uint64_t> blocks) {
  TraceRow row;
  row.arrival_ns = arrival_ns;
  row.input_tokens = static_cast<std::int64_t>(blocks.size()) * 512;
  row.output_tokens = 1;
  row.blocks = std::move(blocks);
  return row;
}

TEST_CASE("rows become columns, blocks become dense ids", "[traces]") {
  WorkloadBuilder builder("t", 512);
  TraceRow first = row_of(0, {700, 900});
  first.output_tokens = 9;
  builder.add(first);
  builder.add(row_of(5, {700, 800, 600}));
  CHECK(builder.size() == 2);
  const Workload w = builder.build({"t", "test", {"a note"}});
  CHECK(w.size() == 2);
  CHECK(nanoseconds_of(w.arrival(RequestId{1})) == 5);
  CHECK(w.input_tokens(RequestId{1}) == 1536);
  CHECK(w.output_tokens(RequestId{0}) == 9);
  CHECK(chain_of(w, 0) == std::vector<std::uint32_t>{0, 1});
  CHECK(chain_of(w, 1) == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(w.unique_blocks() == 4);
  CHECK(w.block_tokens() == 512);
  CHECK(w.source().format == "test");
  CHECK(w.source().notes == std::vector<std::string>{"a note"});
}

TEST_CASE("a builder counts an answer of no tokens as one", "[traces]") {
  WorkloadBuilder builder("t", 512);
  TraceRow row = row_of(0, {1});
  row.output_tokens = 0;
  builder.add(row);
  CHECK(builder.build({}).output_tokens(RequestId{0}) == 1);
}

TEST_CASE("rows of one instant keep the file's order", "[traces]") {
  WorkloadBuilder builder("t", 512);
  builder.add(row_of(7, {1}));
  builder.add(row_of(7, {2}));
  const Workload w = builder.build({});
  CHECK(chain_of(w, 0) == std::vector<std::uint32_t>{0});
  CHECK(chain_of(w, 1) == std::vector<std::uint32_t>{1});
}

TEST_CASE("a row that arrives before its predecessor is refused by line", "[traces]") {
  WorkloadBuilder builder("t.jsonl", 512);
  builder.add(row_of(10'000'000, {1}));
  TraceRow late = row_of(2'500'000, {1});
  late.line = 14;
  const InputError error = error_of([&] { builder.add(late); });
  CHECK(error.fault() == Fault::kTrace);
  CHECK(std::string(error.what()) ==
        "t.jsonl:14: timestamp: arrives 7.5 ms before the row above; expected rows in order of "
        "time");
  CHECK(builder.size() == 1);
}

TEST_CASE("without any session the workload names none", "[traces]") {
  WorkloadBuilder builder("t", 512);
  builder.add(row_of(0, {1}));
  builder.add(row_of(0, {2}));
  CHECK_FALSE(builder.build({}).has_sessions());
}

TEST_CASE("sessions are dense by first appearance", "[traces]") {
  WorkloadBuilder builder("t", 512);
  for (const std::uint64_t session : {99u, 7u, 99u, 0u}) {
    TraceRow row = row_of(0, {1});
    row.session = session;
    builder.add(row);
  }
  const Workload w = builder.build({});
  CHECK(values(w.columns().session) == std::vector<std::uint32_t>{0, 1, 0, 2});
}

TEST_CASE("a row without a session is a session of its own", "[traces]") {
  // Also the rows before the first that names one.
  WorkloadBuilder builder("t", 512);
  builder.add(row_of(0, {1}));
  builder.add(row_of(0, {1}));
  TraceRow named = row_of(0, {1});
  named.session = 0;
  builder.add(named);
  builder.add(row_of(0, {1}));
  builder.add(named);
  const Workload w = builder.build({});
  CHECK(values(w.columns().session) == std::vector<std::uint32_t>{0, 1, 2, 3, 2});
}

TEST_CASE("no rows are no workload", "[traces]") {
  WorkloadBuilder builder("t.jsonl", 512);
  const InputError error = error_of([&] { builder.build({}); });
  CHECK(error.fault() == Fault::kTrace);
  CHECK(std::string(error.what()) == "t.jsonl: no requests; expected at least one row");
}

TEST_CASE("blocks of no tokens are a defect", "[traces]") {
  CHECK_THROWS_AS(WorkloadBuilder("t", 0), InternalError);
}

TEST_CASE("a builder is empty after building", "[traces]") {
  WorkloadBuilder builder("t", 512);
  builder.add(row_of(0, {1, 2}));
  const Workload first = builder.build({});
  CHECK(builder.size() == 0);
  builder.add(row_of(0, {3, 4}));
  const Workload second = builder.build({});
  CHECK(second.columns().chain_begin.size() == 2);
  CHECK(second.unique_blocks() == 2);
  CHECK(second.content_hash() == first.content_hash());  // chain {0, 1} both times
}

}  // namespace
}  // namespace spillway
