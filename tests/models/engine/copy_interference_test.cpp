// Steps that copies slow: closed forms of the clock, then of the engine.
#include "models/compute/copy_interference.hpp"

#include "tests/support/engine_run.hpp"

namespace spillway::test {
namespace {

constexpr BusyLanes kIdle{false, false};
constexpr BusyLanes kStoring{true, false};
constexpr BusyLanes kLoading{false, true};

CopyInterference kernels(double down, double up) {
  CopyInterference out;
  out.sm_share = {down, up};
  return out;
}

CopyInterference bandwidth(double down, double up) {
  CopyInterference out;
  out.hbm_share = {down, up};
  return out;
}

constexpr StepWork compute(std::int64_t ns) {
  return {Duration(ns), Duration(0)};
}
constexpr StepWork memory(std::int64_t ns) {
  return {Duration(0), Duration(ns)};
}

TEST_CASE("copies that take nothing slow nothing", "[models]") {
  CHECK_FALSE(CopyInterference{}.any());
  CHECK(kernels(0, 0.1).any());
  CHECK(bandwidth(0.1, 0).any());
}

TEST_CASE("a copying kernel stretches compute by 1 / (1 - share)", "[models]") {
  // 20% of the SMs: 4 ms / 0.8 = 5 ms. Memory-bound work does not notice.
  StepClock clock(kernels(0, 0.2));
  CHECK(clock.start(time_at(0), compute(4'000'000), kLoading) == time_at(5'000'000));
  CHECK(clock.start(time_at(0), memory(4'000'000), kLoading) == time_at(4'000'000));
  CHECK(clock.start(time_at(7), compute(4'000'000), kStoring) == time_at(4'000'007));
}

TEST_CASE("any copy stretches memory-bound work by 1 / (1 - its share of bandwidth)", "[models]") {
  // 55 GB/s of 3,350 GB/s: x 3,350 / 3,295, so 1 ms becomes 1,016,691.95 ns.
  CopyInterference hbm = bandwidth(0, 55.0 / 3350);
  CHECK(StepClock(hbm).start(time_at(0), memory(1'000'000), kLoading) == time_at(1'016'692));
  CHECK(StepClock(hbm).start(time_at(0), compute(1'000'000), kLoading) == time_at(1'000'000));
  // A measured harm of 10% beyond that: 1,118,361.15 ns.
  hbm.memory_factor = 1.1;
  CHECK(StepClock(hbm).start(time_at(0), memory(1'000'000), kLoading) == time_at(1'118'362));
}

TEST_CASE("both directions take from the same SMs", "[models]") {
  // 0.25 + 0.25: 1 ms / 0.5.
  StepClock clock(kernels(0.25, 0.25));
  CHECK(clock.start(time_at(0), compute(1'000'000), {true, true}) == time_at(2'000'000));
}

TEST_CASE("the parts of a mixed step advance in proportion", "[models]") {
  // Half of 4 ms is compute-bound and takes twice as long: 2 x 2 + 2 = 6 ms.
  StepClock clock(kernels(0, 0.5));
  const StepWork work{Duration(2'000'000), Duration(2'000'000)};
  CHECK(clock.start(time_at(0), work, kLoading) == time_at(6'000'000));
}

TEST_CASE("what is left is timed anew when copies begin or end", "[models]") {
  // 4 ms at 0.8. After 2.5 ms 2 ms are done; alone, 2 ms remain.
  StepClock clock(kernels(0, 0.2));
  clock.start(time_at(0), compute(4'000'000), kLoading);
  CHECK(clock.retime(time_at(2'500'000), kIdle) == time_at(4'500'000));
  CHECK_FALSE(clock.retime(time_at(2'600'000), kIdle));  // nothing changed
  // Half a millisecond on, 1.5 ms remain; a copy again: 1.5 / 0.8 = 1.875 ms.
  CHECK(clock.retime(time_at(3'000'000), kLoading) == time_at(4'875'000));
}

/// The row's time of first token.
std::int64_t first_token(const EngineRun& run, std::size_t request) {
  return nanoseconds_of(run.journal.requests[request].first_token);
}

TEST_CASE("a prefill is slowed while the last one's blocks are stored", "[models]") {
  // Request 0 computes 128 tokens in 4,560,640 ns; its store of 16 MiB takes 681,089 ns and begins
  // with request 1's step, which does 0.8 x 681,089 = 544,871.2 ns of its 4,560,640 in that time.
  // 4,015,768.8 remain.
  Setup setup;
  setup.dram_blocks = 100;
  setup.interference = kernels(0.2, 0);
  const Workload workload = workload_of({{0, 128, 1, {1, 2}}, {1, 128, 1, {3, 4}}}, 64);
  const EngineRun run = run_engine(workload, setup);
  CHECK(first_token(run, 0) == 4'560'640);
  CHECK(first_token(run, 1) == 4'560'640 + 681'089 + 4'015'769);
  CHECK(run.copy_harm.count() == 681'089 + 4'015'769 - 4'560'640);
  CHECK(run.journal.steps[1].stall == run.copy_harm);
  CHECK(run.load_stall.count() == 0);
  CHECK(run.flush_stall.count() == 0);
}

TEST_CASE("decodes run slower beside a load, and recover when it ends", "[models]") {
  // As in load_wait_test: at 400 ms request 5's 16 MiB are loaded over 2 GB/s, 8,398,608 ns, which
  // takes half of HBM's bandwidth here. Request 6's prefill is bound by compute: 3,280,320 ns. Its
  // first decode takes 2 x 2,020,325 ns, until 7,320,970. Of the next one's 2,020,330 ns
  // (8,398,608 - 7,320,970) / 2 = 538,819 are done when the load ends: 1,481,511 more.
  Setup setup;
  setup.config.num_gpu_blocks = 21;
  setup.dram_blocks = 100;
  setup.bytes_per_second = 2'000'000'000;
  setup.interference = bandwidth(0, 0.5);
  const Workload workload = workload_of({{0, 128, 1, {1, 2}},
                                         {100, 128, 1, {3, 4}},
                                         {200, 256, 1, {5, 6, 7, 8}},
                                         {300, 256, 1, {9, 10, 11, 12}},
                                         {350, 64, 1, {13}},
                                         {400, 128, 1, {1, 2}},
                                         {400, 64, 3, {20}}},
                                        64);
  const EngineRun run = run_engine(workload, setup);
  CHECK(first_token(run, 6) == 400'000'000 + 3'280'320);
  CHECK(nanoseconds_of(run.journal.requests[6].finish) == 400'000'000 + 8'398'608 + 1'481'511);
  CHECK(run.copy_harm.count() == 2'020'325 + 538'819);
}

}  // namespace
}  // namespace spillway::test
