// The run loop touches no heap, but for buffers that still find their size.
#include "models/engine/engine.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/engine_run.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway {
namespace {

/// Notes the count of allocations when given shares of the requests have ended.
struct Meter final : Observer {
  explicit Meter(std::uint32_t requests) : total(requests) {}
  void on_request(const RequestRecord&) override {
    ++ended;
    if (ended == total / 2) at_half = test::allocations();
    if (ended == total) at_end = test::allocations();
  }
  void on_preemption(Time, RequestId) override { ++preemptions; }
  std::uint32_t total;
  std::uint32_t ended = 0;
  std::uint64_t at_half = 0;
  std::uint64_t at_end = 0;
  std::uint64_t preemptions = 0;
};

TEST_CASE("a long run allocates only when a buffer meets a new maximum", "[models]") {
  // 16 clients take turns on 40 chains of four 256-token blocks, the last of them new each time:
  // prefix hits, stores, loads, evictions in both tiers and preemptions all happen throughout. Each
  // request waits for the one before it on its chain, or for none.
  const bool wait = GENERATE(false, true);
  std::vector<test::Turn> rows;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::uint64_t chain = 3 * (i * 7 % 40);
    rows.push_back({0, 1024, 200, {}, 300, {chain, chain + 1, chain + 2, 1000 + i}});
    if (i >= 40) rows.back().after = {i - 40};
  }
  const Workload workload = test::workload_of_turns(rows, 256);
  test::Setup setup;
  setup.config.num_gpu_blocks = 601;  // seven requests of 77 blocks, while 16 ask
  setup.config.async_scheduling = GENERATE(false, true);
  setup.dram_blocks = 4000;  // 40 chains of 48 shared blocks and the last 130 requests' own 16
  Meter meter(workload.size());
  ArrivalConfig clients;
  clients.kind = ArrivalConfig::Kind::kClosedLoop;
  clients.concurrency = 16;
  clients.wait = wait;
  const test::EngineRun run = test::run_engine(workload, setup, clients, &meter);
  REQUIRE(run.stuck == 0);
  REQUIRE(meter.preemptions > 100);
  REQUIRE(run.offload.hits > 100);
  // A few buffers met a longer batch than any before, in 2,000 requests of 200 tokens.
  CHECK(meter.at_end - meter.at_half < 40);
}

}  // namespace
}  // namespace spillway
