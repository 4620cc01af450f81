// Storage cells on a real, small scratch file: contents, both engines, what is left behind.
#include "scenarios/machine/storage_bench.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "scenarios/machine/mapping.hpp"
#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway {
namespace {

using test::Scratch;

constexpr std::int64_t kKiB = std::int64_t{1} << 10;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST_CASE("a block's contents are known by its place, and no two pages are alike", "[scenarios]") {
  const BlockContent content(1);
  std::vector<std::byte> block(static_cast<std::size_t>(64 * kKiB));
  const auto written = [&](std::int64_t offset) {
    content.fill(block.data(), 64 * kKiB, offset);
    content.stamp(block.data(), 64 * kKiB, offset);
  };
  written(128 * kKiB);
  CHECK(content.stamped(block.data(), 128 * kKiB));
  CHECK(content.equals(block.data(), 64 * kKiB, 128 * kKiB));
  // 1 MiB on, the body is the same and the stamps are not.
  CHECK_FALSE(content.equals(block.data(), 64 * kKiB, kMiB + 128 * kKiB));
  content.stamp(block.data(), 64 * kKiB, kMiB + 128 * kKiB);
  CHECK(content.equals(block.data(), 64 * kKiB, kMiB + 128 * kKiB));
  // One bit anywhere is seen.
  block[50'000] ^= std::byte{1};
  CHECK_FALSE(content.equals(block.data(), 64 * kKiB, kMiB + 128 * kKiB));
  // Another seed is another run.
  written(0);
  CHECK_FALSE(BlockContent(2).stamped(block.data(), 0));
}

TEST_CASE("both engines write and read back what they wrote", "[scenarios]") {
  const Scratch scratch;
  const BlockContent content(7);
  for (const IoEngine engine : {IoEngine::kUring, IoEngine::kPread}) {
    if (engine == IoEngine::kUring && !uring_permitted()) continue;
    INFO(name_of(engine));
    const ScratchFile file(scratch.path(""), 4 * kMiB);
    CHECK(scratch.listing().empty());  // it has no name
    IoLoad load;
    load.fd = file.direct();
    load.write = true;
    load.block = kMiB;
    load.qd = 2;
    load.begin = 0;
    load.extent = 4 * kMiB;
    const IoOutcome first = run_io(engine, load, content, {});
    CHECK(first.problem.empty());
    CHECK(first.operations == 4);  // in order, each once
    CHECK(first.latency_us.size() == 4);

    load.begin = -1;
    load.block = 4 * kKiB;
    load.qd = 4;
    load.jobs = 2;
    load.seconds = 0.01;
    for (const bool write : {true, false}) {
      load.write = write;
      const IoOutcome random = run_io(engine, load, content, {});
      CHECK(random.problem.empty());
      CHECK(random.operations >= load.least);
      CHECK(std::is_sorted(random.latency_us.begin(), random.latency_us.end()));
    }

    // What somebody else changed is found: every block's stamp is looked at.
    const std::array<char, 16> other = {};
    for (std::int64_t page = 0; page < 1024; ++page) {
      REQUIRE(pwrite(file.buffered(), other.data(), other.size(), page * 4 * kKiB) == 16);
    }
    file.sync();
    CHECK_THAT(run_io(engine, load, content, {}).problem,
               ContainsSubstring("read other than what was written"));
  }
}

TEST_CASE("each block of a cold read comes once", "[scenarios]") {
  const Scratch scratch;
  const BlockContent content(7);
  const ScratchFile file(scratch.path(""), 2 * kMiB);
  IoLoad load;
  load.fd = file.buffered();
  load.write = true;
  load.block = kMiB;
  load.begin = 0;
  load.extent = 2 * kMiB;
  REQUIRE(run_io(IoEngine::kPread, load, content, {}).operations == 2);
  load.write = false;
  load.begin = -1;
  load.once = true;
  load.block = 64 * kKiB;
  load.seconds = 100;
  CHECK(run_io(IoEngine::kPread, load, content, {}).operations == 32);  // 2 MiB / 64 KiB, and ends
}

TEST_CASE("a load ends when it is asked to", "[scenarios]") {
  const Scratch scratch;
  const BlockContent content(7);
  const ScratchFile file(scratch.path(""), kMiB);
  IoLoad load;
  load.fd = file.direct();
  load.write = true;
  load.extent = kMiB;
  load.seconds = 1e9;
  const IoOutcome outcome = run_io(IoEngine::kPread, load, content, [] { return true; });
  CHECK(outcome.problem.empty());
}

TEST_CASE("a folder that takes no scratch file is an I/O error", "[scenarios]") {
  const Scratch scratch;
  const std::string file = scratch.file("f", "");
  const auto fault = [](const auto& act) {
    try {
      act();
    } catch (const InputError& error) {
      return error.fault() == Fault::kIo;
    }
    return false;
  };
  CHECK(fault([&] { check_scratch(scratch.path("none"), false); }));
  CHECK(fault([&] { check_scratch(file, false); }));
  CHECK(fault([&] { check_scratch("/proc", true); }));
  CHECK(fault([&] { ScratchFile(scratch.path(""), std::int64_t{1} << 62); }));
  CHECK(scratch.listing() == "f");
}

HostState small_host(const Scratch& scratch) {
  HostState host;
  host.scratch.path = scratch.path("");
  host.scratch.fs = "testfs";
  host.scratch.free_bytes = 100 * kMiB;
  return host;
}

BenchLimits small_limits(const Scratch& scratch) {
  BenchLimits limits;
  limits.budget_s = 1;
  limits.memory_bytes = 64 * kMiB;
  limits.scratch = scratch.path("");
  limits.scratch_bytes = 64 * kMiB;
  return limits;
}

TEST_CASE("without room there are no storage cells, and what is needed is said", "[scenarios]") {
  const Scratch scratch;
  const HostState host = small_host(scratch);
  StorageBench bench(host);
  std::vector<std::string> missing;
  BenchLimits limits = small_limits(scratch);
  limits.scratch_bytes = 50 * kMiB;
  CHECK(bench.plan(limits, missing).empty());
  REQUIRE(missing.size() == 1);
  CHECK_THAT(missing[0], ContainsSubstring("a scratch file of 64.00 MiB"));
  CHECK_THAT(missing[0], ContainsSubstring("100.00 MiB is free"));
  limits.scratch.clear();
  CHECK(bench.plan(limits, missing).empty());
  CHECK_THAT(missing[1], ContainsSubstring("--scratch"));
}

TEST_CASE("cells that need more memory than allowed are counted", "[scenarios]") {
  const Scratch scratch;
  const HostState host = small_host(scratch);
  StorageBench bench(host);
  std::vector<std::string> missing;
  for (const CellPlan& cell : bench.plan(small_limits(scratch), missing)) {
    const auto in_flight = cell.request["bytes"].get<std::int64_t>() *
                           cell.request["qd"].get<std::int64_t>() *
                           cell.request["jobs"].get<std::int64_t>();
    CHECK(in_flight <= 32 * kMiB);
  }
  REQUIRE(missing.size() == 1);
  CHECK_THAT(missing[0], ContainsSubstring("more in flight than 32.00 MiB"));
}

TEST_CASE("the scratch file grows with the budget, within a drive's patience", "[scenarios]") {
  CHECK(wanted_scratch_bytes(1) == 64 * kMiB);
  CHECK(wanted_scratch_bytes(60) == 17 * 64 * kMiB);  // 1.2 GB in steps of 64 MiB
  CHECK(wanted_scratch_bytes(1e6) == 32 * 1024 * kMiB);
}

TEST_CASE("storage cells have rates, latencies and nothing left behind", "[scenarios]") {
  const Scratch scratch;
  const HostState host = small_host(scratch);
  StorageBench bench(host);
  std::vector<std::string> missing;
  std::size_t measured = 0;
  for (const CellPlan& cell : bench.plan(small_limits(scratch), missing)) {
    const auto& request = cell.request;
    const bool sustained = request["op"] == "sustained_write";
    const bool small = request["bytes"] == 64 * kKiB && request["qd"] == 1 && request["jobs"] == 1;
    if (!small && !(sustained && request["after_bytes"] == 16 * kMiB)) continue;
    ++measured;
    const nlohmann::json row = bench.measure(cell);
    INFO(row.dump());
    CHECK(row["state"]["valid"] == true);
    CHECK(row["fs"] == "testfs");
    CHECK(row["gbs"] > 0);
    CHECK(row["operations"] > 0);
    CHECK(row["lat_p50_us"] > 0);
    CHECK(row["lat_p50_us"] <= row["lat_p99_us"]);
    if (sustained) CHECK(row["operations"] == 16);  // the second quarter, in blocks of 1 MiB
  }
  CHECK(measured == 1 + 2 + 2);  // a quarter, direct read and write, buffered cold and warm
  CHECK(scratch.listing().empty());
}

}  // namespace
}  // namespace spillway
