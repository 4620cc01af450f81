// The bench that drives the GPU harness, against a simulated one: what it plans, what it reads from
// answers, and how it ends when the harness is lost, hangs or talks nonsense.
#include "scenarios/machine/gpu_bench.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "scenarios/machine/gpu_cells.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using nlohmann::json;
using test::FakeGpu;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

BenchLimits limits_of(double budget_s) {
  BenchLimits out;
  out.budget_s = budget_s;
  out.memory_bytes = 4 * kGiB;
  return out;
}

/// A bench on the simulated harness, which need not be waited for.
GpuBench bench(double patience_s = 20) {
  return GpuBench({test::fake_gpu_harness(), patience_s});
}

CellPlan copy_cell(const std::string& api, std::int64_t bytes, std::int64_t n, bool gated = true) {
  return {"copy",
          {{"dir", "h2d"},
           {"gpu", 0},
           {"numa", 0},
           {"api", api},
           {"mem", "host_alloc"},
           {"pattern", "contiguous"},
           {"bytes", bytes},
           {"n", n},
           {"stream_count", 1},
           {"gated", gated}},
          0.2,
          0};
}

std::string lost_message(GpuBench& bench, const CellPlan& cell) {
  try {
    bench.measure(cell);
  } catch (const BenchLost& lost) {
    return lost.what();
  }
  return "not lost";
}

// ---- planning

GpuCellsInput one_gpu() {
  GpuCellsInput input;
  input.gpus.resize(1);
  input.memory_bytes = 4 * kGiB;
  input.cell_limit_s = gpu_cell_limit_s(600);
  return input;
}

TEST_CASE("a GPU's cells: a sparse link curve first, everything in ten minutes", "[scenarios]") {
  const std::vector<CellPlan> cells = list_gpu_cells(one_gpu());
  std::map<std::string, int> sections;
  double expected_s = 0;
  double first_s = 0;  // what a minute should reach
  for (const CellPlan& cell : cells) {
    ++sections[cell.section];
    expected_s += cell.expected_s;
    if (cell.priority == 0) first_s += cell.expected_s;
  }
  for (const char* section :
       {"copy", "contention", "interference", "hbm", "gemm", "attention", "registration"}) {
    INFO(section);
    CHECK(sections[section] > 0);
  }
  CHECK(sections["copy"] > 500);
  INFO(fmt::format("{} cells, {:.0f} s, the first {:.0f} s", cells.size(), expected_s, first_s));
  CHECK(expected_s < 600);
  CHECK(first_s < 30);
  CHECK(std::is_sorted(cells.begin(), cells.end(),
                       [](const auto& a, const auto& b) { return a.priority < b.priority; }));
}

TEST_CASE("a GPU's cells are distinct, and hold no more memory than allowed", "[scenarios]") {
  GpuCellsInput input = one_gpu();
  input.memory_bytes = 256 << 20;
  std::set<std::string> seen;
  for (const CellPlan& cell : list_gpu_cells(input)) {
    CHECK(seen.insert(cell.section + cell.request.dump()).second);
    if (cell.section != "copy") continue;
    // An eighth of 256 MiB.
    CHECK(cell.request["bytes"].get<std::int64_t>() * cell.request["n"].get<std::int64_t>() <=
          32 << 20);
  }
  CHECK_FALSE(seen.empty());
}

TEST_CASE("no more copies are queued behind the spinning kernel than a stream takes",
          "[scenarios]") {
  for (const CellPlan& cell : list_gpu_cells(one_gpu())) {
    if (cell.section != "copy" || cell.request["n"] < 1000) continue;
    const std::string api = cell.request["api"];
    const bool one_call = api == "memcpy_2d" || api.starts_with("kernel_");
    if (!one_call) CHECK(cell.request["gated"] == false);
  }
}

TEST_CASE("without the batched call there are no cells for it", "[scenarios]") {
  GpuCellsInput input = one_gpu();
  input.batch = false;
  for (const CellPlan& cell : list_gpu_cells(input)) {
    CHECK(cell.request.dump().find("memcpy_batch") == std::string::npos);
  }
}

TEST_CASE("several GPUs are measured in pairs and all together", "[scenarios]") {
  GpuCellsInput input = one_gpu();
  input.gpus.resize(3);
  for (int i = 0; i < 3; ++i) input.gpus[static_cast<std::size_t>(i)].index = i;
  std::map<std::size_t, int> by_actors;
  for (const CellPlan& cell : list_gpu_cells(input)) {
    if (cell.request.value("kind", "") == "gpus") ++by_actors[cell.request["actors"].size()];
  }
  // Three pairs each way: 6 of two actors; both ways: 3 of four. All: 2 of three and 1 of six.
  CHECK(by_actors == std::map<std::size_t, int>{{2, 6}, {3, 2}, {4, 3}, {6, 1}});
}

TEST_CASE("no GPU, no cells", "[scenarios]") {
  CHECK(list_gpu_cells({}).empty());
}

// ---- answers

TEST_CASE("a row holds what the simulated harness measured", "[scenarios]") {
  const FakeGpu fake("");
  GpuBench gpu = bench();
  std::vector<std::string> missing;
  REQUIRE_FALSE(gpu.plan(limits_of(600), missing).empty());
  CHECK(missing.empty());
  // Its model: 8 us + 64 x (2 us + 64 KiB / 50 GB/s = 1.31072 us) = 219.88608 us.
  const json loop = gpu.measure(copy_cell("memcpy_async", 64 * kKiB, 64));
  CHECK(loop["time"]["med_us"].get<double>() == Approx(219.88608).epsilon(1e-6));
  CHECK(loop["time"]["samples"] == 20);
  CHECK(loop["state"]["valid"] == true);
  CHECK(loop["state"]["stable"] == true);
  CHECK(loop["submit_us"] == 0);
  CHECK(loop["bytes"] == 64 * kKiB);
  // Ungated, 64 calls of 5 us take the host longer than the link.
  const json ungated = gpu.measure(copy_cell("memcpy_async", 64 * kKiB, 64, false));
  CHECK(ungated["submit_us"] == 320);
  CHECK(ungated["time"]["med_us"] == 320);
  // Below 28 KiB a batch runs at 5 GB/s: 8 us + 64 x (0.3 us + 4,096 / 5,000 us) = 79.6288 us.
  const json batch = gpu.measure(copy_cell("memcpy_batch", 4 * kKiB, 64));
  CHECK(batch["time"]["med_us"].get<double>() == Approx(79.6288).epsilon(1e-6));
}

TEST_CASE("every cell of the plan comes back as a valid row", "[scenarios]") {
  const FakeGpu fake("gpus=2");
  GpuBench gpu = bench();
  std::vector<std::string> missing;
  std::set<std::string> sections;
  for (const CellPlan& cell : gpu.plan(limits_of(600), missing)) {
    const json row = gpu.measure(cell);
    INFO(row.dump());
    REQUIRE(row["state"]["valid"] == true);
    for (const auto& [key, value] : cell.request.items()) {
      if (key != "actors") REQUIRE(row[key] == value);
    }
    sections.insert(cell.section);
  }
  CHECK(sections.size() == 7);
}

TEST_CASE("actors carry their rates, alone and together", "[scenarios]") {
  const FakeGpu fake("");
  GpuBench gpu = bench();
  std::vector<std::string> missing;
  gpu.plan(limits_of(60), missing);
  const json row =
      gpu.measure({"contention",
                   {{"kind", "duplex"},
                    {"actors",
                     {{{"dir", "h2d"}, {"gpu", 0}, {"bytes", 2048 * kKiB}, {"n", 32}},
                      {{"dir", "d2h"}, {"gpu", 0}, {"bytes", 2048 * kKiB}, {"n", 32}}}}},
                   0.2,
                   0});
  for (const json& actor : row["actors"]) {
    CHECK(actor["together_gbs"].get<double>() ==
          Approx(0.83 * actor["alone_gbs"].get<double>()).epsilon(1e-5));
  }
}

TEST_CASE("a cell that varies is not stable", "[scenarios]") {
  const FakeGpu fake("noise=0.3");
  GpuBench gpu = bench();
  std::vector<std::string> missing;
  gpu.plan(limits_of(60), missing);
  const json row = gpu.measure(copy_cell("memcpy_async", 64 * kKiB, 64));
  CHECK(row["state"]["valid"] == true);
  CHECK(row["state"]["stable"] == false);
  CHECK(row["time"]["cv"].get<double>() > 0.05);
}

TEST_CASE("contents that differ make a row invalid, with the place", "[scenarios]") {
  const FakeGpu fake("corrupt=1");
  GpuBench gpu = bench();
  std::vector<std::string> missing;
  gpu.plan(limits_of(60), missing);
  const json row = gpu.measure(copy_cell("memcpy_async", 64 * kKiB, 64));
  CHECK(row["state"]["valid"] == false);
  CHECK(row["state"]["problem"] == "contents differ at offset 4096 of copy 0");
}

TEST_CASE("an error ends one cell, not the harness", "[scenarios]") {
  const FakeGpu fake("");
  GpuBench gpu = bench();
  std::vector<std::string> missing;
  gpu.plan(limits_of(60), missing);
  CellPlan odd = copy_cell("memcpy_async", 64 * kKiB, 64);
  odd.request["pattern"] = "zigzag";
  const json row = gpu.measure(odd);
  CHECK(row["state"]["valid"] == false);
  CHECK_THAT(row["state"]["problem"].get<std::string>(),
             ContainsSubstring("bad request: pattern: expected contiguous, strided"));
  CHECK(row["time"]["samples"] == 0);  // every member of a row is there
  CHECK(gpu.measure(copy_cell("memcpy_async", 64 * kKiB, 64))["state"]["valid"] == true);
}

TEST_CASE("an answer without its time is no measurement", "[scenarios]") {
  const FakeGpu fake("lacking=1");
  GpuBench gpu = bench();
  std::vector<std::string> missing;
  gpu.plan(limits_of(60), missing);
  const json row = gpu.measure(copy_cell("memcpy_async", 64 * kKiB, 64));
  CHECK(row["state"]["valid"] == false);
  CHECK(row["state"]["problem"] == "the harness's answer has no usable `submit_us`");
}

TEST_CASE("a request is one line of words", "[scenarios]") {
  CHECK(request_line("copy", 7, {{"bytes", 4096}, {"dir", "h2d"}, {"gated", true}}) ==
        "cmd=copy id=7 bytes=4096 dir=h2d gated=1\n");
  CHECK(request_line("contention", 8,
                     {{"actors",
                       {{{"dir", "h2d"}, {"gpu", 0}, {"bytes", 1}, {"n", 2}},
                        {{"dir", "d2h"}, {"gpu", 1}, {"bytes", 3}, {"n", 4}}}}}) ==
        "cmd=contention id=8 actors=h2d:0:1:2+d2h:1:3:4\n");
}

// ---- what is missing, and what is lost

TEST_CASE("a machine without driver or device says so, and has no cells", "[scenarios]") {
  for (const auto& [word, says] : {std::pair{"no_driver", "GPU: no driver (as the test asked)"},
                                   std::pair{"no_device", "GPU: no device (as the test asked)"}}) {
    const FakeGpu fake(fmt::format("missing={}", word));
    GpuBench gpu = bench();
    std::vector<std::string> missing;
    CHECK(gpu.plan(limits_of(60), missing).empty());
    CHECK(missing == std::vector<std::string>{says});
    CHECK(gpu.warnings().empty());
  }
}

TEST_CASE("a harness that is named and does not exist is a mistake", "[scenarios]") {
  std::vector<std::string> missing;
  GpuBench gpu({"/nowhere/harness", 1});
  CHECK_THROWS_AS(gpu.plan(limits_of(60), missing), InputError);
  const test::Scratch scratch;
  GpuBench text({scratch.file("notes.txt", "no program\n"), 1});
  CHECK_THROWS_AS(text.plan(limits_of(60), missing), InputError);
}

TEST_CASE("a harness that ends at once is missing, not a crash", "[scenarios]") {
  std::vector<std::string> missing;
  GpuBench gpu({"/bin/true", 5});
  CHECK(gpu.plan(limits_of(60), missing).empty());
  REQUIRE(missing.size() == 1);
  CHECK_THAT(missing[0], ContainsSubstring("the GPU harness ended during `hello` (exit code 0)"));
}

TEST_CASE("a lost GPU is BenchLost, whatever the way", "[scenarios]") {
  struct Way {
    std::string switches;
    std::string says;
  };
  // Two answers are for hello and device; one cell is measured before.
  const std::vector<Way> ways = {
      {"lost_after=3",
       "the GPU is gone: cudaErrorDeviceUnavailable during `copy` (as the test asked)"},
      {"die_after=3", "the GPU harness ended during `copy` (signal 9)"},
      {"garbage_after=3",
       "the GPU harness answered `copy` with what is no answer: }{ not an answer"},
      {"hang_after=3", "the GPU harness did not answer `copy` within 1 s"}};
  for (const Way& way : ways) {
    INFO(way.switches);
    const FakeGpu fake(way.switches);
    GpuBench gpu = bench(0.3);
    std::vector<std::string> missing;
    REQUIRE_FALSE(gpu.plan(limits_of(60), missing).empty());
    const CellPlan cell = copy_cell("memcpy_async", 64 * kKiB, 64);
    CHECK(gpu.measure(cell)["state"]["valid"] == true);
    CHECK(lost_message(gpu, cell) == way.says);
    CHECK(lost_message(gpu, cell) != "not lost");  // and stays lost
    MachineFacts machine;
    gpu.add_facts(machine);  // what was known before is still known
    CHECK(machine.gpus.size() == 1);
  }
}

TEST_CASE("what it knows of the machine goes into the facts", "[scenarios]") {
  const FakeGpu fake("gpus=2,trained_down=1");
  GpuBench gpu = bench();
  std::vector<std::string> missing;
  gpu.plan(limits_of(60), missing);
  MachineFacts machine;
  gpu.add_facts(machine);
  REQUIRE(machine.gpus.size() == 2);
  CHECK(machine.driver == "simulated");
  CHECK(machine.cuda_runtime == "13.0");
  CHECK(machine.gpus[1].uuid == "SIMULATED-1");
  CHECK(machine.gpus[1].numa == 1);
  CHECK(machine.gpus[1].sm_count == 132);
  CHECK(machine.gpus[1].sm_mhz_before == 1980);
  const std::vector<std::string> warnings = gpu.warnings();
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0] == "simulated harness: not a measurement");
  CHECK_THAT(warnings[1], ContainsSubstring("runs at generation 3 x16 under load"));
}

}  // namespace
}  // namespace spillway
