#include "models/engine/connectors/llmd/file_threads.hpp"

#include <algorithm>
#include <functional>

#include "models/engine/connectors/llmd/file_turns.hpp"

namespace spillway {

namespace {

std::uint32_t readers_among(const LlmdConfig& c) {
  constexpr std::int64_t kAll = 1'000'000;
  return static_cast<std::uint32_t>(
      std::max<std::int64_t>(1, std::int64_t{c.threads} * c.read_preferring_ppm / kAll));
}

}  // namespace

FileThreads::FileThreads(const OffloadConfig& config, const ChunkTierConfig& tier,
                         std::uint32_t ranks, const Site& site)
    : config_(config),
      site_(site),
      copies_(tier.port.lanes ? 1 : ranks),
      readers_(readers_among(config.llmd)),
      port_(site.network, tier.port, site.settlement, site.queue, site.observer, *this) {
  for (std::uint32_t thread = 0; thread < config.llmd.threads; ++thread) idle_.push_back(thread);
  site.turns.join(site.engine, *this);
}

// ---- submission
// ----------------------------------------------------------------------------------

/// A load may want the first of its files in part.
void FileThreads::submit(Direction direction, std::uint32_t job, Bytes, std::uint32_t) {
  const TransferJob& whole = site_.jobs[job];
  const auto files = static_cast<std::uint32_t>(whole.below.size());
  if (jobs_.size() <= job) jobs_.resize(std::size_t{job} + 1);
  jobs_[job] = {files, false};
  std::uint32_t blocks = whole.blocks - (files - 1) * config_.blocks_per_chunk;
  Task task;
  task.op = direction == Direction::kUp ? StorageOp::kRead : StorageOp::kWrite;
  task.job = job;
  for (std::uint32_t i = 0; i < files; ++i) {
    task.file = ChunkId{raw(whole.below[i])};
    task.bytes = config_.block_bytes * std::int64_t{blocks} * std::int64_t{copies_};
    submit_file(task);
    blocks = config_.blocks_per_chunk;
  }
}

void FileThreads::submit_file(const Task& task) {
  if (task.op == StorageOp::kWrite && too_many_writes()) {
    ++unwritten_;
    return settle(task);
  }
  const std::uint32_t number = tasks_.take();
  tasks_[number] = task;
  waiting(task.op).push_back(number);
  take_until(site_.queue.now());
}

/// As many as the threads would do in the longest wait, at the pace of late; none yet, or one that
/// comes to nothing, is no limit.
bool FileThreads::too_many_writes() const {
  if (average_us_ <= 0) return false;
  const LlmdConfig& c = config_.llmd;
  const std::int64_t limit = std::int64_t{c.threads} * c.max_write_queued_us / average_us_;
  return limit > 0 && limit <= static_cast<std::int64_t>(writes_.size());
}

// ---- threads
// -------------------------------------------------------------------------------------

/// What takes no time leaves its thread idle, which goes on with the next.
void FileThreads::take_until(Time ticks) {
  site_.store.tick_until(ticks);
  while (!idle_.empty() && (!reads_.empty() || !writes_.empty())) {
    const std::uint32_t thread = idle_.front();
    const bool read = thread < readers_ ? !reads_.empty() : writes_.empty();
    RingQueue<std::uint32_t>& from = read ? reads_ : writes_;
    const std::uint32_t number = from.front();
    from.pop_front();
    start(number, thread);
  }
}

void FileThreads::start(std::uint32_t number, std::uint32_t thread) {
  Task& task = tasks_[number];
  const Time now = site_.queue.now();
  const bool there = site_.store.has(task.file);
  if (task.op == StorageOp::kWrite) {
    if (there) {
      site_.store.touch(task.file, now);
      return end(number);
    }
  } else {
    if (!there) {
      ++missing_;
      return end(number);
    }
    site_.store.read(task.file, now);
    site_.listener.on_load_service(task.job, true);
  }
  std::pop_heap(idle_.begin(), idle_.end(), std::greater<>());
  idle_.pop_back();
  task.thread = thread;
  task.began = now;
  port_.submit(task.op, number, task.bytes);
}

void FileThreads::on_port_done(StorageOp op, std::uint32_t number) {
  const Task& task = tasks_[number];
  idle_.push_back(task.thread);
  std::push_heap(idle_.begin(), idle_.end(), std::greater<>());
  const Time now = site_.queue.now();
  site_.store.tick_until(now - Duration(1));
  if (op == StorageOp::kWrite) {
    sample(now - task.began);
    site_.store.write(task.file, now);
  } else {
    site_.listener.on_load_service(task.job, false);
  }
  if (!reads_.empty() || !writes_.empty()) site_.turns.freed(site_.engine);
  end(number);
}

/// An exponential average in whole microseconds, the newest a twentieth of it.
void FileThreads::sample(Duration took) {
  const std::int64_t us = took / std::chrono::microseconds(1);
  average_us_ = average_us_ < 0 ? us : (19 * average_us_ + us) / 20;
}

void FileThreads::end(std::uint32_t number) {
  tasks_.release(number);
  settle(tasks_[number]);
}

/// One file less. Nobody tells whether it was moved.
void FileThreads::settle(const Task& task) {
  if (--jobs_[task.job].left > 0) return;
  site_.listener.on_transfer_done(task.op == StorageOp::kRead ? Direction::kUp : Direction::kDown,
                                  task.job);
}

void FileThreads::cancel(std::span<const std::uint32_t> jobs) {
  if (jobs.empty()) return;
  for (const std::uint32_t job : jobs) jobs_[job].cancelled = true;
  for (std::size_t left = writes_.size(); left > 0; --left) {
    const std::uint32_t number = writes_.front();
    writes_.pop_front();
    if (!jobs_[tasks_[number].job].cancelled) {
      writes_.push_back(number);
      continue;
    }
    ++unwritten_;
    end(number);
  }
  for (const std::uint32_t job : jobs) jobs_[job].cancelled = false;
}

}  // namespace spillway
