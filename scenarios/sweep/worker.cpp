#include "scenarios/sweep/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "reports/notes/study_notes.hpp"
#include "scenarios/sweep/run_maker.hpp"
#include "scenarios/sweep/survey.hpp"

namespace spillway {

namespace {

/// A shard is one worker's as long as that holds the lock; the system drops it when the process
/// ends in whatever way. Where a file system knows no locks two workers may do the same work, which
/// the merge counts once.
class ShardLock {
 public:
  ShardLock(const Campaign& campaign, const Shard& shard) {
    const std::string path = campaign.locks() + "/" + shard.name();
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) {
      throw InputError(Fault::kIo, {path, 0, ""},
                       fmt::format("cannot open for writing: {}", std::strerror(errno)));
    }
    int held = 0;
    while ((held = flock(file_, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) {
    }
    busy_ = held != 0 && errno == EWOULDBLOCK;
  }
  ~ShardLock() { close(file_); }
  ShardLock(const ShardLock&) = delete;
  ShardLock& operator=(const ShardLock&) = delete;

  bool busy() const { return busy_; }

 private:
  int file_ = -1;
  bool busy_ = false;
};

class Worker {
 public:
  Worker(const Campaign& campaign, const WorkerOptions& options)
      : campaign_(campaign),
        options_(options),
        survey_(campaign),
        maker_(campaign),
        writer_(campaign.segments(), options.shard.name()) {}

  WorkerOutcome work() {
    survey_.look();
    const Shard& first = options_.shard;
    for (std::uint64_t i = first.begin(survey_.total()); i < first.end(survey_.total()); ++i) {
      if (survey_.done(i)) ++out_.found;
    }
    const std::uint32_t shards = options_.steal ? first.of : 1;
    for (std::uint32_t i = 0; i < shards && !out_.stopped; ++i) {
      work_on({(first.index - 1 + i) % first.of + 1, first.of});
    }
    writer_.sync();
    return std::move(out_);
  }

 private:
  bool lacks(const Shard& shard) const {
    for (std::uint64_t i = shard.begin(survey_.total()); i < shard.end(survey_.total()); ++i) {
      if (!survey_.done(i)) return true;
    }
    return false;
  }

  void work_on(const Shard& shard) {
    if (!lacks(shard)) return;
    const ShardLock lock(campaign_, shard);
    if (lock.busy()) {
      if (!options_.steal) out_.taken = true;
      return;
    }
    survey_.look();  // what who had it before has done
    const std::uint64_t begin = shard.begin(survey_.total());
    const std::uint64_t end = shard.end(survey_.total());
    for (std::uint64_t i = begin; i < end; ++i) {
      if (!survey_.done(i) && !make(i)) return;
      if (options_.progress) options_.progress(i + 1 - begin, end - begin);
    }
  }

  /// False where the work is to end.
  bool make(std::uint64_t run) {
    out_.stopped = options_.stop && options_.stop();
    if (out_.stopped) return false;
    std::optional<SegmentEntry> entry;
    try {
      entry = maker_.make(campaign_.runs[run], options_.stop);
    } catch (const InternalError& error) {
      ++out_.broken;
      const SweepRun& which = campaign_.runs[run];
      out_.notes.push_back(
          study_note("run-broken", {{"configuration", campaign_.cells[which.cell].name},
                                    {"replicate", replicate_name(which)},
                                    {"error", error.what()}}));
      return true;
    }
    out_.stopped = !entry;
    if (out_.stopped) return false;
    writer_.append(*entry);
    ++out_.made;
    if (is_failure(entry->payload)) ++out_.failed;
    return true;
  }

  const Campaign& campaign_;
  const WorkerOptions& options_;
  CampaignSurvey survey_;
  RunMaker maker_;
  SegmentWriter writer_;
  WorkerOutcome out_;
};

}  // namespace

WorkerOutcome work(const Campaign& campaign, const WorkerOptions& options) {
  return Worker(campaign, options).work();
}

}  // namespace spillway
