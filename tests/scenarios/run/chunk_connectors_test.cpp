// LMCache and hybrids, as a user runs them: what holds up a step, what is lost, what replicas find
// of each other. All arithmetic is in the comments; chunks are of 256 tokens, 32 MiB each.
#include <fmt/format.h>

#include <cmath>

#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

struct Tiers {
  std::string connector = "lmcache";
  std::string dram = "1GiB";
  std::string more{};    ///< further tiers, as JSON
  std::string links{};   ///< of these
  std::string engine{};  ///< further keys of the engine
  std::uint32_t replicas = 1;
};

Scenario scenario_with(const Tiers& t) {
  const std::string text = fmt::format(
      R"({{"model": {{"kv_bytes_per_token": 131072, "layers": 4}},
 "engine": {{"preset": "vllm@0.23", "block_tokens": 16, "num_gpu_blocks": 65, "max_num_seqs": 8,
            "max_num_batched_tokens": 2048, "offload_connector": "{}"{}}},
 "compute": {{"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 0}},
 "tiers": [{{"name": "dram", "kind": "dram", "capacity": "{}"}}{}],
 "links": [{{"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
            "bandwidth": "16GiB/s"}},
           {{"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10,
            "bandwidth": "16GiB/s"}}{}],
 "fleet": {{"replicas": {}}}, "policies": {{"routing": "round_robin"}},
 "workload": {{"trace": "x.jsonl"}}, "seed": 1}})",
      t.connector, t.engine, t.dram, t.more, t.links, t.replicas);
  return load_scenario(JsonSource::from_text("s.json", text));
}

const char* const kRedis =
    R"(, {"name": "redis", "kind": "kv", "capacity": "4GiB", "scope": "cluster"})";
const char* const kRedisLinks =
    R"(, {"name": "put", "from": "dram", "to": "redis", "kind": "affine", "latency_us": 300,)"
    R"( "bandwidth": "1GiB/s"}, {"name": "get", "from": "redis", "to": "dram", "kind": "affine",)"
    R"( "latency_us": 300, "bandwidth": "1GiB/s"})";

/// Prompts of 512 tokens with one answer token, `gap_ms` apart; `documents` of them in turn.
Workload prompts(std::uint32_t count, std::uint64_t documents, std::int64_t gap_ms) {
  return repeating(count, documents, gap_ms, 1, 512);
}

double ms(double us) {
  return us / 1000;
}

TEST_CASE("in process, the whole step waits for what is stored and loaded", "[scenarios]") {
  // HBM holds 1,024 tokens, so two other documents push the first one out.
  const Workload workload = prompts(4, 3, 1000);
  Journal journal;
  SimulationOptions options;
  options.observers.push_back(&journal);
  const SimulationOutcome out = simulate(scenario_with({}), workload, options);
  // A prompt computes 2,000 + 512 x 20 = 12,240 us, then copies two chunks down in one job:
  // 64 MiB at 16 GiB/s are 3,906.25 us, behind 10 us.
  const double store = 10 + 3906.25;
  CHECK(journal.requests[0].first_token - journal.requests[0].arrival ==
        Duration(static_cast<std::int64_t>((12'240 + store) * 1000)));
  // The fourth finds all of its prompt, loads it whole and computes one token: nothing to store.
  CHECK(journal.requests[3].first_token - journal.requests[3].arrival ==
        Duration(static_cast<std::int64_t>((store + 2'000 + 20) * 1000)));
  CHECK(journal.requests[3].cached_tokens[1] == 511);
  CHECK(std::abs(out.result.load_wait->stall_s - ms(store) / 1000) < 1e-9);
}

TEST_CASE("beside the engine, a full miss costs a scheduling pass, and is told", "[scenarios]") {
  const SimulationOutcome out =
      simulate(scenario_with({.connector = "lmcache-mp"}), prompts(3, 3, 1000));
  CHECK(out.result.deferrals == 3);  // one for each, though nothing is found
  CHECK(find_note(out.warnings, "lookup-deferred") != nullptr);
}

TEST_CASE("what a burst brings between two ticks of LMCache is lost", "[scenarios]") {
  // L1 of eight chunks. Six prompts of two chunks come within a second: the fifth and the sixth
  // find it full, and the tick at 1 s comes too late for them. At 1 s 8 of 8 are in use, which is
  // above 0.8, and a fifth of the keys, one, is dropped; at 2 s and 3 s it is 7 and 7 of 8.
  const SimulationOutcome out =
      simulate(scenario_with({.connector = "lmcache-mp", .dram = "256MiB"}), prompts(6, 6, 100));
  const TierResult& l1 = out.result.tiers[1];
  CHECK(l1.stores == 8);
  CHECK(l1.store_failures == 4);
  CHECK(find_note(out.warnings, "burst-lost") != nullptr);
  // The native connector evicts on demand, and loses nothing.
  const SimulationOutcome native =
      simulate(scenario_with({.connector = "native", .dram = "256MiB"}), prompts(6, 6, 100));
  CHECK(native.result.tiers[1].store_failures == 0);
}

TEST_CASE("replicas with one remote store find each other's prefixes", "[scenarios]") {
  // Document 0 goes to replica 0, then to replica 1: three documents, two replicas in turn.
  const Workload workload = prompts(6, 3, 1000);
  const Tiers shared{.more = kRedis, .links = kRedisLinks, .replicas = 2};
  Tiers apart = shared;
  apart.more = R"(, {"name": "redis", "kind": "kv", "capacity": "4GiB"})";
  const RunResult one = simulate(scenario_with(shared), workload).result;
  const SimulationOutcome two = simulate(scenario_with(apart), workload);
  // The second half of the requests finds both chunks of each prompt in the store, or none.
  CHECK(one.tiers[2].hits == 6);
  CHECK(two.result.tiers[2].hits == 0);
  std::int64_t moved = 0;
  for (const LinkResult& link : one.links) moved += link.name.starts_with("get") ? link.bytes : 0;
  CHECK(moved == 6 * (std::int64_t{32} << 20));
  CHECK(find_note(two.warnings, "store-for-each") != nullptr);
  // 64 MiB at 1 GiB/s take 62.5 ms, to compute them 12.24: here sharing makes TTFT worse.
  CHECK(one.ttft.mean_ms > two.result.ttft.mean_ms);
  for (const LoadBreakEven& b : one.break_even) {
    if (b.tier == "redis") CHECK(b.tokens == 0);
  }
}

TEST_CASE("a remote store that cannot be reached fails requests, or is computed", "[scenarios]") {
  const Workload workload = prompts(6, 3, 1000);
  const std::string out_of_reach = R"(, {"name": "redis", "kind": "kv", "capacity": "4GiB",)"
                                   R"( "outages": [{"from_s": 3.001, "to_s": 9}]})";
  // Host memory only stages, so that all must come from Redis. At 3 s the fourth request is looked
  // up and found; its read begins at once, before the outage. The fifth finds nothing.
  Tiers tiers{.more = out_of_reach,
              .links = kRedisLinks,
              .engine = R"(, "lmcache": {"local_cpu": false, "blocking_timeout_secs": 0.05})"};
  const SimulationOutcome fails = simulate(scenario_with(tiers), workload);
  // The read of 62.8 ms outlasts the time-out of 50 ms.
  CHECK(fails.result.failed == 1);
  CHECK(fails.result.failed_reasons.front().reason == "kv_load_failed");
  CHECK(find_note(fails.warnings, "loads-failed") != nullptr);
  tiers.engine += R"(, "kv_load_failure_policy": "recompute")";
  const SimulationOutcome computes = simulate(scenario_with(tiers), workload);
  CHECK(computes.result.completed == 6);
  CHECK(computes.result.load_failures == 1);
  CHECK(find_note(computes.warnings, "loads-recomputed") != nullptr);
  CHECK(computes.result.tiers[2].write_refusals.front().reason == "unreachable");
}

TEST_CASE("CacheGen moves fewer bytes to the remote store, and takes its time", "[scenarios]") {
  const Workload workload = prompts(4, 3, 1000);
  Tiers tiers{
      .more = kRedis, .links = kRedisLinks, .engine = R"(, "lmcache": {"local_cpu": false})"};
  const RunResult plain = simulate(scenario_with(tiers), workload).result;
  tiers.engine = R"(, "lmcache": {"local_cpu": false, "remote_serde": "cachegen", "serde_ratio": 4,
      "serde_encode_bandwidth": "4GiB/s", "serde_decode_bandwidth": "2GiB/s"})";
  const RunResult packed = simulate(scenario_with(tiers), workload).result;
  const auto bytes = [](const RunResult& r, std::string_view name) {
    std::int64_t sum = 0;
    for (const LinkResult& link : r.links) sum += link.name == name ? link.bytes : 0;
    return sum;
  };
  CHECK(bytes(plain, "put") == 4 * bytes(packed, "put"));
  CHECK(bytes(plain, "get") == 4 * bytes(packed, "get"));
  // Steps wait 15.625 ms longer for each prompt that is packed (64 MiB at 4 GiB/s), and the load
  // 31.25 ms for unpacking, but 46.875 ms less for the way (48 MiB at 1 GiB/s).
  CHECK(packed.ttft.max_ms < plain.ttft.max_ms);
}

TEST_CASE("a remote store takes Redis' own names for what leaves", "[scenarios]") {
  const auto order = [](const std::string& policy) {
    const std::string tier =
        R"(, {"name": "redis", "kind": "kv", "capacity": "1GiB", "eviction": ")";
    return scenario_with({.more = tier + policy + "\"}"}).behind.front().order;
  };
  CHECK(order("allkeys-lru") == ChunkOrder::kLru);
  CHECK(order("allkeys-lfu") == ChunkOrder::kLfu);
  CHECK(order("allkeys-random") == ChunkOrder::kRandom);
  CHECK(order("noeviction") == ChunkOrder::kNone);
  CHECK(order("volatile-lru") == ChunkOrder::kNone);  // LMCache's keys have no time to live
}

TEST_CASE("a Redis that evicts nothing refuses puts when it is full", "[scenarios]") {
  // Room for four chunks; three documents of two chunks each.
  const Tiers tiers{.more = R"(, {"name": "redis", "kind": "kv", "capacity": "128MiB",)"
                            R"( "eviction": "noeviction"})",
                    .links = kRedisLinks};
  const RunResult r = simulate(scenario_with(tiers), prompts(3, 3, 1000)).result;
  CHECK(r.tiers[2].stores == 4);
  CHECK(r.tiers[2].store_failures == 2);
}

TEST_CASE("in a hybrid the native connector loads first, and both store", "[scenarios]") {
  const Tiers tiers{.connector = "hybrid",
                    .more = R"(, {"name": "l1", "kind": "dram", "capacity": "1GiB"})"};
  const RunResult r = simulate(scenario_with(tiers), prompts(4, 3, 1000)).result;
  // Three documents of 32 blocks, or of two chunks: both have all of them.
  CHECK(r.tiers[1].stores == 96);
  CHECK(r.tiers[2].stores == 6);
  CHECK(r.prompt_tokens_by_source[2] == std::pair<std::string, std::uint64_t>("dram", 512));
  CHECK(r.prompt_tokens_by_source[3].second == 0);
}

TEST_CASE("what the native tier has lost comes back from LMCache's", "[scenarios]") {
  // The native tier holds two of the three documents, L1 all.
  const Tiers tiers{.connector = "hybrid",
                    .dram = "128MiB",
                    .more = R"(, {"name": "l1", "kind": "dram", "capacity": "1GiB"})"};
  const RunResult r = simulate(scenario_with(tiers), prompts(4, 3, 1000)).result;
  CHECK(r.prompt_tokens_by_source[2].second == 0);
  CHECK(r.prompt_tokens_by_source[3] == std::pair<std::string, std::uint64_t>("l1", 511));
}

TEST_CASE("settings that LMCache cannot have are refused by name", "[scenarios]") {
  const auto refused = [](const Tiers& tiers, const std::string& words) {
    try {
      scenario_with(tiers);
    } catch (const InputError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(words) != std::string::npos);
      return;
    }
    FAIL("accepted: " << words);
  };
  refused({.engine = R"(, "lmcache": {"chunk_tokens": 250})"}, "lmcache.chunk_tokens");
  refused({.engine = R"(, "async_scheduling": true)"}, "async_scheduling");
  refused({.engine = R"(, "load": "barrier")"}, "expected blocking or layerwise");
  refused({.engine = R"(, "lmcache_mp": {})"}, "lmcache_mp");
  refused({.engine = R"(, "store_threshold": 2)"}, "store_threshold");
  refused({.more = R"(, {"name": "b", "kind": "dram", "capacity": "1GiB"})"}, "tiers.1.kind");
  refused({.more = kRedis,
           .links = R"(, {"name": "put", "from": "dram", "to": "redis", "kind": "affine",
           "latency_us": 1, "bandwidth": "1GB/s"})"},
          "expected both directions");
  refused({.connector = "hybrid"}, "expected a second tier");
  refused({.connector = "llmd-fs"}, "expected fs");
}

TEST_CASE("a tier smaller than a chunk keeps nothing, and says so", "[scenarios]") {
  const Scenario scenario = scenario_with({.dram = "16MiB"});
  CHECK(find_note(scenario.notes, "chunk-tier-too-small") != nullptr);
  const RunResult r = simulate(scenario, prompts(2, 1, 1000)).result;
  CHECK(r.completed == 2);
  CHECK(r.tiers[1].stores == 0);
  // Two chunks of each: what HBM has of the second counts as not saved all the same.
  CHECK(r.tiers[1].store_failures == 4);
}

}  // namespace
}  // namespace spillway::test
