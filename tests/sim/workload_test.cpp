// A workload's content hash: equal for equal content, different for any other.
#include "sim/workload.hpp"

#include <functional>
#include <memory>
#include <vector>

#include "tests/support/catch.hpp"

namespace spillway {
namespace {

/// Two requests, the second reusing the first's head: chains {0, 1} and {0, 2, 3}.
struct Content final : WorkloadStorage {
  std::vector<std::int64_t> arrival_ns = {0, 5};
  std::vector<std::uint32_t> input_tokens = {20, 40};
  std::vector<std::uint32_t> output_tokens = {1, 2};
  std::vector<std::uint32_t> session = {0, 0};
  std::vector<std::uint64_t> chain_begin = {0, 2, 5};
  std::vector<TraceBlockId> chain = {TraceBlockId{0}, TraceBlockId{1}, TraceBlockId{0},
                                     TraceBlockId{2}, TraceBlockId{3}};
  std::uint32_t block_tokens = 16;
};

Workload workload_with(const std::function<void(Content&)>& change,
                       const WorkloadSource& source = {}) {
  auto content = std::make_unique<Content>();
  change(*content);
  WorkloadColumns c;
  c.arrival_ns = content->arrival_ns;
  c.input_tokens = content->input_tokens;
  c.output_tokens = content->output_tokens;
  c.session = content->session;
  c.chain_begin = content->chain_begin;
  c.chain = content->chain;
  c.block_tokens = content->block_tokens;
  c.unique_blocks = 4;
  return Workload(std::move(content), c, source);
}

TEST_CASE("a workload answers by request", "[sim]") {
  const Workload w = workload_with([](Content&) {});
  CHECK(w.size() == 2);
  CHECK_FALSE(w.empty());
  CHECK(w.arrival(RequestId{1}) == time_at(5));
  CHECK(w.input_tokens(RequestId{1}) == 40);
  CHECK(w.output_tokens(RequestId{0}) == 1);
  CHECK(w.chain(RequestId{0}).size() == 2);
  REQUIRE(w.chain(RequestId{1}).size() == 3);
  CHECK(w.chain(RequestId{1})[2] == TraceBlockId{3});
  CHECK(w.has_sessions());
  CHECK(w.references() == 5);
  CHECK(w.unique_blocks() == 4);
}

TEST_CASE("where a workload came from is not its content", "[sim]") {
  const auto as_is = [](Content&) {};
  CHECK(workload_with(as_is, {"a.jsonl", "mooncake", {"a note"}}).content_hash() ==
        workload_with(as_is, {"b.bin", "binary", {}}).content_hash());
}

TEST_CASE("any change of content changes the hash", "[sim]") {
  const std::uint64_t same = workload_with([](Content&) {}).content_hash();
  const auto changed = [&](const std::function<void(Content&)>& change) {
    return workload_with(change).content_hash() != same;
  };
  CHECK(changed([](Content& c) { c.arrival_ns[1] = 6; }));
  CHECK(changed([](Content& c) { c.input_tokens[0] = 21; }));
  CHECK(changed([](Content& c) { c.output_tokens[0] = 2; }));
  CHECK(changed([](Content& c) { c.session[1] = 1; }));
  CHECK(changed([](Content& c) { c.session.clear(); }));
  CHECK(changed([](Content& c) { c.chain_begin[1] = 1; }));
  CHECK(changed([](Content& c) { c.chain[4] = TraceBlockId{1}; }));
  CHECK(changed([](Content& c) { c.block_tokens = 32; }));
}

TEST_CASE("who waits for whom is hashed apart from what is asked", "[sim]") {
  const auto with_sessions = workload_with([](Content&) {});
  const auto without = workload_with([](Content& c) { c.session.clear(); });
  CHECK(with_sessions.requests_hash() == without.requests_hash());
  CHECK(with_sessions.links_hash().has_value());
  CHECK_FALSE(without.links_hash().has_value());
  CHECK(without.content_hash() == without.requests_hash());
  CHECK(workload_with([](Content& c) { c.session[1] = 1; }).links_hash() !=
        with_sessions.links_hash());
}

TEST_CASE("requests hash the same however they are cut into batches", "[sim]") {
  const Workload w = workload_with([](Content&) {});
  const RequestBatch all = w.all();
  RequestsHash hash;
  hash.add({RequestId{0}, all.arrival_ns.first(1), all.input_tokens.first(1),
            all.output_tokens.first(1), all.chain_begin.first(2), all.chain.first(2), 2});
  hash.add({RequestId{1}, all.arrival_ns.last(1), all.input_tokens.last(1),
            all.output_tokens.last(1), all.chain_begin.last(2), all.chain.last(3), 4});
  CHECK(hash.value(16) == w.requests_hash());
  CHECK(hash.value(32) != w.requests_hash());
  CHECK(all.chain_of(1).size() == 3);
}

}  // namespace
}  // namespace spillway
