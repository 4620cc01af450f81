// The I/O threads of one GPU in llm-d's FS backend (kv_connectors/llmd_fs_backend, csrc/storage:
// thread_pool and storage_offload): a task is one file of a job, read or written by one thread from
// beginning to end.
//
// The first threads take reads first, the others writes; both take what is left. An idle thread
// takes a task at once, the lowest one first. A write that would wait too long by what writes took
// lately is dropped, and reported as done; a file that is there is not written again; one that is
// gone is not read, and nobody notices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "models/engine/connectors/llmd/file_store.hpp"
#include "models/engine/connectors/transfer_jobs.hpp"
#include "sim/ring_queue.hpp"
#include "sim/slab.hpp"

namespace spillway {

class FileTurns;

class FileThreads final : public TransferPath, private PortListener {
 public:
  struct Site {
    EventQueue& queue;
    Network& network;
    Observer& observer;
    Settlement& settlement;
    FileTurns& turns;
    std::uint32_t engine;
    FileStore& store;
    TransferJobs& jobs;  ///< the files of one are its places below
    TransferListener& listener;
  };
  /// `ranks`: whose parts of a file go through one device; over links each has its own.
  FileThreads(const OffloadConfig& config, const ChunkTierConfig& tier, std::uint32_t ranks,
              const Site& site);

  void submit(Direction direction, std::uint32_t job, Bytes payload, std::uint32_t copies) override;
  bool idle() const override { return port_.idle() && reads_.empty() && writes_.empty(); }
  /// A flush: of these writes, what no thread has begun does not happen.
  void cancel(std::span<const std::uint32_t> jobs);
  /// Behind what ends at this instant: idle threads go on.
  void take() { take_until(site_.queue.now() - Duration(1)); }

  std::uint64_t unwritten() const { return unwritten_; }  ///< files dropped or cancelled
  std::uint64_t missing() const { return missing_; }      ///< files gone before their read
  const StorageDevice* device() const { return port_.device(); }

 private:
  struct Task {
    StorageOp op = StorageOp::kRead;
    ChunkId file = kNoChunk;
    std::uint32_t job = 0;
    std::uint32_t thread = 0;
    Bytes bytes{0};
    Time began{};
  };
  struct Job {
    std::uint32_t left = 0;  ///< files
    bool cancelled = false;
  };

  void submit_file(const Task& task);
  bool too_many_writes() const;
  void take_until(Time ticks);
  void start(std::uint32_t number, std::uint32_t thread);
  void settle(const Task& task);
  void end(std::uint32_t number);
  void sample(Duration took);
  void on_port_done(StorageOp op, std::uint32_t job) override;
  RingQueue<std::uint32_t>& waiting(StorageOp op) {
    return op == StorageOp::kRead ? reads_ : writes_;
  }

  const OffloadConfig& config_;
  Site site_;
  std::uint32_t copies_;   ///< of a block's bytes that a task moves
  std::uint32_t readers_;  ///< threads below this one prefer reads
  TierPort port_;
  std::vector<std::uint32_t> idle_;  ///< threads, a heap of the lowest
  Slab<Task> tasks_;
  std::vector<Job> jobs_;  ///< by number
  RingQueue<std::uint32_t> reads_;
  RingQueue<std::uint32_t> writes_;
  std::int64_t average_us_ = -1;  ///< of writes; below 0: there was none
  std::uint64_t unwritten_ = 0;
  std::uint64_t missing_ = 0;
};

}  // namespace spillway
