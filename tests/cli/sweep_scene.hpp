// What the tests of sweep share: campaigns of the small scenario, and programs that can be killed.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "scenarios/sweep/campaign.hpp"
#include "scenarios/sweep/survey.hpp"
#include "tests/cli/scene.hpp"

namespace spillway::test {

/// Two policies at three sizes.
inline constexpr char kVary[] =
    "sweep={\"vary\": {\"tiers.0.eviction\": [\"lru\", \"fifo\"], \"tiers.0.capacity\": "
    "[\"0GiB\", \"1GiB\", \"4GiB\"]}}";
/// Generated chats instead of the small trace: a run takes long enough to be killed within.
inline constexpr char kChats[] =
    "workload={\"synthetic\": {\"requests\": 500, \"block_tokens\": 16, \"user_tokens\": 300, "
    "\"max_context\": 4096, \"sessions_per_s\": 2}, \"arrival\": \"trace\"}";

/// A campaign of six runs, or of more replications.
inline std::string planned(const Scene& scene, const std::string& name, const Args& settings = {}) {
  const std::string folder = scene.path(name);
  Args call = {"sweep", "plan", scene.scenario, "-o", folder, "--set", kVary, "--quiet"};
  for (const std::string& setting : settings) call = call + Args{"--set", setting};
  const CliResult result = spillway(call);
  INFO("stderr: " << result.err);
  REQUIRE(result.code == 0);
  return folder;
}

inline json merged(const std::string& folder) {
  return document_of({"sweep", "merge", folder})["results"];
}

inline std::uint64_t done_of(const std::string& folder) {
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
    // Whoever started the tests may ignore them (nohup): the program would, too.
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
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

inline void pause(std::uint64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace spillway::test
