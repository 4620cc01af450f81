#include "scenarios/sweep/slurm_sweep.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "scenarios/sweep/program.hpp"
#include "sim/digest.hpp"
#include "sim/error.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kFolderLag = 65;  // NFS keeps what a folder held for up to 60 s

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One submitter of a campaign at a time. The lock is on the folder itself, so that nothing is left
/// in it, and the kernel lets go of it with the process.
class SubmitLock {
 public:
  explicit SubmitLock(const std::string& folder)
      : folder_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ < 0) {
      throw InputError(Fault::kIo, {folder, 0, ""},
                       fmt::format("cannot open: {}", std::strerror(errno)));
    }
    // A file system without such locks leaves it to the name of the job.
    if (flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    close(folder_);
    throw InputError(Fault::kUsage, {folder, 0, ""},
                     "another sweep run submits this campaign to Slurm or watches it; spillway "
                     "sweep status shows how far it is");
  }
  ~SubmitLock() { close(folder_); }
  SubmitLock(const SubmitLock&) = delete;
  SubmitLock& operator=(const SubmitLock&) = delete;

 private:
  int folder_;
};

/// The last line of a task's log that says anything.
std::string last_line(const fs::path& log) {
  std::ifstream in(log);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

/// What became of one array, beyond the runs it brought.
class ArrayWatch {
 public:
  ArrayWatch(const SlurmCampaign& campaign, SlurmJobId job)
      : campaign_(campaign), job_(std::move(job)) {}

  const SlurmJobId& job() const { return job_; }
  void saw(const std::vector<SlurmTask>& tasks) {
    running_ = 0;
    waiting_ = 0;
    reason_.clear();
    for (const SlurmTask& task : tasks) {
      last_[task.index] = task;
      if (task.ended()) continue;
      ++(task.state == "PENDING" ? waiting_ : running_);
      if (task.state == "PENDING" && task.reason != "None") reason_ = task.reason;
    }
  }
  bool active() const { return running_ + waiting_ > 0; }

  bool all_completed() const {
    return std::all_of(last_.begin(), last_.end(),
                       [](const auto& task) { return task.second.state == "COMPLETED"; });
  }

  std::string text() const {
    std::string out = fmt::format("job {}: {} running", job_.number, running_);
    if (waiting_ > 0) out += fmt::format(", {} waiting", waiting_);
    if (!reason_.empty()) out += fmt::format(" ({})", reason_);
    return out;
  }

  /// A remark for each way in which tasks failed, with the first one's last words.
  void remark(std::vector<std::string>& remarks) const {
    std::map<std::string, std::vector<std::uint32_t>> failed;
    bool logged = false;
    for (const auto& [index, task] : last_) {
      logged = logged || fs::exists(log_of(index));
      if (task.ended() && task.state != "COMPLETED") failed[task.state].push_back(index);
    }
    for (const auto& [state, tasks] : failed) {
      const std::string words = last_line(log_of(tasks.front()));
      remarks.push_back(fmt::format("job {}: {} {}: task {} ({}){}", job_.number, tasks.size(),
                                    state, index_ranges(tasks), slurm_advice(state),
                                    words.empty() ? "" : "; " + words));
    }
    if (!logged && !last_.empty()) {
      remarks.push_back(
          fmt::format("job {}: no task wrote its log into {}/logs: expected a folder "
                      "that every node sees, and can write, under the same path",
                      job_.number, campaign_.folder));
    }
  }

 private:
  fs::path log_of(std::uint32_t task) const {
    return fs::path(campaign_.folder) / "logs" / fmt::format("{}_{}.log", job_.number, task);
  }

  const SlurmCampaign& campaign_;
  SlurmJobId job_;
  std::map<std::uint32_t, SlurmTask> last_;
  std::size_t running_ = 0;
  std::size_t waiting_ = 0;
  std::string reason_;
};

class Submission {
 public:
  Submission(const SlurmCampaign& campaign, const SlurmOptions& options,
             const std::function<void(const SlurmNews&)>& tell)
      : campaign_(campaign), options_(options), tell_(tell), name_(slurm_job_name(campaign)) {}

  SlurmEnd run() {
    end_.survey = campaign_.survey();
    if (end_.survey.lacking.empty()) return end_;
    refuse_second();
    tasks_ = std::min(campaign_.shards, slurm_.max_array_size() - 1);
    for (std::uint32_t n = 0; n < options_.arrays; ++n) {
      const std::uint64_t before = end_.survey.done;
      const SlurmJobId job = submit();
      end_.jobs.push_back(job.number);
      if (options_.submit_only) return end_;
      ArrayWatch array(campaign_, job);
      const bool ended = watch(array);
      end_.survey = campaign_.survey();
      if (ended && array.all_completed()) settle();
      if (end_.survey.lacking.empty()) return end_;
      if (ended) array.remark(end_.remarks);
      if (!ended || end_.survey.done == before) return end_;
    }
    end_.remarks.push_back(
        fmt::format("{} arrays were submitted and runs are still missing; the "
                    "same command submits more",
                    options_.arrays));
    return end_;
  }

 private:
  void refuse_second() const {
    const std::vector<std::string> jobs = slurm_.active(name_);
    if (jobs.empty()) return;
    throw InputError(Fault::kUsage, {campaign_.folder, 0, ""},
                     fmt::format("job {} of this campaign still waits or runs; sweep status "
                                 "--watch shows how far it is, scancel {} ends it",
                                 jobs.front(), jobs.front()));
  }

  SlurmJobId submit() {
    const fs::path script = fs::path(campaign_.folder) / "slurm-task.sh";
    const bool fresh = !fs::exists(script);
    const bool fresh_logs = fs::create_directories(fs::path(campaign_.folder) / "logs");
    write_file(script.string(), slurm_task_script());
    SlurmArray array;
    array.name = name_;
    array.folder = campaign_.folder;
    array.script = script.string();
    array.arguments = {own_program(), campaign_.folder, fmt::format("{}", campaign_.shards),
                       fmt::format("{}", tasks_)};
    for (const std::uint32_t shard : end_.survey.lacking)
      array.tasks.push_back((shard - 1) % tasks_ + 1);
    std::sort(array.tasks.begin(), array.tasks.end());
    array.tasks.erase(std::unique(array.tasks.begin(), array.tasks.end()), array.tasks.end());
    array.max_running = options_.max_running;
    array.request = options_.request;
    try {
      return slurm_.submit(array);
    } catch (const InputError&) {
      std::error_code ignored;
      if (fresh) fs::remove(script, ignored);
      if (fresh_logs) fs::remove(fs::path(campaign_.folder) / "logs", ignored);
      throw;
    }
  }

  /// Until the array's tasks have ended (true), or it was given up (false).
  bool watch(ArrayWatch& array) {
    const Clock::time_point start = Clock::now();
    Clock::time_point answered = start;
    for (;;) {
      if (!pause(std::clamp(0.1 * seconds_since(start), 0.2, options_.poll_s))) {
        end_.stopped = true;
        cancel(array);
        return false;
      }
      const std::optional<std::vector<SlurmTask>> tasks = slurm_.tasks(array.job());
      const ShardSurvey now = campaign_.survey();
      if (tasks) {
        array.saw(*tasks);
        answered = Clock::now();
        if (!array.active()) return true;
      }
      tell_({now.done, now.total, tasks ? array.text() : "Slurm does not answer"});
      if (now.lacking.empty()) {
        // A task that waits to run again has nothing to do any more.
        if (tasks) cancel(array);
        return true;
      }
      if (seconds_since(answered) > options_.silence_s) {
        end_.remarks.push_back(
            fmt::format("Slurm has not answered for {:.0f} s; job {} may still "
                        "run",
                        seconds_since(answered), array.job().number));
        return false;
      }
    }
  }

  /// Every task said that its runs are there: a shared folder may show them some seconds later.
  void settle() {
    const Clock::time_point start = Clock::now();
    while (!end_.survey.lacking.empty() && seconds_since(start) < kFolderLag && pause(1)) {
      end_.survey = campaign_.survey();
    }
  }

  void cancel(const ArrayWatch& array) {
    try {
      slurm_.cancel(array.job());
    } catch (const InputError& error) {
      end_.remarks.push_back(error.what());
    }
  }

  /// False: asked to stop.
  bool pause(double seconds) const {
    const Clock::time_point start = Clock::now();
    do {
      if (options_.stop && options_.stop()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (seconds_since(start) < seconds);
    return true;
  }

  const SlurmCampaign& campaign_;
  const SlurmOptions& options_;
  const std::function<void(const SlurmNews&)>& tell_;
  const std::string name_;
  const Slurm slurm_;
  std::uint32_t tasks_ = 0;
  SlurmEnd end_;
};

}  // namespace

SlurmEnd run_on_slurm(const SlurmCampaign& campaign, const SlurmOptions& options,
                      const std::function<void(const SlurmNews&)>& tell) {
  KV_ASSERT(campaign.shards > 0 && fs::path(campaign.folder).is_absolute(),
            "a campaign in {} of {} shards", campaign.folder, campaign.shards);
  Submission submission(campaign, options, tell);
  const SubmitLock lock(campaign.folder);
  return submission.run();
}

std::string slurm_job_name(const SlurmCampaign& campaign) {
  Digest digest;
  digest.text(campaign.identity);
  digest.text(campaign.folder);
  return "spillway-" + digest.hex();
}

std::string slurm_task_script() {
  return R"sh(#!/bin/sh
# From `spillway sweep`: a task of the array runs the shards of a campaign whose number is its own,
# its own + TASKS, its own + 2 TASKS, ... Arguments: PROGRAM CAMPAIGN SHARDS TASKS
shard=$SLURM_ARRAY_TASK_ID
worst=0
while [ "$shard" -le "$3" ]; do
  "$1" sweep worker "$2" --shard "$shard/$3" --quiet
  code=$?
  [ "$code" -lt 126 ] || exit "$code"
  [ "$code" -eq 0 ] || worst=$code
  shard=$((shard + $4))
done
exit "$worst"
)sh";
}

}  // namespace spillway
