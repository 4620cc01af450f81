// Levels behind host memory whose rules are not vLLM's: room of their own, writes on eviction,
// one place for each block, early leave, reads ahead, stores that engines share.
#include "tests/scenarios/scenario/tiered.hpp"

namespace spillway::test {
namespace {

/// A tier of kind fs at 1 GB/s without latency: a document takes 67.108864 ms. `rules` are keys.
std::string level(const std::string& name, const std::string& rules) {
  return fmt::format(R"({{"name": "{}", "kind": "fs", {}, "device": {{"read_bandwidth": "1GB/s",)"
                     R"( "write_bandwidth": "1GB/s", "read_latency_us": 0,)"
                     R"( "write_latency_us": 0}}}})",
                     name, rules);
}

/// Document i comes at second i.
Workload documents(const std::vector<std::uint64_t>& ids) {
  std::vector<Row> rows;
  for (const std::uint64_t id : ids) {
    rows.push_back({1000 * static_cast<std::int64_t>(rows.size()), 512, 1, {id}});
  }
  return workload_of(rows, 512);
}

const LinkResult& link(const Told& run, const std::string& name) {
  for (const LinkResult& l : run.result().links) {
    if (l.name == name) return l;
  }
  FAIL("no link " << name);
  return run.result().links.front();
}

constexpr std::int64_t kLoad = 10'000 + (kDocument + 24) / 25;  // host link: 10 us + 25 GB/s

TEST_CASE("four levels, each with room and a policy of its own, the last one exclusive",
          "[scenarios]") {
  // HBM holds one document, dram two (lru), nvme three (fifo, written through), remote any number:
  // it takes what nvme gives up, and keeps nothing that it gave back.
  //   0 1 2: nvme {0 1 2}, dram {1 2}
  //   3: nvme gives up 0, which goes to remote; dram {2 3}
  //   4: nvme gives up 1; nvme {2 3 4}, remote {0 1}, dram {3 4}
  //   0: read from remote into dram, and gone there; nvme takes it and gives up 2:
  //      nvme {3 4 0}, remote {1 2}, dram {4 0}
  //   3: read from nvme, which keeps it
  const std::string nvme = level("nvme", R"("capacity": "96blocks", "eviction": "fifo")");
  const std::string remote = level("remote", R"("write": "on-eviction", "inclusion": "exclusive")");
  const Told run = told(tiered(39, 64, nvme + "," + remote), documents({0, 1, 2, 3, 4, 0, 3}));
  const RunResult& r = run.result();
  CHECK(r.completed == 7);
  CHECK(run.journal.requests[5].cached_tokens[3] == 512);
  CHECK(run.journal.requests[6].cached_tokens[2] == 512);
  // The read goes first, then the copy up, then the last token once more.
  CHECK(run.ttft_ns(5) == kDocument + kLoad + step_ns(1, 512));
  CHECK(run.ttft_ns(6) == kDocument + kLoad + step_ns(1, 512));

  CHECK(link(run, "nvme-write").bytes == 6 * kDocument);       // 0 to 4, and 0 again
  CHECK(link(run, "nvme-read").bytes == (3 + 1) * kDocument);  // 0, 1, 2 down; 3 up
  CHECK(link(run, "remote-write").bytes == 3 * kDocument);
  CHECK(link(run, "remote-read").bytes == kDocument);
  CHECK(r.tiers[2].stores == 6 * 32);
  CHECK(r.tiers[2].evictions == 3 * 32);
  CHECK(r.tiers[2].peak_bytes == 3 * kDocument);
  CHECK(r.tiers[3].stores == 3 * 32);
  CHECK(r.tiers[3].evictions == 32);
  CHECK(r.tiers[3].hits == 32);
  CHECK(r.tiers[2].hits == 32);
}

TEST_CASE("what dram gives up goes down, and leaves once it is there", "[scenarios]") {
  // dram holds two documents. The third finds no room: document 0 begins to leave, which takes
  // 67 ms, and the store of document 2 is refused, with its step and once more with its end. With
  // dram trimmed above a half, document 0 has left long before.
  const std::string spill = level("fs", R"("write": "on-eviction", "inclusion": "exclusive")");
  const Told refused = told(tiered(39, 64, spill), documents({0, 1, 2, 0}));
  CHECK(refused.result().tiers[1].store_failures == 2);
  CHECK(refused.result().tiers[2].stores == 32);
  CHECK(refused.journal.requests[3].cached_tokens[2] == 512);

  const Told trimmed =
      told(tiered(39, 64, spill, {"tiers.0.trim_above=0.5", "tiers.0.trim_to=0.5"}),
           documents({0, 1, 2, 0}));
  CHECK(trimmed.result().tiers[1].store_failures == 0);
  // 1 drives 0 out, 2 drives 1 out, 0 comes back and drives 2 out.
  CHECK(trimmed.result().tiers[2].stores == 3 * 32);
  CHECK(trimmed.result().tiers[2].evictions == 32);
  CHECK(trimmed.journal.requests[3].cached_tokens[2] == 512);
}

TEST_CASE("rules of a connector are a row, and keys of a tier stand over it", "[scenarios]") {
  const Scenario spill = tiered(39, 64, fs_tier("1GB/s"), {"engine.tier_rules=spill"});
  CHECK(spill.behind[0].rules.write == WriteRule::kOnEviction);
  CHECK(spill.behind[0].rules.inclusion == Inclusion::kExclusive);
  const Scenario over =
      tiered(39, 64, fs_tier("1GB/s"), {"engine.tier_rules=spill", "tiers.1.inclusion=inclusive"});
  CHECK(over.behind[0].rules.write == WriteRule::kOnEviction);
  CHECK(over.behind[0].rules.inclusion == Inclusion::kInclusive);
}

TEST_CASE("a level trims itself, and an unused block has its time", "[scenarios]") {
  // Room for four documents; above three, two are left: the fourth write drives two out.
  const std::string trims =
      level("fs", R"("capacity": "128blocks", "trim_above": 0.75, "trim_to": 0.5)");
  const Told trimmed = told(tiered(39, 64, trims), documents({0, 1, 2, 3}));
  CHECK(trimmed.result().tiers[2].stores == 4 * 32);
  CHECK(trimmed.result().tiers[2].evictions == 2 * 32);

  // The same by a loop that looks every 10 s: all four are there until then, and at the end two.
  const std::string loop = level(
      "fs", R"("capacity": "128blocks", "trim_above": 0.75, "trim_to": 0.5, "trim_every_s": 10)");
  const Told looped = told(tiered(39, 64, loop), documents({0, 1, 2, 3, 0}));
  CHECK(looped.journal.requests[4].cached_tokens[2] == 512);
  CHECK(looped.result().tiers[2].peak_bytes == 4 * kDocument);

  // Written at 0.1 s, 1.1 s, 2.1 s; at 3 s document 0 is 2.9 s old. For a time of 2.5 s it is gone
  // and computed again, for one of 3.5 s it is read.
  const auto again = [&](const std::string& ttl) {
    const Told run =
        told(tiered(39, 64, level("fs", R"("ttl_s": )" + ttl)), documents({0, 1, 2, 0}));
    return run.journal.requests[3].cached_tokens[2];
  };
  CHECK(again("2.5") == 0);
  CHECK(again("3.5") == 512);
}

TEST_CASE("a write without room waits for it, or is dropped", "[scenarios]") {
  // Documents 0 and 1 at once; the level holds one. Both are written one after the other where
  // writes wait: the second goes once the first is there and may leave.
  const auto stores = [&](const std::string& rule) {
    const Workload two = workload_of({{0, 512, 1, {0}}, {1, 512, 1, {1}}}, 512);
    const Told run =
        told(tiered(80, 64, level("fs", R"("capacity": "32blocks", "when_full": ")" + rule + "\"")),
             two);
    return run.result().tiers[2].stores;
  };
  CHECK(stores("wait") == 2 * 32);
  CHECK(stores("drop") == 32);
}

TEST_CASE("a request that waits is read ahead", "[scenarios]") {
  // One request runs at a time. Document 0 comes again behind a long answer, which takes some 500
  // steps: read ahead, it is in dram when its turn comes.
  const auto scheduled = [&](const std::string& ahead) {
    const Workload rows = workload_of({{0, 512, 1, {0}},
                                       {500, 512, 1, {1}},
                                       {1000, 512, 1, {2}},
                                       {1500, 512, 500, {3}},
                                       {1600, 512, 1, {0}}},
                                      512);
    const Told run = told(
        tiered(80, 64, level("fs", R"("prefetch_chunks": )" + ahead), {"engine.max_num_seqs=1"}),
        rows);
    CHECK(run.journal.requests[4].cached_tokens[2] == 512);
    const RequestRecord& last = run.journal.requests[4];
    return (last.first_token - run.journal.requests[3].finish).count();
  };
  const std::int64_t ran = kLoad + step_ns(1, 512);
  CHECK(scheduled("32") == ran);
  CHECK(scheduled("0") == kDocument + ran);
  CHECK(scheduled("1") == ran);  // a chunk at a time: 32 steps or so are enough
}

TEST_CASE("engines of data parallelism find in a tier what the others wrote", "[scenarios]") {
  // Document 0 goes to the first engine, and then one with a long answer. Document 0 comes back and
  // goes to the second engine, which is free and has never seen it: the tier behind has it, once.
  const std::string fs = level("fs", R"("scope": "instance")");
  const Workload workload =
      workload_of({{0, 512, 1, {0}}, {300, 512, 200, {1}}, {450, 512, 1, {0}}}, 512);
  const Told run = told(tiered(80, 64, fs, {"engine.data_parallel_size=2"}), workload);
  const RunResult& r = run.result();
  REQUIRE(r.engines.size() == 2);
  REQUIRE(r.engines[1].requests == 1);
  CHECK(run.journal.requests[2].cached_tokens[2] == 512);
  CHECK(run.ttft_ns(2) == kDocument + kLoad + step_ns(1, 512));
  CHECK(r.tiers[2].stores == 2 * 32);
  CHECK(r.tiers[2].peak_bytes == 2 * kDocument);
}

/// Two instances behind a router that takes turns.
std::vector<std::string> in_turn() {
  return {"fleet.replicas=2", "fleet.routing=round-robin", "host.instances=1", "host.memory=1TB"};
}

TEST_CASE("instances find in a store of the cluster what the others wrote", "[scenarios]") {
  // Instance 0 computes document 0, instance 1 document 1, instance 0 document 1 (which it has
  // never seen), instance 1 document 0. Each is written once.
  const std::string shared = level("store", R"("scope": "cluster")");
  const Told run = told(tiered(39, 64, shared, in_turn()), documents({0, 1, 1, 0}));
  const RunResult& r = run.result();
  REQUIRE(r.engines.size() == 2);
  CHECK(r.engines[0].requests == 2);
  CHECK(run.journal.requests[2].cached_tokens[2] == 512);
  CHECK(run.journal.requests[3].cached_tokens[2] == 512);
  CHECK(run.ttft_ns(2) == kDocument + kLoad + step_ns(1, 512));
  CHECK(r.tiers[2].stores == 2 * 32);
  CHECK(r.tiers[2].peak_bytes == 2 * kDocument);
  CHECK(r.tiers[2].device->bytes_written == 2 * kDocument);
  CHECK(r.tiers[2].device->bytes_read == 2 * kDocument);
  // Where each has its own, nothing is found.
  const std::string own = level("store", R"("scope": "instance")");
  const Told apart = told(tiered(39, 64, own, in_turn()), documents({0, 1, 1, 0}));
  CHECK(apart.result().tiers[2].hits == 0);
  CHECK(apart.result().tiers[2].stores == 4 * 32);
}

TEST_CASE("a shared store serves one instance as if it were alone", "[scenarios]") {
  // One session: all its requests go to one of the two instances.
  std::vector<Row> rows;
  for (const std::uint64_t id : {0U, 1U, 2U, 0U, 3U, 1U}) {
    rows.push_back({1000 * static_cast<std::int64_t>(rows.size()), 512, 1, {id}});
  }
  const std::string fs = level("store", R"("capacity": "96blocks", "scope": "cluster")");
  const auto ttfts = [&](const std::string& replicas) {
    const Workload named = workload_of(rows, 512);
    const std::vector<std::uint32_t> sessions(rows.size(), 0);
    WorkloadColumns columns = named.columns();
    columns.session = sessions;
    const Workload one(nullptr, columns, WorkloadSource{named.source()});
    const Told run = told(tiered(39, 64, fs, {"fleet.replicas=" + replicas}), one);
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(run.ttft_ns(i));
    out.push_back(run.result().tiers[2].device->bytes_written);
    out.push_back(static_cast<std::int64_t>(run.result().tiers[2].evictions));
    return out;
  };
  CHECK(ttfts("2") == ttfts("1"));
}

TEST_CASE("engines that share a store wait for each other's room", "[scenarios]") {
  // The store holds one document. Two instances write one each at the same time: the second write
  // waits until the first is there, and pushes it out.
  const std::string store = level("store", R"("capacity": "32blocks", "scope": "cluster")");
  const Workload two = workload_of({{0, 512, 1, {0}}, {0, 512, 1, {1}}}, 512);
  const Told run = told(tiered(39, 64, store, in_turn()), two);
  CHECK(run.result().completed == 2);
  CHECK(run.result().tiers[2].stores == 2 * 32);
  CHECK(run.result().tiers[2].evictions == 32);
  CHECK(run.result().tiers[2].peak_bytes == kDocument);
}

TEST_CASE("what cannot hold together is refused", "[scenarios]") {
  const auto error = [](const std::string& behind, const std::vector<std::string>& more = {}) {
    return std::string(error_of([&] { tiered(40, 40, behind, more); }).what());
  };
  CHECK_THAT(
      error(level("a", R"("scope": "cluster")") + "," +
            level("b", R"("write": "on-eviction", "scope": "instance")")),
      ContainsSubstring("tiers.2.write: b takes what a gives up, which is shared more widely"));
  CHECK_THAT(error(level("a", R"("inclusion": "exclusive")")),
             ContainsSubstring("tiers.1.inclusion: exclusive and"));
  CHECK_THAT(
      error(fs_tier("1GB/s"), {"engine.tier_rules=lazy"}),
      ContainsSubstring("engine.tier_rules: unknown tier_rules \"lazy\"; known: vllm, spill"));
}

}  // namespace
}  // namespace spillway::test
