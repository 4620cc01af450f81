// Media and storage that several engines, instances and ranks share, in whole runs.
#include "scenarios/run/places.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"
#include "tests/support/session_rows.hpp"

namespace spillway::test {
namespace {

using Sets = std::vector<std::string>;

constexpr std::int64_t kDocument = 67'108'864;                          // 512 tokens
constexpr std::int64_t kCopy = 10'000 + (kDocument + 24) / 25;          // over a link of 25 GB/s
constexpr std::int64_t kHalfCopy = 10'000 + (kDocument / 2 + 24) / 25;  // one of two ranks

/// The reference scenario, its HBM of one document, with `tiers` below and links to `host_end`
/// that go through the media `through`.
Scenario shared_scenario(const std::string& tiers, const std::string& host_end, const Sets& more,
                         const std::string& through = "") {
  const std::string media = through.empty() ? "" : R"(, "through": )" + through;
  const auto link = [&](const char* name, const std::string& from, const std::string& to) {
    return fmt::format(R"({{"name": "{}", "from": "{}", "to": "{}", "kind": "affine",)"
                       R"( "latency_us": 10, "bandwidth": "25GB/s"{}}})",
                       name, from, to, media);
  };
  Sets sets = {"plan=null", "engine.num_gpu_blocks=33", "tiers=" + tiers};
  sets.insert(sets.end(), more.begin(), more.end());
  sets.push_back(
      fmt::format("links=[{}, {}]", link("d2h", "hbm", host_end), link("h2d", host_end, "hbm")));
  return reference_with(sets);
}

const char kDram[] = R"([{"name": "dram", "kind": "dram", "capacity": "4GiB"}])";
// Operations of one block, 2 MiB, of which the drive reads one in 2,097,152 ns.
const char kDrive[] = R"([{"name": "ssd", "kind": "nvme", "capacity": "inf", "device":)"
                      R"( {"read_bandwidth": "1GB/s", "write_bandwidth": "5GB/s",)"
                      R"( "read_latency_us": 100, "write_latency_us": 100}}])";
const char kBehind[] = R"([{"name": "dram", "kind": "dram", "capacity": "4GiB"},)"
                       R"( {"name": "ssd", "kind": "nvme"}])";

Scenario on_dram(const Sets& more, const std::string& through = "") {
  return shared_scenario(kDram, "dram", more, through);
}
Scenario on_drive(const Sets& more) {
  return shared_scenario(kDrive, "host", more);
}
Scenario on_behind(const Sets& more) {
  return shared_scenario(kBehind, "dram", more);
}

struct Seen {
  Journal journal;
  SimulationOutcome outcome;
  const RunResult& result() const { return outcome.result; }
  const LinkResult& link(const std::string& name) const {
    for (const LinkResult& l : outcome.result.links) {
      if (l.name == name) return l;
    }
    FAIL("no link " << name);
    throw 0;
  }
  std::int64_t ttft(std::size_t request) const {
    return (journal.requests[request].first_token - journal.requests[request].arrival).count();
  }
};

Seen see(const Scenario& scenario, const Workload& workload) {
  Seen out;
  SimulationOptions options;
  options.observers = {&out.journal};
  out.outcome = simulate(scenario, workload, options);
  return out;
}

/// `each` documents at 0, as many others at 0.5 s, and the first ones again at 1 s.
Workload documents(std::uint64_t each) {
  std::vector<Row> rows;
  for (const std::uint64_t round : {0, 1, 0}) {
    const auto ms = static_cast<std::int64_t>(rows.size() / each) * 500;
    for (std::uint64_t i = 0; i < each; ++i) rows.push_back({ms, 512, 1, {10 * round + i}});
  }
  return workload_of(rows, 512);
}

std::string medium(const std::string& rate, const std::string& more = "") {
  return fmt::format(R"(media=[{{"name": "root", "bandwidth": "{}"{}}}])", rate, more);
}

TEST_CASE("places are filled in order, and links follow engine by engine", "[scenarios]") {
  // Five instances of two engines, two instances a node: nodes 0, 0, 1, 1, 2.
  const Places places({5, 2, 2}, {2, {Scope::kInstance, Scope::kNode, Scope::kCluster}, 4});
  CHECK(places.engines() == 10);
  CHECK(places.count(Scope::kInstance) == 5);
  CHECK(places.count(Scope::kNode) == 3);
  CHECK(places.count(Scope::kCluster) == 1);
  CHECK(places.place(Scope::kNode, 7) == 1);
  CHECK(places.engines_at(Scope::kInstance, 3) == 2);
  CHECK(places.engines_at(Scope::kNode, 0) == 4);
  CHECK(places.engines_at(Scope::kNode, 2) == 2);
  CHECK(places.engines_at(Scope::kCluster, 0) == 10);
  // 10 engines with 2 lanes and 4 links to storage, and 5 + 3 + 1 media.
  CHECK(places.links() == 69);
  CHECK(places.first_storage(0) == 5);  // three media before
  CHECK(places.first_lane(1) == 9);
  CHECK(places.first_storage(1) == 11);  // nothing that engine 0 does not cross
  CHECK(places.medium(2, 9) == places.medium(2, 0));
  CHECK(places.medium(1, 3) == places.medium(1, 0));
  CHECK(places.medium(1, 4) != places.medium(1, 0));
  CHECK(places.suffix(Scope::kNode, 2) == "/node2");
  CHECK(places.suffix(Scope::kCluster, 0).empty());
}

TEST_CASE("engines of one instance share its medium", "[scenarios]") {
  // At 1 s both load a document: 10 GB/s between two, 5 each.
  const Seen run =
      see(on_dram({"engine.data_parallel_size=2", medium("10GB/s")}, R"(["root"])"), documents(2));
  for (const std::size_t i : {4U, 5U}) {
    CHECK(run.journal.requests[i].cached_tokens[1] == 512);
    CHECK(run.ttft(i) == (kDocument * 2 + 9) / 10 + step_ns(1, 512));
  }
  CHECK(run.result().links.size() == 5);
  CHECK(run.link("root").bytes == run.link("d2h/engine0").bytes + run.link("h2d/engine0").bytes +
                                      run.link("d2h/engine1").bytes +
                                      run.link("h2d/engine1").bytes);
  // A wide one changes no time.
  const Seen wide =
      see(on_dram({"engine.data_parallel_size=2", medium("100GB/s")}, R"(["root"])"), documents(2));
  CHECK(wide.ttft(4) == kCopy + step_ns(1, 512));
}

TEST_CASE("a medium is there once for each place of its scope", "[scenarios]") {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 200; ++i) {
    rows.push_back({20 * static_cast<std::int64_t>(i), 512, 1, {i % 20}});
  }
  const Workload workload = workload_of(rows, 512);
  const auto run = [&](const std::string& scope) {
    return see(on_dram({"fleet.replicas=4", R"(host={"memory": "64GiB", "instances": 2})",
                        medium("2GB/s", R"(, "scope": ")" + scope + "\"")},
                       R"(["root"])"),
               workload);
  };
  const auto media = [](const Seen& seen) {
    std::vector<std::string> out;
    std::int64_t crossed = 0;
    std::int64_t moved = 0;
    for (const LinkResult& link : seen.result().links) {
      (link.medium ? crossed : moved) += link.bytes;
      if (link.medium) out.push_back(link.name);
    }
    CHECK(crossed == moved);
    CHECK(crossed > 0);
    return out;
  };
  const Seen own = run("instance");
  CHECK(media(own) == Sets{"root/instance0", "root/instance1", "root/instance2", "root/instance3"});
  CHECK(find_note(own.outcome.warnings, "fleet-own-media"));
  const Seen node = run("node");
  CHECK(media(node) == Sets{"root/node0", "root/node1"});
  CHECK_FALSE(find_note(node.outcome.warnings, "fleet-own-media"));
  const Seen all = run("cluster");
  CHECK(media(all) == Sets{"root"});
  CHECK(all.result().ttft.mean_ms > own.result().ttft.mean_ms);
}

TEST_CASE("engines of one instance share its drive", "[scenarios]") {
  const Seen run = see(on_drive({"engine.data_parallel_size=2"}), documents(2));
  // Both read a document at 1 s: 32 operations each, of 100 us at once, then byte after byte.
  for (const std::int64_t before : {0, 1}) {
    const std::size_t request = before == 0 ? 4 : 5;
    CHECK(run.journal.requests[request].cached_tokens[1] == 512);
    CHECK(run.ttft(request) == 100'000 + kDocument * (before + 1) + kCopy + step_ns(1, 512));
  }
  REQUIRE(run.result().tiers[1].device);
  CHECK(run.result().tiers[1].device->bytes_read == 2 * kDocument);
  CHECK(run.link("ssd-read/engine0").bytes == kDocument);
  CHECK(run.link("ssd-read/engine1").bytes == kDocument);
  CHECK(run.result().tiers[1].device->bytes_written ==
        run.link("ssd-write/engine0").bytes + run.link("ssd-write/engine1").bytes);
}

TEST_CASE("engines of one instance share what lies behind their own memory", "[scenarios]") {
  const Seen run =
      see(on_behind({"engine.data_parallel_size=2", "tiers.0.capacity=64MiB"}), documents(2));
  CHECK(run.result().completed == 6);
  CHECK(run.result().tiers[2].hits > 0);
  CHECK(run.result().tiers[2].device->bytes_written ==
        static_cast<std::int64_t>(run.result().tiers[2].stores) * 2'097'152);
}

TEST_CASE("an instance that nobody shares with is as if it were alone", "[scenarios]") {
  // One session, whose turns repeat two documents: one of four instances gets all.
  std::vector<Turn> turns;
  for (std::uint64_t i = 0; i < 8; ++i) {
    Turn turn{500 * static_cast<std::int64_t>(i), 512, 1, {}, 400, {i % 2}};
    if (i > 0) turn.after = {i - 1};
    turns.push_back(turn);
  }
  const Workload workload = workload_of_turns(turns, 512);
  const char* far = R"([{"name": "far", "kind": "fs", "capacity": "inf", "scope": "cluster"}])";
  const Seen one = see(shared_scenario(far, "host", {}), workload);
  const Seen four = see(shared_scenario(far, "host", {"fleet.replicas=4"}), workload);
  for (std::size_t i = 0; i < 8; ++i) CHECK(one.ttft(i) == four.ttft(i));
  CHECK(one.result().tiers[1].hits > 0);
  CHECK(one.result().tiers[1].device->bytes_read == four.result().tiers[1].device->bytes_read);
  CHECK(one.result().tiers[1].device->bytes_written ==
        four.result().tiers[1].device->bytes_written);
  CHECK_FALSE(find_note(four.outcome.warnings, "fleet-own-storage"));
}

// ---- ranks
// ---------------------------------------------------------------------------------------

TEST_CASE("storage below two ranks holds the parts of both", "[scenarios]") {
  const Seen run = see(on_drive({"engine.tensor_parallel_size=2"}), documents(1));
  CHECK(run.journal.requests[2].cached_tokens[1] == 512);
  // The drive reads the whole document, and each rank copies half of it.
  CHECK(run.ttft(2) == 100'000 + kDocument + kHalfCopy + step_ns(1, 512));
  CHECK(run.link("ssd-read").bytes == kDocument);
  CHECK(run.link("h2d").bytes == kDocument);
  CHECK(run.link("h2d").ranks == 2);
  CHECK(run.link("ssd-write").bytes ==
        static_cast<std::int64_t>(run.result().tiers[1].stores) * 2'097'152);
}

/// A file system that GPUs reach themselves over links of `link`: files of one block, 1 ms each,
/// 4 GB/s for a client.
Scenario on_files(const std::string& link, const std::string& parallel) {
  const auto lane = [&](const char* name, const char* from, const char* to) {
    return fmt::format(R"({{"name": "{}", "from": "{}", "to": "{}", "kind": "constant",)"
                       R"( "bandwidth": "{}"}})",
                       name, from, to, link);
  };
  return reference_with(
      {"plan=null", "engine.num_gpu_blocks=33", parallel,
       R"(tiers=[{"name": "far", "kind": "fs", "capacity": "inf", "device": {"direct": true,)"
       R"( "client_limit": "4GB/s", "aggregate_limit": "100GB/s", "read_latency_us": 1000,)"
       R"( "write_latency_us": 1000, "chunk_tokens": 16, "threads": 64}}])",
       fmt::format("links=[{}, {}]", lane("d2h", "hbm", "host"), lane("h2d", "host", "hbm"))});
}

TEST_CASE("two ranks reach a file system themselves, each with its part", "[scenarios]") {
  // 1 ms, then half a document at 4 GB/s.
  const Seen run = see(on_files("25GB/s", "engine.tensor_parallel_size=2"), documents(1));
  CHECK(run.journal.requests[2].cached_tokens[1] == 512);
  CHECK(run.ttft(2) == 1'000'000 + kDocument / 2 / 4 + step_ns(1, 512));
  CHECK(run.link("far-read/rank0").bytes == kDocument / 2);
  CHECK(run.link("far-read/rank1").bytes == kDocument / 2);
  CHECK(run.result().tiers[1].device->bytes_read == kDocument);
}

TEST_CASE("engines that reach a file system themselves have a link each", "[scenarios]") {
  const Seen run = see(on_files("2GB/s", "engine.data_parallel_size=2"), documents(2));
  for (const std::size_t i : {4U, 5U}) {
    CHECK(run.journal.requests[i].cached_tokens[1] == 512);
    CHECK(run.ttft(i) == 1'000'000 + kDocument / 2 + step_ns(1, 512));
  }
  CHECK(run.link("far-read/engine1").bytes == kDocument);
}

TEST_CASE("a file behind host memory holds all ranks' parts", "[scenarios]") {
  for (const char* ranks : {"1", "2", "4"}) {
    const Seen run =
        see(on_behind({std::string("engine.tensor_parallel_size=") + ranks}), documents(1));
    CHECK(run.link("ssd-write").bytes ==
          static_cast<std::int64_t>(run.result().tiers[2].stores) * 2'097'152);
    CHECK(run.link("ssd-write").bytes > 0);
  }
}

// ---- host memory
// ---------------------------------------------------------------------------------

std::string host(const std::string& rate, const std::string& more = "") {
  return fmt::format(R"(host={{"memory": "64GiB", "memory_bandwidth": "{}"{}}})", rate, more);
}

TEST_CASE("copies and storage cross host memory, and pay for it", "[scenarios]") {
  const Seen free = see(on_drive({}), documents(1));
  const Seen wide = see(on_drive({host("1000GB/s")}), documents(1));
  const Seen narrow = see(on_drive({host("0.5GB/s")}), documents(1));
  CHECK(wide.ttft(2) == free.ttft(2));
  CHECK(free.result().links.size() == 4);
  // One load alone: the drive's 32 operations and the copy, each at 0.5 GB/s.
  CHECK(narrow.journal.requests[2].cached_tokens[1] == 512);
  CHECK(narrow.ttft(2) == 100'000 + kDocument * 2 + kDocument * 2 + step_ns(1, 512));
  for (const Seen* seen : {&wide, &narrow}) {
    CHECK(seen->link("host-memory").medium);
    CHECK(seen->link("host-memory").bytes == seen->link("d2h").bytes + seen->link("h2d").bytes +
                                                 seen->link("ssd-write").bytes +
                                                 seen->link("ssd-read").bytes);
  }
}

TEST_CASE("tiers behind host memory pay for it, and what reaches GPUs directly does not",
          "[scenarios]") {
  const Seen behind = see(on_behind({host("20GB/s")}), documents(1));
  CHECK(behind.link("host-memory").bytes == behind.link("d2h").bytes + behind.link("h2d").bytes +
                                                behind.link("ssd-write").bytes +
                                                behind.link("ssd-read").bytes);
  CHECK(behind.link("ssd-write").bytes > 0);
  const Seen direct = see(on_drive({"tiers.0.device.direct=true", host("20GB/s")}), documents(1));
  CHECK(direct.link("host-memory").bytes == 0);
  CHECK(direct.link("ssd-write").bytes > 0);
}

TEST_CASE("instances on one node share its memory", "[scenarios]") {
  const auto names = [](std::uint32_t per_node) {
    const Seen run = see(on_dram({"fleet.replicas=4",
                                  host("100GB/s", fmt::format(R"(, "instances": {})", per_node))}),
                         documents(4));
    Sets out;
    for (const LinkResult& link : run.result().links) {
      if (link.medium) out.push_back(link.name);
    }
    return out;
  };
  CHECK(names(2) == Sets{"host-memory/node0", "host-memory/node1"});
  CHECK(names(4) == Sets{"host-memory"});
}

TEST_CASE("storage crosses the media that it names", "[scenarios]") {
  // A NIC of 0.5 GB/s before a drive of 1 GB/s.
  const Seen run = see(on_drive({R"(media=[{"name": "nic", "bandwidth": "0.5GB/s"}])",
                                 R"(tiers.0.device.through=["nic"])"}),
                       documents(1));
  CHECK(run.ttft(2) == 100'000 + kDocument * 2 + kCopy + step_ns(1, 512));
  CHECK(run.link("nic").bytes == run.link("ssd-read").bytes + run.link("ssd-write").bytes);
}

// ---- bad input
// -----------------------------------------------------------------------------------

TEST_CASE("networks that cannot be are refused", "[scenarios]") {
  const auto refusal = [](const std::function<void()>& make) {
    return std::string(error_of(make).what());
  };
  CHECK_THAT(refusal([] { on_drive({R"(tiers.0.device.through=["nic"])"}); }),
             ContainsSubstring("through: unknown medium \"nic\"; known: none (media lists them)"));
  CHECK_THAT(refusal([] { on_dram({medium("0GB/s")}); }), ContainsSubstring("expected a rate"));
  CHECK_THAT(refusal([] { on_dram({host("0GB/s")}); }),
             ContainsSubstring("host.memory_bandwidth: "));
  CHECK_THAT(refusal([] { on_dram({medium("1GB/s", R"(, "scope": "rank")")}); }),
             ContainsSubstring("media.0.scope: "));
  CHECK_THAT(refusal([] { on_dram({"tiers.0.scope=cluster"}); }),
             ContainsSubstring("tiers.0.scope: expected instance or rank, found \"cluster\": each "
                               "engine pins a pool of its own in host memory"));
  CHECK_THAT(refusal([] { on_drive({"tiers.0.scope=cluster"}); }),
             ContainsSubstring("tiers.0.scope: expected instance, rank or node, found \"cluster\": "
                               "a drive belongs to one host"));
  CHECK_THAT(
      refusal([] {
        on_dram({R"(media=[{"name": "host-memory", "bandwidth": "1GB/s"}])", host("20GB/s")});
      }),
      ContainsSubstring("host.memory_bandwidth: a medium is called \"host-memory\""));
}

}  // namespace
}  // namespace spillway::test
