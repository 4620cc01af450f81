// A measured Redis in a scenario: the simulated server has the recorded rates, and keys and notes
// say where each figure is from. The profile was recorded by `spillway calibrate --redis` from
// Redis 7.0.15 on this machine's loopback; `[.kv]` prints the table of measured and simulated.
#include <fmt/format.h>

#include <cmath>

#include "models/calibration/fit.hpp"
#include "models/tier/network.hpp"
#include "models/tier/storage_device.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

constexpr double kMostPercent = 15;

const char* recorded() {
  return SPILLWAY_SOURCE_DIR "/tests/scenarios/scenario/kv/redis-7.0.15.json";
}

HardwareChoice recorded_hardware() {
  Notes notes;
  return load_hardware(recorded(), {}, notes);
}

HardwareProfile recorded_profile() {
  std::vector<std::string> warnings;
  return read_profile(JsonSource::from_file(recorded()), warnings);
}

/// Clients of one simulated server, each with one connection and one value in flight.
class Clients final : public StorageListener, public Observer {
 public:
  /// The first `writers` write, the others read.
  Clients(const StorageSpec& spec, std::uint32_t clients, std::uint32_t writers = 0)
      : network_(queue_, {{}, {{spec, clients, 0}}}, *this),
        bytes_(spec.operation_bytes),
        writers_(writers) {
    for (std::uint32_t i = 0; i < clients; ++i) {
      devices_.push_back(std::make_unique<StorageDevice>(
          network_.server(0), StorageClientConfig{0, i + 1}, *this, *this));
    }
  }

  /// GB/s of all, over `values` values of each.
  double rate(std::uint32_t values) {
    left_ = values * static_cast<std::uint32_t>(devices_.size());
    const std::uint32_t all = left_;
    for (std::uint32_t i = 0; i < devices_.size(); ++i) submit(i);
    while (queue_.step()) {
    }
    return static_cast<double>(bytes_.count()) * all / seconds_of(queue_.now() - Time()) * 1e-9;
  }

 private:
  void submit(std::uint32_t client) {
    if (left_ == 0) return;
    --left_;
    devices_[client]->submit(client < writers_ ? StorageOp::kWrite : StorageOp::kRead, client,
                             bytes_);
  }
  void on_storage_done(StorageOp, std::uint32_t job) override { submit(job); }

  EventQueue queue_;
  Network network_;
  Bytes bytes_;
  std::uint32_t writers_;
  std::vector<std::unique_ptr<StorageDevice>> devices_;
  std::uint32_t left_ = 0;
};

StorageSpec measured_spec(const HardwareChoice& hardware, std::int64_t bytes) {
  StorageSpec spec = default_storage(StorageKind::kKv);
  spec.operation_bytes = Bytes(bytes);
  Duration lookup{0};
  REQUIRE_FALSE(use_kv_server(hardware, spec, lookup).empty());
  CHECK(lookup > Duration(0));
  CHECK_FALSE(use_kv_rates(hardware, spec));
  return spec;
}

double simulated(const HardwareChoice& hardware, const KvCell& cell) {
  Clients clients(measured_spec(hardware, cell.bytes), cell.clients,
                  cell.op == "write" ? cell.clients : 0);
  return clients.rate(200);
}

double off_percent(double simulated_gbs, double measured_gbs) {
  return 100 * (simulated_gbs / measured_gbs - 1);
}

TEST_CASE("the simulated server has the recorded rate at each size and number of clients",
          "[scenarios]") {
  const HardwareChoice hardware = recorded_hardware();
  std::size_t points = 0;
  for (const KvCell& cell : recorded_profile().kv) {
    if (cell.op != "read" && cell.op != "write") continue;
    INFO(cell.op << " " << cell.bytes << " x " << cell.clients);
    CHECK(std::abs(off_percent(simulated(hardware, cell), cell.gbs)) < kMostPercent);
    ++points;
  }
  CHECK(points == 18);
}

TEST_CASE("measured and simulated rates of the recorded server", "[.kv]") {
  const HardwareChoice hardware = recorded_hardware();
  fmt::print("{:6} {:>6} {:>8} {:>9} {:>10} {:>7}\n", "op", "value", "clients", "measured",
             "simulated", "off");
  for (const KvCell& cell : recorded_profile().kv) {
    if (cell.op != "read" && cell.op != "write") continue;
    const double gbs = simulated(hardware, cell);
    fmt::print("{:6} {:>2} MiB {:>8} {:>9.3f} {:>10.3f} {:>+6.1f}%\n", cell.op, cell.bytes >> 20,
               cell.clients, cell.gbs, gbs, off_percent(gbs, cell.gbs));
  }
}

TEST_CASE("reads and writes of a measured server take each other's time", "[scenarios]") {
  const HardwareChoice hardware = recorded_hardware();
  const StorageSpec spec = measured_spec(hardware, 1 << 20);
  CHECK(spec.one_at_a_time);
  const double reads = Clients(spec, 16, 0).rate(100);
  const double writes = Clients(spec, 16, 16).rate(100);
  const double mixed = Clients(spec, 16, 8).rate(100);
  CHECK(mixed < std::max(reads, writes) * 1.01);
  StorageSpec apart = spec;
  apart.one_at_a_time = false;
  CHECK(Clients(apart, 16, 8).rate(100) > 1.3 * std::max(reads, writes));
}

TEST_CASE("a tier of kind kv takes the figures of the profile", "[scenarios]") {
  const auto tier = [](const std::string& device, const std::string& hardware,
                       const std::string& first = "") {
    std::vector<std::string> lines = reference_lines();
    lines[kModelLine - 1] = R"("model": {"kv_bytes_per_token": 8192},)";  // 2 MiB a chunk of 256
    lines[kTierLine - 1] = fmt::format(
        R"("tiers": [{}{{"name": "redis", "kind": "kv", "capacity": "4GiB"{}}}],)", first, device);
    lines[kDownLine - 2] = "";
    lines[kDownLine - 1] = "";
    lines[kUpLine - 1] = "";
    lines[kGpuLine - 1] = R"(, "gpu": "H100")" + hardware;
    return load_scenario(JsonSource::from_text("s.json", joined(lines)));
  };
  const std::string box = fmt::format(R"(, "hardware": "{}")", recorded());
  const HardwareChoice hardware = recorded_hardware();
  const Scenario s = tier("", box);
  const StorageSpec& spec = s.tier->storage->spec;
  CHECK(spec.operation_bytes == Bytes(2 << 20));
  CHECK(spec.read.rate_by_flows.size() == 16);
  CHECK(spec.read.client_rate == 0);
  CHECK(spec.read.slot_rate == spec.read.rate_by_flows[0]);
  CHECK(spec.one_at_a_time);
  CHECK(s.tier->storage->lookup == Duration(0));
  const Note* note = find_note(s.notes, "tier-from-profile");
  REQUIRE(note != nullptr);
  CHECK_THAT(note->text, ContainsSubstring("from hardware profile redis-7.0.15"));
  CHECK(find_note(s.notes, "kv-beyond-profile") == nullptr);

  // Behind host memory a look-up takes the time of an EXISTS.
  const Scenario second = tier(R"(, "scope": "cluster")", box,
                               R"({"name": "dram", "kind": "dram", "capacity": "1GiB"}, )");
  CHECK(second.behind.at(0).storage->lookup > Duration(0));
  // Chunks of 64 KiB (one block of 8 tokens) lie outside what was measured.
  const Scenario small = tier(R"(, "device": {"chunk_tokens": 8})", box);
  CHECK(find_note(small.notes, "kv-beyond-profile") != nullptr);
  CHECK(small.tier->storage->spec.read.rate_by_flows.size() == 16);

  // A limit of the scenario holds for all sizes; a client's limit comes on top of the table.
  const Scenario own = tier(R"(, "device": {"server_limit": "1GB/s"})", box);
  CHECK(own.tier->storage->spec.read.rate_by_flows.empty());
  CHECK(own.tier->storage->spec.read.total_rate == 1'000'000'000);
  CHECK(find_note(own.notes, "tier-over-profile") != nullptr);
  const Scenario python = tier(R"(, "device": {"client_limit": "280MB/s"})", box);
  CHECK(python.tier->storage->spec.read.client_rate == 280'000'000);
  CHECK(python.tier->storage->spec.read.rate_by_flows.size() == 16);
  CHECK(tier("", "").tier->storage->spec.read.rate_by_flows.empty());
}

TEST_CASE("a server across a network is simulated by its table, and nearly by three figures",
          "[scenarios]") {
  // 1 ms, 1.25 GB/s in all (10 GbE) and 0.9 a connection, by clients that never wait for each
  // other: N clients reach the lesser of N values per round and the server's rate.
  HardwareProfile profile;
  KvCell exists;
  exists.op = "exists";
  exists.place = "remote";
  exists.lat_p50_us = 1000;
  exists.time.med_us = 1000;
  profile.kv.push_back(exists);
  for (const std::int64_t mib : {1, 2, 4}) {
    for (const std::uint32_t clients : {1U, 4U, 16U}) {
      KvCell cell = exists;
      cell.op = "read";
      cell.bytes = mib << 20;
      cell.clients = clients;
      const auto bytes = static_cast<double>(cell.bytes);
      cell.gbs = std::min(1.25, clients * bytes / (1000 + bytes / 0.9e3) * 1e-3);
      profile.kv.push_back(cell);
      cell.op = "write";
      profile.kv.push_back(cell);
    }
  }
  HardwareChoice hardware;
  hardware.fits = fit_profile(profile).fits;
  for (const KvCell& cell : profile.kv) {
    if (cell.op != "read") continue;
    INFO(cell.bytes << " x " << cell.clients);
    CHECK(std::abs(off_percent(simulated(hardware, cell), cell.gbs)) < 1);
    StorageSpec spec = default_storage(StorageKind::kKv);
    spec.operation_bytes = Bytes(cell.bytes);
    Duration lookup{0};
    use_kv_server(hardware, spec, lookup);
    // Clients in step all wait their latency at once, which the table allows for.
    CHECK(std::abs(off_percent(Clients(spec, cell.clients).rate(200), cell.gbs)) < 20);
  }
}

}  // namespace
}  // namespace spillway::test
