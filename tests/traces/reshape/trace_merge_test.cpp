// Merged traces: order, tenants, and that nothing of one trace is taken for another's.
#include "traces/reshape/trace_merge.hpp"

#include "tests/traces/trace_text.hpp"
#include "traces/generate/synthetic.hpp"
#include "traces/stats/trace_stats.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

using test::chain_of;
using test::error_of;
using test::values;
using Ids = std::vector<std::uint32_t>;

struct Row {
  std::int64_t at;
  std::vector<std::uint64_t> blocks;
  std::optional<std::uint64_t> session{};
  std::string tenant{};
};

Workload of(const std::vector<Row>& rows, std::uint32_t block_tokens = 100,
            std::vector<std::string> notes = {}) {
  WorkloadBuilder builder("t", block_tokens);
  for (const Row& from : rows) {
    TraceRow row;
    row.arrival_ns = from.at;
    row.input_tokens = 100;
    row.output_tokens = static_cast<std::int64_t>(from.at) + 1;
    row.blocks = from.blocks;
    row.session = from.session;
    row.tenant = from.tenant;
    row.think_ns = from.at == 9 ? 4 : -1;
    builder.add(row);
  }
  return builder.build({"t", "test", std::move(notes)});
}

template <class... Part>
std::vector<MergePart> parts_of(Part... parts) {
  std::vector<MergePart> out;
  (out.push_back(std::move(parts)), ...);
  return out;
}

TEST_CASE("rows merge in order of time, those of one instant in the order of the files",
          "[traces]") {
  const Workload w = merge_traces(parts_of(MergePart{"a", of({{0, {1}}, {5, {1, 2}}, {5, {3}}})},
                                           MergePart{"b", of({{0, {1}}, {3, {2}}, {5, {1}}})}));
  CHECK(values(w.columns().arrival_ns) == std::vector<std::int64_t>{0, 0, 3, 5, 5, 5});
  CHECK(values(w.columns().tenant) == Ids{0, 1, 1, 0, 0, 1});
  CHECK(w.source().tenants == std::vector<std::string>{"a", "b"});
  // Equal ids of different files are different blocks: a's 1 is 0, b's is 1.
  CHECK(chain_of(w, 0) == Ids{0});
  CHECK(chain_of(w, 1) == Ids{1});
  CHECK(chain_of(w, 3) == Ids{0, 3});
  CHECK(chain_of(w, 5) == Ids{1});
  CHECK(w.unique_blocks() == 5);
  CHECK_FALSE(w.has_sessions());
  CHECK(w.source().rows.kept == 6);
}

TEST_CASE("blocks with names of their own are the same in every file", "[traces]") {
  const Workload w =
      merge_traces(parts_of(MergePart{"a", of({{0, {70, 80}}}), 0, {70, 80}},
                            MergePart{"b", of({{1, {80, 70, 90}}}), 0, {80, 70, 90}}));
  CHECK(chain_of(w, 0) == Ids{0, 1});
  CHECK(chain_of(w, 1) == Ids{1, 0, 2});
}

TEST_CASE("sessions and links stay within their file", "[traces]") {
  const Workload w = merge_traces(parts_of(MergePart{"a", of({{0, {1}, 7}, {4, {2}, 7}})},
                                           MergePart{"b", of({{1, {1}, 7}, {6, {1}}, {9, {2}, 7}})},
                                           MergePart{"c", of({{2, {1}}})}));
  // In order of time: a0 b0 c0 a1 b1 b2; b1 and c0 name no session and are sessions of their own.
  CHECK(values(w.columns().session) == Ids{0, 1, 2, 0, 3, 1});
  const auto waits = [&](std::uint32_t r) {
    Ids out;
    for (const RequestId before : w.after(RequestId{r})) out.push_back(raw(before));
    return out;
  };
  CHECK(waits(3) == Ids{0});
  CHECK(waits(5) == Ids{1});
  for (const std::uint32_t r : {0u, 1u, 2u, 4u}) CHECK(waits(r).empty());
  CHECK(values(w.columns().think_ns) == std::vector<std::int64_t>{-1, -1, -1, -1, -1, 4});
}

TEST_CASE("an offset moves a file's requests", "[traces]") {
  const Workload w =
      merge_traces(parts_of(MergePart{"a", of({{5, {1}}}), -5}, MergePart{"b", of({{0, {1}}}), 3}));
  CHECK(values(w.columns().arrival_ns) == std::vector<std::int64_t>{0, 3});
  CHECK(values(w.columns().tenant) == Ids{0, 1});
}

TEST_CASE("a tenant within a file stays a tenant of its own", "[traces]") {
  const Workload w = merge_traces(parts_of(MergePart{"a", of({{0, {1}, {}, "x"}, {1, {1}}}), 0},
                                           MergePart{"b", of({{2, {1}, {}, "x"}})}));
  CHECK(w.source().tenants == std::vector<std::string>{"a/x", "a", "b/x"});
}

TEST_CASE("notes of all files are kept, equal ones once", "[traces]") {
  const Workload w = merge_traces(parts_of(MergePart{"a", of({{0, {1}}}, 100, {"one", "two"})},
                                           MergePart{"b", of({{0, {1}}}, 100, {"two", "three"})}));
  CHECK(w.source().notes == std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE("different block sizes and equal names are refused", "[traces]") {
  const InputError sizes = error_of([] {
    merge_traces(parts_of(MergePart{"a", of({{0, {1}}}, 100)}, MergePart{"b", of({{0, {1}}}, 64)}));
  });
  CHECK(sizes.fault() == Fault::kUsage);
  CHECK_THAT(sizes.what(), ContainsSubstring("has blocks of 64 tokens, t of 100; expected one"));
  const InputError names = error_of([] {
    merge_traces(parts_of(MergePart{"a", of({{0, {1}}})}, MergePart{"a", of({{0, {1}}})}));
  });
  CHECK(names.fault() == Fault::kUsage);
  CHECK_THAT(names.what(), ContainsSubstring("second trace of the tenant \"a\""));
}

TEST_CASE("merged traces have the sum of their parts", "[traces]") {
  SyntheticConfig config;
  config.requests = 300;
  const TraceStats one = trace_stats(generate_workload(config, 1));
  const TraceStats two = trace_stats(generate_workload(config, 2));
  const TraceStats both =
      trace_stats(merge_traces(parts_of(MergePart{"one", generate_workload(config, 1)},
                                        MergePart{"two", generate_workload(config, 2)})));
  CHECK(both.requests == 600);
  CHECK(both.sessions == one.sessions + two.sessions);
  CHECK(both.references == one.references + two.references);
  CHECK(both.unique_blocks == one.unique_blocks + two.unique_blocks);
  CHECK(both.infinite_hits == one.infinite_hits + two.infinite_hits);
}

TEST_CASE("a trace says what its file calls each block, in order of time", "[traces]") {
  std::vector<std::uint64_t> names;
  OpenOptions options;
  options.block_names = &names;
  test::open_bytes_as_trace(
      test::row("0", "600", "1", "[30, 10]") + test::row("1", "1100", "1", "[30, 7, 20]"), options);
  CHECK(names == std::vector<std::uint64_t>{30, 10, 7, 20});
  // Sorting the rows numbers the blocks anew.
  WorkloadBuilder builder("t", 100, RowOrder::kSort);
  TraceRow row;
  row.input_tokens = 100;
  for (const std::uint64_t block : {5u, 6u, 4u}) {
    row.arrival_ns = static_cast<std::int64_t>(10 - block);
    row.blocks = {block, 1};
    builder.add(row);
  }
  const Workload w = builder.build({}, &names);
  CHECK(names == std::vector<std::uint64_t>{6, 1, 5, 4});
  CHECK(chain_of(w, 1) == Ids{2, 1});
}

}  // namespace
}  // namespace spillway
