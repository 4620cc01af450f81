// A streaming engine's loop touches no heap, but for buffers that still find their size.
#include "tests/support/allocations.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

struct StepMeter final : Observer {
  void on_step(const StepRecord&) override {
    ++steps;
    if (steps == 1000) at_first = allocations();
    at_last = allocations();
  }
  std::uint64_t steps = 0;
  std::uint64_t at_first = 0;
  std::uint64_t at_last = 0;
};

TEST_CASE("streaming steps allocate nothing", "[models]") {
  // Four sessions of 100 blocks through 150 slots, over and over.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 60; ++i) {
    std::vector<std::uint64_t> blocks;
    for (std::uint64_t k = 0; k < 100; ++k) blocks.push_back(k < 20 ? k : 1000 * i + k);
    rows.push_back({0, 1600, 200, blocks});
  }
  Setup setup;
  setup.config.residency = Residency::kStreaming;
  setup.config.num_gpu_blocks = 151;
  setup.dram_blocks = 400;
  setup.hbm_eviction =
      GENERATE(as<std::string>(), "lru", "composition:prefix_tokens=160:tail_tokens=64:sessions=2");
  StepMeter meter;
  ArrivalConfig clients;
  clients.kind = ArrivalConfig::Kind::kClosedLoop;
  clients.concurrency = 6;
  const EngineRun run = run_engine(workload_of(rows, 16), setup, clients, &meter);
  REQUIRE(run.stuck == 0);
  REQUIRE(meter.steps > 2000);
  CHECK(meter.at_last - meter.at_first < 10);
}

}  // namespace
}  // namespace spillway::test
