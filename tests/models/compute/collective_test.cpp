// Collectives against the figures that they were reduced from, and what is made of them for GPUs
// and nodes that nobody measured.
#include "models/compute/collective.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "traces/byte_source.hpp"

namespace spillway::test {
namespace {

constexpr double kMib = 1 << 20;

Collectives of(const char* gpu, std::uint32_t ranks, const CollectiveSettings& settings = {}) {
  return Collectives(find_gpu(gpu, {}), ranks, settings);
}
double reduce_us(const Collectives& c, double bytes) {
  return c.seconds(Collective::kAllReduce, bytes) * 1e6;
}

TEST_CASE("an all-reduce over NVLink meets its measured points", "[models][compute]") {
  const Collectives h100 = of("H100", 4);
  CHECK(h100.measured());
  CHECK(reduce_us(h100, 100) == Approx(4.91));
  CHECK(reduce_us(h100, 2 * kMib) == Approx(18.48));
  CHECK(reduce_us(h100, 128 * kMib) == Approx(619.1));
  // Beyond the last size: (1180.8 - 619.1) us for 128 MiB more.
  CHECK(reduce_us(h100, 384 * kMib) == Approx(1180.8 + 561.7));
  double last = 0;
  for (double bytes = 4096; bytes < 512 * kMib; bytes *= 1.25) {
    CHECK(reduce_us(h100, bytes) >= last);
    last = reduce_us(h100, bytes);
  }
  // Without a captured graph large tensors are copied first.
  CHECK(h100.seconds(Collective::kAllReduce, 128 * kMib, false) * 1e6 == Approx(1.16 * 619.1));
  CHECK(h100.seconds(Collective::kAllReduce, 2 * kMib, false) * 1e6 == Approx(18.48));
}

struct Point {
  double bytes;
  double us;
};

/// The medians of one table, by workers of one node.
std::map<std::uint32_t, std::vector<Point>> medians(const std::string& path) {
  std::map<std::uint32_t, std::vector<Point>> out;
  LineReader lines(path, open_bytes(path));
  std::vector<std::string> header;
  std::string_view line;
  while (lines.next(line)) {
    std::vector<std::string> cells;
    std::stringstream stream{std::string(line)};
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    if (header.empty()) {
      header = cells;
      continue;
    }
    const auto cell = [&](const char* name) {
      const auto at = std::find(header.begin(), header.end(), name) - header.begin();
      return cells.at(static_cast<std::size_t>(at));
    };
    if (cell("devices_per_node") != cell("num_workers")) continue;
    out[static_cast<std::uint32_t>(std::stoul(cell("num_workers")))].push_back(
        {std::stod(cell("size")), std::stod(cell("time_stats.all_reduce.median")) * 1000});
  }
  return out;
}

TEST_CASE("large all-reduces agree with NCCL's on other machines", "[models][compute]") {
  // microsoft/vidur's medians, 32 to 64 MiB: an older NCCL on A100 and H100 DGX.
  for (const std::string gpu : {"a100", "h100"}) {
    const auto path = published("profiles/vidur_" + gpu + "_dgx_all_reduce.csv.gz");
    if (!path) {
      WARN("the measured tables are not here");
      return;
    }
    for (const auto& [workers, points] : medians(*path)) {
      const Collectives here = of(gpu.c_str(), workers);
      for (const Point& p : points) {
        if (p.bytes < 32 * kMib) continue;
        INFO(gpu << " x " << workers << ", " << p.bytes << " bytes: " << p.us << " us");
        CHECK(reduce_us(here, p.bytes) == Approx(p.us).epsilon(0.4));
      }
    }
  }
}

TEST_CASE("gathers and exchanges move half of what an all-reduce moves", "[models][compute]") {
  const Collectives h100 = of("H100", 4);
  for (const Collective kind :
       {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll}) {
    CHECK(h100.seconds(kind, 128 * kMib) * 1e6 == Approx(4.91 + (619.1 - 4.91) / 2));
  }
  // On PCIe: 2 ranks send half of it once, for 16.3 + 1.85 x 2 us.
  const Collectives pcie = of("L40S", 2);
  CHECK(pcie.seconds(Collective::kAllGather, 16e6) * 1e6 == Approx(20 + 500));
}

TEST_CASE("GPUs without NVLink take 20 us + bytes / 16 GB/s for two", "[models][compute]") {
  const Collectives two = of("L40S", 2);
  CHECK_FALSE(two.measured());
  CHECK(two.source().find("20 us + bytes / 16 GB/s") != std::string::npos);
  CHECK(reduce_us(two, 0) == Approx(20));
  CHECK(reduce_us(two, 16e6) == Approx(20 + 1000));
  // Four ranks: 6 steps of a ring, each GPU sends 6/4 of the tensor.
  CHECK(reduce_us(of("L40S", 4), 16e6) == Approx(16.3 + 6 * 1.85 + 1500));
  CollectiveSettings own;
  own.latency_us = 9;
  own.bandwidth = 50e9;
  CHECK(of("L40S", 2, own).measured());
  CHECK(reduce_us(of("L40S", 2, own), 50e6) == Approx(9 + 1000));
  own.algorithm = CollectiveSettings::Algorithm::kOneShot;
  CHECK(reduce_us(of("L40S", 4, own), 50e6) == Approx(9 + 3000));
  // A GPU with NVLink may be told to go by PCIe.
  CollectiveSettings pcie;
  pcie.path = CollectiveSettings::Path::kPcie;
  CHECK(reduce_us(of("H100", 2, pcie), 16e6) == Approx(1020));
}

TEST_CASE("figures of the user's machine take the place of published ones", "[models][compute]") {
  CollectiveSettings own;
  own.measured = {{2, 24, 20e9}, {4, 30, 18e9}};
  own.measured_by = "hardware profile box";
  // PCIe: 30 us, and each of four GPUs sends 6/4 of 18 MB at 18 GB/s.
  const Collectives four = of("L40S", 4, own);
  CHECK(four.measured());
  CHECK(reduce_us(four, 18e6) == Approx(30 + 1500));
  CHECK(four.source() == "30 us + bytes / 18 GB/s (measured by hardware profile box)");
  // Eight were not measured: those of four, and 14 steps of a ring in place of 6.
  const Collectives eight = of("L40S", 8, own);
  CHECK_FALSE(eight.measured());
  CHECK(reduce_us(eight, 0) == Approx(30 * (16.3 + 14 * 1.85) / (16.3 + 6 * 1.85)));
  CHECK(eight.source().find("box on 4 ranks, assumed for 8") != std::string::npos);
  // Three take those of four.
  CHECK(reduce_us(of("L40S", 3, own), 0) == Approx(30 * (16.3 + 4 * 1.85) / (16.3 + 6 * 1.85)));
  // What the scenario says wins.
  own.latency_us = 9;
  CHECK(reduce_us(of("L40S", 4, own), 18e6) == Approx(9 + 1500));
  own.bandwidth = 36e9;
  CHECK(reduce_us(of("L40S", 4, own), 18e6) == Approx(9 + 750));
}

TEST_CASE("NVLink keeps the engine's small all-reduces, at the measured rate",
          "[models][compute]") {
  // The table of two H100 ends with 128 MiB in 886.6 - 468.5 us: 321.0 GB/s. Half of that is
  // measured: what exceeds the floor of 4.50 us takes twice as long.
  CollectiveSettings own;
  own.measured = {{2, 15, 128 * kMib / 418.1e-6 / 2}};
  own.measured_by = "hardware profile box";
  const Collectives two = of("H100", 2, own);
  CHECK(two.measured());
  CHECK(reduce_us(two, 8192) == Approx(4.5));
  CHECK(reduce_us(two, 128 * kMib) == Approx(4.5 + 2 * (468.5 - 4.5)));
  CHECK(two.source().find("NCCL sends 161 GB/s on 2 ranks (measured by hardware profile box)") !=
        std::string::npos);
  CHECK_FALSE(of("H100", 4, own).measured());
}

TEST_CASE("what was not measured is assumed from the links, and says so", "[models][compute]") {
  const Collectives h200 = of("H200", 4);
  CHECK_FALSE(h200.measured());
  CHECK(h200.source().find("assumed for 4 x H200-SXM-141GB") != std::string::npos);
  // The same NVLink: the same times.
  CHECK(reduce_us(h200, 32 * kMib) == reduce_us(of("H100", 4), 32 * kMib));
  // Three ranks take the table of four.
  CHECK_FALSE(of("A100", 3).measured());
  CHECK(reduce_us(of("A100", 3), 2 * kMib) == Approx(26.15));
  // Half the links: twice what exceeds the floor of 4.50 us.
  CollectiveSettings half;
  half.bandwidth = 225e9;
  CHECK(reduce_us(of("H100", 2, half), 128 * kMib) == Approx(4.5 + 2 * (468.5 - 4.5)));
}

TEST_CASE("ranks of several nodes exchange over their NICs", "[models][compute]") {
  CollectiveSettings settings;
  settings.nic_latency_us = 40;
  settings.nic_bandwidth = 25e9;
  const Collectives two_nodes = of("H100", 16, settings);
  // 8 ranks within a node, then an all-reduce over 2 nodes of an eighth: each NIC sends it once.
  const double bytes = 200e6;
  CHECK(reduce_us(two_nodes, bytes) ==
        Approx(reduce_us(of("H100", 8), bytes) + 40 + bytes / 8 / 25e9 * 1e6));
  CHECK_FALSE(two_nodes.measured());
  // One GPU a node: nothing within.
  settings.gpus_per_node = 1;
  CHECK(reduce_us(of("H100", 2, settings), 25e6) == Approx(40 + 1000));
}

}  // namespace
}  // namespace spillway::test
