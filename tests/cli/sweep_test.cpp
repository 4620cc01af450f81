// Campaigns of many runs: planned, run and looked at. sweep_merge_test.cpp has what is made of
// them, sweep_kill_test.cpp what becomes of them where something goes wrong.
#include <set>

#include "scenarios/sweep/merge.hpp"
#include "tests/cli/sweep_scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::document_of;
using test::done_of;
using test::json;
using test::kChats;
using test::kVary;
using test::merged;
using test::planned;
using test::refused;
using test::Scene;
using test::Started;

TEST_CASE("sweep plan shows cells and cost, and makes the campaign at once or not at all",
          "[cli]") {
  const Scene scene;
  const Args plan = {"sweep", "plan", scene.scenario, "--set", kVary};
  const std::string before = scene.listing();
  const json dry = document_of(plan + Args{"--dry-run"});
  CHECK(dry["kind"] == "sweep-plan");
  CHECK(scene.listing() == before);
  const json& results = dry["results"];
  CHECK(results["runs"] == 6);
  CHECK(results["cells"].size() == 6);
  CHECK(results["cells"][5]["name"] == "capacity=4GiB, eviction=fifo");
  CHECK(results["cells"][5]["values"]["tiers.0.capacity"] == "4GiB");
  CHECK(results["sim"]["core_hours"].get<double>() > 0);

  const std::string folder = scene.path("camp");
  CHECK(document_of(plan + Args{"-o", folder})["digest"] == dry["digest"]);
  // The estimate ran 0GiB and 4GiB; that is kept.
  CHECK(done_of(folder) == 2);
  const json again = document_of(plan + Args{"--campaign", folder});
  CHECK(again["notes"][0]["code"] == "campaign-known");
  CHECK(done_of(folder) == 2);
}

TEST_CASE("each run of a sweep is the run that spillway run makes", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp");
  REQUIRE(test::spillway({"sweep", "run", folder, "-j", "2", "--quiet"}).code == 0);
  const Campaign campaign = open_campaign(folder);
  const Merged all = merge_runs(campaign);
  for (std::size_t i = 0; i < campaign.runs.size(); ++i) {
    Args call = {"run", scene.scenario};
    for (const auto& [key, value] : campaign.cells[campaign.runs[i].cell].values) {
      call = call + Args{"--set", key + "=" + value};
    }
    CHECK(all.runs[i].digest == document_of(call)["digest"].get<std::string>());
  }
}

TEST_CASE("one worker, two, and shards one by one merge to the same", "[cli]") {
  const Scene scene;
  const Args replicated = {kChats, "workload.synthetic.requests=60", "sweep.replications=3"};
  const std::string one = planned(scene, "one", replicated);
  const std::string two = planned(scene, "two", replicated);
  const std::string shards = planned(scene, "shards", replicated);
  REQUIRE(test::spillway({"sweep", "run", one, "-j", "1", "--quiet"}).code == 0);
  REQUIRE(test::spillway({"sweep", "run", two, "--jobs", "2", "--quiet"}).code == 0);
  for (const char* shard : {"3/4", "1/4", "4/4", "2/4"}) {
    REQUIRE(test::spillway({"sweep", "worker", shards, "--shard", shard}).code == 0);
  }
  const json expected = merged(one);
  CHECK(expected["done"] == 18);
  CHECK(merged(two) == expected);
  CHECK(merged(shards) == expected);
  // Replicates differ: 18 results, not 6.
  const Merged all = merge_runs(open_campaign(one));
  std::set<std::string> digests;
  for (const MergedRun& run : all.runs) digests.insert(run.digest);
  CHECK(digests.size() > 6);
}

TEST_CASE("sweep status tells what is done, and --watch stays until all is", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp");
  const json before = document_of({"sweep", "status", folder})["results"];
  CHECK(before["done"] == 2);
  CHECK(before["missing"] == 4);
  CHECK(before["cells"][0]["done"] == 1);  // of the estimate
  CHECK(before["cells"][1]["done"] == 0);
  REQUIRE(test::spillway({"sweep", "worker", folder, "--shard", "1/2", "--steal"}).code == 0);
  CHECK(document_of({"sweep", "status", folder, "--watch"})["results"]["missing"] == 0);
}

TEST_CASE("sweep refuses what is no campaign, and what changed since", "[cli]") {
  const Scene scene;
  refused({"sweep", "plan", scene.scenario, "-o", scene.path("c")}, 2, "sweep: is missing");
  refused({"sweep", "plan", scene.scenario, "--set", kVary}, 2, "-o: is missing");
  refused({"sweep", "plan", scene.scenario, "--dry-run", "--set",
           "sweep={\"vary\": {\"tiers.0.evictoin\": [\"lru\", \"fifo\"]}}"},
          2, "sweep.vary: tiers.0.evictoin");
  refused({"sweep", "run", scene.path("nowhere")}, 2, "holds no campaign");
  refused({"sweep", "plan", scene.scenario, "-o", scene.path("."), "--set", kVary}, 2,
          "is no campaign and not empty");

  const std::string folder = planned(scene, "camp");
  refused({"sweep", "plan", scene.scenario, "-o", folder, "--set", kVary, "--set",
           "engine.max_num_seqs=7"},
          2,
          "holds the campaign of another experiment (\"small\"): engine.max_num_seqs is 256 "
          "there and 7 here; expected another folder");
  refused({"sweep", "plan", scene.scenario, "-o", folder, "--set", kVary, "--set",
           "sweep.replications=2", "--set", "engine.watermark=0.1"},
          2,
          "engine.watermark is absent there and 0.1 here; sweep.replications is absent there and "
          "2 here");
  {
    const Scene other;  // the same experiment, one request less
    const std::string trace = test::small_trace();
    other.file("t.jsonl", trace.substr(0, trace.rfind("{\"timestamp\"")));
    refused({"sweep", "plan", other.scenario, "-o", folder, "--set", kVary}, 2,
            "t.jsonl has other content than when that was planned");
  }
  refused({"sweep", "worker", folder, "--shard", "3/2"}, 2, "expected a shard and their number");
  const std::string whole = test::read_file(folder + "/campaign.json");
  std::string altered = whole;
  altered.replace(altered.find("4GiB"), 4, "5GiB");
  scene.file("camp/campaign.json", altered);
  refused({"sweep", "run", folder}, 2, "was altered since it was written");
  scene.file("camp/campaign.json", whole);
  scene.file("camp/experiment.json", test::small_scenario() + "\n");
  refused({"sweep", "run", folder}, 2, "experiment.json: was altered");
}

TEST_CASE("a shard has one worker at a time", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp", {kChats, "sweep.replications=5"});
  Started first({"sweep", "worker", folder, "--shard", "1/1"});
  const std::uint64_t before = done_of(folder);
  while (first.running() && done_of(folder) == before) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(first.running());
  const CliResult second = test::spillway({"sweep", "worker", folder, "--shard", "1/1"});
  CHECK(second.code == 6);
  CHECK_THAT(second.err, ContainsSubstring("Another worker has shard 1/1"));
  CHECK(first.wait() == 0);
  const json all = merged(folder);
  CHECK(all["done"] == 30);
  CHECK(all["sim"]["repeated"] == 0);
}

TEST_CASE("a run that cannot be made is a result of its own, and the sweep partial", "[cli]") {
  const Scene scene;
  // Requests of 605 tokens take 38 blocks of 16; a pool of 20 holds none.
  const std::string folder = scene.path("camp");
  const Args plan = {"sweep",        "plan",
                     scene.scenario, "-o",
                     folder,         "--quiet",
                     "--set",        "sweep={\"vary\": {\"engine.num_gpu_blocks\": [20, 2048]}}"};
  REQUIRE(test::spillway(plan).code == 0);
  CHECK(test::spillway({"sweep", "run", folder, "--quiet"}).code == 6);
  const CliResult result = test::spillway({"sweep", "merge", folder, "--csv", "-"});
  CHECK(result.code == 6);
  CHECK_THAT(result.out, ContainsSubstring(",0,0,failed,"));
  CHECK_THAT(result.out, ContainsSubstring(",1,0,done,"));
}

TEST_CASE("a recording is run itself beside its replicates, which are draws of it", "[cli]") {
  const Scene scene;
  const Args plan = {"sweep", "plan", scene.scenario, "-o", scene.path("camp"), "--set", kVary};
  const CliResult planned = test::spillway(plan + Args{"--set", "sweep.replications=3"});
  CHECK_THAT(planned.err, ContainsSubstring(" core-seconds, "));  // milliseconds a run
  CHECK(planned.code == 0);
  // 6 cells x 3 replicates, and each cell's run on the recording.
  CHECK_THAT(planned.out, ContainsSubstring("6 cells x 3 + 6 = 24 runs"));
  CHECK_THAT(planned.out, ContainsSubstring("the recording itself is run once beside them"));
  REQUIRE(test::spillway({"sweep", "run", scene.path("camp"), "--quiet"}).code == 0);
  const Campaign campaign = open_campaign(scene.path("camp"));
  const Merged all = merge_runs(campaign);
  int recordings = 0;
  for (std::size_t i = 0; i < campaign.runs.size(); ++i) {
    if (campaign.runs[i].replicate != kRecordingItself) continue;
    ++recordings;
    Args call = {"run", scene.scenario};
    for (const auto& [key, value] : campaign.cells[campaign.runs[i].cell].values) {
      call = call + Args{"--set", key + "=" + value};
    }
    CHECK(all.runs[i].digest == document_of(call)["digest"].get<std::string>());
  }
  CHECK(recordings == 6);
  // Its key is that of the only run of a campaign without replication.
  const Campaign once = open_campaign(test::planned(scene, "once"));
  CHECK(once.runs.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(once.cells[i].keys.front() == campaign.cells[i].recording);
  }
  // Generated traffic is no recording.
  CHECK(
      open_campaign(test::planned(scene, "chats", {kChats, "sweep.replications=3"})).runs.size() ==
      18);
}

}  // namespace
}  // namespace spillway
