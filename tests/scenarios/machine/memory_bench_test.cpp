// Cells of host memory: what is planned for which machine, and small ones measured.
#include <algorithm>

#include "scenarios/machine/dram_bench.hpp"
#include "scenarios/machine/mapping.hpp"
#include "scenarios/machine/registration_bench.hpp"
#include "scenarios/machine/samples.hpp"
#include "sim/quantile.hpp"
#include "tests/support/catch.hpp"

namespace spillway {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

BenchLimits with_memory(std::int64_t bytes) {
  BenchLimits limits;
  limits.memory_bytes = bytes;
  return limits;
}

TEST_CASE("percentiles interpolate, variation is of the population", "[scenarios]") {
  CHECK(quantile(std::vector<double>{1, 2, 3, 4, 5}, 0.5) == 3);
  CHECK(quantile(std::vector<double>{10, 20}, 0.9) == Approx(19));
  CHECK(quantile(std::vector<double>{7}, 0.99) == 7);
  // Mean 3, squares 4 + 0 + 4 over 3.
  CHECK(variation({1, 3, 5}) == Approx(1.63299316 / 3));
  CHECK(variation({4}) == 0);
  const Spread spread = spread_of({5, 1, 3});
  CHECK(spread.med_us == 3);
  CHECK(spread.samples == 3);
  CHECK(spread_of({}).samples == 0);
}

TEST_CASE("threads go from one to all of each node in powers of two", "[scenarios]") {
  HostState host;
  host.llc_bytes = 32 * kMiB;
  host.facts.numa = {{0, "0-5", 0}, {1, "6", 0}, {2, "", 0}};
  host.node_cpus = {{0, 1, 2, 3, 4, 5}, {6}, {}};  // the third has no CPU
  DramBench bench(host);
  std::vector<std::string> missing;
  std::vector<std::pair<int, int>> seen;
  for (const CellPlan& cell : bench.plan(with_memory(1024 * kMiB), missing)) {
    CHECK(cell.request["bytes"] == 4 * 32 * kMiB);
    if (cell.request["op"] != "triad") continue;
    seen.emplace_back(cell.request["numa"], cell.request["threads"]);
  }
  CHECK(seen == std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {0, 4}, {0, 6}, {1, 1}});
  CHECK(bench.warnings().empty());
  CHECK(missing.empty());
}

TEST_CASE("arrays shrink to the memory allowed, with a warning, and not to nothing",
          "[scenarios]") {
  HostState host;
  host.cpus = {0};
  host.llc_bytes = 32 * kMiB;
  DramBench bench(host);
  std::vector<std::string> missing;
  const std::vector<CellPlan> cells = bench.plan(with_memory(48 * kMiB), missing);
  REQUIRE_FALSE(cells.empty());
  CHECK(cells[0].request["bytes"] == 16 * kMiB);
  CHECK(cells[0].request["numa"] == -1);  // the system names no nodes
  REQUIRE(bench.warnings().size() == 1);
  CHECK_THAT(bench.warnings()[0], ContainsSubstring("--memory 384.00 MiB"));
  CHECK(bench.plan(with_memory(2 * kMiB), missing).empty());
  CHECK_THAT(missing.at(0), ContainsSubstring("needs 3.00 MiB"));
}

TEST_CASE("copy and triad are measured and verified", "[scenarios]") {
  HostState host = read_host("", "");
  host.facts.numa.clear();
  host.llc_bytes = 0;
  DramBench bench(host);
  std::vector<std::string> missing;
  for (const CellPlan& cell : bench.plan(with_memory(6 * kMiB), missing)) {
    const nlohmann::json row = bench.measure(cell);
    INFO(row.dump());
    CHECK(row["state"]["valid"] == true);
    CHECK(row["gbs"] > 0);
    CHECK(row["time"]["samples"] >= 5);
    // bytes/us = MB/s: two arrays move in a copy, three in a triad.
    const double arrays = row["op"] == "copy" ? 2 : 3;
    CHECK(row["gbs"].get<double>() == Approx(arrays * 2 * static_cast<double>(kMiB) /
                                             row["time"]["med_us"].get<double>() / 1e3));
  }
}

TEST_CASE("locking keeps to the limit, and says which limit would do", "[scenarios]") {
  HostState host;
  host.facts.memlock_bytes = 8 * kMiB;
  host.huge_pages = "madvise";
  RegistrationBench bench(host);
  std::vector<std::string> missing;
  for (const CellPlan& cell : bench.plan(with_memory(300 * kMiB), missing)) {
    CHECK(cell.request["bytes"] == 4 * kMiB);
  }
  REQUIRE(missing.size() == 1);
  CHECK_THAT(missing[0], ContainsSubstring("the memlock limit is 8.00 MiB"));
  CHECK_THAT(missing[0], ContainsSubstring("ulimit -l 262144"));  // 256 MiB in KiB

  host.lock_exempt = true;
  missing.clear();
  // 4, 64 and 256 MiB on both kinds of pages.
  CHECK(bench.plan(with_memory(300 * kMiB), missing).size() == 6);
  CHECK(missing.empty());
  host.huge_pages = "never";
  CHECK(bench.plan(with_memory(300 * kMiB), missing).size() == 3);
  CHECK_THAT(missing.at(0), ContainsSubstring("huge pages are off"));
}

TEST_CASE("a locked cell has a time, a refused one its reason", "[scenarios]") {
  const HostState host;
  RegistrationBench bench(host);
  const auto measured = [&](std::int64_t bytes) {
    return bench.measure(
        {"registration", {{"method", "mlock"}, {"bytes", bytes}, {"page_bytes", 4096}}, 1, 0});
  };
  const nlohmann::json small = measured(64 << 10);
  CHECK(small["state"]["valid"] == true);
  CHECK(small["seconds"] > 0);
  const nlohmann::json huge = measured(std::int64_t{1} << 60);
  CHECK(huge["state"]["valid"] == false);
  CHECK_THAT(huge["state"]["problem"].get<std::string>(), ContainsSubstring("refused"));
}

TEST_CASE("memory comes page-aligned, and huge pages are told from small ones", "[scenarios]") {
  const Mapping memory(4 * kMiB, Mapping::Pages::kSmall);
  CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % (2 * kMiB) == 0);
  CHECK(memory.as<double>().size() == 4 * kMiB / 8);
  memory.as<double>()[0] = 1;
  CHECK(memory.huge_bytes() <= 0);
}

}  // namespace
}  // namespace spillway
