// What a connector's jobs submit to the path: whole or in pieces, with all their copies.
#include "models/engine/connectors/transfer_jobs.hpp"

#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

/// 128 tokens are 8 blocks of 2 MiB. They go down, others push them out of a pool of 20 blocks, and
/// at 400 ms they come up again. A block lies in 64 pieces, as in a layout layer by layer.
EngineRun loaded_again(LoadSemantics load) {
  Setup setup;
  setup.config.num_gpu_blocks = 21;
  setup.config.layers = 32;
  setup.config.copies_per_block = 64;
  setup.config.load = load;
  setup.dram_blocks = 100;
  return run_engine(workload_of({{0, 128, 1, {1, 2}},
                                 {100, 256, 1, {3, 4, 5, 6}},
                                 {200, 256, 1, {7, 8, 9, 10}},
                                 {400, 128, 1, {1, 2}}},
                                64),
                    setup);
}

std::vector<TransferRecord> on_link(const EngineRun& run, std::uint32_t link) {
  std::vector<TransferRecord> out;
  for (const TransferRecord& r : run.journal.transfers) {
    if (r.link == link) out.push_back(r);
  }
  return out;
}

TEST_CASE("a job is submitted with the copies of all its blocks", "[models]") {
  const EngineRun run = loaded_again(LoadSemantics::kAsync);
  const std::vector<TransferRecord> down = on_link(run, 0);
  REQUIRE(down.size() >= 3);
  CHECK(down[0].payload == Bytes(8 * 2'097'152));
  CHECK(down[0].copies == 8 * 64);
  CHECK(down[1].copies == 16 * 64);
  const std::vector<TransferRecord> up = on_link(run, 1);
  REQUIRE(up.size() == 1);
  CHECK(up[0].payload == Bytes(8 * 2'097'152));
  CHECK(up[0].copies == 8 * 64);
}

TEST_CASE("a layer's piece of a load has that layer's copies", "[models]") {
  // 64 pieces of a block, two of each of 32 layers.
  const std::vector<TransferRecord> up = on_link(loaded_again(LoadSemantics::kLayerwise), 1);
  REQUIRE(up.size() == 32);
  for (const TransferRecord& r : up) CHECK(r.copies == 8 * 2);
}

}  // namespace
}  // namespace spillway::test
