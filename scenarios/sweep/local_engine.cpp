#include "scenarios/sweep/local_engine.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "reports/notes/study_notes.hpp"
#include "reports/shell_word.hpp"
#include "sim/error.hpp"
#include "sim/system.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kShardsEach = 64;  ///< so that none waits long for the last one
constexpr int kMostDeaths = 3;             ///< of a worker, with no run done in between
constexpr int kMostIdle = 20;              ///< rounds that bring nothing
constexpr int kPartialSweep = 6;           ///< exit code of a worker whose shard another one has
constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kLook = std::chrono::milliseconds(250);

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

/// An end that the machine caused, and that another try may be spared.
bool worth_another(int status) {
  return WIFSIGNALED(status) || WEXITSTATUS(status) > 128;
}

class LocalRun {
 public:
  LocalRun(const Campaign& campaign, CampaignSurvey& survey, const LocalOptions& options)
      : campaign_(campaign), survey_(survey), options_(options) {
    const std::uint64_t most = std::uint64_t{kShardsEach} * options.processes;
    shards_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(survey.total(), 1, most));
  }
  ~LocalRun() { signal_all(SIGKILL); }
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;

  LocalOutcome run() {
    survey_.look();
    if (survey_.done() < survey_.total() && access(this_program(), X_OK) != 0) {
      throw InputError(Fault::kIo, {this_program(), 0, ""},
                       fmt::format("cannot start workers without it ({}). Mount /proc, or run "
                                   "without workers: spillway sweep worker {} --shard 1/1",
                                   std::strerror(errno), shell_word(campaign_.folder)));
    }
    // A shard may still be locked by a worker of before that is ending: another round finds it.
    for (int idle = 0; idle < kMostIdle && survey_.done() < survey_.total(); ++idle) {
      const std::uint64_t before = survey_.done();
      round();
      if (out_.stopped || out_.code != 0) break;
      if (survey_.done() > before) idle = -1;
      std::this_thread::sleep_for(kPoll);
    }
    return std::move(out_);
  }

 private:
  struct Slot {
    pid_t pid = -1;
    int deaths = 0;          ///< in a row
    std::uint64_t done = 0;  ///< of the campaign, when it was started
  };

  /// Until every worker has found nothing left that no other has.
  void round() {
    const std::uint64_t left = survey_.total() - survey_.done();
    slots_.assign(static_cast<std::size_t>(std::min<std::uint64_t>(options_.processes, left)), {});
    for (std::size_t i = 0; i < slots_.size(); ++i) start(i);
    auto looked = std::chrono::steady_clock::now();
    while (running() > 0) {
      std::this_thread::sleep_for(kPoll);
      stop_where_asked();  // before workers are missed that the same signal ended
      reap();
      const auto now = std::chrono::steady_clock::now();
      if (now - looked >= kLook) {
        looked = now;
        survey_.look();
        if (options_.progress) options_.progress(survey_.done(), survey_.total());
      }
    }
    survey_.look();
  }

  void stop_where_asked() {
    if (out_.stopped || !options_.stop || !options_.stop()) return;
    out_.stopped = true;
    signal_all(SIGTERM);
  }

  /// Workers begin in different parts of the campaign.
  std::string shard_of(std::size_t slot) const {
    return fmt::format("{}/{}", 1 + slot * shards_ / slots_.size(), shards_);
  }

  void start(std::size_t at) {
    std::vector<std::string> words = {"spillway", "sweep",      "worker", campaign_.folder,
                                      "--shard",  shard_of(at), "--steal"};
    if (options_.quiet) words.push_back("--quiet");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
      throw InputError(Fault::kIo, {"fork", 0, ""},
                       fmt::format("cannot start a worker: {}", std::strerror(errno)));
    }
    if (pid == 0) {  // only what is safe between fork and exec
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      // At once, whatever it is at: what was recorded stays whole, and nobody waits for the rest.
      end_with_parent();
      if (getppid() != parent) kill(getpid(), SIGKILL);
      const int nowhere = ::open("/dev/null", O_RDWR);
      dup2(nowhere, STDIN_FILENO);
      dup2(nowhere, STDOUT_FILENO);
      execv(this_program(), argv.data());
      kill(getpid(), SIGKILL);  // counts as a worker that died
    }
    slots_[at].pid = pid;
    slots_[at].done = survey_.done();
  }

  void reap() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      int status = 0;
      if (slots_[i].pid < 0 || waitpid(slots_[i].pid, &status, WNOHANG) != slots_[i].pid) continue;
      slots_[i].pid = -1;
      ended(i, status);
    }
  }

  void ended(std::size_t at, int status) {
    const bool busy = WIFEXITED(status) && WEXITSTATUS(status) == kPartialSweep;
    if (status == 0 || busy || out_.stopped) return;
    if (!worth_another(status)) {
      out_.code = std::max(out_.code, WEXITSTATUS(status));
      return;  // it has said why itself
    }
    survey_.look();
    Slot& slot = slots_[at];
    slot.deaths = survey_.done() > slot.done ? 1 : slot.deaths + 1;
    if (slot.deaths >= kMostDeaths) {
      out_.notes.push_back(
          study_note("worker-given-up", {{"end", how_it_ended(status)}, {"deaths", slot.deaths}}));
      return;
    }
    out_.notes.push_back(study_note("worker-restarted", {{"end", how_it_ended(status)}}));
    start(at);
  }

  std::size_t running() const {
    return static_cast<std::size_t>(
        std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.pid >= 0; }));
  }

  void signal_all(int signal) {
    for (const Slot& slot : slots_) {
      if (slot.pid >= 0) kill(slot.pid, signal);
    }
  }

  const Campaign& campaign_;
  CampaignSurvey& survey_;
  const LocalOptions& options_;
  std::uint32_t shards_ = 1;
  std::vector<Slot> slots_;
  LocalOutcome out_;
};

}  // namespace

LocalOutcome run_local(const Campaign& campaign, CampaignSurvey& survey,
                       const LocalOptions& options) {
  return LocalRun(campaign, survey, options).run();
}

}  // namespace spillway
