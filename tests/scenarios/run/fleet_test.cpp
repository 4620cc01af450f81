// Identical instances of everything, among which requests are divided.
#include "scenarios/run/fleet.hpp"

#include <algorithm>

#include "models/cluster/session_groups.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "sim/quantile.hpp"
#include "sim/rng.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"
#include "tests/support/session_rows.hpp"
#include "tests/support/workload_part.hpp"

namespace spillway::test {
namespace {

/// Chats of `turns` turns, one every 70 ms, that repeat and extend their prompts; a few share one.
Workload chats(std::uint32_t sessions, std::uint32_t turns, std::int64_t gap_ms = 70) {
  std::vector<Turn> rows;
  for (std::uint32_t t = 0; t < turns; ++t) {
    for (std::uint64_t s = 0; s < sessions; ++s) {
      Turn turn{gap_ms * static_cast<std::int64_t>(rows.size()), 64 * (t + 2), 4, {}, 500, {s % 3}};
      for (std::uint64_t b = 0; b <= t; ++b) turn.blocks.push_back(1000 * (s + 1) + b);
      if (t > 0) turn.after = {rows.size() - sessions};
      rows.push_back(turn);
    }
  }
  return workload_of_turns(rows, 64);
}

Scenario fleet_of(std::uint32_t replicas, std::vector<std::string> more = {}) {
  more.push_back(fmt::format("fleet.replicas={}", replicas));
  more.emplace_back("engine.num_gpu_blocks=40");
  return reference_with(more);
}

struct Observed {
  Journal journal;
  SimulationOutcome outcome;
};

Observed observe(const Scenario& scenario, const Workload& workload) {
  Observed out;
  SimulationOptions options;
  options.observers.push_back(&out.journal);
  out.outcome = simulate(scenario, workload, options);
  return out;
}

TEST_CASE("a fleet of one is the run itself", "[scenarios]") {
  const Workload workload = chats(10, 3);
  CHECK(digest_of_run(fleet_of(1), workload) ==
        digest_of_run(reference_with({"engine.num_gpu_blocks=40"}), workload));
}

TEST_CASE("each instance of a fleet behaves as it would alone", "[scenarios]") {
  for (const std::vector<std::string>& with :
       {std::vector<std::string>{}, {"workload.sessions=wait"}, {"engine.data_parallel_size=2"}}) {
    const Workload workload = chats(20, 4, 12);
    const Scenario scenario = fleet_of(3, with);
    const Observed fleet = observe(scenario, workload);
    const auto instances =
        instances_by_session(workload, workload.columns().session, 3, scenario.seed);
    const RunResult& all = fleet.outcome.result;
    std::uint64_t stores = 0;
    std::uint64_t hits = 0;
    std::uint64_t steps = 0;
    std::uint64_t preemptions = 0;
    std::vector<double> ttft;
    for (std::uint32_t k = 0; k < 3; ++k) {
      std::vector<RequestId> members;
      for (std::uint32_t i = 0; i < workload.size(); ++i) {
        if (instances[i] == InstanceId{k}) members.push_back(RequestId{i});
      }
      const Observed alone = observe(fleet_of(1, with), part_of(workload, members));
      for (std::size_t i = 0; i < members.size(); ++i) {
        const RequestRecord& here = fleet.journal.requests[raw(members[i])];
        const RequestRecord& there = alone.journal.requests[i];
        CHECK(here.request == members[i]);
        CHECK(here.arrival == there.arrival);
        CHECK(here.first_token == there.first_token);
        CHECK(here.finish == there.finish);
        CHECK(here.cached_tokens == there.cached_tokens);
        ttft.push_back(milliseconds_of(there.first_token - there.arrival));
      }
      stores += alone.outcome.result.tiers[1].stores;
      hits += alone.outcome.result.tiers[1].hits;
      steps += alone.outcome.result.engine_steps;
      preemptions += alone.outcome.result.preemptions;
    }
    CHECK(hits > 0);
    CHECK(all.tiers[1].stores == stores);
    CHECK(all.tiers[1].hits == hits);
    CHECK(all.engine_steps == steps);
    CHECK(all.preemptions == preemptions);
    // Percentiles of all requests, not a mean of percentiles.
    std::sort(ttft.begin(), ttft.end());
    CHECK(all.ttft.p99_ms == Approx(quantile(ttft, 0.99)));
    CHECK(all.completed == workload.size());
  }
}

TEST_CASE("what a fleet has is the sum of what its instances have", "[scenarios]") {
  const Workload workload = chats(12, 2);
  const RunResult one = simulate(fleet_of(1), workload).result;
  const SimulationOutcome out = simulate(fleet_of(4), workload);
  const RunResult& four = out.result;
  CHECK(four.tiers[0].capacity_blocks == 4 * one.tiers[0].capacity_blocks);
  CHECK(four.tiers[1].capacity_bytes == 4 * one.tiers[1].capacity_bytes);
  REQUIRE(four.engines.size() == 4);
  CHECK(four.links.size() == 4 * one.links.size());
  CHECK(four.links[2].name == "d2h/engine1");
  std::uint64_t served = 0;
  for (const EngineShare& engine : four.engines) served += engine.requests;
  CHECK(served == workload.size());
  CHECK(says(out.warnings, "4 instances serve "));
}

TEST_CASE("an instance that no session comes to idles", "[scenarios]") {
  const SimulationOutcome out = simulate(fleet_of(16), chats(3, 2));
  CHECK(out.result.completed == 6);
  CHECK(out.result.engines.size() == 16);
}

TEST_CASE("clients of a closed loop are the whole fleet's", "[scenarios]") {
  const Workload workload = chats(16, 2);
  const Observed run =
      observe(fleet_of(4, {"workload.arrival=closed-loop", "workload.concurrency=2"}), workload);
  CHECK(run.outcome.result.completed == 32);
  // Never more than two in flight, wherever they are.
  std::vector<std::pair<Time, int>> changes;
  for (const RequestRecord& r : run.journal.requests) {
    changes.emplace_back(r.arrival, 1);
    changes.emplace_back(r.finish, -1);
  }
  std::sort(changes.begin(), changes.end());
  int in_flight = 0;
  for (const auto& [at, change] : changes) {
    in_flight += change;
    CHECK(in_flight <= 2);
  }
}

TEST_CASE("a trace without sessions is split by those that prefixes suggest", "[scenarios]") {
  // Two turns each, minutes apart; the second extends the first.
  std::vector<Row> rows;
  for (std::uint64_t s = 0; s < 40; ++s) {
    rows.push_back({static_cast<std::int64_t>(s) * 100, 128, 4, {2 * s, 2 * s + 1}});
  }
  for (std::uint64_t s = 0; s < 40; ++s) {
    rows.push_back(
        {60'000 + static_cast<std::int64_t>(s) * 100, 192, 4, {2 * s, 2 * s + 1, 1000 + s}});
  }
  const Workload workload = workload_of(rows, 64);
  const auto router = make_fleet_router(fleet_of(4), workload);
  REQUIRE(router);
  const ChainMap chains(workload, 16);
  const std::vector<InstanceView> fleet(4);
  const auto instance_of = [&](std::uint32_t i) {
    return router->route({RequestId{i}, Time{}, 128, chains}, fleet);
  };
  for (std::uint32_t i = 0; i < 40; ++i) CHECK(instance_of(i) == instance_of(i + 40));
  CHECK(find_note(fleet_notes(fleet_of(4), workload, std::vector<std::uint64_t>{20, 20, 20, 20}),
                  "fleet-by-inferred-session"));
}

TEST_CASE("requests may be dealt out in turn or by load, whoever waits for whom", "[scenarios]") {
  const Workload workload = chats(20, 4, 12);
  for (const char* routing : {"round-robin", "least-loaded"}) {
    const std::string key = fmt::format("fleet.routing={}", routing);
    const Observed run = observe(fleet_of(3, {key, "workload.sessions=wait"}), workload);
    const RunResult& r = run.outcome.result;
    CHECK(r.completed == 80);
    std::uint64_t served = 0;
    for (const EngineShare& engine : r.engines) {
      CHECK(engine.requests > 0);
      served += engine.requests;
    }
    CHECK(served == 80);
    if (routing == std::string("round-robin")) CHECK(r.engines[0].requests == 27);
    const Note* note = find_note(run.outcome.warnings, "fleet-by-routing");
    REQUIRE(note);
    CHECK_THAT(note->text, ContainsSubstring(routing));
    CHECK(digest_of_run(fleet_of(3, {key}), workload) ==
          digest_of_run(fleet_of(3, {key}), workload));
    CHECK(digest_of_run(fleet_of(3, {key}), workload) != digest_of_run(fleet_of(3), workload));
    CHECK(digest_of_run(fleet_of(1, {key}), workload) == digest_of_run(fleet_of(1), workload));
  }
  CHECK(digest_of_run(fleet_of(3, {"fleet.routing=session-hash"}), workload) ==
        digest_of_run(fleet_of(3), workload));
}

TEST_CASE("a routing that nobody knows is refused with those there are", "[scenarios]") {
  const std::string error = error_of([] { fleet_of(2, {"fleet.routing=sticky"}); }).what();
  CHECK_THAT(error, ContainsSubstring("fleet.routing"));
  for (const char* known : {"session-hash", "round-robin", "least-loaded"}) {
    CHECK_THAT(error, ContainsSubstring(known));
  }
}

TEST_CASE("storage of a fleet is counted over all drives", "[scenarios]") {
  const std::vector<std::string> nvme = {
      R"(tiers=[{"name": "ssd", "kind": "nvme", "capacity": "1GiB"}])",
      R"(links=[{"name": "d2h", "from": "hbm", "to": "host", "kind": "affine", "latency_us": 10,)"
      R"( "bandwidth": "25GB/s"}, {"name": "h2d", "from": "host", "to": "hbm", "kind": "affine",)"
      R"( "latency_us": 10, "bandwidth": "25GB/s"}])",
      "plan.tier=ssd", R"(plan.sizes=["1GiB"])"};
  const Workload workload = chats(12, 3);
  const SimulationOutcome out = simulate(fleet_of(2, nvme), workload);
  const RunResult& r = out.result;
  REQUIRE(r.tiers[1].device);
  std::int64_t written = 0;
  for (const LinkResult& link : r.links) {
    if (link.name.starts_with("ssd-write")) written += link.bytes;
  }
  CHECK(r.tiers[1].device->bytes_written == written);
  CHECK(written > 0);
  CHECK(find_note(out.warnings, "fleet-own-storage"));
}

TEST_CASE("a streaming fleet conserves its blocks", "[scenarios]") {
  const Workload workload = repeating(30, 10, 20, 8, 480);
  const Scenario s = fleet_of(2, {"engine.residency=streaming"});
  CHECK(simulate(s, workload).result.completed == 30);
}

TEST_CASE("a host holds all instances unless it says fewer", "[scenarios]") {
  // 4 GiB a tier: two instances need 8 GiB, of which one machine has 6.
  const std::vector<std::string> host = {R"(host={"memory": "6GiB"})", "plan.sizes=[\"4GiB\"]"};
  CHECK_NOTHROW(fleet_of(1, host));
  CHECK_THAT(error_of([&] { fleet_of(2, host); }).what(),
             ContainsSubstring("4.00 GiB x 2 engines + 0 B reserved = 8.00 GiB"));
  CHECK_NOTHROW(fleet_of(2, {R"(host={"memory": "6GiB", "instances": 1})"}));
}

TEST_CASE("the resolved configuration names a fleet", "[scenarios]") {
  CHECK(resolved_configuration(fleet_of(3))["fleet"]["replicas"] == 3);
  CHECK(resolved_configuration(fleet_of(3, {"fleet.routing=round-robin"}))["fleet"]["routing"] ==
        "round-robin");
  CHECK_FALSE(resolved_configuration(reference_with()).contains("fleet"));
}

}  // namespace
}  // namespace spillway::test
