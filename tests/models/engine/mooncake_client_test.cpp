// Clients of Mooncake Store on the clock: what a request waits for, and the order of one instant.
//
// Blocks of 16 tokens and 16,000 bytes; links move 1 byte/ns after 1 us. A step of n tokens over c
// lasts 2,000,000 + 20,000 n + 5 (c + n) ns.
#include "models/engine/engine.hpp"
#include "models/engine/engine_parts.hpp"
#include "sim/decimal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"
#include "traces/workload_builder.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kBlock = 16'000;
constexpr std::int64_t kLatency = 1'000;
constexpr std::int64_t kRate = 1'000'000'000;

constexpr std::int64_t copy_ns(std::int64_t blocks) {
  return kLatency + kBlock * blocks;
}
constexpr std::int64_t step_of(std::int64_t tokens, std::int64_t computed) {
  return 2'000'000 + 20'000 * tokens + 5 * (computed + tokens);
}

struct Asked {
  std::int64_t arrival_ns;
  std::uint32_t input_tokens;
  std::vector<std::uint64_t> blocks;
  StoreHints hints{};
};

struct Run {
  std::vector<RequestRecord> requests;
  std::vector<ChunkTierStats> tiers;
};

Run run_clients(const std::vector<Asked>& rows, const MooncakeConfig& config, std::int64_t memory,
                std::int64_t ssd = 0) {
  WorkloadBuilder builder("test", 16);
  TraceRow row;
  for (const Asked& asked : rows) {
    row.clear();
    ++row.line;
    row.arrival_ns = asked.arrival_ns;
    row.input_tokens = asked.input_tokens;
    row.output_tokens = 1;
    row.blocks = asked.blocks;
    row.hints = asked.hints;
    builder.add(row);
  }
  const Workload workload = builder.build({"test", "test", {}});
  EngineParts parts;
  parts.config.family = EngineFamily::kMooncake;
  parts.config.block_tokens = 16;
  parts.config.block_bytes = Bytes(kBlock);
  parts.config.async_scheduling = false;
  parts.config.mooncake = config;
  parts.assemble = assembler_of(parts.config);
  parts.cost = make_linear_cost({decimal_of(2000), decimal_of(20000), decimal_of(5)});
  SharedThings things;
  parts.things = &things;
  const auto link = [] { return make_affine_link(Duration(kLatency), kRate); };
  parts.chunked = std::make_unique<ChunkedConfig>();
  parts.chunked->lanes.down = {0, link(), 1};
  parts.chunked->lanes.up = {1, link(), 1};
  parts.chunked->tiers.resize(ssd > 0 ? 2 : 1);
  parts.chunked->tiers[0].capacity = Bytes(kBlock * memory);
  NetworkSpec spec;
  if (ssd > 0) {
    spec.lanes.assign(2, {Duration(kLatency), kRate, 1});
    ChunkTierConfig& tier = parts.chunked->tiers[1];
    tier.capacity = Bytes(kBlock * ssd);
    tier.port.lanes = true;
    tier.port.lane[index_of(StorageOp::kWrite)] = 0;
    tier.port.lane[index_of(StorageOp::kRead)] = 1;
    tier.port.client.write_link = 2;
    tier.port.client.read_link = 3;
  }
  Journal journal;
  EventQueue queue;
  Network network(queue, spec, journal);
  const ChainMap chains(workload, 16);
  Engine engine(queue, network, chains, std::move(parts), journal);
  Arrivals arrivals(queue, workload, {}, engine);
  engine.set_listener(arrivals);
  arrivals.start();
  while (queue.step()) {
  }
  CHECK(engine.finish_run() == 0);
  return {journal.requests, engine.stats().chunk_tiers};
}

std::int64_t ns(Time t) {
  return nanoseconds_of(t);
}

TEST_CASE("a request gets what is there, and puts the rest", "[models]") {
  const Run run = run_clients({{0, 40, {1, 2, 3}}, {10'000'000, 56, {1, 2, 4, 5}}}, {}, 100);
  const RequestRecord& first = run.requests[0];
  CHECK(ns(first.scheduled) == 0);
  CHECK(ns(first.first_token) == step_of(40, 0));
  CHECK(ns(first.finish) == step_of(40, 0) + copy_ns(2));  // two of its blocks are full
  const RequestRecord& second = run.requests[1];
  CHECK(second.cached_tokens[1] == 32);
  CHECK(ns(second.scheduled) == 10'000'000 + copy_ns(2));
  CHECK(ns(second.first_token) == 10'000'000 + copy_ns(2) + step_of(24, 32));
  CHECK(ns(second.finish) == ns(second.first_token) + copy_ns(1));
  CHECK(run.tiers[0].queries == 5);
  CHECK(run.tiers[0].hits == 2);
  CHECK(run.tiers[0].stored == 3);
}

TEST_CASE("a prompt that is there whole computes one token", "[models]") {
  const Run run = run_clients({{0, 32, {1, 2}}, {10'000'000, 32, {1, 2}}}, {}, 100);
  CHECK(run.requests[1].cached_tokens[1] == 32);
  CHECK(ns(run.requests[1].first_token) == 10'000'000 + copy_ns(2) + step_of(1, 31));
  CHECK(run.requests[1].finish == run.requests[1].first_token);  // nothing is left to put
}

TEST_CASE("a get that lasts as long as the lease fails", "[models]") {
  MooncakeConfig config;
  config.lease = Duration(copy_ns(2));
  const std::vector<Asked> rows = {{0, 32, {1, 2}}, {10'000'000, 32, {1, 2}}};
  const Run late = run_clients(rows, config, 100);
  CHECK(late.requests[1].cached_tokens[1] == 0);
  CHECK(ns(late.requests[1].first_token) == 10'000'000 + copy_ns(2) + step_of(32, 0));
  CHECK(late.tiers[0].lost == 2);
  config.lease += Duration(1);
  CHECK(run_clients(rows, config, 100).requests[1].cached_tokens[1] == 32);
}

TEST_CASE("what a put ends with is there for who asks at that instant", "[models]") {
  const std::int64_t end = step_of(16, 0) + copy_ns(1);
  const std::vector<Asked> rows = {{0, 16, {1}}, {end, 16, {1}}};
  CHECK(run_clients(rows, {}, 100).requests[1].cached_tokens[1] == 16);
  CHECK(run_clients({rows[0], {end - 1, 16, {1}}}, {}, 100).requests[1].cached_tokens[1] == 0);
}

TEST_CASE("rounds of questions come first, and renew leases", "[models]") {
  MooncakeConfig config;
  config.lease = std::chrono::milliseconds(25);
  // Three blocks of four are above the watermark. The first is asked for every 20 ms.
  const StoreHints polls{std::chrono::milliseconds(20), 4, 0};
  const std::vector<Asked> rows = {
      {0, 16, {1}},         {3'000'000, 16, {2}}, {5'000'000, 16, {1}, polls},
      {6'000'000, 16, {3}}, {7'000'000, 16, {4}}, {100'000'000, 16, {2}}};
  const Run run = run_clients(rows, config, 4);
  CHECK(run.requests[2].cached_tokens[1] == 16);
  CHECK(ns(run.requests[2].scheduled) == 85'000'000 + copy_ns(1));
  // What nobody asked for went at 10 ms: four of four were taken.
  CHECK(run.requests[5].cached_tokens[1] == 0);
}

TEST_CASE("memory and the SSD are read at once", "[models]") {
  MooncakeConfig config;
  config.offload = true;
  config.bucket_keys = 2;
  config.heartbeat = std::chrono::milliseconds(10);
  // Two of three objects fill a bucket at 10 ms, written until 10 ms + copy. Four of four are above
  // the watermark: all three have no lease; one is pinned, the others go at 20 ms.
  const std::vector<Asked> rows = {
      {0, 48, {1, 2, 3}}, {16'000'000, 16, {9}}, {30'000'000, 49, {1, 2, 3, 4}}};
  const Run run = run_clients(rows, config, 4, 100);
  const RequestRecord& last = run.requests[2];
  CHECK(last.cached_tokens[1] == 16);
  CHECK(last.cached_tokens[2] == 32);
  CHECK(ns(last.scheduled) == 30'000'000 + copy_ns(2));  // the longer of both
  CHECK(ns(last.first_token) == ns(last.scheduled) + step_of(1, 48));
  CHECK(run.tiers[1].stored == 4);  // the third and the fourth fill the next bucket
}

}  // namespace
}  // namespace spillway::test
