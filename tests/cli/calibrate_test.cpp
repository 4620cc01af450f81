// `spillway calibrate` through the real program: what it writes, what it leaves, how it ends early.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "scenarios/scenario/profiles/profile_json.hpp"
#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::Scratch;

/// A calibration that a test may interrupt.
class Child {
 public:
  Child(
      const Args& args, const std::function<void()>& before_start = [] {}) {
    Args words = Args{SPILLWAY_BINARY} + args;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = scratch_.path("out");
    const std::string err = scratch_.path("err");
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);  // as nohup may
    before_start();
    const bool ready = dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO) >= 0 &&
                       dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO) >= 0;
    if (ready) execv(argv[0], argv.data());
    _exit(127);
  }
  ~Child() {
    if (pid_ > 0) wait_after(SIGKILL);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Once `path` has `lines` lines or the program has ended.
  void wait_for_lines(const std::string& path, std::ptrdiff_t lines) {
    while (waitpid(pid_, &status_, WNOHANG) == 0) {
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) {
        const std::string text = test::read_file(path);
        if (std::count(text.begin(), text.end(), '\n') >= lines) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = 0;
    FAIL("it ended before " << path << " had " << lines << " lines");
  }
  CliResult wait_after(int signal) {
    if (signal != 0) kill(pid_, signal);
    waitpid(pid_, &status_, 0);
    pid_ = 0;
    return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_),
            test::read_file(scratch_.path("out")), test::read_file(scratch_.path("err"))};
  }

 private:
  Scratch scratch_;
  pid_t pid_ = 0;
  int status_ = 0;
};

/// The arguments of a small calibration: the profile in `out/p.json`, files in `files`.
struct Place {
  Scratch scratch;
  std::string out = scratch.path("out");
  std::string profile = out + "/p.json";
  std::string journal = profile + ".partial.jsonl";
  std::string files = scratch.path("files");

  Place() { std::filesystem::create_directory(files); }
  Args call(const Args& more = {}) const {
    return Args{"calibrate", "--host-only", "--memory",  "48MiB",
                "--out",     profile,       "--scratch", files} +
           more;
  }
  HardwareProfile read() const {
    std::vector<std::string> warnings;
    const HardwareProfile out_profile = read_profile(JsonSource::from_file(profile), warnings);
    CHECK(warnings.empty());
    return out_profile;
  }
  std::string made() const {
    std::string names;
    for (const std::string& folder : {out, files}) {
      if (!std::filesystem::is_directory(folder)) continue;
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names += entry.path().filename().string() + " ";
      }
    }
    return names;
  }
};

TEST_CASE("calibrate measures this machine within its budget and leaves only the profile",
          "[cli]") {
  const Place place;
  const CliResult result = test::spillway(place.call({"--budget", "1s"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(place.made() == "p.json ");
  const json document = json::parse(test::read_file(place.profile));
  CHECK(document["kind"] == "hardware-profile");
  CHECK(document["results"]["machine_hash"].get<std::string>().size() == 16);
  CHECK_FALSE(test::has_null(document));
  const HardwareProfile profile = place.read();
  CHECK(profile.name == "p");
  CHECK(profile.budget_s == 1);
  CHECK(profile.created.size() == 20);  // 2026-11-21T14:00:00Z
  CHECK_THAT(profile.command, ContainsSubstring("calibrate --budget 1s --memory 48MiB"));
  REQUIRE_FALSE(profile.dram.empty());
  CHECK(profile.dram[0].gbs > 0);
  CHECK_FALSE(profile.storage.empty());
  CHECK_THAT(result.out, ContainsSubstring("Host memory"));
  CHECK_THAT(result.out, ContainsSubstring("Profile: " + place.profile));
  CHECK_THAT(result.out, ContainsSubstring("--set hardware=" + place.profile));
}

TEST_CASE("calibrate --dry-run shows the plan and writes nothing", "[cli]") {
  const Place place;
  const CliResult result = test::spillway(place.call({"--dry-run", "--budget", "10min"}));
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("dram"));
  CHECK_THAT(result.out, ContainsSubstring("storage"));
  CHECK(place.made().empty());
  CHECK_FALSE(std::filesystem::exists(place.out));
  const json document = test::document_of(place.call({"--dry-run"}));
  CHECK(document["kind"] == "calibration-plan");
  CHECK(document["results"]["budget_s"] == 60);
  CHECK(document["results"]["planned_s"] <= 60);
  CHECK(document["results"]["memory_bytes"] == 48 << 20);
  CHECK(document["results"]["scratch_bytes"] >= 64 << 20);
  CHECK(document["results"]["sections"].size() == 3);
  CHECK(place.made().empty());
}

TEST_CASE("calibrate --only measures the sections that it names", "[cli]") {
  const Place place;
  REQUIRE(test::spillway(place.call({"--only", "registration", "--budget", "200ms"})).code == 0);
  CHECK(place.read().dram.empty());
  CHECK_FALSE(place.read().registration.empty());
  refused(place.call({"--only", "drom"}), 2, "--only: unknown section \"drom\"; did you mean");
}

TEST_CASE("calibrate --out takes a file or a folder, and --json a document", "[cli]") {
  const Place place;
  const Args small = {"calibrate", "--only",   "registration", "--memory",
                      "8MiB",      "--budget", "100ms"};
  REQUIRE(test::spillway(small + Args{"--out", place.out + "/new"}).code == 0);
  CHECK(std::filesystem::exists(place.out + "/new/hardware-profile.json"));
  // A document on standard output alone needs no file at all, and none is made.
  const CliResult result = test::spillway(small + Args{"--json", "-", "--scratch", place.files});
  CHECK(json::parse(result.out)["kind"] == "hardware-profile");
  CHECK(place.made() == "new ");
}

TEST_CASE("calibrate goes on after a kill, and keeps what it has when interrupted", "[cli]") {
  const Place place;
  const Args call = place.call({"--budget", "30s", "--only", "storage"});
  {
    Child killed(call);
    killed.wait_for_lines(place.journal, 4);
    CHECK(killed.wait_after(SIGKILL).code == 128 + SIGKILL);
  }
  // Even then the scratch file is gone, for it never had a name.
  CHECK(place.made() == "p.json.partial.jsonl ");
  {
    std::ofstream torn(place.journal, std::ios::app);
    torn << R"({"section":"storage","requ)";
  }
  refused(call, 2, "an earlier calibration stopped there; --resume goes on with it");
  const std::string before = test::read_file(place.journal);
  const auto kept = std::count(before.begin(), before.end(), '\n') - 1;

  Child resumed(call + Args{"--resume", "--notes"});
  resumed.wait_for_lines(place.journal, kept + 3);
  const CliResult result = resumed.wait_after(SIGINT);
  INFO(result.err);
  CHECK(result.code == 128 + SIGINT);
  CHECK_THAT(result.out, ContainsSubstring("(not complete)"));
  CHECK_THAT(result.err, ContainsSubstring("resumed: "));
  CHECK_THAT(result.err, ContainsSubstring("cells left out when a signal came"));
  const HardwareProfile profile = place.read();
  CHECK_FALSE(profile.complete);
  CHECK(static_cast<std::ptrdiff_t>(profile.storage.size()) > kept);
  // The journal stays, so that --resume may go on.
  CHECK(place.made() == "p.json p.json.partial.jsonl ");
}

TEST_CASE("calibrate ends on SIGTERM as well, and writes nothing that is empty", "[cli]") {
  const Place place;
  Child child(place.call({"--budget", "30s"}));
  child.wait_for_lines(place.journal, 1);
  CHECK(child.wait_after(SIGTERM).code == 128 + SIGTERM);
  if (!std::filesystem::exists(place.profile)) return;  // it came before the first row
  CHECK_FALSE(place.read().complete);
  CHECK_FALSE(place.read().dram.empty());
}

TEST_CASE("calibrate --resume knows its machine, and needs a place", "[cli]") {
  const Place place;
  std::filesystem::create_directory(place.out);
  std::ofstream(place.journal)
      << R"({"kind":"calibration-journal","journal_version":1,"created":"x","machine_hash":"0"})"
      << "\n";
  refused(place.call({"--resume"}), 2, "was measured on another machine (0; this one is ");
  refused({"calibrate", "--json", "-", "--resume"}, 2, "--resume: expected --out or --json");
  std::filesystem::remove(place.journal);
  const CliResult anew = test::spillway(
      place.call({"--resume", "--budget", "100ms", "--only", "registration", "--notes"}));
  CHECK(anew.code == 0);
  CHECK_THAT(anew.err, ContainsSubstring("there was nothing to resume"));
}

TEST_CASE("calibrate says which memlock limit it would need, and goes on", "[cli]") {
  const Place place;
  Child child(place.call({"--budget", "300ms", "--only", "dram,registration", "--notes"}), [] {
    const rlimit limit{64 << 10, 64 << 10};
    setrlimit(RLIMIT_MEMLOCK, &limit);
    prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);  // root would be exempt
  });
  const CliResult result = child.wait_after(0);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, ContainsSubstring("the memlock limit is 64.00 KiB; `ulimit -l "));
  CHECK(place.read().registration.empty());
  CHECK(place.read().machine.memlock_bytes == 64 << 10);
}

TEST_CASE("calibrate refuses a scratch folder that cannot be written", "[cli]") {
  const Place place;
  const Args call = {"calibrate", "--out", place.profile, "--budget", "100ms", "--scratch"};
  refused(call + Args{place.scratch.path("none")}, 7, "none: expected a folder for scratch files");
  refused(call + Args{"/proc"}, 7, "/proc: cannot write a scratch file");
  refused(call + Args{"/proc", "--only", "dram"}, 7, "/proc: cannot write a scratch file");
  refused(call + Args{place.scratch.path("none"), "--dry-run"}, 7, "expected a folder");
}

TEST_CASE("calibrate --budget and --memory are quantities that the machine can meet", "[cli]") {
  const Place place;
  refused(place.call({"--budget", "60"}), 2, "--budget: expected a time above 0 with a unit");
  refused(place.call({"--budget", "0s"}), 2, "--budget: expected a time above 0");
  refused({"calibrate", "--dry-run", "--memory", "64"}, 2, "--memory: expected a size with a unit");
  refused({"calibrate", "--dry-run", "--memory", "0GiB"}, 2,
          "--memory: expected more than nothing");
  refused({"calibrate", "--dry-run", "--memory", "900TiB"}, 2, "--memory: expected at most the ");
  refused(place.call({"--budget", "1ms", "--only", "storage"}), 5,
          "--budget: 0.001 s fit none of the ");
  CHECK(place.made().empty());
}

TEST_CASE("calibrate without --host-only says what its GPU part lacks", "[cli]") {
  const Args dry = {"calibrate", "--dry-run", "--memory", "8MiB", "--notes"};
  CHECK_THAT(test::spillway(dry).err, ContainsSubstring("note: not measured: GPU"));
  CHECK_THAT(test::spillway(dry + Args{"--host-only"}).err, !ContainsSubstring("GPU"));
  CHECK_THAT(test::spillway(dry + Args{"--only", "dram"}).err, !ContainsSubstring("GPU"));
}

}  // namespace
}  // namespace spillway
