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

// ---- order, links, tenants

std::vector<std::uint32_t> waits_for(const Workload& w, std::uint32_t request) {
  std::vector<std::uint32_t> out;
  for (const RequestId r : w.after(RequestId{request})) out.push_back(raw(r));
  return out;
}

TEST_CASE("a turn waits for the turn before it in its session", "[traces]") {
  WorkloadBuilder builder("t", 512);
  for (const std::uint64_t session : {7U, 8U, 7U, 7U}) {
    TraceRow row = row_of(0, {session});
    row.session = session;
    builder.add(row);
  }
  const Workload w = builder.build({});
  CHECK(waits_for(w, 0).empty());
  CHECK(waits_for(w, 1).empty());
  CHECK(waits_for(w, 2) == std::vector<std::uint32_t>{0});
  CHECK(waits_for(w, 3) == std::vector<std::uint32_t>{2});
  CHECK(w.think_ns(RequestId{3}) == kThinkUnknown);
}

TEST_CASE("rows that name what they wait for are taken at their word", "[traces]") {
  // Two sub-agents after the first request, and a request that waits for both.
  WorkloadBuilder builder("t", 512);
  const auto add = [&](std::uint64_t id, std::vector<std::uint64_t> after, std::int64_t think) {
    TraceRow row = row_of(0, {id});
    row.session = 1;
    row.id = id;
    row.after = std::move(after);
    row.think_ns = think;
    builder.add(row);
  };
  add(10, {}, 0);
  add(11, {10}, 3);
  add(12, {10}, 4);
  add(13, {11, 12}, 5);
  const Workload w = builder.build({});
  CHECK(waits_for(w, 2) == std::vector<std::uint32_t>{0});
  CHECK(waits_for(w, 3) == std::vector<std::uint32_t>{1, 2});
  CHECK(w.think_ns(RequestId{3}) == 5);
}

TEST_CASE("a faulty row leaves the builder as it was", "[traces]") {
  WorkloadBuilder builder("t", 512);
  TraceRow row = row_of(5, {1});
  row.id = 10;
  builder.add(row);
  CHECK_THROWS_AS(builder.add(row), RowError);  // the id again
  row.id = 11;
  row.after = {12};  // no such row above
  CHECK_THROWS_AS(builder.add(row), RowError);
  row.after = {10};
  row.arrival_ns = 4;  // before the row above
  CHECK_THROWS_AS(builder.add(row), RowError);
  row.arrival_ns = 5;
  builder.add(row);
  const Workload w = builder.build({});
  CHECK(w.size() == 2);
  CHECK(waits_for(w, 1) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a builder that sorts gives what sorted rows would have given", "[traces]") {
  std::vector<TraceRow> rows;
  for (const std::int64_t at : {30, 10, 20, 10}) {
    TraceRow row = row_of(at, {static_cast<std::uint64_t>(at), 99});
    row.session = static_cast<std::uint64_t>(at % 20);
    rows.push_back(row);
  }
  WorkloadBuilder sorting("t", 512, RowOrder::kSort);
  for (const TraceRow& row : rows) sorting.add(row);
  std::stable_sort(rows.begin(), rows.end(), [](const TraceRow& a, const TraceRow& b) {
    return a.arrival_ns < b.arrival_ns;
  });
  WorkloadBuilder plain("t", 512);
  for (const TraceRow& row : rows) plain.add(row);
  const Workload w = sorting.build({});
  CHECK(w.content_hash() == plain.build({}).content_hash());
  CHECK(w.source().rows.reordered == 3);
}

TEST_CASE("tenants are numbered by name, and only where there are any", "[traces]") {
  WorkloadBuilder builder("t", 512);
  builder.add(row_of(0, {1}));
  CHECK(builder.build({}).columns().tenant.empty());
  for (const char* tenant : {"shop", "bank", "shop"}) {
    TraceRow row = row_of(0, {1});
    row.tenant = tenant;
    builder.add(row);
  }
  const Workload w = builder.build({});
  CHECK(w.source().tenants == std::vector<std::string>{"shop", "bank"});
  CHECK(values(w.columns().tenant) == std::vector<std::uint32_t>{0, 1, 0});
}

}  // namespace
}  // namespace spillway
