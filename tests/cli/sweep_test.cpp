// Campaigns of many runs: planned, run, killed, gone on with, and merged to what one run of each
// cell says.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "scenarios/experiment/segments.hpp"
#include "scenarios/sweep/merge.hpp"
#include "scenarios/sweep/survey.hpp"
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::document_of;
using test::json;
using test::refused;
using test::Scene;

/// Two policies at three sizes.
const char kVary[] =
    "sweep={\"vary\": {\"tiers.0.eviction\": [\"lru\", \"fifo\"], \"tiers.0.capacity\": "
    "[\"0GiB\", \"1GiB\", \"4GiB\"]}}";
/// Generated chats instead of the small trace: a run takes long enough to be killed within.
const char kChats[] =
    "workload={\"synthetic\": {\"requests\": 500, \"block_tokens\": 16, \"user_tokens\": 300, "
    "\"max_context\": 4096, \"sessions_per_s\": 2}, \"arrival\": \"trace\"}";

/// A campaign of six runs, or of more replications.
std::string planned(const Scene& scene, const std::string& name, const Args& settings = {}) {
  const std::string folder = scene.path(name);
  Args call = {"sweep", "plan", scene.scenario, "-o", folder, "--set", kVary, "--quiet"};
  for (const std::string& setting : settings) call = call + Args{"--set", setting};
  const CliResult result = test::spillway(call);
  INFO("stderr: " << result.err);
  REQUIRE(result.code == 0);
  return folder;
}

json merged(const std::string& folder) {
  return document_of({"sweep", "merge", folder})["results"];
}

std::uint64_t done_of(const std::string& folder) {
  const Campaign campaign = open_campaign(folder);
  CampaignSurvey survey(campaign);
  survey.look();
  return survey.done();
}

/// The program in a process group of its own, with an own limit of the size of files.
class Started {
 public:
  explicit Started(const Args& args, rlim_t file_size = RLIM_INFINITY) {
    Args words = Args{SPILLWAY_BINARY} + args;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    setpgid(0, 0);
    rlimit limit{file_size, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) dup2(nowhere, stream);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Started() {
    if (pid_ > 0) kill_all();
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  bool running() {
    if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ > 0;
  }
  void signal(int number) const { kill(pid_, number); }
  /// The process and all its workers.
  void kill_all() {
    kill(-pid_, SIGKILL);
    wait();
  }
  pid_t pid() const { return pid_; }
  /// Its exit code, or 128 + the signal that ended it.
  int wait() {
    if (pid_ > 0) waitpid(pid_, &status_, 0);
    pid_ = -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

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
  CHECK(again["warnings"][0] == "the folder held this very campaign already");
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
    CHECK(all.runs[i].digest == document_of(call)["digest"]);
  }
}

TEST_CASE("sweep merge writes one row for each run, in a database and as CSV", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp");
  const Args merge = {
      "sweep", "merge", folder, "--database", scene.path("r.sqlite"), "--csv", scene.path("r.csv")};
  const CliResult partial = test::spillway(merge);
  CHECK(partial.code == 6);
  CHECK_THAT(partial.out, ContainsSubstring("2 of 6 runs are done"));
  CHECK_THAT(partial.out, ContainsSubstring("To make the rest: spillway sweep run"));

  REQUIRE(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  CHECK(test::spillway(merge).code == 0);
  const std::string csv = test::read_file(scene.path("r.csv"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
  CHECK_THAT(csv, StartsWith("key,cell,replicate,status,failure,tiers.0.capacity,"
                             "tiers.0.eviction,requests,completed,failed,duration_s,"));
  CHECK_THAT(csv, ContainsSubstring(",5,0,done,,4GiB,fifo,6,6,0,"));
  CHECK_THAT(test::read_file(scene.path("r.sqlite")), StartsWith("SQLite format 3"));
  CHECK(test::spillway({"sweep", "merge", folder, "--csv", "-"}).out == csv);
  // What is no database is not written over.
  const std::string other = scene.file("other.txt", "a text");
  refused({"sweep", "merge", folder, "-o", other}, 2, "is no SQLite database");
  refused({"sweep", "merge", folder, "--csv", folder + "/campaign.json"}, 2, "is the input itself");
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
          2, "holds the campaign of another experiment");
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

TEST_CASE("two results of one key are a defect: exit 70", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp");
  REQUIRE(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  const Campaign campaign = open_campaign(folder);
  {
    SegmentWriter planted(campaign.segments(), "planted");
    planted.append({campaign.key(campaign.runs[3]), "{\"digest\":\"other\"}", "{}"});
  }
  const CliResult result = test::spillway({"sweep", "merge", folder, "-o", scene.path("r.sqlite")});
  CHECK(result.code == 70);
  CHECK_THAT(result.err, ContainsSubstring("not deterministic"));
  CHECK_THAT(result.err, ContainsSubstring("planted-1.jsonl:1"));
  CHECK_FALSE(std::filesystem::exists(scene.path("r.sqlite")));
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
  CHECK_THAT(second.err, ContainsSubstring("another worker has shard 1/1"));
  CHECK(first.wait() == 0);
  const json all = merged(folder);
  CHECK(all["done"] == 30);
  CHECK(all["sim"]["repeated"] == 0);
}

TEST_CASE("an interrupted sweep keeps what is done and says how to go on", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp", {kChats, "sweep.replications=20"});
  Started run({"sweep", "run", folder, "-j", "2", "--quiet"});
  const std::uint64_t before = done_of(folder);
  while (run.running() && done_of(folder) == before) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  run.signal(SIGINT);
  CHECK(run.wait() == 130);
  const std::uint64_t kept = done_of(folder);
  CHECK(kept > before);
  CHECK(kept < 120);
  CHECK(merge_runs(open_campaign(folder)).notes.empty());  // nothing torn
}

void pause(std::uint64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// Kills sweeps at random moments, `kills` times in all, and goes on with each of them.
void survive(int kills) {
  const Scene scene;
  const Args settings = {kChats, "sweep.replications=5"};
  const std::string whole = planned(scene, "whole", settings);
  REQUIRE(test::spillway({"sweep", "run", whole, "-j", "2", "--quiet"}).code == 0);
  const json expected = merged(whole);
  REQUIRE(expected["done"] == 30);

  std::mt19937 random(20261122);
  int left = kills;
  std::uint64_t campaigns = 0;
  std::uint64_t torn = 0;
  while (left > 0) {
    const std::string folder = planned(scene, fmt::format("camp{}", ++campaigns), settings);
    std::uint64_t done = done_of(folder);
    for (bool ended = false; !ended;) {
      Started run({"sweep", "run", folder, "-j", "2", "--quiet"});
      // Half of the kills come at any time, the other half soon after a run was kept.
      if (left > 0 && random() % 2 == 0) {
        while (run.running() && done_of(folder) == done) pause(1);
        pause(random() % 30);
      } else {
        const auto until = std::chrono::steady_clock::now() +
                           std::chrono::milliseconds(left > 0 ? random() % 400 : 600'000);
        while (run.running() && std::chrono::steady_clock::now() < until) pause(1);
      }
      ended = !run.running();
      if (ended) {
        CHECK(run.wait() == 0);
      } else if (random() % 4 == 0) {
        run.signal(SIGKILL);  // the workers are on their own
        run.wait();
        --left;
      } else {
        run.kill_all();
        --left;
      }
      const std::uint64_t now = done_of(folder);
      REQUIRE(now >= done);  // nothing is lost
      done = now;
    }
    const Merged all = merge_runs(open_campaign(folder));
    torn += all.notes.size();
    json found = merged(folder);
    CHECK(found["campaign_digest"] == expected["campaign_digest"]);
    CHECK(found["done"] == 30);
    CHECK(found["sim"]["repeated"] == 0);  // nothing was run twice
  }
  std::printf("sweep: %d kills in %d campaigns of 30 runs, %d torn lines: all merged to %s\n",
              kills, static_cast<int>(campaigns), static_cast<int>(torn),
              expected["campaign_digest"].get<std::string>().c_str());
}

TEST_CASE("a sweep that is killed ten times merges to what it would have been", "[cli]") {
  survive(10);
}

TEST_CASE("a sweep that is killed 200 times merges to what it would have been", "[.long]") {
  survive(200);
}

TEST_CASE("a worker that dies is started again", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp", {kChats, "sweep.replications=10"});
  Started run({"sweep", "run", folder, "-j", "2", "--quiet"});
  // Its workers are the other members of its process group: /proc/PID/stat has it in field 5.
  const std::string group = fmt::format(" {} ", run.pid());
  int killed = 0;
  while (run.running() && killed < 2) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (std::stoi(name) == run.pid() || getpgid(std::stoi(name)) != run.pid()) continue;
      if (kill(std::stoi(name), SIGKILL) == 0) ++killed;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  CHECK(run.wait() == 0);
  CHECK(merged(folder)["done"] == 60);
}

TEST_CASE("a full disk stops a sweep with exit 7; with room it goes on", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp");
  // A segment may hold three runs of some 5 kB, and no more.
  Started tight({"sweep", "worker", folder, "--shard", "1/1"}, 12'000);
  CHECK(tight.wait() == 7);
  const std::uint64_t kept = done_of(folder);
  CHECK(kept >= 2);
  CHECK(kept < 6);
  CHECK(merge_runs(open_campaign(folder)).notes.empty());
  CHECK(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  const json all = merged(folder);
  CHECK(all["done"] == 6);
  CHECK(all["sim"]["repeated"] == 0);
}

TEST_CASE("a damaged segment costs the runs of its damaged lines, which are made again", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp");
  REQUIRE(test::spillway({"sweep", "worker", folder, "--shard", "1/1", "--quiet"}).code == 0);
  const json whole = merged(folder);
  const std::string segment = folder + "/segments/1of1-1.jsonl";
  std::string text = test::read_file(segment);
  text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);  // of four lines
  text.resize(text.size() - 10);
  scene.file("camp/segments/1of1-1.jsonl", text);
  const CliResult result = test::spillway({"sweep", "merge", folder});
  CHECK(result.code == 6);
  CHECK_THAT(result.out, ContainsSubstring("4 of 6 runs are done"));
  CHECK_THAT(result.err, ContainsSubstring("the last line was cut off"));
  CHECK_THAT(result.err, ContainsSubstring("1 damaged line is left out"));
  CHECK(test::spillway({"sweep", "run", folder, "--quiet"}).code == 0);
  CHECK(merged(folder)["campaign_digest"] == whole["campaign_digest"]);
}

/// A small file system of its own, where root may mount one.
class SmallDisk {
 public:
  SmallDisk(std::string folder, const std::string& size) : folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
    mounted_ =
        geteuid() == 0 && mount("none", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    if (!mounted_) WARN("skipped: mounting a small file system takes root");
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  void make_read_only() const {
    REQUIRE(mount("none", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0);
  }

 private:
  std::string folder_;
  bool mounted_ = false;
};

TEST_CASE("on a full disk a campaign is planned whole or not at all", "[cli]") {
  const Scene scene;
  const std::string disk = scene.path("disk");
  const SmallDisk small(disk, "16k");  // four pages: a campaign takes more
  if (!small.mounted()) return;
  refused({"sweep", "plan", scene.scenario, "-o", disk + "/camp", "--set", kVary, "--set",
           "sweep.replications=200"},
          7, "No space left");
  CHECK(std::filesystem::is_empty(disk));
}

TEST_CASE("a campaign that cannot be written to can be looked at", "[cli]") {
  const Scene scene;
  const std::string disk = scene.path("disk");
  const SmallDisk small(disk, "16m");
  if (!small.mounted()) return;
  const std::string folder = planned(scene, "disk/camp");
  small.make_read_only();
  CHECK(document_of({"sweep", "status", folder})["results"]["done"] == 2);
  refused({"sweep", "worker", folder, "--shard", "1/1"}, 7, "Read-only file system");
  CHECK(test::spillway({"sweep", "run", folder, "--quiet"}).code == 7);
}

}  // namespace
}  // namespace spillway
