// Collectives by nccl-tests: which are planned, what is read from its table, and what a program
// that fails leaves.
#include "scenarios/machine/collective_bench.hpp"

#include "models/calibration/fit.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/fake_nccl.hpp"

namespace spillway::test {
namespace {

/// A bench on a simulated machine, whose cells are measured by `program`.
struct Machine {
  Machine(int count, const std::string& program, double patience_s = 20)
      : fake("gpus=" + std::to_string(count)),
        gpus({fake_gpu_harness(), 20}),
        bench(gpus, {"", patience_s, program}) {
    std::vector<std::string> ignored;
    limits.memory_bytes = std::int64_t{1} << 30;
    gpus.plan(limits, ignored);
    cells = bench.plan(limits, missing);
  }
  CollectiveCell measure(std::size_t cell = 0) {
    HardwareProfile p;
    add_row(p, "collective", bench.measure(cells.at(cell)), "row");
    return p.collective.front();
  }

  FakeGpu fake;
  BenchLimits limits;
  GpuBench gpus;
  CollectiveBench bench;
  std::vector<std::string> missing;
  std::vector<CellPlan> cells;
};

TEST_CASE("collectives are measured on 2, 4, 8 GPUs, a call for each", "[scenarios]") {
  const Scratch scratch;
  Machine machine(6, fake_all_reduce(scratch));
  CHECK(machine.missing.empty());
  REQUIRE(machine.cells.size() == 2);  // of six GPUs: 2 and 4 ranks
  const CollectiveCell four = machine.measure(1);
  CHECK(four.state.valid);
  CHECK(four.op == "all_reduce");
  CHECK(four.ranks == 4);
  REQUIRE(four.points.size() == 16);  // 8 KiB, doubled 15 times: 256 MiB
  CHECK(four.points.front().bytes == 8 << 10);
  CHECK(four.points.back().bytes == 256 << 20);
  // Out of place: 4 x 12 us + 1.5 x 8,192 bytes at 16 GB/s = 48.77 us.
  CHECK(four.points.front().time_us == Approx(48.77));
}

TEST_CASE("without a second GPU or the program collectives are missing", "[scenarios]") {
  const Scratch scratch;
  Machine one(1, fake_all_reduce(scratch));
  CHECK(one.cells.empty());
  REQUIRE(one.missing.size() == 1);
  CHECK_THAT(one.missing[0], ContainsSubstring("collectives: they need two GPUs"));
  const std::string path = std::getenv("PATH");
  setenv("PATH", scratch.path("").c_str(), 1);
  const Machine found(2, "");  // the script above, by its name
  std::filesystem::remove(scratch.path("all_reduce_perf"));
  const Machine none(2, "");
  setenv("PATH", path.c_str(), 1);
  CHECK(found.cells.size() == 1);
  CHECK(none.cells.empty());
  REQUIRE(none.missing.size() == 1);
  CHECK_THAT(none.missing[0], ContainsSubstring("there is no all_reduce_perf"));
  CHECK_THROWS_AS(Machine(2, scratch.path("absent")), InputError);
}

TEST_CASE("a program that fails leaves a cell that says why", "[scenarios]") {
  const Scratch scratch;
  const auto problem_of = [&](const std::string& text, double patience_s = 20) {
    Machine machine(2, script(scratch, "fails", text), patience_s);
    const CollectiveCell cell = machine.measure();
    CHECK_FALSE(cell.state.valid);
    CHECK(cell.points.empty());
    return cell.state.problem;
  };
  CHECK_THAT(problem_of("echo 'Test NCCL failure common.cu:958'; exit 3"),
             ContainsSubstring("ended with exit code 3: Test NCCL failure common.cu:958"));
  CHECK_THAT(problem_of("echo nonsense"), ContainsSubstring("measured 0 of 16 sizes"));
  CHECK_THAT(problem_of("kill -9 $$"), ContainsSubstring("signal 9"));
  const std::string head = "echo '# size count type redop root time algbw busbw #wrong'\n";
  CHECK_THAT(problem_of(head + "echo '8192 4096 half sum 12.5'"),
             ContainsSubstring("a line has 5 columns, its header 9"));
  CHECK_THAT(problem_of(head + "echo '8192 4096 half sum -1 fast 1 1 0'"),
             ContainsSubstring("found \"8192\" and \"fast\""));
  CHECK_THAT(problem_of(head + "echo '8192 4096 half sum -1 12.5 1 1 7'"),
             ContainsSubstring("7 values came out wrong at 8192 bytes"));
  CHECK_THAT(problem_of("echo '# size count cputime algbw'"),
             ContainsSubstring("expected a column \"time\""));
}

TEST_CASE("tables of older versions are read by their header", "[scenarios]") {
  NcclTable table;
  CHECK(table.take("#       size         count    type   redop     time   algbw   busbw  error"));
  CHECK(table.take("    33554432       8388608   float     sum    39235    0.86    0.86  1e-06"));
  CHECK(table.take("host:1:1 [0] NCCL INFO Using network Socket"));
  REQUIRE(table.points().size() == 1);
  CHECK(table.points()[0].bytes == 33'554'432);
  CHECK(table.points()[0].time_us == 39'235);
  CHECK_FALSE(table.take("8 2 float sum 25.34 0.00 0.00 0e+00"));
  CHECK_THAT(table.problem(), ContainsSubstring("expected ascending sizes"));
}

}  // namespace
}  // namespace spillway::test
