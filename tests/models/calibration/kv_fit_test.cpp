// Fits of a key-value server, on cells that follow from a known latency, connection and server.
#include "models/calibration/kv_fit.hpp"

#include <algorithm>

#include "models/calibration/fit.hpp"
#include "models/calibration/fit_table.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

KvCell command(const char* op, double us) {
  KvCell out;
  out.op = op;
  out.lat_p50_us = us;
  out.lat_p90_us = 2 * us;
  out.lat_p99_us = 3 * us;
  out.time.med_us = us;
  return out;
}

/// Reads and writes of 1, 2 and 4 MiB by 1, 4 and 16 clients, and EXISTS.
std::vector<KvCell> cells_of(const KvLimits& read, const KvLimits& write) {
  std::vector<KvCell> out = {command("exists", read.latency_us)};
  for (const std::int64_t bytes : {kMiB, 2 * kMiB, 4 * kMiB}) {
    for (const std::uint32_t clients : {1U, 4U, 16U}) {
      for (const std::string op : {"read", "write"}) {
        KvCell cell;
        cell.op = op;
        cell.bytes = bytes;
        cell.clients = clients;
        cell.gbs = kv_rate(op == "read" ? read : write, static_cast<double>(bytes), clients);
        out.push_back(cell);
      }
    }
  }
  return out;
}

std::vector<FitRecord> fits_of(const std::vector<KvCell>& cells) {
  std::vector<FitRecord> out;
  fit_kv(cells, out);
  return out;
}

TEST_CASE("the rate of clients is latency, then the slower of connection and server", "[models]") {
  // 1 MB in 100 us + 1 ms: one connection. 16 MB in 100 us + 8 ms: the server.
  CHECK(kv_rate({100, 1, 2}, 1e6, 1) == Approx(1e6 / 1100e-6 / 1e9));
  CHECK(kv_rate({100, 1, 2}, 1e6, 16) == Approx(16e6 / 8100e-6 / 1e9));
}

TEST_CASE("a fit finds the latency, the connection and the server that made the cells",
          "[models]") {
  // A server across a network: 1 ms, 0.6 GB/s a connection, 1.25 GB/s in all; writes slower.
  const KvLimits read = {1000, 0.6, 1.25};
  const KvLimits write = {1000, 0.5, 0.9};
  const std::vector<FitRecord> fits = fits_of(cells_of(read, write));
  for (const auto& [target, limits] : {std::pair{"kv/read", read}, std::pair{"kv/write", write}}) {
    const FitRecord* fit = find_fit(fits, target);
    REQUIRE(fit != nullptr);
    CHECK(fit->params.at("latency_us") == Approx(1000));
    CHECK(fit->params.at("slot_gbs") == Approx(limits.slot_gbs).epsilon(0.01));
    CHECK(fit->params.at("total_gbs") == Approx(limits.total_gbs).epsilon(0.01));
    CHECK(fit->mape < 1);
    CHECK(fit->held_out == 3);
    CHECK(fit->held_out_p95 < 5);
    CHECK(fit->from == kMiB);
    CHECK(fit->to == 4 * kMiB);
    // While bytes flow, one connection has its rate, and sixteen have the server's.
    CHECK(kv_flow_rate(*fit, 2 * kMiB, 1) == Approx(limits.slot_gbs));
    CHECK(kv_flow_rate(*fit, 2 * kMiB, 16) == Approx(limits.total_gbs));
  }
  CHECK(find_fit(fits, "kv/lookup")->params.at("p99_us") == 3000);
  CHECK(find_fit(fits, "kv/mixed") == nullptr);
}

TEST_CASE("reads and writes at once say whether a server does one thing at a time", "[models]") {
  const KvLimits limits = {20, 2, 3};
  std::vector<KvCell> cells = cells_of(limits, limits);
  KvCell mixed;
  mixed.op = "mixed";
  mixed.bytes = kMiB;
  mixed.clients = 16;
  const double alone = kv_rate(limits, kMiB, 16);
  const auto one_at_a_time = [&](double read, double write) {
    mixed.read_gbs = read * alone;
    mixed.gbs = (read + write) * alone;
    cells.push_back(mixed);
    const double out = find_fit(fits_of(cells), "kv/mixed")->params.at("one_at_a_time");
    cells.pop_back();
    return out;
  };
  CHECK(one_at_a_time(0.5, 0.5) == 1);
  CHECK(one_at_a_time(0.7, 0.6) == 1);
  CHECK(one_at_a_time(0.95, 0.9) == 0);
}

TEST_CASE("what was not measured is filled in from the limits, and few cells are no fit",
          "[models]") {
  const KvLimits limits = {100, 1, 2};
  std::vector<KvCell> cells = cells_of(limits, limits);
  std::erase_if(cells,
                [](const KvCell& cell) { return cell.bytes == 2 * kMiB && cell.clients > 1; });
  const std::vector<FitRecord> fits = fits_of(cells);
  const FitTable& table = find_fit(fits, "kv/read")->table;
  REQUIRE(table.values.size() == 9);
  CHECK(std::count(table.measured.begin(), table.measured.end(), false) == 2);
  CHECK(value_at(table, 2 * kMiB, 16) == Approx(kv_rate(limits, 2 * kMiB, 16)).epsilon(0.02));
  cells.resize(4);  // EXISTS, and too few of each direction
  CHECK(find_fit(fits_of(cells), "kv/read") == nullptr);
}

}  // namespace
}  // namespace spillway::test
