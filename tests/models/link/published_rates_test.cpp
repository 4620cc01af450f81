// The link models beside what others measured and claimed.
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/link/copy_path.hpp"
#include "models/link/defaults.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"

namespace spillway::test {
namespace {

constexpr double kKiB = 1024;

double gbs_of(const LinkModel& link, Duration latency, double bytes, std::uint32_t copies) {
  const Bytes payload(static_cast<std::int64_t>(bytes) * copies);
  return static_cast<double>(payload.count()) /
         static_cast<double>((link.service_time(payload, copies) - latency).count());
}

Reach reach_of(const LinkModel& link, double bytes, std::uint32_t copies) {
  return link.reach(Bytes(static_cast<std::int64_t>(bytes) * copies), copies);
}

/// The published table of one batched call on an H100.
struct Published {
  std::vector<double> bytes;
  std::vector<double> copies = {10'000, 50'000, 100'000};
  std::vector<std::vector<double>> gbs;  ///< by count, then size
  Material from;

  RateTable table() const {
    RateTable out;
    out.copy_bytes = bytes;
    out.copies = copies;
    for (const auto& row : gbs) out.gbs.insert(out.gbs.end(), row.begin(), row.end());
    return out;
  }
};

Published published() {
  Published out;
  out.from = material("profiles/copy_reference.json");
  const auto j =
      nlohmann::json::parse(std::ifstream(out.from.path)).at("cuMemcpyBatchAsync_H100_h2d_gbs");
  for (const double kib : j.at("page_kib")) out.bytes.push_back(kib * kKiB);
  for (const double n : out.copies) {
    out.gbs.push_back(j.at(fmt::format("n_{:.0f}", n)).get<std::vector<double>>());
  }
  return out;
}

TEST_CASE("published rates are exact at their own points", "[models]") {
  const Published p = published();
  const auto own = make_table_link(p.table());
  const HostLinkDefault h100 = default_host_link(find_gpu("H100", {}));
  const auto shipped = make_table_link(h100.up);
  for (std::size_t n = 0; n < p.copies.size(); ++n) {
    const auto copies = static_cast<std::uint32_t>(p.copies[n]);
    for (std::size_t i = 0; i < p.bytes.size(); ++i) {
      const double rate = p.gbs[n][i];
      INFO(p.bytes[i] << " bytes, " << copies << " copies");
      CHECK(gbs_of(*own, Duration(0), p.bytes[i], copies) == Approx(rate).epsilon(1e-6));
      CHECK(reach_of(*own, p.bytes[i], copies) == Reach::kInside);
      // The shipped table has the published rates, and stops at the 50 GB/s of 2 MiB blocks: no
      // small copy is faster.
      if (!p.from.published) continue;
      CHECK(gbs_of(*shipped, h100.up.job_latency, p.bytes[i], copies) ==
            Approx(std::min(rate, 50.0)).epsilon(1e-6));
    }
  }
}

TEST_CASE("a held-out rate is within 15% where its neighbours are of one regime, else flagged",
          "[models]") {
  const Published p = published();
  int held_out = 0;
  int flagged = 0;
  const auto check = [&](const RateTable& rest, double bytes, std::uint32_t copies, double low,
                         double high, double rate) {
    INFO(bytes << " bytes, " << copies << " copies");
    const auto link = make_table_link(rest);
    const bool step = std::max(low, high) > 2 * std::min(low, high);
    CHECK(reach_of(*link, bytes, copies) == (step ? Reach::kAcrossStep : Reach::kInside));
    if (step) {
      ++flagged;
    } else {
      ++held_out;
      CHECK(gbs_of(*link, Duration(0), bytes, copies) == Approx(rate).epsilon(0.15));
    }
  };
  for (std::size_t n = 0; n < p.copies.size(); ++n) {
    const auto copies = static_cast<std::uint32_t>(p.copies[n]);
    for (std::size_t i = 1; i + 1 < p.bytes.size(); ++i) {  // without its size
      Published rest = p;
      rest.bytes.erase(rest.bytes.begin() + static_cast<std::ptrdiff_t>(i));
      for (auto& row : rest.gbs) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
      check(rest.table(), p.bytes[i], copies, p.gbs[n][i - 1], p.gbs[n][i + 1], p.gbs[n][i]);
    }
  }
  for (std::size_t i = 0; i < p.bytes.size(); ++i) {  // without its count
    Published rest = p;
    rest.copies.erase(rest.copies.begin() + 1);
    rest.gbs.erase(rest.gbs.begin() + 1);
    check(rest.table(), p.bytes[i], 50'000, p.gbs[0][i], p.gbs[2][i], p.gbs[1][i]);
  }
  // 18 points: of 12 sizes the two or so beside each cliff are flagged, of 6 counts that of 24 KiB.
  const Figures figure(p.from, "copies");
  CHECK(held_out == figure(11, "held_out"));
  CHECK(flagged == figure(7, "flagged"));
}

TEST_CASE("the jump between 24 and 28 KiB is flagged, and what was never measured", "[models]") {
  const HostLinkDefault h100 = default_host_link(find_gpu("H100", {}));
  const auto link = make_table_link(h100.up);
  // 6.7 GB/s at 24 KiB and 39.9 at 28 KiB for 50,000 copies.
  CHECK(reach_of(*link, 26 * kKiB, 50'000) == Reach::kAcrossStep);
  CHECK(reach_of(*link, 6 * kKiB, 50'000) == Reach::kInside);
  CHECK(reach_of(*link, 40 * kKiB, 50'000) == Reach::kInside);
  // Between 10,000 and 50,000 copies of 24 KiB: 25.8 and 6.7.
  CHECK(reach_of(*link, 24 * kKiB, 20'000) == Reach::kAcrossStep);
  // Small copies in the usual numbers, or smaller than any measured.
  CHECK(reach_of(*link, 32 * kKiB, 640) == Reach::kExtrapolated);
  CHECK(reach_of(*link, 2 * kKiB, 20'000) == Reach::kExtrapolated);
  CHECK(reach_of(*link, 32 * kKiB, 200'000) == Reach::kExtrapolated);
  // Large ones are known whatever their number.
  CHECK(reach_of(*link, 2048 * kKiB, 1) == Reach::kInside);
  CHECK(reach_of(*link, 2048 * kKiB, 2048) == Reach::kInside);
  CHECK(reach_of(*link, 8192 * kKiB, 7) == Reach::kInside);
}

/// Counts the last end of transfers.
struct LastEnd final : TransferListener {
  EventQueue queue;
  Observer none;
  std::int64_t ns = 0;
  void on_transfer_done(Direction, std::uint32_t) override { ns = nanoseconds_of(queue.now()); }

  /// The time of `blocks` blocks in each direction given, in jobs of 64 blocks.
  std::int64_t time_of(const char* gpu, CopyMethod method, std::uint32_t blocks,
                       std::int64_t block_bytes, std::uint32_t copies_per_block, bool down,
                       bool up) {
    HostLinkDefault link = default_host_link(find_gpu(gpu, {}), method);
    LaneSpec away{0, make_table_link(link.down), link.down_duplex};
    LaneSpec towards{1, make_table_link(link.up), link.up_duplex};
    away.submit = towards.submit = link.submit;
    Fabric fabric(queue);
    CopyPath path(queue, fabric, std::move(away), std::move(towards), none, *this);
    const std::int64_t begin = nanoseconds_of(queue.now());
    for (std::uint32_t done = 0; done < blocks; done += 64) {
      if (down) path.submit(Direction::kDown, 0, Bytes(64 * block_bytes), 64 * copies_per_block);
      if (up) path.submit(Direction::kUp, 0, Bytes(64 * block_bytes), 64 * copies_per_block);
    }
    while (queue.step()) {
    }
    return ns - begin;
  }
};

constexpr std::int64_t kBlock = std::int64_t{2} << 20;

double total_gbs(std::int64_t bytes, std::int64_t ns) {
  return static_cast<double>(bytes) / static_cast<double>(ns);
}

TEST_CASE("2 MB blocks move at 83.4 GB/s both ways together by DMA, 68.5 by kernel", "[models]") {
  // Claim 4. The duplex factors come from this very publication, so this checks the path, not them.
  LastEnd run;
  const std::int64_t bytes = 2 * 1024 * kBlock;
  const auto both = [&](CopyMethod method) {
    return total_gbs(bytes, run.time_of("H100", method, 1024, kBlock, 1, true, true));
  };
  CHECK(both(CopyMethod::kBatch) == Approx(83.4).epsilon(0.01));
  CHECK(both(CopyMethod::kKernel) == Approx(68.5).epsilon(0.01));
  // A loop: 64 copies are submitted in 384 us, while the engine needs 2.7 ms: as good as batched.
  CHECK(both(CopyMethod::kDma) == Approx(83.4).epsilon(0.02));
}

TEST_CASE("2048 blocks of 2 MB take 48 ms only if both directions count", "[models]") {
  // Claim 5. 4.29 GB: 51.5 ms at 83.4 GB/s (48 ms would be 2 MB = 2 x 10^6 bytes at 85), but
  // 85.9 ms one way at 50.
  LastEnd run;
  const auto method = CopyMethod::kBatch;
  const auto both = run.time_of("H100", method, 1024, kBlock, 1, true, true);
  const auto one = run.time_of("H100", method, 2048, kBlock, 1, false, true);
  CHECK(static_cast<double>(both) / 1e6 == Approx(48).epsilon(0.08));
  CHECK(static_cast<double>(one) / 1e6 == Approx(85.9).epsilon(0.01));
}

TEST_CASE("a layout of small fragments is several times slower", "[models]") {
  // Claim 4: Llama-3.1-8B's 2 MiB block in 64 pieces of 32 KiB, 2,048 blocks: 131,072 copies.
  LastEnd run;
  const auto up = [&](CopyMethod method, std::uint32_t pieces) {
    return static_cast<double>(run.time_of("H100", method, 2048, kBlock, pieces, false, true));
  };
  const double contiguous = up(CopyMethod::kDma, 1);
  // A loop of copies: 131,072 x 6 us = 786 ms of submission against 86 ms; 4-5x is claimed.
  CHECK(up(CopyMethod::kDma, 64) / contiguous == Approx(9.2).epsilon(0.05));
  // 16 KiB pieces of a batched call: 7.1 GB/s against 50.
  CHECK(up(CopyMethod::kBatch, 128) / up(CopyMethod::kBatch, 1) == Approx(7.0).epsilon(0.05));
  // 32 KiB lies beyond that call's cliff: 29 GB/s. There the claim does not hold for it.
  CHECK(up(CopyMethod::kBatch, 64) / up(CopyMethod::kBatch, 1) < 2);
}

TEST_CASE("PCIe 4 x16 gives about 25 GB/s", "[models]") {
  // Claim 9.
  LastEnd run;
  const std::int64_t bytes = 1024 * kBlock;
  const auto method = CopyMethod::kBatch;
  CHECK(total_gbs(bytes, run.time_of("A100", method, 1024, kBlock, 1, true, false)) ==
        Approx(25).epsilon(0.02));
  CHECK(total_gbs(bytes, run.time_of("A100", method, 1024, kBlock, 1, false, true)) ==
        Approx(25).epsilon(0.02));
}

}  // namespace
}  // namespace spillway::test
