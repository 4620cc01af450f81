// Tiers that are storage: what is refused, what is assumed and said, and what runs come to.
#include <fmt/ranges.h>

#include "reports/run/run_report.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

/// The reference scenario on a storage tier called "far".
std::vector<std::string> storage_lines(const std::string& kind, const std::string& device,
                                       const std::string& capacity = "inf") {
  std::vector<std::string> lines = reference_lines();
  lines[kTierLine - 1] = fmt::format(
      R"("tiers": [{{"name": "far", "kind": "{}", "capacity": "{}", "device": {{{}}}}}],)", kind,
      capacity, device);
  for (const int line : {kDownLine, kUpLine}) {
    std::string& text = lines[static_cast<std::size_t>(line) - 1];
    text.replace(text.find(R"("dram")"), 6, R"("host")");
  }
  lines[kPlanLine - 1] = "";
  return lines;
}

Scenario on_storage(const std::string& kind, const std::string& device,
                    const std::string& capacity = "inf") {
  return scenario_of(joined(storage_lines(kind, device, capacity)));
}

/// Each device of `kind` is refused with its message.
void refused_devices(const std::string& kind,
                     const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [device, says] : cases) {
    INFO(kind << ": " << device);
    const InputError error = error_of([&, &spec = device] { on_storage(kind, spec); });
    CHECK(error.fault() == Fault::kUsage);
    INFO("message: " << error.what());
    CHECK(std::string(error.what()).starts_with("s.json:7: tiers.0." + says));
  }
}

TEST_CASE("malformed devices", "[scenarios]") {
  refused_devices(
      "nvme",
      {{R"("read_bandwith": "7GB/s")",
        "device.read_bandwith: unknown key of device \"read_bandwith\"; did you mean "
        "\"read_bandwidth\"?"},
       {R"("read_bandwidth": "0GB/s")", "device.read_bandwidth: expected a rate with a unit"},
       {R"("read_bandwidth": 7)", "device.read_bandwidth: expected a rate with its unit"},
       {R"("queue_depth": 0)", "device.queue_depth: expected a whole number from 1 to 65536"},
       {R"("read_latency_us": -1)", "device.read_latency_us: expected a number from 0"},
       {R"("read_tail": {"p99_us": 5})", "device.read_tail.p50_us: missing"},
       {R"("read_tail": {"p50_us": 80, "p99_us": 50})",
        "device.read_tail.p99_us: expected at least p50_us (80), found 50"},
       {R"("write_tail": {"p50_us": 80, "p90_us": 100, "p999_us": 90})",
        "device.write_tail.p999_us: expected at least p90_us (100), found 90"},
       {R"("read_latency_us": 80, "read_tail": {"p50_us": 80})",
        "device.read_tail: expected either this or read_latency_us"},
       {R"("write_cache": "1GiB")", "device.sustained_write_bandwidth: missing"},
       {R"("sustained_write_bandwidth": "1GB/s")",
        "device.sustained_write_bandwidth: expected only with write_cache"},
       {R"("write_cache": "1GiB", "sustained_write_bandwidth": "9GB/s")",
        "device.sustained_write_bandwidth: expected at most write_bandwidth (5000000000 bytes/s)"},
       {R"("endurance_tbw": 0)", "device.endurance_tbw: expected a number from 0.001"},
       {R"("drive_capacity": "0GB")", "device.drive_capacity: expected more than 0"},
       {R"("threads": 64)",
        "device.threads: expected only with a tier of kind fs, found with nvme"},
       {R"("clients": 3)",
        "device.clients: expected only with a tier of kind fs or object or kv, found with nvme"}});
  refused_devices("fs", {{R"("read_preferring": 1.5)", "device.read_preferring: expected a number"},
                         {R"("queue_depth": 4)",
                          "device.queue_depth: expected only with a tier of kind nvme"}});
  refused_devices("kv",
                  {{R"("direct": true)",
                    "device.direct: expected only with a tier of kind nvme or fs, found with "
                    "kv"},
                   {R"("aggregate_limit": "1GB/s")",
                    "device.aggregate_limit: expected only with a tier of kind fs or object"}});
  refused_devices("object", {{R"("server_limit": "1GB/s")",
                              "device.server_limit: expected only with a tier of kind kv"}});
  const auto tier = [](const std::string& fields) {
    return fmt::format(R"("tiers": [{{"capacity": "1GiB", {}}}],)", fields);
  };
  refused(
      reference_lines(),
      {{kTierLine, tier(R"("name": "dram", "kind": "dram", "device": {"queue_depth": 4})"),
        "tiers.0.device: expected only with a tier of kind nvme, fs, object or kv"},
       {kTierLine, tier(R"("name": "host", "kind": "nvme")"), "tiers.0.name: \"host\" is taken"},
       {kTierLine, tier(R"("name": "far", "kind": "nvme", "scope": "cluster")"),
        "tiers.0.scope: expected instance, rank or node, found \"cluster\": a drive belongs"},
       {kTierLine, tier(R"("name": "far", "kind": "fs", "scope": "rack")"),
        "tiers.0.scope: unknown scope \"rack\"; did you mean \"rank\"?"}});
  const std::string linked =
      with_line(reference_lines(), kTierLine, tier(R"("name": "dram", "kind": "kv")"));
  CHECK_THAT(error_of([&] { scenario_of(linked); }).what(),
             ContainsSubstring("s.json:9: links.0.to: expected hbm or host: HBM's data goes to "
                               "dram by way of the host"));
}

TEST_CASE("directly there is no host link to share", "[scenarios]") {
  std::vector<std::string> lines = storage_lines("nvme", R"("direct": true)");
  std::string& down = lines[kDownLine - 1];
  down.insert(down.find(R"("kind")"), R"("shared_by": 2, )");
  CHECK_THAT(error_of([&] { scenario_of(joined(lines)); }).what(),
             ContainsSubstring("s.json:9: links.0.shared_by: expected only where data goes by way "
                               "of the host, not with device.direct"));
}

TEST_CASE("what a device is taken to be is said, with its source", "[scenarios]") {
  const auto notes_of = [](const Scenario& s) {
    std::vector<std::string> out;
    for (const Note& note : s.notes) {
      if (note.text.starts_with("Tier far")) out.push_back(note.text);
    }
    return out;
  };
  const std::vector<std::string> nvme = notes_of(on_storage("nvme", ""));
  REQUIRE(nvme.size() == 5);
  CHECK(nvme[0] ==
        "Tier far: read_bandwidth is 7 GB/s by default (Mooncake ssd-offload-benchmark-results.md, "
        "Gen4).");
  CHECK(nvme[4] ==
        "Tier far: queue_depth is 64 by default (Dynamo KVBM, 4 transfers of 16 blocks).");
  const std::vector<std::string> given = notes_of(
      on_storage("nvme", R"("read_bandwidth": "7GB/s", "queue_depth": 8, "write_latency_us": 20,)"
                         R"( "write_bandwidth": "4GB/s", "read_tail": {"p50_us": 80})"));
  CHECK(given.empty());
  for (const char* kind : {"fs", "object", "kv"}) {
    const std::string all = fmt::format("{}", fmt::join(notes_of(on_storage(kind, "")), "\n"));
    INFO(all);
    CHECK_THAT(all, ContainsSubstring("chunk_tokens is 256"));
    CHECK_THAT(all, ContainsSubstring("assumed"));
  }
  CHECK(notes_of(reference_with()).empty());
  const std::vector<std::string> shared = notes_of(on_storage("kv", R"("clients": 3)"));
  CHECK_THAT(shared.back(), ContainsSubstring("is shared with 3 other clients."));
}

TEST_CASE("a device as read", "[scenarios]") {
  const Scenario s =
      on_storage("fs", R"("threads": 16, "read_preferring": 0.5, "client_limit": "10Gbps",)"
                       R"( "write_bandwidth": "1GB/s", "aggregate_limit": "40GB/s", "clients": 7,)"
                       R"( "read_tail": {"p50_us": 500, "p99_us": 9000.5}, "chunk_tokens": 512)");
  const StorageChoice& choice = s.tier->storage.value();
  const StorageSpec& spec = choice.spec;
  CHECK(spec.slots == 16);
  CHECK(spec.read_first == 8);
  CHECK(spec.read.client_rate == 1'250'000'000);
  CHECK(spec.write.client_rate == 1'000'000'000);
  CHECK(spec.read.total_rate == 40'000'000'000);
  CHECK(choice.clients == 7);
  CHECK(client_share(spec.read, 7) == 1'250'000'000);
  CHECK(client_share(spec.read, 63) == 625'000'000);
  CHECK(spec.read.latency.p90 == std::chrono::microseconds(500));
  CHECK(spec.read.latency.p99 == Duration(9'000'500));
  CHECK(spec.read.latency.p999 == Duration(9'000'500));
  CHECK(spec.operation_bytes == Bytes(512 * 131072));
  const auto device = resolved_configuration(s)["tiers"][0]["device"];
  CHECK(resolved_configuration(s)["tiers"][0]["kind"] == "fs");
  CHECK(device["operations_in_flight"] == 16);
  CHECK(device["read"]["latency"]["p99_ns"] == 9'000'500);
  // Threads given alone keep the share that prefers reads: 0.75 of 16; one at least.
  CHECK(on_storage("fs", R"("threads": 16)").tier->storage->spec.read_first == 12);
  CHECK(on_storage("fs", R"("threads": 1)").tier->storage->spec.read_first == 1);
  // A drive is read by engine blocks unless told otherwise: 16 tokens of 131,072 bytes.
  CHECK(on_storage("nvme", "").tier->storage->spec.operation_bytes == Bytes(2 << 20));
}

TEST_CASE("a GPU's host link leads to the host", "[scenarios]") {
  std::vector<std::string> lines = gpu_lines();
  lines[kTierLine - 1] = R"("tiers": [{"name": "far", "kind": "nvme", "capacity": "1TiB"}],)";
  lines[kPlanLine - 1] = "";
  const Scenario s = scenario_of(joined(lines));
  CHECK(s.down->to == "host");
  CHECK(s.up->from == "host");
}

/// 400 requests of 512 tokens that repeat 100 prompts in turn: HBM holds 64 of these, so that a
/// prompt never finds itself there again. 60 ms between them: none waits for another.
Workload cycling() {
  return repeating(400, 100, 60, 1);
}

TEST_CASE("storage slower than the break-even makes the first token later, faster earlier",
          "[scenarios]") {
  // 512 tokens are 32 blocks of 2 MiB, 67,108,864 bytes.
  // Recomputing: one step, 2,000,000 + 512 x 20,000 + 512 x 5 ns = 12.242560 ms.
  // Loading from a drive of R GB/s: 80,000 ns, 32 blocks at 2,097,152 / R ns; the host link: 10,000
  // + 67,108,864 / 25 = 2,694,355 ns; then a step of one token, 2,000,000 + 20,000 + 2,560.
  //   R = 20: 80,000 + 32 x 104,858 + 2,694,355 + 2,022,560 =  8.152371 ms, less than recomputing;
  //   R =  2: 80,000 + 32 x 1,048,576 + ...                 = 38.351347 ms, three times as long.
  // The break-even lies where the drive takes 12.242560 - 4.716915 = 7.53 ms: at 9.0 GB/s.
  const auto median = [](const Scenario& s) {
    const RunResult r = simulate(s, cycling()).result;
    CHECK(r.completed == 400);
    return r.ttft.median_ms;
  };
  const double none = median(with_capacity(reference_with(), "0GiB"));
  const double fast = median(on_storage("nvme", R"("read_bandwidth": "20GB/s")"));
  const double slow = median(on_storage("nvme", R"("read_bandwidth": "2GB/s")"));
  CHECK(none == Approx(12.242560).epsilon(1e-9));
  CHECK(fast == Approx(8.152371).epsilon(1e-9));
  CHECK(slow == Approx(38.351347).epsilon(1e-9));
  // Just above and below the break-even.
  CHECK(median(on_storage("nvme", R"("read_bandwidth": "9.1GB/s")")) < none);
  CHECK(median(on_storage("nvme", R"("read_bandwidth": "8.8GB/s")")) > none);
  // Directly from the drive one hop is left: 80,000 + 32 x 104,858 + 2,022,560.
  CHECK(median(on_storage("nvme", R"("read_bandwidth": "20GB/s", "direct": true)")) ==
        Approx(5.458016).epsilon(1e-9));
}

TEST_CASE("every byte is charged on every hop, and the drive wears", "[scenarios]") {
  const Scenario s =
      on_storage("nvme", R"("write_cache": "1GB", "sustained_write_bandwidth": "1GB/s",)"
                         R"( "endurance_tbw": 1000, "drive_capacity": "1TB")");
  const RunResult r = simulate(s, cycling()).result;
  // 100 prompts of 67,108,864 bytes go down once, and come up 300 times.
  const std::int64_t prompt = 67'108'864;
  REQUIRE(r.links.size() == 4);
  const std::vector<std::string> names = {r.links[0].name, r.links[1].name, r.links[2].name,
                                          r.links[3].name};
  CHECK(names == std::vector<std::string>{"d2h", "h2d", "far-write", "far-read"});
  CHECK(r.links[2].from == "host");
  CHECK(r.links[3].to == "host");
  for (const std::size_t link : {0UL, 2UL}) CHECK(r.links[link].bytes == 100 * prompt);
  for (const std::size_t link : {1UL, 3UL}) CHECK(r.links[link].bytes == 300 * prompt);
  CHECK(r.links[3].capacity_bytes_per_s == 7e9);
  const TierResult& far = r.tiers[1];
  CHECK(far.kind == "nvme");
  CHECK(far.unbounded);
  const DeviceResult& d = far.device.value();
  CHECK(d.bytes_written == 100 * prompt);
  CHECK(d.bytes_read == 300 * prompt);
  CHECK(d.drive_writes.value() == Approx(6.7108864e9 / 1e12));
  CHECK(d.endurance_share.value() == Approx(6.7108864e9 / 1e15));
  // 67.1 MB every 60 ms or so are more than 1 GB/s: the cache of 1 GB fills in spite of its pauses.
  CHECK(d.slow_write_seconds.value() > 0);
  CHECK(d.slow_write_seconds.value() < 6.8);
  // A load: 80 us and 32 blocks of 299,594 ns.
  CHECK(d.latency_p50_ms == Approx(9.667008).epsilon(1e-9));
  // The first loads share the queue's 64 places with the last, slow writes.
  CHECK(d.latency_p99_ms >= d.latency_p50_ms);
  CHECK(d.latency_p99_ms < 15);
  // And a report shows it.
  const Report report = run_summary(r, "far");
  const auto& tables = report.sections.back().tables;
  const auto storage = std::find_if(tables.begin(), tables.end(),
                                    [](const Table& t) { return t.title == "Storage"; });
  REQUIRE(storage != tables.end());
  CHECK(storage->rows.size() == 7);
  CHECK(storage->rows[0] == std::vector<std::string>{"far", "nvme", "read", "18.75 GiB"});
  // The busy share of a link is of time, not of jobs.
  for (const LinkResult& link : r.links) CHECK(link.busy_fraction <= 1);

  const auto results = to_json(r);
  CHECK(results["tiers"][1]["kind"] == "nvme");
  CHECK(to_json(run_from_json(results)) == results);
  CHECK_FALSE(results["tiers"][0].contains("kind"));
  const RunResult plain = simulate(on_storage("nvme", "", "1GiB"), cycling()).result;
  const auto device = to_json(plain)["tiers"][1]["device"];
  CHECK_FALSE(device.contains("endurance_share"));
  CHECK_FALSE(device.contains("slow_write_seconds"));
  CHECK(device.contains("drive_writes"));
  const auto memory = to_json(simulate(reference_with(), cycling()).result)["tiers"][1];
  CHECK_FALSE(memory.contains("device"));
  CHECK_FALSE(memory.contains("kind"));
}

TEST_CASE("storage over a network runs unbounded, and neighbours slow it down", "[scenarios]") {
  const auto mean = [](const std::string& kind, const std::string& device) {
    const RunResult r = simulate(on_storage(kind, device), cycling()).result;
    CHECK(r.completed == 400);
    CHECK(r.tiers[1].unbounded);
    CHECK(r.tiers[1].evictions == 0);
    CHECK(r.tiers[1].hits == 300 * 32);
    CHECK_FALSE(r.tiers[1].device->drive_writes);
    return r.ttft.median_ms;
  };
  const std::string fs = R"("client_limit": "20GB/s", "aggregate_limit": "40GB/s", "clients": )";
  const double alone = mean("fs", fs + "0");
  CHECK(mean("fs", fs + "1") == alone);       // 20 GB/s each
  CHECK(mean("fs", fs + "3") > 1.2 * alone);  // 10 GB/s each
  for (const char* kind : {"fs", "object", "kv"}) CHECK(mean(kind, "") > alone);
}

TEST_CASE("seeded tails repeat, and make the slow loads slower", "[scenarios]") {
  const std::string tail =
      R"("read_tail": {"p50_us": 80, "p90_us": 200, "p99_us": 4000, "p999_us": 30000})";
  const auto run = [](const std::string& device, const std::string& seed) {
    std::vector<std::string> lines = storage_lines("nvme", device);
    lines[kSeedLine - 1] = R"("seed": )" + seed;
    return simulate(scenario_of(joined(lines)), cycling()).result;
  };
  const RunResult first = run(tail, "1");
  CHECK(to_json(run(tail, "1"))["ttft"] == to_json(first)["ttft"]);
  CHECK(digest_of(to_json(run(tail, "1"))) == digest_of(to_json(first)));
  CHECK(digest_of(to_json(run(tail, "2"))) != digest_of(to_json(first)));
  const RunResult plain = run(R"("read_latency_us": 80)", "1");
  CHECK(first.tiers[1].device->latency_p99_ms > plain.tiers[1].device->latency_p99_ms);
  CHECK(first.ttft.p99_ms > plain.ttft.p99_ms);
}

}  // namespace
}  // namespace spillway::test
