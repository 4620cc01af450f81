// Sizes of the DRAM tier side by side: hits that change must be felt, and a run says what binds it.
// (A simulator whose tier moves the hit rate and no latency is wrong somewhere: inference-sim
// issue 1699.)
#include "tests/scenarios/run/run_setup.hpp"

#include "scenarios/scenario/scenario.hpp"

namespace spillway::test {
namespace {

/// 60 requests a second apart, 512 tokens each, over ten documents; early ones come oftener.
Workload ten_documents() {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 60; ++i) {
    rows.push_back({std::int64_t{1000} * i, 512, 2, {std::uint64_t{i} * i * i % 17 % 10}});
  }
  return workload_of(rows, 512);
}

TEST_CASE("alone on the machine, every block more from DRAM is time less", "[scenarios]") {
  // No request meets another. A block of 16 tokens is computed in 320 us and loaded in 84 us (2 MiB
  // at 25 GB/s) behind 10 us of latency, so that whatever is loaded is gained. HBM holds one
  // document (32 blocks), the documents together 320: the working set exceeds it.
  const Workload workload = ten_documents();
  const Scenario scenario = reference_with({"engine.num_gpu_blocks=41"});
  std::vector<RunResult> runs;
  for (const int blocks : {0, 40, 80, 120, 160, 200, 240, 280, 320, 400}) {
    runs.push_back(
        simulate(with_capacity(scenario, fmt::format("{}blocks", blocks)), workload).result);
  }
  std::uint64_t changes = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    INFO("step " << i);
    const double more = cached_share(runs[i]) - cached_share(runs[i - 1]);
    if (more == 0) {
      CHECK(runs[i].ttft.mean_ms == runs[i - 1].ttft.mean_ms);
      continue;
    }
    ++changes;
    CHECK((runs[i].ttft.mean_ms < runs[i - 1].ttft.mean_ms) == (more > 0));
  }
  CHECK(changes >= 4);
  // All of it fits the last two: nothing more to gain.
  CHECK(cached_share(runs[8]) == cached_share(runs[9]));
}

TEST_CASE("among others, hits that change are felt in some latency", "[scenarios]") {
  // The same documents in a burst: 40 requests 5 ms apart, where waiting, preemption and loads mix.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 40; ++i) {
    rows.push_back({std::int64_t{5} * i, 512, 40, {std::uint64_t{i} * i * i % 17 % 10}});
  }
  const Workload workload = workload_of(rows, 512);
  const Scenario scenario = reference_with({"engine.num_gpu_blocks=151"});
  std::vector<RunResult> runs;
  for (const int blocks : {0, 60, 120, 180, 240, 300, 360}) {
    runs.push_back(
        simulate(with_capacity(scenario, fmt::format("{}blocks", blocks)), workload).result);
    REQUIRE(runs.back().binding);
    CHECK_FALSE(runs.back().binding->why.empty());
  }
  for (std::size_t i = 1; i < runs.size(); ++i) {
    INFO("step " << i);
    if (cached_share(runs[i]) == cached_share(runs[i - 1])) continue;
    CHECK((runs[i].ttft.mean_ms != runs[i - 1].ttft.mean_ms ||
           runs[i].tpot.mean_ms != runs[i - 1].tpot.mean_ms));
  }
  CHECK(cached_share(runs.back()) > cached_share(runs.front()));
}

TEST_CASE("a run names what binds it", "[scenarios]") {
  const auto binds = [](const std::vector<std::string>& with, const Workload& workload) {
    return simulate(reference_with(with), workload).result.binding->resource;
  };
  // One request a second: 12 ms of work, then nothing.
  CHECK(binds({}, ten_documents()) == "none");
  // Long answers from a pool of 150 blocks, four sequences of 33 to 42: the others wait for blocks.
  CHECK(binds({"engine.num_gpu_blocks=151", "tiers.0.capacity=0GiB"}, repeating(60, 60, 1, 160)) ==
        "hbm");
  // The same with room for all and two places in the batch.
  CHECK(binds({"engine.max_num_seqs=2", "tiers.0.capacity=0GiB"}, repeating(60, 60, 1, 160)) ==
        "max_num_seqs");
  // New prompts back to back, 12 ms each every 12 ms, in a pool that holds them all.
  CHECK(binds({"tiers.0.capacity=0GiB"}, repeating(60, 60, 12, 1)) == "compute");
  // Every prompt goes down, 64 MiB each at 5 GB/s: 13.4 ms of the link every 14.
  CHECK(binds({"links.0.bandwidth=5GB/s"}, repeating(60, 60, 14, 1)) == "d2h");
}

}  // namespace
}  // namespace spillway::test
