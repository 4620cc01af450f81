// Tiers behind host memory (vLLM's TieringOffloadingSpec): what a look-up there costs, what a write
// there pins, and what the result says about it.
#include "tests/scenarios/scenario/tiered.hpp"

namespace spillway::test {
namespace {

TEST_CASE("section 9 (7): fs full miss costs one deferral", "[scenarios]") {
  // #45765: a request of which nothing lies anywhere asks, and is told at the next step.
  const Workload alone = workload_of({{0, 512, 1, {0}}}, 512);
  CHECK(told(tiered(40, 40, ""), alone).result().deferrals == 0);
  const Told one = told(tiered(40, 40, fs_tier("1GB/s")), alone);
  CHECK(one.result().deferrals == 1);
  CHECK(one.ttft_ns(0) == step_ns(512, 512));  // alone, the step lost lasts nothing
  CHECK(one.result().tiers[2].queries == 32);
  CHECK(one.result().tiers[2].hits == 0);

  // Beside a request that decodes, the step lost is that one's. The first runs its prompt in
  // 12.24256 ms and then a token each 2.02 ms and a bit; the second comes at 13 ms, is deferred by
  // the step that begins with the next token and runs in the one after that.
  const Workload two = workload_of({{0, 512, 8, {0}}, {13, 512, 1, {1}}}, 512);
  const Told without = told(tiered(80, 80, ""), two);
  const Told with = told(tiered(80, 80, fs_tier("1GB/s")), two);
  CHECK(with.result().deferrals == 2);
  const Duration later = with.journal.requests[1].scheduled - without.journal.requests[1].scheduled;
  CHECK(later.count() == step_ns(1, 514));
}

TEST_CASE("issue 45765: an fs hit takes four passes", "[scenarios]") {
  // Ask, promote, load, run: two deferrals, then a load, then the last token computed again.
  const Workload workload = three_then_the_first();
  const Told run = told(tiered(39, 40, fs_tier("1GB/s")), workload);
  CHECK(run.result().deferrals == 3 + 2);
  const std::int64_t read = 32 * 100'000 + kDocument;        // a file after the other
  const std::int64_t load = 10'000 + (kDocument + 24) / 25;  // 25 GB/s, rounded up
  CHECK(run.ttft_ns(3) == read + load + step_ns(1, 512));
  CHECK(run.journal.requests[3].cached_tokens[1] == 0);
  CHECK(run.journal.requests[3].cached_tokens[2] == 512);
  const RunResult& r = run.result();
  CHECK(r.prompt_tokens_by_source[3] == std::pair<std::string, std::uint64_t>{"fs", 512});
  CHECK(r.tiers[1].hits == 0);
  CHECK(r.tiers[1].stores == 4 * 32);  // three documents from HBM, one from fs
  CHECK(r.tiers[2].queries == 4 * 32);
  CHECK(r.tiers[2].hits == 32);
  CHECK(r.tiers[2].stores == 3 * 32);
  REQUIRE(r.tiers[2].tiering);
  CHECK(r.tiers[2].tiering->promotions == 1);
  CHECK(r.tiers[2].tiering->cascades == 3);  // what was promoted is not written again
  CHECK(r.tiers[2].unbounded);
  CHECK(r.links[2].name == "fs-write");
  CHECK(r.links[2].bytes == 3 * kDocument);
  CHECK(r.links[3].name == "fs-read");
  CHECK(r.links[3].bytes == kDocument);
  CHECK(r.links[3].to == "dram");

  SECTION("the thread that looks takes its time") {
    // 32 files at 50 us each, before anything is read.
    const Told slow = told(tiered(39, 40, fs_tier("1GB/s", R"(, "lookup_us": 50)")), workload);
    CHECK(slow.ttft_ns(3) == 32 * 50'000 + run.ttft_ns(3));
    CHECK(slow.ttft_ns(0) == 32 * 50'000 + step_ns(512, 512));
  }
}

TEST_CASE("a file holds a chunk, and counts are in blocks", "[scenarios]") {
  // Chunks of four blocks: 8 files a document.
  const Told run =
      told(tiered(39, 40, fs_tier("1GB/s"), {"engine.blocks_per_chunk=4"}), three_then_the_first());
  const std::int64_t load = 10'000 + (kDocument + 24) / 25;
  CHECK(run.ttft_ns(3) == 8 * 100'000 + kDocument + load + step_ns(1, 512));
  const RunResult read_back = run_from_json(to_json(run.result()));
  const TierResult& fs = read_back.tiers[2];
  CHECK(fs.hits == 32);
  CHECK(fs.stores == 3 * 32);
  CHECK(fs.peak_bytes == 3 * kDocument);
  REQUIRE(fs.tiering);
  CHECK(fs.tiering->promotions == 1);
  CHECK(fs.tiering->peak_pinned_share == 8 / 10.0);  // of 10 slots, one document
}

TEST_CASE("tiers behind are asked in order", "[scenarios]") {
  const std::string object =
      R"({"name": "s3", "kind": "object", "device": {"client_limit": "2GB/s",)"
      R"( "connection_limit": "2GB/s", "read_latency_us": 1000, "write_latency_us": 1000}})";
  const Workload workload = three_then_the_first();
  const Told run = told(tiered(39, 40, fs_tier("1GB/s") + "," + object), workload);
  CHECK(run.result().tiers[2].hits == 32);
  CHECK(run.result().tiers[3].hits == 0);
  CHECK(run.result().tiers[3].queries == 3 * 32);  // what fs had is not asked for behind it
  CHECK(run.result().tiers[3].stores == 3 * 32);   // but all is written to both
  // While fs has not answered, the next that knows the chunk gives it.
  const Told late =
      told(tiered(39, 40, fs_tier("1GB/s", R"(, "lookup_us": 500)") + "," + object), workload);
  CHECK(late.result().tiers[2].hits == 0);
  CHECK(late.result().tiers[3].hits == 32);
}

TEST_CASE("section 9 (8): slow tier pins CPU until stores fail", "[scenarios]") {
  // Four documents, one each 100 ms, into a dram of two, behind it a drive of 10 MB/s: a document
  // takes 6.7 s to write, and until then the dram has nothing that could leave.
  const Workload workload = repeating(4, 4, 100, 1);
  const Told without = told(tiered(40, 64, ""), workload);
  CHECK(without.result().tiers[1].store_failures == 0);
  CHECK(without.result().tiers[1].stores == 4 * 32);
  const Told with = told(tiered(40, 64, fs_tier("10MB/s")), workload);
  CHECK(with.result().tiers[1].store_failures > 0);
  CHECK(with.result().tiers[1].stores == 2 * 32);
  CHECK(with.result().tiers[2].tiering->peak_pinned_share == 1);
  CHECK(with.warns("batches of stores and 0 promotions. Its blocks waited to be written to fs"));
  CHECK(with.warns("pinned up to 100.0% of dram at 0.01 GB/s"));
}

TEST_CASE("an fs tier at a tenth of the break-even rate does harm, and the result says so",
          "[scenarios]") {
  // 512 tokens are computed in 12.24256 ms and go up in 2.694 ms: a tier pays from 67,108,864
  // bytes in 9.548 ms on, 7.03 GB/s. At 0.7 GB/s the reads of one document take 96 ms.
  const Workload workload = repeating(60, 10, 30, 1);
  const Told without = told(tiered(80, 128, ""), workload);
  const Told with = told(tiered(80, 128, fs_tier("700MB/s")), workload);
  CHECK(with.result().ttft.mean_ms > without.result().ttft.mean_ms);
  CHECK(with.result().ttft.p99_ms > without.result().ttft.p99_ms);
  CHECK(without.result().tiers[1].store_failures == 0);
  CHECK(with.result().tiers[1].store_failures > 0);
  CHECK(with.result().tiers[2].hits > 0);
  CHECK(with.warns("fs delays first tokens: "));
  CHECK(with.warns("It breaks even from "));
  CHECK(with.warns("pinned up to"));
  // At ten times the break-even rate it is the other way round, and nothing is said.
  const Told fast = told(tiered(80, 128, fs_tier("70GB/s")), workload);
  CHECK_FALSE(fast.warns("delays first tokens"));
}

TEST_CASE("PRs 52784, 54327: fs grows without bound and writes each file once", "[scenarios]") {
  // vLLM PRs 52784, 54327: nothing leaves. Ten documents come three times each through a dram of
  // four: all are written the first time, and promoted from then on.
  const Told run = told(tiered(40, 128, fs_tier("100GB/s")), repeating(30, 10, 200, 1));
  const TierResult& fs = run.result().tiers[2];
  CHECK(fs.stores == 10 * 32);
  CHECK(fs.evictions == 0);
  CHECK(fs.device->bytes_written == 10 * kDocument);
  CHECK(fs.peak_bytes == 10 * kDocument);
  CHECK(run.warns("fs: nothing is ever deleted there (vLLM PRs 52784, 54327). "));
}

TEST_CASE("what dram lost and HBM still has goes down again, but into no file twice",
          "[scenarios]") {
  // HBM has room for two documents, the dram for one and a bit. Document 0 comes a third time
  // when the dram holds document 1: it hits in HBM and goes down to the dram again. Of 576 tokens
  // 32 blocks are the document's, 4 are a question's that nobody repeats.
  std::vector<Row> rows;
  for (const std::uint64_t document : {0U, 1U, 0U}) {
    rows.push_back({500 * static_cast<std::int64_t>(rows.size()),
                    576,
                    1,
                    {document, 10 + static_cast<std::uint64_t>(rows.size())}});
  }
  const Told run = told(tiered(80, 40, fs_tier("1GB/s")), workload_of(rows, 512));
  CHECK(run.journal.requests[2].cached_tokens[0] == 512);
  const std::int64_t question = kDocument / 8;
  const TierResult& fs = run.result().tiers[2];
  CHECK(fs.tiering->cascades == 3);
  CHECK(run.result().tiers[1].stores == 3 * 36);
  CHECK(fs.stores == 2 * 32 + 3 * 4);
  CHECK(fs.device->bytes_written == 2 * kDocument + 3 * question);
}

TEST_CASE("issue 49829: a prefix that dram cannot hold at once is promoted for ever",
          "[scenarios]") {
  // vLLM issues 49176, 49829: of a prefix of 32 blocks, 16 find a place; the next one evicts the
  // first. Steps of 128 tokens store 8 blocks at a time, so that fs has all of it.
  const Workload workload =
      workload_of({{0, 512, 1, {0}}, {500, 512, 1, {1}}, {1000, 512, 1, {0}}}, 512);
  const Told run =
      told(tiered(39, 16, fs_tier("100GB/s"), {"engine.max_num_batched_tokens=128"}), workload);
  CHECK(run.result().tiers[2].stores == 2 * 32);
  CHECK(run.result().completed == 2);
  CHECK(run.result().stuck == 1);
  CHECK(run.warns("Livelock: 1 request wait"));
}

TEST_CASE("malformed tiers behind host memory", "[scenarios]") {
  const auto tiers = [](const std::string& list) { return fmt::format(R"("tiers": [{}],)", list); };
  const std::string dram = R"({"name": "dram", "kind": "dram", "capacity": "4GiB"})";
  const auto behind = [&](const std::string& fields) { return tiers(dram + ", {" + fields + "}"); };
  std::string eight = dram;
  for (int i = 0; i < 7; ++i) eight += fmt::format(R"(, {{"name": "fs{}", "kind": "fs"}})", i);
  refused(
      reference_lines(),
      {{kTierLine, tiers(R"({"name": "fs", "kind": "fs", "capacity": "inf"}, )" + dram),
        "tiers.0.kind: expected dram as the first of 2 tiers: storage behind it (nvme, fs, object "
        "or kv) is reached by way of host memory, found fs"},
       {kTierLine, behind(R"("name": "more", "kind": "dram", "capacity": "1GiB")"),
        "tiers.1.kind: expected nvme, fs, object or kv behind the first tier"},
       {kTierLine, behind(R"("name": "dram", "kind": "fs")"),
        "tiers.1.name: two tiers are called \"dram\""},
       {kTierLine, tiers(eight), "tiers.7: expected at most 7 tiers below hbm, found 8"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "eviction": "fifo")"),
        "tiers.1.eviction: expected only with a capacity"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "inclusion": "exclusive")"),
        "tiers.1.inclusion: exclusive and \"write\": \"through\" contradict each other"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "write": "late")"),
        "tiers.1.write: unknown write \"late\"; known: through, on-eviction"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "trim_above": 0.5)"),
        "tiers.1.trim_above: expected only with a capacity"},
       {kTierLine,
        behind(
            R"("name": "fs", "kind": "fs", "capacity": "1TB", "trim_above": 0.5, "trim_to": 0.6)"),
        "tiers.1.trim_to: expected at most trim_above (0.5), found 0.6"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "capacity": "1TB", "trim_to": 0.6)"),
        "tiers.1.trim_to: expected only with trim_above"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "write_admission": "min-depth")"),
        "tiers.1.write_admission: min-depth"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "capacity": "0GiB")"),
        "tiers.1.capacity: expected room for a chunk, or inf"},
       {kTierLine,
        tiers(R"({"name": "d", "kind": "dram", "capacity": "1GiB", "inclusion": "exclusive"})"),
        "tiers.0.inclusion: expected only for tiers after the first"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "device": {"threads": 4})"),
        "tiers.1.device.threads: expected only with the tier next to HBM"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "device": {"direct": true})"),
        "tiers.1.device.direct: expected only with the tier next to HBM"},
       {kTierLine, behind(R"("name": "fs", "kind": "fs", "device": {"io_threads": 4})"),
        "tiers.1.device.io_threads: expected only with a tier of kind object or kv"},
       {kTierLine,
        tiers(R"({"name": "fs", "kind": "fs", "capacity": "inf", "device": {"lookup_us": 1}})"),
        "tiers.0.device.lookup_us: expected only with a tier behind one of kind dram"}});
  const auto error = [](const std::vector<std::string>& assignments) {
    return std::string(error_of([&] { tiered(40, 40, fs_tier("1GB/s"), assignments); }).what());
  };
  CHECK_THAT(error({"engine.load=blocking"}),
             ContainsSubstring("engine.load: expected async with fs behind dram"));
  CHECK_THAT(error({"engine.residency=streaming"}),
             ContainsSubstring("engine.residency: expected full with fs behind dram"));
}

}  // namespace
}  // namespace spillway::test
