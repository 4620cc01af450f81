// Campaigns that are interrupted, killed, damaged, or run out of disk, and gone on with.
#include <sys/mount.h>

#include <fstream>
#include <random>

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
using test::pause;
using test::planned;
using test::refused;
using test::Scene;
using test::Started;

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

/// Of `run`, alive: the other members of its process group.
std::vector<pid_t> workers_of(pid_t run) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    if (pid == run || getpgid(pid) != run) continue;
    // Just forked, it has the name of `run` still.
    std::ifstream words(entry.path() / "cmdline");
    std::string word;
    while (std::getline(words, word, '\0') && word != "worker") {
    }
    if (word == "worker") out.push_back(pid);
  }
  return out;
}

TEST_CASE("a worker that dies is started again", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp", {kChats, "sweep.replications=10"});
  Started run({"sweep", "run", folder, "-j", "2", "--quiet"});
  int killed = 0;
  while (run.running() && killed < 2) {
    const std::vector<pid_t> workers = workers_of(run.pid());
    if (!workers.empty() && kill(workers.front(), SIGKILL) == 0) ++killed;
    pause(100);
  }
  CHECK(run.wait() == 0);
  CHECK(merged(folder)["done"] == 60);
}

TEST_CASE("workers end with a sweep that is killed, whatever they are at", "[cli]") {
  const Scene scene;
  const std::string folder = planned(scene, "camp", {kChats, "sweep.replications=50"});
  Started run({"sweep", "run", folder, "-j", "2", "--quiet"});
  const pid_t group = run.pid();
  std::vector<pid_t> workers;
  while (run.running() && (workers = workers_of(group)).size() < 2) pause(5);
  REQUIRE(run.running());
  // One that is stopped cannot tidy up and leave by itself.
  for (const pid_t worker : workers) kill(worker, SIGSTOP);
  run.signal(SIGKILL);
  run.wait();
  const auto gone = [](pid_t pid) {  // or dead, and not yet buried by whoever inherited it
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    return !std::getline(file, text) || text[text.rfind(')') + 2] == 'Z';
  };
  for (int looks = 0; looks < 2000 && !std::ranges::all_of(workers, gone); ++looks) pause(5);
  for (const pid_t worker : workers) {
    CHECK(gone(worker));
    kill(worker, SIGKILL);
  }
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
  CHECK_THAT(result.err, ContainsSubstring("was cut off and is left out"));
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
